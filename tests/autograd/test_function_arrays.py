"""Functions whose forward computes with NumPy and SciPy and returns what these return."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import pullback as pb
from pullback.autograd import Function, gradcheck
from pullback.autograd.function import once_differentiable


class Expm(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return scipy.linalg.expm(a.detach().numpy())

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return pb.from_numpy(scipy.linalg.expm_frechet(a.detach().numpy().T, grad.numpy(), compute_expm=False))

    @staticmethod
    def jvp(ctx, tangent):
        raise AssertionError


class Inverse(Function):
    """Keeps its output, an ndarray, before anybody has made a Tensor of it."""

    @staticmethod
    def forward(ctx, a):
        out = np.linalg.inv(a.detach().numpy())
        ctx.save_for_backward(out)
        ctx.save_for_forward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return -out.mT @ grad @ out.mT

    @staticmethod
    def jvp(ctx, tangent):
        (out,) = ctx.saved_tensors
        return -out @ tangent @ out


class InverseBySetup(Inverse):
    @staticmethod
    def forward(a):
        return np.linalg.inv(a.detach().numpy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        assert isinstance(output, pb.Tensor)
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)


class Quad(Function):
    """The integral of exp(-k t**2) over [0, 1]: a pair of Python floats, of which the second is an estimate."""

    @staticmethod
    def forward(ctx, k):
        ctx.save_for_backward(k)
        value, error = scipy.integrate.quad(lambda t: np.exp(-k.item() * t * t), 0, 1)
        ctx.mark_non_differentiable(error)
        return value, error

    @staticmethod
    def backward(ctx, grad, _):
        (k,) = ctx.saved_tensors
        return grad * scipy.integrate.quad(lambda t: -t * t * np.exp(-k.item() * t * t), 0, 1)[0]


class Root(Function):
    @staticmethod
    def forward(ctx, a):
        y = scipy.optimize.brentq(lambda y: y**3 + y - a.item(), -10, 10)  # a Python float
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad / (3 * ctx.y**2 + 1)


A = np.array([[2.0, 0.3], [0.1, 1.5]])


@pytest.mark.parametrize("function", [Expm, Inverse, InverseBySetup])
def test_an_ndarray_that_forward_returns_is_recorded(function):
    a = pb.tensor(A, requires_grad=True)
    y = function.apply(a)
    assert isinstance(y, pb.Tensor)
    assert y.grad_fn.name() == f"{function.__name__}Backward"
    assert gradcheck(function.apply, (a,))
    assert pb.func.grad(lambda a: function.apply(a).sum())(A).any()


@pytest.mark.parametrize("function", [Inverse, InverseBySetup])
def test_an_output_that_was_saved_as_ndarray_has_second_derivatives_and_tangents(function):
    a = pb.tensor(A, requires_grad=True)
    assert gradcheck(function.apply, (a,), check_forward_ad=True)
    assert pb.autograd.gradgradcheck(function.apply, (a,), check_fwd_over_rev=True)


@pytest.mark.parametrize("function", [Inverse, InverseBySetup])
def test_a_saved_output_is_checked_for_writes(function):
    y = function.apply(pb.tensor(A, requires_grad=True))
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*mul_"):
        y.sum().backward()


def test_floats_that_forward_returns_are_recorded():
    k = pb.tensor(0.7, requires_grad=True)
    value, error = Quad.apply(k)
    assert (value.requires_grad, error.requires_grad) == (True, False)
    assert gradcheck(lambda k: Quad.apply(k)[0], (k,))
    a = pb.tensor(1.3, requires_grad=True)
    assert gradcheck(Root.apply, (a,))
    assert np.isclose(pb.func.grad(Root.apply)(1.3), 1 / (3 * Root.apply(pb.tensor(1.3)).item() ** 2 + 1))


@pytest.mark.parametrize("given", [np.float64(3), np.float32(3), 3.0, 3j, np.ones(2), np.ones(2, ">f8")])
def test_numbers_and_arrays_become_tensors_whatever_the_arguments_are(given):
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            return given

        @staticmethod
        def backward(ctx, grad):
            return pb.ones(())

    for x in (pb.tensor(1.0, requires_grad=True), pb.tensor(1.0), 1.0):
        y = Constant.apply(x)
        assert isinstance(y, pb.Tensor)
        assert y.dtype == np.asarray(given).dtype.newbyteorder("=")
        assert y.requires_grad == getattr(x, "requires_grad", False)


@pytest.mark.parametrize("aside", [3, True, None, "text", np.int64(2), np.bool_(True), {"nit": 3}])
def test_what_has_no_gradient_stays_as_it_is(aside):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x.detach().numpy() * 2, aside

        @staticmethod
        def backward(ctx, grad, _):
            return grad * 2

    x = pb.ones(2, requires_grad=True)
    y, other = Two.apply(x)
    assert other is aside
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (np.ma.masked_array([1.0], [True]), "MaskedArray.*filled"),
        (np.array([1.0, None]), "dtype object.*astype"),
        (type("Series", (), {"__array__": lambda self: np.ones(2)})(), "Series.*asarray"),
    ],
)
def test_what_looks_like_an_array_and_is_none_is_refused(bad, match):
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return bad

    with pytest.raises(TypeError, match=f"BadBackward: forward returned.*{match}"):
        Bad.apply(pb.ones(1, requires_grad=True))


def test_whole_numbers_in_an_array_become_a_tensor_without_gradient():
    class Order(Function):
        @staticmethod
        def forward(ctx, x):
            return np.sort(x.detach().numpy()), np.argsort(x.detach().numpy())

        @staticmethod
        def backward(ctx, grad, _):
            return grad

    values, order = Order.apply(pb.tensor([3.0, 1.0], requires_grad=True))
    assert (values.requires_grad, order.requires_grad, order.tolist()) == (True, False, [1, 0])


def test_memory_of_an_argument_is_not_shared_behind_the_back_of_the_graph():
    class Tail(Function):
        @staticmethod
        def forward(ctx, x):
            return x.detach().numpy()[1:]

        @staticmethod
        def backward(ctx, grad):
            return pb.nn.functional.pad(grad, (1, 0))

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    z = x * 1
    y = Tail.apply(z)
    y.mul_(5)
    assert z.tolist() == [1, 2]
    y.sum().backward()
    assert x.grad.tolist() == [0, 5]


def test_two_outputs_on_one_memory_are_two():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            y = np.sin(x.detach().numpy())
            return y, y[:1], y

        @staticmethod
        def backward(ctx, a, b, c):
            return a

    a, b, c = Twice.apply(pb.ones(2, requires_grad=True))
    a.zero_()
    assert b.all()
    assert c.all()


def test_mark_dirty_knows_an_argument_by_its_memory():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            a = x.detach().numpy()
            a *= 2
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = pb.ones(2, requires_grad=True)
    y = x.clone()
    z = Double.apply(y)
    assert z is y
    (z * y).sum().backward()
    assert x.grad.tolist() == [8, 8]


def test_arrays_that_ctx_methods_do_not_know_are_refused():
    class Dirty(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(np.ones(2))
            return x * 1

    class NonDifferentiable(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(np.ones(2))
            return x * 1

    x = pb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"mark_dirty was given an ndarray"):
        Dirty.apply(x)
    with pytest.raises(RuntimeError, match=r"mark_non_differentiable was given an ndarray"):
        NonDifferentiable.apply(x)


def test_a_saved_ndarray_shares_the_version_of_the_argument_whose_memory_it_is():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            a = x.detach().numpy()
            ctx.save_for_backward(a[:], np.cos(a))
            return a**2

        @staticmethod
        def backward(ctx, grad):
            a, _ = ctx.saved_tensors
            return 2 * a * grad

    x = pb.ones(2, requires_grad=True)
    y = x * 3
    z = Square.apply(y)
    z.sum().backward()
    assert x.grad.tolist() == [18, 18]
    y = x * 3
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_plain_values_of_what_several_transforms_differentiate_are_refused():
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return np.sin(x.numpy(force=True))

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x.cos()

    assert np.isclose(pb.func.grad(Sine.apply)(0.5), np.cos(0.5))
    with pytest.raises(RuntimeError, match=r"SineBackward: forward returned an? .*several transforms"):
        pb.func.grad(pb.func.grad(Sine.apply))(0.5)
    with pytest.raises(RuntimeError, match=r"SineBackward: forward returned an? .*several transforms"):
        pb.func.jvp(pb.func.grad(Sine.apply), (0.5,), (1.0,))
