"""Functions whose forward computes with NumPy and SciPy and returns what these return."""

import gc
import weakref

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import pullback as pb
from pullback.autograd import Function, gradcheck
from pullback.autograd.function import once_differentiable
from pullback.core.array_face import Array, Scalar
from pullback.core.errors import SavedArrayModifiedError
from pullback.core.tensor import NestedTensor
from pullback.graph.snapshot import MANY


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


# -- a forward without ctx runs once, at the outermost transform, and its rule serves them all ----------------------
class Rounded(Function):
    """Its rule is not the derivative of its forward."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 1


class CubeOfNumPy(Function):
    runs = 0

    @staticmethod
    def forward(x):
        CubeOfNumPy.runs += 1
        return x.detach().numpy() ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return 3 * y / x * grad


class Doubled(Function):
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def doubled_in_place(x):
    y = x * x
    Doubled.apply(y)
    return y * x  # 2 x**3


class Added(Function):
    @staticmethod
    def forward(total, x):
        return total.add_(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


def added_to_a_constant(x):
    total = (x * 0 + 3.0).detach()
    Added.apply(total, x * x)
    return total * x  # x**3 + 3 x


def outer_added_to_a_constant(x):
    def inner(y):
        total = (y * 0 + 3.0).detach()
        Added.apply(total, x * x)
        return total * y * x

    return GRAD(inner)(1.0)  # x**3 + 3 x


GRAD, JVP = pb.func.grad, pb.func.jvp
SECOND = {
    "grad of grad": lambda f, x: GRAD(GRAD(f))(x),
    "grad of jvp": lambda f, x: GRAD(lambda y: JVP(f, (y,), (1.0,))[1])(x),
    "jvp of grad": lambda f, x: JVP(GRAD(f), (x,), (1.0,))[1],
    "jvp of jvp": lambda f, x: JVP(lambda y: JVP(f, (y,), (1.0,))[1], (x,), (1.0,))[1],
}


@pytest.mark.parametrize("way", SECOND)
def test_a_rule_that_is_not_the_derivative_of_forward_serves_all_transforms(way):
    assert SECOND[way](lambda x: Rounded.apply(x) ** 3, 2.3) == 12.0


class RoundedWithCtx(Function):
    """The same with the ctx in forward; it keeps its own result in three ways."""

    runs = 0
    double_backward = "exact"  # what backward detaches is meant to be a constant

    @staticmethod
    def forward(ctx, x, shift=0.0):
        RoundedWithCtx.runs += 1
        ctx.result = x.round() + shift
        ctx.save_for_backward(x, ctx.result)
        return ctx.result

    @staticmethod
    def backward(ctx, grad):
        _, result = ctx.saved_tensors
        assert ctx.result._array is result._array or np.array_equal(ctx.result.detach(), result.detach())
        return grad * result / result.detach(), None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent * 1


class StraightThrough(Function):
    """Neither setup_context nor jvp."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class SineWithCtx(StraightThrough):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()


class Noisy(Function):
    """x + noise, by a rule of its own: twice the cotangent."""

    @staticmethod
    def forward(ctx, x, draw):
        return x + draw()

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad, None


@pytest.mark.parametrize("way", SECOND)
def test_so_does_the_rule_of_a_forward_that_has_a_ctx(way):
    # d/dx of the gradient 3 r**2 (r'/r) r: the rule's r' is 1, in each place where r stands
    f = lambda x: RoundedWithCtx.apply(x, 0.0) ** 3  # noqa: E731
    assert SECOND[way](f, 2.3) == pytest.approx(12.0 if way in ("grad of jvp", "jvp of jvp") else 12.0 + 6.0)
    assert SECOND["grad of grad"](lambda x: StraightThrough.apply(x) ** 3, 2.3) == 12.0
    assert GRAD(GRAD(GRAD(lambda x: StraightThrough.apply(x) ** 3)))(2.3) == 6.0


def test_a_forward_with_ctx_runs_once_for_each_transform():
    RoundedWithCtx.runs = 0
    GRAD(GRAD(GRAD(lambda x: RoundedWithCtx.apply(x, 0.0))))(2.3)
    assert RoundedWithCtx.runs == 3


def test_forward_mode_around_a_forward_with_ctx_is_right_or_refused():
    assert JVP(GRAD(SineWithCtx.apply), (0.5,), (1.0,))[1] == pytest.approx(-np.sin(0.5))
    assert JVP(GRAD(lambda x: SineWithCtx.apply(x * x)), (0.5,), (2.0,))[1] == pytest.approx(
        2 * (2 * np.cos(0.25) - 4 * 0.25 * np.sin(0.25))
    )
    with pytest.raises(NotImplementedError, match=r"StraightThrough .*its backward is not the derivative"):
        JVP(GRAD(StraightThrough.apply), (2.3,), (1.0,))


def test_each_run_of_a_forward_with_ctx_gets_the_same_random_numbers():
    def f(x):
        return Noisy.apply(x, lambda: pb.rand(())) ** 3

    for transform, slope in ((GRAD(f), lambda y: 6 * y**2), (GRAD(GRAD(f)), lambda y: 24 * y)):
        pb.manual_seed(5)
        found = transform(0.5)
        after = pb.rand(())
        pb.manual_seed(5)
        y = 0.5 + pb.rand(()).item()
        assert found == pytest.approx(slope(y))
        assert pb.rand(()) == after
    own = np.random.default_rng(0)
    with pytest.raises(RuntimeError, match=r"NoisyBackward: forward.* not returned the same again.*setup_context"):
        GRAD(GRAD(lambda x: Noisy.apply(x, own.random)))(0.5)
    assert GRAD(lambda x: Noisy.apply(x, own.random))(0.5) == 2.0


def test_third_derivatives_go_by_the_rule():
    assert GRAD(GRAD(GRAD(lambda x: Rounded.apply(x) ** 3)))(2.3) == 6.0
    CubeOfNumPy.runs = 0
    assert np.isclose(GRAD(GRAD(GRAD(CubeOfNumPy.apply)))(2.0), 6.0)
    assert CubeOfNumPy.runs == 1


def test_what_is_written_in_place_is_written_at_all_levels():
    assert GRAD(doubled_in_place)(2.0) == 24.0
    assert GRAD(GRAD(doubled_in_place))(2.0) == 24.0
    assert GRAD(added_to_a_constant)(2.0) == 15.0
    assert GRAD(GRAD(added_to_a_constant))(2.0) == 12.0
    assert GRAD(outer_added_to_a_constant)(2.0) == 15.0
    assert GRAD(GRAD(outer_added_to_a_constant))(2.0) == 12.0


@pytest.mark.parametrize("transforms", [1, 2])
def test_an_argument_that_is_returned_is_a_view_at_all_levels(transforms):
    class Same(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad

    def f(x):
        Same.apply(x * x).mul_(2)
        return x.sum()

    differentiated = f
    for _ in range(transforms):
        differentiated = lambda x, g=differentiated: GRAD(g)(x).sum()  # noqa: E731
    with pytest.raises(RuntimeError, match="SameBackward is a view and is being modified inplace"):
        differentiated(pb.tensor([2.0]))

    class Pair(Same):
        @staticmethod
        def forward(x, y):
            return x, y * 1

        @staticmethod
        def backward(ctx, a, b):
            return a, b

    def write(x, y):  # into what is differentiated within, where something else is further out
        Pair.apply(x * x, y)[0].mul_(2)
        return x.sum()

    with pytest.raises(RuntimeError, match="PairBackward is a view and is being modified inplace"):
        GRAD(lambda y: GRAD(lambda x: write(x, y))(pb.tensor([2.0])).sum())(pb.tensor([3.0]))


def test_a_backward_for_one_derivative_alone_keeps_those_of_the_transforms_around():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    assert GRAD(GRAD(lambda x: Square.apply(x) ** 2))(2.0) == 48.0
    assert GRAD(lambda w: GRAD(lambda x: Square.apply(x) * w)(2.0) * w)(3.0) == 24.0


# -- faces and memory ------------------------------------------------------------------------------------------------
def test_what_is_returned_beside_arrays_is_an_array_and_the_functions_meet_tensors():
    seen = []

    class Several(Function):
        @staticmethod
        def forward(ctx, x):
            assert type(x) in (pb.Tensor, NestedTensor)
            plain = x.detach().numpy()
            out = np.sin(plain), float(plain.sum()), pb.from_numpy(np.cos(plain)), x.detach(), np.array(1.0)
            ctx.save_for_backward(x, out[0], np.exp(plain))
            return out

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(type(g) for g in (*grads, *ctx.saved_tensors))
            return grads[0] * ctx.saved_tensors[2] + grads[1]

    def f(x):
        results = Several.apply(x)
        seen[:] = [type(y) for y in results]
        return results[0].sum() + results[1] * 2

    assert np.allclose(GRAD(f)(np.ones(2)), np.e + 2)
    assert seen[:5] == [Array, Scalar, Array, Array, Scalar]
    assert seen[5:] == [pb.Tensor] * 8  # backward is written for Tensors, as forward is
    GRAD(f)(pb.ones(2))
    assert not any(issubclass(kind, Array) for kind in seen)


def test_a_result_that_is_saved_for_forward_makes_no_cycle():
    gc.disable()
    try:
        y = Inverse.apply(pb.tensor(A, requires_grad=True))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("saved", ["workspace", "part of it", "workspace alone"])
def test_a_workspace_that_is_used_again(saved):
    workspace = np.zeros(3)

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            np.exp(x.detach().numpy(), out=workspace)
            ctx.save_for_backward(workspace[:] if saved == "part of it" else workspace)
            return x.exp() if saved == "workspace alone" else workspace[:] if saved == "part of it" else workspace

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = pb.tensor([1.0, 0.5, -0.3], requires_grad=True)
    values = [Exp.apply(x * k) for k in (1.0, 2.0, 0.5)]
    sum(values).sum().backward()
    expected = [k * np.exp(x.detach().numpy() * k) for k in (1.0, 2.0, 0.5)]
    np.testing.assert_allclose(x.grad.numpy(), sum(expected))
    np.testing.assert_allclose(values[0].detach().numpy(), expected[0])


class Table(Function):
    """Multiplies by an ndarray that nobody copies."""

    @staticmethod
    def forward(ctx, x, table):
        ctx.save_for_backward(table)
        return x.detach().numpy() * table

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("part", [slice(None), slice(1, None), slice(None, None, 2)])
@pytest.mark.parametrize("kind", ["ndarray", "memmap"])
def test_a_saved_ndarray_that_was_written_into_since_gives_the_old_gradient_or_an_error(size, part, kind, tmp_path):
    table = np.ones(size) if kind == "ndarray" else np.memmap(tmp_path / "table", float, "w+", shape=size)
    table[:] = 2.0
    given = table[part]
    x = pb.tensor(np.ones(given.size), requires_grad=True)
    y = Table.apply(x, given)
    y.sum().backward(retain_graph=True)
    assert np.all(x.grad.numpy() == 2.0)
    table[-2:] = 7.0
    x.grad = None
    if given.size > MANY:
        with pytest.raises(SavedArrayModifiedError, match="TableBackward saved the ndarray"):
            y.sum().backward()
    else:
        y.sum().backward()
        assert np.all(x.grad.numpy() == 2.0)


def test_a_large_ndarray_that_was_saved_goes_through_hooks_for_saved_tensors():
    x = pb.tensor(np.ones(100_000), requires_grad=True)
    table = np.full(100_000, 2.0)
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = Table.apply(x, table)
    table[5] = 7.0
    y.sum().backward()
    assert np.all(x.grad.numpy() == 2.0)


def test_a_fresh_result_is_not_copied():
    made = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.detach().numpy() * 2
            made.append(result.__array_interface__["data"][0])
            return result, 1.0

        @staticmethod
        def backward(ctx, grad, _):
            return grad * 2

    (y, _), z = Twice.apply(pb.ones(1000, requires_grad=True)), None
    assert y.detach().numpy().__array_interface__["data"][0] == made[0]
    twice = pb.custom_vjp(
        lambda x: [made.append((z := x * 2).__array_interface__["data"][0]), z], lambda g, y, x: g[1] * 2
    )
    (z,) = twice(pb.ones(1000, requires_grad=True))[1:]
    assert z.detach().numpy().__array_interface__["data"][0] == made[1]
