"""A backward in pieces gives what one backward gives."""

import gc
import itertools
import signal
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.engine.backward_pass import BackwardPass
from pullback.autograd.engine.structural_zeros import root_cotangent
from pullback.autograd.engine.user_callbacks import here
from pullback.graph.node import edge_to
from pullback.ops.formulas.decompositions import spectra_in_use

pytestmark = pytest.mark.usefixtures("both_loops")


def leaf(*values):
    return pb.tensor(np.array(values), requires_grad=True)


def cut(t):
    """A leaf with the values of `t`, at which another graph begins."""
    return t.detach().requires_grad_()


def pulled(loss, *inputs, **options):
    """The gradients with which the first half of a graph, behind the cut, ends."""
    return [None if g is None else g.numpy() for g in pb.autograd.grad(loss, inputs, allow_unused=True, **options)]


def first_half(x, w):
    """Three results from two leaves; what they have in common must wait for all of them."""
    shared = (x * w).sin()
    return shared.exp(), shared * w, shared.sum() + x[0]


def second_half(a, b, c):
    return (a * b).sum() * c + (b * b).sum()


def whole(x, w):
    second_half(*first_half(x, w)).backward()
    return x.grad.numpy(), w.grad.numpy()


LEAVES = (0.3, -0.7, 1.1), (0.5, 2.0, -1.5)


def fed(order, pieces, **options):
    """The second half's gradients, delivered in this order, run after the deliveries that `pieces` names."""
    x, w = (leaf(*values) for values in LEAVES)
    outs = first_half(x, w)
    cuts = [cut(t) for t in outs]
    grads = pulled(second_half(*cuts), *cuts)
    part = BackwardPass(**options)
    edges = [edge_to(t) for t in outs]
    for edge in edges:
        part.reach([edge])
    for nr in order:
        part.deliver(edges[nr], grads[nr])
        if nr in pieces:
            part.run()
            assert x.grad is None
            assert w.grad is None
    part.finish()
    return x.grad.numpy(), w.grad.numpy()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("pieces", [(), (0,), (1, 2), (0, 1, 2)])
def test_pieces_in_any_order_equal_one_backward(order, pieces):
    expected = whole(*(leaf(*values) for values in LEAVES))
    for found, wanted in zip(fed(order, pieces), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_nothing_runs_before_all_that_was_promised_has_come():
    x, seen = leaf(1.0, 2.0), []
    h = x * 3
    h.register_hook(lambda g: seen.append(g.tolist()))
    a, b = h.sin(), h * 2
    part = BackwardPass()
    part.reach([edge_to(a), edge_to(b)])
    part.deliver(edge_to(a), np.zeros(2))
    assert part.run() == [((b.grad_fn, 0), 1)]
    assert seen == []
    part.deliver(edge_to(b), np.ones(2))
    assert part.run() == []
    assert seen == [[2, 2]]
    part.finish()
    assert x.grad.tolist() == [6, 6]


def test_reach_says_what_it_reaches_first():
    x = leaf(1.0)
    h = x.exp()
    a, b = h.sin(), h.cos()
    part = BackwardPass()
    assert {node.name() for node in part.reach([edge_to(a)])} == {"SinBackward0", "ExpBackward0", "AccumulateGrad"}
    assert part.reach([edge_to(b)]) == [b.grad_fn]
    assert part.reach([edge_to(b)]) == []


def test_an_edge_may_be_promised_several_gradients():
    x = leaf(1.0, 2.0)
    y = x * 2
    part = BackwardPass()
    part.reach([edge_to(y)])
    part.reach([edge_to(y), edge_to(y)])
    for nr, missing in enumerate([2, 1, 0]):
        part.deliver(edge_to(y), np.full(2, 10.0**nr))
        assert sum(owed for _, owed in part.run()) == missing
    part.finish()
    assert x.grad.tolist() == [222, 222]


def test_a_promised_leaf_and_an_inner_node():
    """An edge from outside and one from within lead to the same place."""
    x = leaf(1.0, 2.0)
    h = x.exp()
    y = h * h
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(h), edge_to(x)])
    part.deliver(edge_to(x), np.array([100.0, 100.0]))
    part.deliver(edge_to(h), np.array([10.0, 10.0]))
    part.run()
    part.deliver(edge_to(y), np.ones(2))
    part.finish()
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), 100 + (10 + 2 * e) * e)


def test_several_outputs_of_one_node():
    x = leaf(3.0, 1.0, 2.0)
    values, indices = x.sort()
    parts = (x * 2).split([1, 2])
    part = BackwardPass()
    edges = [edge_to(values), edge_to(parts[0]), edge_to(parts[1])]
    part.reach(edges)
    part.deliver(edges[2], np.array([5.0, 7.0]))
    part.run()
    part.deliver(edges[0], np.array([1.0, 10.0, 100.0]))
    part.run()
    part.deliver(edges[1], None)
    part.finish()
    assert x.grad.tolist() == [100.0, 11.0, 24.0]
    assert indices.tolist() == [1, 2, 0]


def test_undefined_gradients():
    x, w = leaf(1.0), leaf(2.0)
    y, z = x.exp(), w.exp()
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), None)
    part.run()
    part.deliver(edge_to(z), np.array([1.0]))
    part.finish()
    assert x.grad is None
    np.testing.assert_allclose(w.grad.numpy(), np.exp([2.0]))


def test_hooks_see_each_gradient_once_and_complete():
    x, seen = leaf(1.0, 2.0), []
    h = x * 3
    h.register_hook(lambda g: seen.append(("h", g.tolist())) or g * 10)
    h.retain_grad()
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("done", t.grad.tolist())))
    a, b = h.sum(), h * 2
    node = b.grad_fn
    node.register_prehook(lambda grads: seen.append(("pre", grads[0].tolist())))
    node.register_hook(lambda inputs, outputs: seen.append(("post", inputs[0].tolist())))
    part = BackwardPass()
    part.reach([edge_to(a), edge_to(b)])
    part.deliver(edge_to(b), np.ones(2))
    part.run()
    assert seen == [("pre", [1, 1]), ("post", [2, 2])]
    part.deliver(edge_to(a), np.ones(()))
    part.run()
    part.finish()
    assert seen[2:] == [("h", [3, 3]), ("x", [90, 90]), ("done", [90, 90])]
    assert h.grad.tolist() == [30, 30]


def test_captures_collect_and_only_what_leads_there_runs():
    x, w, ran = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    h = x * 2
    w2 = w.exp()
    w2.register_hook(ran.append)
    y, z = h * w2, h + 1
    part = BackwardPass(captures={(h.grad_fn, 0): 7})
    reached = part.reach([edge_to(y), edge_to(z)])
    assert w2.grad_fn in reached
    part.deliver(edge_to(z), np.ones(2))
    part.run()
    part.deliver(edge_to(y), np.ones(2))
    found = part.finish()
    np.testing.assert_allclose(found[7], 1 + w2.detach().numpy())
    assert ran == []
    assert x.grad is None
    assert w.grad is None


def test_towards_accumulates_in_some_leaves():
    x, w = leaf(1.0), leaf(2.0)
    y, z = x * w, x + w
    part = BackwardPass(towards={edge_to(x): {}})
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(1))
    part.run()
    part.deliver(edge_to(z), np.ones(1))
    part.finish()
    assert x.grad.tolist() == [3]
    assert w.grad is None


def test_what_does_not_lead_to_a_target_may_be_delivered_all_the_same():
    x, w = leaf(1.0), leaf(2.0)
    y, z = x.exp(), w.exp()
    part = BackwardPass(captures={(edge_to(x), 0): 0})
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(z), np.ones(1))
    assert part.run() == [((y.grad_fn, 0), 1)]
    part.deliver(edge_to(y), np.ones(1))
    np.testing.assert_allclose(part.finish()[0], np.exp([1.0]))
    assert w.grad is None


@pytest.mark.parametrize("keep", [False, True])
def test_saved_tensors_are_released_piece_by_piece(keep):
    x = leaf(1.0, 2.0)
    y, z = x.sin(), x.cos()
    part = BackwardPass(keep_graph=keep)
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(2))
    part.run()
    assert z.grad_fn.saved_self is x
    assert (y.grad_fn.saved_self is x) is keep
    part.deliver(edge_to(z), np.ones(2))
    part.finish()
    if keep:
        (y + z).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * (np.cos([1.0, 2.0]) - np.sin([1.0, 2.0])))
    else:
        with pytest.raises(RuntimeError, match="second time"):
            (y + z).sum().backward()


def test_a_recorded_backward_in_pieces():
    x = leaf(0.5, 1.0)
    y, z = x.sin(), x**3
    part = BackwardPass(keep_graph=True, create_graph=True)
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(z), pb.ones(2))
    part.run()
    part.deliver(edge_to(y), pb.ones(2))
    part.finish()
    first, x.grad = x.grad, None
    (second,) = pb.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), 6 * x.detach().numpy() - np.sin([0.5, 1.0]))
    assert pb.is_grad_enabled()


def test_masked_gradients_stay_masked_across_the_cut():
    """0 * inf at x = 0 is 0 where a mask kept the gradient away, and NaN where the zero is a number."""
    found = {}
    for name, sent in [("structural", root_cotangent), ("number", lambda g: g)]:
        x = leaf(0.0, 4.0)
        h = x.sqrt()
        near = cut(h)
        (grad,) = pulled(pb.where(pb.tensor([False, True]), near * 3, 0.0).sum(), near)
        assert grad.tolist() == [0, 3]
        part = BackwardPass()
        part.reach([edge_to(h), edge_to(x)])
        part.deliver(edge_to(h), sent(grad))
        part.run()
        part.deliver(edge_to(x), np.zeros(2))
        part.finish()
        found[name] = x.grad.tolist()
    assert found["structural"] == [0, 0.75]
    assert np.isnan(found["number"][0])


def test_dual_numbers_may_come_after_plain_ones():
    """The table of operators follows what is delivered."""
    from pullback.arrays.dual.array import DualArray
    from pullback.autograd import forward_ad

    x = leaf(2.0)
    y, z = x.sum(), x * x  # the formula of a sum calls an operator
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.ones(()), pb.full((), 5.0))._array
        assert type(dual) is DualArray
        part = BackwardPass(captures={(edge_to(x), 0): 0})
        part.reach([edge_to(y), edge_to(z)])
        part.deliver(edge_to(z), np.ones(1))
        part.run()
        part.deliver(edge_to(y), dual)
        found = part.finish()[0]
        np.testing.assert_allclose(found.primal, [1 + 4])
        np.testing.assert_allclose(found.tangent, [5])


# -- errors -----------------------------------------------------------------------------------------------------------
class Fails(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ZeroDivisionError("here")


def test_an_error_in_the_middle_leaves_every_grad_and_ends_the_pass():
    x = leaf(1.0)
    x.grad = pb.tensor([5.0])
    h = x * 2
    h.retain_grad()
    y, z = h.exp(), Fails.apply(x)
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(1))
    part.run()
    assert h.grad is not None
    part.deliver(edge_to(z), np.ones(1))
    with pytest.raises(ZeroDivisionError):
        part.run()
    assert x.grad.tolist() == [5]
    assert h.grad is None
    for use in (part.run, part.finish, lambda: part.reach([edge_to(y)]), lambda: part.deliver(edge_to(y), None)):
        with pytest.raises(RuntimeError, match="has failed"):
            use()
    h2 = x * 2  # others are not touched
    h2.backward()
    assert x.grad.tolist() == [7]


def test_finish_waits_for_what_is_missing():
    x = leaf(1.0)
    y, z = x.exp(), x.sin()
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(1))
    with pytest.raises(RuntimeError, match="1 for output 0 of SinBackward0"):
        part.finish()
    assert x.grad is None
    part.deliver(edge_to(z), None)
    part.finish()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0]))
    with pytest.raises(RuntimeError, match="is finished"):
        part.finish()


def test_what_was_not_promised_is_refused():
    x = leaf(1.0, 2.0)
    y, z = x.exp(), x.sin()
    part = BackwardPass()
    part.reach([edge_to(y)])
    with pytest.raises(RuntimeError, match="output 0 of SinBackward0, which is owed none"):
        part.deliver(edge_to(z), np.ones(2))
    with pytest.raises(RuntimeError, match=r"shape \(1,\) and dtype float64.*expected shape \(2,\)"):
        part.deliver(edge_to(y), np.ones(1))
    with pytest.raises(RuntimeError, match=r"dtype float32.*expected shape \(2,\) and dtype float64"):
        part.deliver(edge_to(y), np.ones(2, np.float32))
    part.deliver(edge_to(y), np.ones(2))
    with pytest.raises(RuntimeError, match="owed none"):
        part.deliver(edge_to(y), np.ones(2))
    with pytest.raises(RuntimeError, match="is waiting"):
        part.reach([edge_to(z)])  # what has been counted has begun to flow
    part.finish()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


# -- inside each other ------------------------------------------------------------------------------------------------
def test_a_hook_may_deliver_to_the_pass_that_runs_it_but_not_run_it():
    x = leaf(1.0)
    y, z = x.exp(), x.sin()

    def hook(g):
        part.deliver(edge_to(z), np.ones(1))
        with pytest.raises(RuntimeError, match="is running"):
            part.run()

    y.register_hook(hook)
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(1))
    assert part.run() == []
    part.finish()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0]) + np.cos([1.0]))


def test_passes_interleave_and_nest():
    """Two over one graph, by turns, and a whole backward inside a hook of one."""
    x = leaf(1.0, 2.0)
    w = leaf(3.0)
    h = x.exp()
    y, z = h.sin(), h * h

    @h.register_hook
    def nested(g):
        with pb.enable_grad():
            (w * w).sum().backward()

    parts = [BackwardPass(keep_graph=True) for _ in range(2)]
    for part in parts:
        part.reach([edge_to(y), edge_to(z)])
    parts[0].deliver(edge_to(y), np.ones(2))
    parts[1].deliver(edge_to(z), np.ones(2))
    for part in parts:
        part.run()
    parts[0].deliver(edge_to(z), np.full(2, 10.0))
    parts[1].deliver(edge_to(y), np.full(2, 10.0))
    for part in parts:
        part.finish()
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), 11 * (np.cos(e) + 2 * e) * e)
    assert w.grad.tolist() == [12]


def test_queued_callbacks_wait_for_the_end():
    x, seen = leaf(1.0), []
    y, z = x.exp(), x.sin()
    queue = pb.autograd.Variable._execution_engine.queue_callback

    def last():
        seen.append(x.grad is not None)
        if len(seen) < 3:
            queue(last)

    y.register_hook(lambda g: queue(last))
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(1))
    part.run()
    leaf(1.0).exp().backward()  # which must not take what the other has queued
    assert seen == []
    part.deliver(edge_to(z), np.ones(1))
    part.finish()
    assert seen == [True, True, True]


def test_between_pieces_nothing_of_the_pass_is_left_in_the_process():
    x = leaf(1.0, 2.0)
    y, z = x.exp(), x.sin()
    part = BackwardPass(captures={(edge_to(x), 0): 0})
    part.reach([edge_to(y), edge_to(z)])
    part.deliver(edge_to(y), np.ones(2))
    with np.errstate(all="raise"):
        before = np.geterr()
        part.run()
        assert np.geterr() == before
    assert not here.runs
    assert pb.is_grad_enabled()


def test_decompositions_of_one_matrix_are_compared_across_pieces():
    """A loss of equal eigenvalues and their vectors together is refused, in pieces too: `spectra_in_use`."""
    a = (2 * pb.eye(3)).requires_grad_()

    def started():
        values, vectors = pb.linalg.eigvalsh(a), pb.linalg.eigh(a)[1]
        part = BackwardPass()
        part.reach([edge_to(values), edge_to(vectors)])
        return part, edge_to(values), edge_to(vectors)

    part, values, vectors = started()
    part.deliver(values, np.ones(3))
    part.run()
    assert not spectra_in_use.in_use
    part.deliver(vectors, np.full((3, 3), 2.0))
    with pytest.raises(RuntimeError, match="several calls"):
        part.finish()
    assert not spectra_in_use.in_use
    for given in [(np.ones(3), None), (None, np.full((3, 3), 2.0))]:  # each alone is right
        part, values, vectors = started()
        part.deliver(values, given[0])
        part.run()
        part.deliver(vectors, given[1])
        part.finish()
    assert a.grad.tolist() == np.eye(3).tolist()


def test_a_dropped_pass_frees_its_graph():
    x = leaf(1.0, 2.0)
    y = x.exp()
    part = BackwardPass()
    part.reach([edge_to(y), edge_to(x)])
    part.deliver(edge_to(y), np.ones(2))
    part.run()
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del part, y
        assert node() is None
    finally:
        gc.enable()
    assert x.grad is None


def test_a_delivered_array_is_nobody_elses_grad():
    x = leaf(1.0, 2.0)
    part = BackwardPass()
    part.reach([edge_to(x), edge_to(x)])
    given = np.ones(2)
    part.deliver(edge_to(x), given)
    part.deliver(edge_to(x), None)
    part.finish()
    given[0] = 50
    assert x.grad.tolist() == [1, 1]


def test_a_signal_while_a_pass_runs_ends_it():
    x = leaf(1.0)
    x.grad = pb.tensor([1.0])
    y = x.exp()

    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        y.register_hook(lambda g: signal.raise_signal(signal.SIGALRM))
        part = BackwardPass()
        part.reach([edge_to(y)])
        part.deliver(edge_to(y), np.ones(1))
        with pytest.raises(Stop):
            part.run()
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="has failed"):
        part.finish()
    assert x.grad.tolist() == [1]


class TestWrongDeliveries:
    """What cannot flow is refused by name, and the pass goes on as if it had not been given."""

    @pytest.fixture
    def reached(self):
        x = leaf(1.0, 2.0)
        y = x * x
        part = BackwardPass()
        part.reach([edge_to(y)])
        yield part, edge_to(y)
        part.deliver(edge_to(y), np.ones(2))
        part.finish()
        assert np.array_equal(x.grad.numpy(), [2.0, 4.0])
        assert type(x.grad._array) is np.ndarray

    @pytest.mark.parametrize(
        ("grad", "said"),
        [
            (pb.tensor([1.0, 1.0]), r"an array.*got a Tensor.*t\.numpy\(\)"),
            ([1.0, 1.0], "got a list"),
            (1.0, "got a float"),
            ("x", "got a str"),
        ],
    )
    def test_gradients(self, reached, grad, said):
        part, edge = reached
        with pytest.raises(TypeError, match=f"deliver: the gradient must be .*{said}"):
            part.deliver(edge, grad)
        assert part.missing() == [((edge.node(), 0), 1)]
        part.reach([])  # it has not begun

    @pytest.mark.parametrize(
        ("edge", "said"), [(None, "None, to which"), (pb.ones(2), r"a Tensor: give .*edge_to\(t\)"), (3, "an int")]
    )
    def test_edges(self, reached, edge, said):
        part, right = reached
        with pytest.raises(TypeError, match=f"reach: an edge of the graph is needed, got {said}"):
            part.reach([right, edge])
        with pytest.raises(TypeError, match=f"deliver: an edge of the graph is needed, got {said}"):
            part.deliver(edge, np.ones(2))

    def test_a_tensor_of_a_lower_level_is_an_array_there(self):
        def gradient(x):
            y = x * x
            part = BackwardPass(level=1, captures={(edge_to(x).node(), 0): 0})
            part.reach([edge_to(y)])
            part.deliver(edge_to(y), pb.tensor([1.0, 3.0]))
            return x.sum(), part.finish()[0]

        _, found = pb.func.grad(lambda x: gradient(x.clone()), has_aux=True)(pb.tensor([1.0, 2.0]))
        assert found.tolist() == [2.0, 12.0]
