"""`viz.memory`: what graphs hold, and the peak of their backward, which tracemalloc measures."""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pullback as pb
from pullback import viz
from pullback.nn import functional as F
from pullback.utils.checkpoint import checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts

RNG = np.random.default_rng(0)


def parameter(*shape):
    return pb.tensor(RNG.normal(size=shape) / 8, requires_grad=True)


def mlp():
    x, weights, biases = pb.tensor(RNG.normal(size=(200, 100))), [parameter(100, 100) for _ in range(6)], parameter(100)
    h = x
    for w in weights:
        h = (h @ w + biases).relu()
    return F.mse_loss(h, x)


def conv_net():
    h = pb.tensor(RNG.normal(size=(8, 3, 24, 24)))
    h = F.max_pool2d(F.conv2d(h, parameter(8, 3, 3, 3), parameter(8), padding=1).relu(), 2)
    h = F.max_pool2d(F.conv2d(h, parameter(16, 8, 3, 3), padding=1).relu(), 2)
    return F.cross_entropy(h.reshape(8, -1) @ parameter(576, 10), pb.tensor(RNG.integers(0, 10, 8)))


def attention():
    x, gain = pb.tensor(RNG.normal(size=(2, 48, 64))), pb.ones(64, requires_grad=True)
    normal = F.layer_norm(x, (64,), gain)

    def heads():
        return (normal @ parameter(64, 64)).reshape(2, 48, 4, 16).transpose(1, 2)

    weights = (heads() @ heads().transpose(-1, -2) / 4).softmax(-1)
    x = x + (weights @ heads()).transpose(1, 2).reshape(2, 48, 64) @ parameter(64, 64)
    x = x + F.gelu(F.layer_norm(x, (64,), gain) @ parameter(64, 256)) @ parameter(256, 64)
    return (x * x).mean()


def chain(length=300, size=2000):
    y = pb.tensor(np.linspace(0, 1, size), requires_grad=True)
    for _ in range(length):
        y = (y * 1.01).sin()
    return y.sum()


def linear_algebra():
    x = parameter(150, 150)
    A = x @ x.T + pb.eye(150)
    return pb.linalg.slogdet(A)[1] + pb.linalg.inv(A).sum()


def views_and_writes():
    x = parameter(400, 100)
    y = x * 2
    y[:200].mul_(x[200:])
    a, b = y.split(200)
    return pb.cat([a * b, (a + b)[:, ::2].exp().repeat(1, 2)]).pow(2).sum()


def masked():
    x = parameter(300, 100)
    for _ in range(4):
        x = pb.where(x > 0, x, x.exp()).clamp(max=3.0) * x
    return x.max(dim=1).values.sum()


def gradients_that_lie_otherwise():
    """Strided and repeated cotangents, outputs of which no gradient comes, and gradients that leaves must copy."""
    x, a, b = parameter(300, 300), parameter(30, 40, 50), parameter(50, 40, 20)
    y = x.clone()
    y[10:200].mul_(2)
    y[:, ::2] += 1
    ordered, _ = (y * y).sort(dim=1)
    return (ordered * pb.arange(300)).sum() + x.mean(0).exp().sum() + pb.einsum("ijk,kjl->il", a, b).pow(2).sum()


def measured(make, retain_graph=False):
    """(bytes in use before backward, at the peak of backward), those of leaves included."""
    make().backward()  # what is loaded on first use is no array
    gc.collect()
    tracemalloc.start()
    try:
        begun, _ = tracemalloc.get_traced_memory()
        loss = make()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        loss.backward(retain_graph=retain_graph)
        _, peak = tracemalloc.get_traced_memory()
        return held - begun, peak - begun
    finally:
        tracemalloc.stop()


GRAPHS = [mlp, conv_net, attention, chain, linear_algebra, views_and_writes, masked, gradients_that_lie_otherwise]


@pytest.mark.parametrize("make", GRAPHS)
def test_peak_of_backward_is_foreseen(make):
    usage = viz.memory(make())
    held, peak = measured(make)
    assert usage.course.before[0] == pytest.approx(held, rel=0.05)
    assert usage.peak == pytest.approx(peak, rel=0.05)
    assert not usage.untried
    assert not tracemalloc.is_tracing()
    kept = viz.memory(make(), retain_graph=True)
    assert kept.peak == pytest.approx(measured(make, retain_graph=True)[1], rel=0.05)


def test_sums_of_one_scalar_over_different_shapes_are_told_apart():
    x, y = parameter(400, 400), parameter(3)
    both = viz.memory(y.exp().sum() + x.exp().sum()).peak  # the small one runs first or last
    assert both == pytest.approx(viz.memory(x.exp().sum() + y.exp().sum()).peak, rel=0.01)
    assert both > 3 * x.nbytes


def test_objects_count_where_arrays_are_small():
    usage = viz.memory(chain(600, 20))
    _, peak = measured(lambda: chain(600, 20))
    assert usage.peak > 2 * usage.held
    assert usage.peak == pytest.approx(peak, rel=0.2)  # how much Python reuses of its own is chance


def test_measured_memory_is_no_constant():  # or the test above would see little
    peaks = {make: measured(make) for make in (mlp, conv_net, attention)}
    assert all(peak > 1.1 * held for held, peak in peaks.values())


def test_memory_that_is_shared_counts_once():
    x = pb.ones(100, 10, requires_grad=True)
    y = x.exp()
    usage = viz.memory([(y * y).sum(), (y[:50] * y.T[:, 50:].T).sum(), x.sin().sum()])
    assert (usage.held, usage.leaves) == (8000, 8000)
    assert {row.operator: row.bytes for row in usage.rows if row.bytes} == {"ExpBackward0": 8000}


def test_a_view_keeps_the_whole():
    x = pb.ones(10, requires_grad=True)
    data = pb.from_numpy(np.ones((1000, 10)))
    usage = viz.memory((x * data[0]).sum())
    assert usage.held == 80_000


def test_rows_are_lines_and_operators():
    x = pb.ones(1000, requires_grad=True)
    with viz.recording():
        for _ in range(3):
            x = (x * 2).sin()
        loss = x.sum()
    usage = viz.memory(loss)
    first = usage.rows[0]
    assert (first.operator, first.nodes, first.bytes, first.code) == ("SinBackward0", 3, 24_000, "x = (x * 2).sin()")
    line = test_rows_are_lines_and_operators.__code__.co_firstlineno + 4
    assert first.where == f"test_memory.py:{line}"
    assert sum(row.bytes for row in usage.rows) == usage.held
    assert f"test_memory.py:{line}" in usage.peak_at


def test_looking_changes_nothing():
    x = parameter(20, 20)
    other = parameter(20, 20)

    def loss():
        return ((x @ other).relu().inverse() * x).sum()

    loss().backward()
    expected, x.grad = x.grad.clone(), None
    looked_at = loss()
    usage = viz.memory(looked_at)
    assert (usage.held, usage.peak) == (viz.memory(looked_at).held, usage.peak)
    assert x.grad is None
    looked_at.backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected.numpy())


def test_gradients_that_are_there_are_added_to():
    x = pb.ones(1000, requires_grad=True)
    without = viz.memory((x * 2).sum()).peak
    x.grad = pb.ones(1000)
    assert viz.memory((x * 2).sum()).peak - without == pytest.approx(8000, abs=200)


def test_custom_functions_and_packed_tensors_are_not_run():
    ran = []

    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.more = np.ones(500)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            ran.append("backward")
            return 2 * grad * ctx.saved_tensors[0]

    x = pb.ones(1000, requires_grad=True)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: (t.numpy(), "note"), lambda t: ran.append("unpack")):
        y = x.exp()
    usage = viz.memory(Square.apply(y).sum())
    assert usage.untried == ["SquareBackward", "ExpBackward0"]
    assert not ran
    assert usage.held == 8000 + 4000
    assert "by what they hold and their gradients alone: SquareBackward, ExpBackward0." in str(usage)


def test_what_the_backward_itself_will_say_is_left_to_it():
    x = pb.ones(1000, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.detach().mul_(2.0)
    assert viz.memory(loss).untried == ["ExpBackward0"]


def layers(count=24):
    weights = [pb.tensor(RNG.normal(size=(50, 50)) / 7, requires_grad=True) for _ in range(count)]
    return [lambda h, w=w: (h @ w).tanh() for w in weights], pb.tensor(RNG.normal(size=(500, 50)), requires_grad=True)


def test_pieces_are_what_checkpointing_holds():
    functions, x = layers()

    def plain():
        h = x
        for function in functions:
            h = function(h)
        return h.sum()

    usage = viz.memory(plain())
    assert usage.pieces.held < 0.5 * usage.held
    once = measured(plain)[1] - usage.held  # of gradients, beside what is held
    for t in (x, *(f.__defaults__[0] for f in functions)):
        t.grad = None
    _, peak = measured(lambda: checkpoint_sequential(functions, usage.pieces.count, x).sum())
    assert usage.pieces.held == pytest.approx(peak - once, rel=0.15)


def test_nothing_is_promised_where_checkpointing_saves_nothing():
    x = pb.ones(1000, requires_grad=True)
    assert viz.memory(x.sum()).pieces is None
    assert viz.memory((x * pb.ones(1000)).sum()).pieces is None  # what was given stays


def test_a_checkpoint_holds_its_inputs():
    x = pb.ones(1000, requires_grad=True)
    y = checkpoint(lambda t: t.sin().exp().sin(), x * 2, use_reentrant=False)
    usage = viz.memory(y.sum())
    assert usage.held == 8000
    assert usage.rows[0].bytes == 8000
    assert not usage.untried


def in_checkpoints(count, size=50_000, nested=False, **options):
    """A chain in so many pieces, each computed again."""
    leaf = pb.tensor(np.linspace(0, 1, size), requires_grad=True)

    def piece(t):
        for _ in range(5):
            t = (t * 1.01).sin()
        return checkpoint(lambda t: t.exp().sin(), t) if nested else t

    y = leaf
    for _ in range(count):
        y = checkpoint(piece, y, **options)
    return y.sum()


CHECKPOINTED = {
    "six": lambda: in_checkpoints(6),
    "one": lambda: in_checkpoints(1),
    "nested": lambda: in_checkpoints(3, nested=True),
    "to the end": lambda: in_checkpoints(3, early_stop=False),
    "selective": lambda: in_checkpoints(
        3, context_fn=lambda: create_selective_checkpoint_contexts(["sin"]), determinism_check="none"
    ),
}


@pytest.mark.parametrize("make", CHECKPOINTED.values(), ids=CHECKPOINTED)
def test_peak_of_a_backward_that_computes_again_is_foreseen(make):
    usage = viz.memory(make())
    assert not usage.untried
    assert usage.peak == pytest.approx(measured(make)[1], rel=0.05)


def test_a_rehearsed_checkpoint_is_as_before():
    x, calls = pb.ones(1000, requires_grad=True), []

    def piece(t):
        calls.append(pb.rand(1).item())
        return (t.sin() * calls[-1]).exp()

    loss = checkpoint(piece, x).sum()
    for _ in range(2):
        viz.memory(loss)
    held = [holder() for holder in loss.grad_fn.next_functions[0][0].version_result.unpack.__self__.frame.holders]
    assert held
    assert all(holder.tensor is None for holder in held)
    loss.backward()
    np.testing.assert_allclose(x.grad, calls[0] * np.cos(1) * np.exp(calls[0] * np.sin(1)))
    assert calls == calls[:1] * 4


def test_a_context_of_the_users_is_not_entered_to_rehearse():
    entered = []

    @contextlib.contextmanager
    def once():
        entered.append(True)
        yield

    x = pb.ones(1000, requires_grad=True)
    loss = checkpoint(lambda t: t.sin().exp(), x, context_fn=lambda: (contextlib.nullcontext(), once())).sum()
    assert "SinBackward0" in viz.memory(loss).untried
    assert not entered
    loss.backward()


def test_a_function_in_a_checkpoint_is_not_run_but_what_it_saved_comes_again():
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    def make():
        x = pb.tensor(np.linspace(0, 1, 50_000), requires_grad=True)
        return checkpoint(lambda t: Square.apply(Square.apply(t.sin()).sin()), x).sum()

    usage = viz.memory(make())
    assert set(usage.untried) == {"SquareBackward"}
    assert usage.peak == pytest.approx(measured(make)[1], rel=0.2)  # less what the backward needs besides


@pytest.fixture
def usage():
    x = pb.ones(1000, requires_grad=True)
    with viz.recording():
        loss = (x.exp() * x).sin().sum() if x[0] < 2 else None
    return viz.memory(loss)


def test_table(usage):
    lines = str(usage).splitlines()
    assert lines[0] == "The graph holds 15.62 KiB for backward, in 4 nodes; its leaves 7.81 KiB."
    (line,) = [line for line in lines if "SinBackward0  " in line and "7.81 KiB" in line]
    assert line.split()[:5] == ["7.81", "KiB", "50.0%", "1", "SinBackward0"]
    assert "loss = (x.exp() * x).sin().sum() if x[0] < 2 else None" in line
    assert "3 rows more" in usage.table(row_limit=1)
    assert "rows more" not in usage.table(row_limit=-1)


def test_picture_and_notebook(usage, tmp_path):
    picture = ET.parse(usage.save(tmp_path / "folder" / "memory.svg"))
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "Held for backward: 15.62 KiB" in texts
    assert any("x[0] < 2" in text for text in texts)  # escaped
    shown = usage._repr_html_()
    assert shown.count("<tr>") == 5
    assert "x[0] &lt; 2" in shown
    with pytest.raises(ValueError, match=r"'memory\.png'.*\.svg"):
        usage.save("memory.png")


def test_long_graphs_have_a_picture_too():
    assert len(viz.memory(chain(500, 3)).svg()) < 60_000


def test_a_graph_that_backward_has_released_is_refused():
    y = pb.ones(2, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(ValueError, match=r"ExpBackward0 has released what it had saved.*retain_graph=True"):
        viz.memory(y)


def test_what_has_no_graph_is_refused():
    with pytest.raises(ValueError, match="memory: the tensor of shape"):
        viz.memory(pb.ones(2))
    with pytest.raises(TypeError, match="memory: expected a Tensor"):
        viz.memory(3.0)
    with pytest.raises(ValueError, match=r"memory: the list of outputs is empty.*memory\(loss\)"):
        viz.memory([])


def test_an_ongoing_trace_goes_on():
    tracemalloc.start()
    try:
        viz.memory(pb.ones(2, requires_grad=True).exp().sum())
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_inside_a_transform():
    seen = []

    def f(x):
        y = np.sum(np.exp(x) * x)
        seen.append(viz.memory(y))
        return y

    np.testing.assert_allclose(pb.func.grad(pb.func.grad(f))(1.0), 3 * np.e)
    assert all(usage.peak >= usage.held > 0 for usage in seen)
