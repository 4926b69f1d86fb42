"""Small programs that are written for PyTorch and run there: what they call exists here, and does the same."""

import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Variable, forward_ad, gradcheck, graph
from pullback.core.errors import SavedTensorModifiedError

queue_callback = Variable._execution_engine.queue_callback


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


# -- callbacks at the end of a backward ------------------------------------------------------------------------------


def test_callbacks_find_every_gradient():
    x, y, seen = leaf(), leaf(3.0), []
    (x * 2).sum().register_hook(print)
    z = x * 2
    z.register_hook(lambda grad: queue_callback(lambda: seen.append((x.grad.tolist(), y.grad.tolist()))))
    (z.sum() * y).sum().backward()
    assert seen == [([6, 6], [6])]
    pb.autograd.grad((x * y).sum(), x)
    assert len(seen) == 1


def test_callbacks_may_queue_more_and_run_in_order():
    x, seen = leaf(), []

    def callback():
        seen.append(len(seen))
        if len(seen) < 3:
            queue_callback(callback)

    x.register_hook(lambda grad: queue_callback(callback))
    x.sum().backward()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_backward_inside_another_has_callbacks_of_its_own(create_graph):
    seen = []

    class Outer(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            queue_callback(lambda: seen.append("outer"))
            with pb.enable_grad():
                z = leaf()
                z.register_hook(lambda grad: queue_callback(lambda: seen.append("inner")))
                (z * 2).sum().backward(create_graph=create_graph)
            seen.append("after inner")
            return grad * 2

    x = leaf()
    pb.autograd.grad(Outer.apply(x).sum(), x, create_graph=create_graph)
    assert seen == ["inner", "after inner", "outer"]


def test_callbacks_deep_in_a_nest_of_backwards():
    seen = []

    def nested(depth):
        def hook(grad):
            queue_callback(lambda: seen.append(depth))
            with pb.enable_grad():
                if depth:
                    nested(depth - 1)

        x = leaf()
        x.register_hook(hook)
        (x * 2).sum().backward()

    nested(70)
    assert seen == list(range(71))


def test_a_failed_backward_drops_its_callbacks():
    x, seen = leaf(), []

    def fail(grad):
        queue_callback(lambda: seen.append(1))
        raise ZeroDivisionError

    handle = x.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert seen == []


def test_an_error_of_a_callback_comes_after_the_gradients():
    x = leaf()

    def fail():
        raise KeyError("mine")

    x.register_hook(lambda grad: queue_callback(fail))
    with pytest.raises(KeyError, match="mine"):
        x.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_callbacks_of_threads_do_not_mix():
    seen = {}

    def work(number):
        mine = seen[number] = []
        x = leaf()
        x.register_hook(lambda grad: queue_callback(lambda: mine.append(x.grad.tolist())))
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {n: [[2.0 * k] * 2 for k in range(1, 51)] for n in range(4)}


def test_callbacks_outside_of_a_backward_are_refused():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue_callback(lambda: None)
    with pytest.raises(TypeError, match="queue_callback takes a function without arguments, got int"):
        queue_callback(3)


# -- single names and arguments --------------------------------------------------------------------------------------


def test_dual_level_gives_its_number():
    with forward_ad.dual_level() as level:
        assert level == 0
        dual = forward_ad.make_dual(pb.ones(2), pb.ones(2), level=level)
        assert forward_ad.unpack_dual(dual, level=level).tangent.tolist() == [1, 1]
        with forward_ad.dual_level() as inner:
            assert inner == 1


def test_contiguous_takes_a_memory_format():
    x = pb.arange(6.0).reshape(2, 3)
    assert x.contiguous(memory_format=pb.contiguous_format) is x
    assert x.T.contiguous(memory_format=pb.contiguous_format).is_contiguous()
    assert x.T.contiguous(memory_format=pb.preserve_format).stride() == (1, 3)
    with pytest.raises(RuntimeError, match=r"contiguous\(.*memory_format is .* got 'channels_first'"):
        x.contiguous(memory_format="channels_first")


@pytest.mark.parametrize(
    ("shape", "memory_format"), [((2, 3, 4, 5), pb.channels_last), ((2, 3, 1, 4, 5), pb.channels_last_3d)]
)
def test_channels_last_changes_the_order_of_memory_alone(shape, memory_format):
    x = pb.randn(*shape, dtype=pb.float64, requires_grad=True)
    y = x.contiguous(memory_format=memory_format)
    assert y.stride(1) == 1
    assert y.permute(0, *range(2, len(shape)), 1).is_contiguous()
    assert y.contiguous(memory_format=memory_format) is y
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())
    batch = pb.randn(3, *shape)
    assert pb.vmap(lambda x: x.contiguous(memory_format=memory_format))(batch).shape == batch.shape
    with pytest.raises(RuntimeError, match=f"required rank {len(shape)} tensor to use {memory_format} format"):
        x[0].contiguous(memory_format=memory_format)


@pytest.mark.parametrize(
    "split",
    [
        lambda x: pb.unsafe_split(x, 2),
        lambda x: x.unsafe_chunk(2),
        lambda x: pb.unsafe_split_with_sizes(x, [2, 2]),
    ],
    ids=["split", "chunk", "with_sizes"],
)
@pytest.mark.parametrize("of_leaf", [True, False])
def test_unsafe_parts_may_be_written_into(split, of_leaf):
    x = leaf(1.0, 2.0, 3.0, 4.0)
    a, b = split(x if of_leaf else x * 1)
    a.mul_(3)
    b += a
    (a + b).sum().backward()
    assert x.grad.tolist() == [6, 6, 1, 1]
    assert x.tolist() == [1, 2, 3, 4]


def test_gather_with_sparse_grad_has_a_dense_gradient():
    x = leaf(1.0, 2.0, 3.0)
    x.gather(0, pb.tensor([1, 1]), sparse_grad=True).sum().backward()
    assert x.grad.tolist() == [0, 2, 0]


def test_views_of_inference_tensors_are_inference_tensors():
    for requires_grad in (False, True):
        with pb.inference_mode():
            x = pb.ones(3, requires_grad=requires_grad)
        for view in (x[1:], x.view(3, 1), x[1:][1:], x.detach(), x.unbind()[0]):
            assert view.is_inference()
            assert not view.requires_grad
            assert view.grad_fn is None
            with pytest.raises(RuntimeError, match="inference tensor"):
                view.mul_(2)
        assert (x * 2).requires_grad == requires_grad
        assert not (x * 2).is_inference()


def test_the_innermost_message_of_disabled_hooks():
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"):
            graph.save_on_cpu().__enter__()
        with pytest.raises(RuntimeError, match="outer"):
            graph.save_on_cpu().__enter__()


class Double(pb.autograd.Function):
    marks = staticmethod(lambda ctx, x, y: None)

    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x)
        Double.marks(ctx, x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_raw_saved_tensors_after_release():
    y = Double.apply(leaf())
    assert len(y.grad_fn._raw_saved_tensors) == 1
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.grad_fn._raw_saved_tensors


def test_mark_dirty_of_what_is_no_input(monkeypatch):
    x = leaf()
    monkeypatch.setattr(Double, "marks", lambda ctx, x, y: ctx.mark_dirty(y))
    with pytest.warns(UserWarning, match=r"DoubleBackward: ctx.mark_dirty\(\) received a tensor that was not an input"):
        y = Double.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    monkeypatch.setattr(Double, "marks", lambda ctx, x, y: ctx.mark_dirty(3))
    with pytest.raises(RuntimeError, match=r"mark_dirty was given an int .* give it the Tensor"):
        Double.apply(x)


@pytest.mark.parametrize(("size", "stride", "offset"), [((0,), (1,), 5), ((2, 0), (1, 1), 100), ((0, 3), (9, 9), 0)])
def test_as_strided_of_nothing_may_lie_anywhere(size, stride, offset):
    x = leaf()
    y = (x * 1).as_strided(size, stride, offset)
    assert y.shape == size
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="as_strided"):
        x.as_strided((1,), (1,), 2)


def test_gradcheck_pushes_forward_what_is_in_no_graph():
    x, y, seen = leaf(), leaf(), []

    def function(x, y):
        if forward_ad.unpack_dual(x).tangent is not None or forward_ad.unpack_dual(y).tangent is not None:
            seen.append((x.requires_grad, y.requires_grad))
        return x * y

    for fast in (False, True):
        assert gradcheck(function, (x, y), check_forward_ad=True, fast_mode=fast)
    assert set(seen) == {(False, False)}


# -- assigning to .data ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", [pb.ones(3), pb.ones(2, 2), pb.ones(2, dtype=pb.float32), pb.tensor(1.0)])
def test_data_may_take_another_shape_or_dtype(new):
    p = leaf()
    (p * p).sum().backward()
    p.grad = None
    p.data = new
    assert (p.shape, p.dtype, p.requires_grad, p.is_leaf) == (new.shape, new.dtype, True, True)
    (p * p).sum().backward()
    assert p.grad.dtype == new.dtype
    assert p.grad.tolist() == (2 * new).tolist()


def test_data_of_another_shape_leaves_no_old_gradient():
    p = leaf()
    p.sum().backward()
    with pytest.warns(UserWarning, match=r"\.grad, of shape \(2,\) .* does not fit .* \(1,\)"):
        p.data = pb.ones(1)
    assert p.grad is None
    p.sum().backward()
    assert p.grad.tolist() == [1]


def test_graphs_from_before_another_shape_are_of_no_use():
    p = leaf()
    saved, linear = (p * p).sum(), (p * 2).sum()
    p.data = pb.ones(1)
    with pytest.raises(SavedTensorModifiedError, match=r"assigning to \.data"):
        saved.backward()
    with pytest.raises(RuntimeError, match=r"gradient of shape \(2,\) .* arrived for a leaf that got another shape"):
        linear.backward()
    assert p.grad is None
    (p * 3).sum().backward()
    assert p.grad.tolist() == [3]


def test_data_that_is_refused():
    p = leaf()
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        p.data = [1.0]
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype, got int64"):
        p.data = pb.ones(2, dtype=pb.int64)
    with pytest.raises(RuntimeError, match=r"assigning to .data: expected .* \(2,\)"):
        (p * 1).data = pb.ones(3)
    q = pb.ones(2)
    q.data = pb.ones(3, dtype=pb.int64)
    assert q.tolist() == [1, 1, 1]


# -- leaving for NumPy, writing --------------------------------------------------------------------------------------


def test_numpy_where_nothing_is_recorded():
    x = leaf()
    for t in (x, x * 2):
        for mode in (pb.no_grad, pb.inference_mode):
            with mode():
                assert np.shares_memory(t.numpy(), t.detach().numpy())
                assert np.asarray(t).tolist() == t.tolist()
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
            t.numpy()

    def inside(x):
        with pb.no_grad():
            x.numpy()

        def inner(y):
            with pb.no_grad():  # at the inner level
                x.numpy()
            return y

        return pb.func.grad(inner)(x)

    with pytest.raises(RuntimeError, match=r"numpy\(\) on Tensor that requires grad"):
        pb.func.grad(inside)(1.0)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
@pytest.mark.parametrize("index", [0, (0,), (0, ...), slice(0, 2), [True, False, True], [0, 2]], ids=str)
def test_a_value_of_one_element_with_dimensions(shape, index):
    x, out = leaf(3.0), pb.zeros(3)
    index = pb.tensor(index) if isinstance(index, list) else index
    out[index] = x.reshape(shape) * 2
    written = np.zeros(3)
    written[index] = 6
    assert out.tolist() == written.tolist()
    out.sum().backward()
    assert x.grad.tolist() == [2 * np.count_nonzero(written)]
    with forward_ad.dual_level():
        out = pb.zeros(3)
        out[index] = forward_ad.make_dual(pb.ones(shape), pb.full(shape, 5.0))
        assert (forward_ad.unpack_dual(out).tangent != 0).tolist() == (written != 0).tolist()


def test_a_value_with_leading_dimensions_for_a_mask():
    x, out = leaf(), pb.zeros(3)
    out[pb.tensor([True, False, True])] = x.reshape(1, 1, 2)
    (out * pb.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 3]
    with pytest.raises(RuntimeError, match=r"__setitem__.*\(2,\)"):
        out[0] = pb.ones(2)
    with pytest.raises(RuntimeError, match=r"__setitem__.*\(2, 1\)"):
        out[0:2] = pb.ones(2, 1)


def test_results_that_may_be_written_into():
    for function in (pb.nn.functional.gelu, pb.erfinv, lambda x: pb.nn.functional.gelu(x, approximate="tanh")):
        x = leaf(-0.5, 0.3)
        (expected,) = pb.autograd.grad(function(x).sum(), x)
        y = function(x)
        y += 1
        assert pb.autograd.grad(y.sum(), x)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_takes_its_result_for_backward_until_that_is_written_into(approximate):
    def slopes(write):
        x = leaf(-0.5, 0.0, 0.3)
        y = pb.nn.functional.gelu(x, approximate=approximate)
        node = y.grad_fn
        assert node._saved_result.tolist() == y.tolist()
        if write:
            y.mul_(3).add_(1)
        with pb.autograd.profiler.profile() as profiled:
            (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
        again = sum(event.count for event in profiled.key_averages() if event.key == "gelu")
        (second,) = pb.autograd.grad(slope.sum(), x)
        return again, np.array([slope.tolist(), second.tolist()])

    (saved, expected), (computed, found) = slopes(False), slopes(True)
    assert (saved, computed) == (0, 1)
    np.testing.assert_allclose(found, 3 * expected, rtol=1e-14)


def test_gelu_may_be_written_into_under_hooks_and_in_transforms():
    x = leaf(-0.5, 0.3)
    (expected,) = pb.autograd.grad(pb.nn.functional.gelu(x).sum(), x)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = pb.nn.functional.gelu(x)
    y += 1
    assert pb.autograd.grad(y.sum(), x)[0].tolist() == expected.tolist()

    def written(x):
        y = pb.nn.functional.gelu(x)
        y *= 1
        y += 1
        return np.sum(y)

    np.testing.assert_allclose(pb.func.grad(written)(x.detach().numpy()), expected.numpy(), rtol=1e-15)
    hessian = pb.func.hessian(written)(np.array([0.0, 0.0]))
    np.testing.assert_allclose(hessian, np.diag([np.sqrt(2 / np.pi)] * 2), rtol=1e-14)


def test_gelu_is_computed_again_where_the_memory_that_data_has_left_was_written_into():
    x = leaf(-0.5, 0.3)
    (expected,) = pb.autograd.grad(pb.nn.functional.gelu(x).sum(), x)
    y = pb.nn.functional.gelu(x)
    total, alias = (y * 1).sum(), y.detach()
    y.data = pb.zeros(2)
    alias.mul_(2)
    assert pb.autograd.grad(total, x)[0].tolist() == expected.tolist()


def test_flatten_of_what_is_flat_is_itself():
    x = leaf() * 1
    assert x.flatten() is x
    assert pb.flatten(x) is x
    matrix = pb.ones(2, 3)
    assert matrix.flatten(1) is matrix
    assert matrix.flatten(0, 0) is matrix
    assert pb.tensor(1.0).flatten().shape == (1,)
    assert pb.ones(2, 0, 3).flatten(1).shape == (2, 0)


CONJUGATES = {
    "conj": lambda z: z.conj(),
    "pb.conj": pb.conj,
    "mH": lambda z: z.mH,
    "H": lambda z: z.H,
    "adjoint": lambda z: z.adjoint(),
    "view": lambda z: z.conj()[0],
    "real": lambda z: z.conj().real,
    "imag": lambda z: z.mH.imag,
    "twice": lambda z: z.conj().conj(),
}


@pytest.mark.parametrize("conjugate", CONJUGATES.values(), ids=CONJUGATES)
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("write", [lambda t: t.mul_(2), lambda t: t.__setitem__(0, 1), lambda t: t.zero_()])
def test_writing_into_a_conjugate_is_refused(conjugate, requires_grad, write):
    """In PyTorch it is a view, and z is written into."""
    z = pb.ones(2, 2, dtype=pb.complex128).requires_grad_(requires_grad) * 1
    for mode in (pb.enable_grad, pb.no_grad):
        with mode(), pytest.raises(RuntimeError, match=r"conj\(\) computes at once .* z.conj\(\).clone\(\)"):
            write(conjugate(z))
    assert z.detach().numpy().tolist() == np.ones((2, 2)).tolist()


def test_conjugates_that_may_be_written_into():
    z = pb.tensor([[1 + 2j]], requires_grad=True)
    for made in (z.conj().clone(), z.conjugate(), np.conj(z), z.conj().resolve_conj(), z.conj_physical(), 1 * z.mH):
        made.mul_(2)
        assert made.tolist() == [[2 - 4j]]
        assert pb.autograd.grad(made.sum().real, z)[0].tolist() == [[2]]
    (gradient,) = pb.autograd.grad((z.conj() * z.mH).sum().real, z, create_graph=True)
    gradient.mul_(2)
    x = pb.ones(2)
    x.conj().mul_(3)  # of a real tensor: itself
    assert x.tolist() == [3, 3]


def test_nothing_here_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = leaf()
        p.data = pb.ones(3)
        Double.apply(p)
