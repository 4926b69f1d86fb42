"""Custom Functions in forward mode: jvp, save_for_forward, and what they may return."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.testing import assert_close

X, V, W = np.array([0.3, 1.2, -0.7]), np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.5, 1.5])


class Product(Function):
    """x**2 w, and the number n."""

    seen: list = []  # noqa: RUF012 - of this class alone, and emptied by the tests that look

    @staticmethod
    def forward(ctx, x, w, n):
        Product.seen.append(unpack_dual(x).tangent)
        ctx.save_for_backward(x, w)
        ctx.save_for_forward(x, w)
        return x * x * w, n

    @staticmethod
    def backward(ctx, grad, _):
        x, w = ctx.saved_tensors
        return 2 * x * w * grad, x * x * grad, None

    @staticmethod
    def jvp(ctx, x_t, w_t, n_t):
        Product.seen.append((x_t, w_t, n_t))
        x, w = ctx.saved_tensors
        return 2 * x * w * x_t + x * x * w_t, None


def test_forward_sees_primals_and_jvp_tangents():
    Product.seen.clear()
    with dual_level():
        out, n = Product.apply(make_dual(pb.tensor(X), pb.tensor(V)), pb.tensor(W), 3)
        assert_close(unpack_dual(out).primal, X**2 * W)
        assert_close(unpack_dual(out).tangent, 2 * X * W * V)
        assert n == 3
    in_forward, (x_t, w_t, n_t) = Product.seen
    assert in_forward is None
    assert n_t is None
    assert_close(x_t, V)
    assert_close(w_t, np.zeros(3))


def test_mixed_with_backward():
    x, v, w = (pb.tensor(a, requires_grad=True) for a in (X, V, W))
    with dual_level():
        out, _ = Product.apply(make_dual(x, v), w, 3)
        gx, gw = pb.autograd.grad(out.sum(), (x, w), retain_graph=True)
        assert_close(unpack_dual(gx).tangent, 2 * W * V)
        assert_close(unpack_dual(gw).tangent, 2 * X * V)
        tangent = unpack_dual(out).tangent
    (gx, gv, gw) = pb.autograd.grad(tangent.sum(), (x, v, w), create_graph=True)
    assert_close(gx, 2 * W * V)
    assert_close(gv, 2 * X * W)
    assert_close(gw, 2 * X * V)
    assert_close(pb.autograd.grad(gx.sum(), w)[0], 2 * V)


def test_tangents_that_are_not_materialized():
    class Lazy(Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.set_materialize_grads(False)
            return x + w

        @staticmethod
        def jvp(ctx, x_t, w_t):
            assert w_t is None
            return x_t

    with dual_level():
        out = Lazy.apply(make_dual(pb.tensor(X), pb.tensor(V)), pb.tensor(W))
        assert_close(unpack_dual(out).tangent, V)


def test_setup_context():
    class Cube(Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 3 * x * x * t

    with dual_level():
        assert_close(unpack_dual(Cube.apply(make_dual(pb.tensor(X), pb.tensor(V)))).tangent, 3 * X**2 * V)
    assert_close(pb.func.jvp(Cube.apply, (X,), (V,))[1], 3 * X**2 * V)
    second = pb.func.jvp(lambda x: pb.func.jvp(Cube.apply, (x,), (V,))[1], (X,), (V,))[1]
    assert_close(second, 6 * X * V * V)


def test_an_argument_modified_in_place():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        y = make_dual(x, pb.tensor(V)) * 1
        out = Double.apply(y)
        assert out is y
        assert_close(unpack_dual(y).primal, 2 * X)
        assert_close(unpack_dual(y).tangent, 2 * V)
        (g,) = pb.autograd.grad(unpack_dual((y * y).sum()).tangent, x)
        assert_close(g, 8 * V)


@pytest.mark.parametrize("jvp", [lambda t: 2 * t, lambda t: t.mul_(2).clone(), lambda t: t.mul_(2).view(-1)])
def test_a_jvp_that_does_not_write_the_tangent_of_a_modified_argument_is_refused(jvp):
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

    Double.jvp = staticmethod(lambda ctx, t: jvp(t))
    with dual_level(), pytest.raises(RuntimeError, match=r"Double: .* gradients inplace\. .* write t\.mul_\(2\)"):
        Double.apply(make_dual(pb.tensor(X), pb.tensor(V)) * 1)
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        pb.func.jvp(lambda x: Double.apply(x * 1), (X,), (V,))


def test_a_modified_argument_whose_jvp_returns_none_has_zeros():
    class Cleared(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.zero_()

        @staticmethod
        def jvp(ctx, t):
            return None

    with dual_level():
        y = Cleared.apply(make_dual(pb.tensor(X), pb.tensor(V)) * 1)
        assert unpack_dual(y).tangent.tolist() == [0, 0, 0]


def test_an_argument_returned_as_it_is():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad

        @staticmethod
        def jvp(ctx, t):
            return t.view_as(t)

    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        out = Same.apply(make_dual(x, pb.tensor(V)) * 1)
        assert_close(unpack_dual(out).tangent, V)
        assert_close(unpack_dual(pb.autograd.grad((out * out).sum(), x)[0]).tangent, 6 * V)


def test_a_backward_that_leaves_for_numpy_says_so():
    class Leaving(Product):
        @staticmethod
        def backward(ctx, grad, _):
            return pb.tensor(grad.numpy()), None, None

    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        tangent = unpack_dual(Leaving.apply(make_dual(x, pb.tensor(V)), pb.tensor(W), 1)[0]).tangent
        with pytest.raises(RuntimeError, match="has a tangent: forward mode would silently lose it"):
            tangent.sum().backward()


def test_a_backward_that_cannot_be_differentiated_again_says_so():
    class Once(Product):
        @staticmethod
        @pb.autograd.function.once_differentiable
        def backward(ctx, grad, _):
            return grad, None, None

    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        out = Once.apply(make_dual(x, pb.tensor(V)), pb.tensor(W), 1)[0]
        for root in (out.sum(), unpack_dual(out).tangent.sum()):
            with pytest.raises(
                RuntimeError, match=r"twice through OnceBackward.*@once_differentiable, by forward mode"
            ):
                root.backward(retain_graph=True)


def test_a_backward_may_detach_its_gradient():
    class Detaching(Product):
        double_backward = "exact"

        @staticmethod
        def backward(ctx, grad, _):
            x, w = ctx.saved_tensors
            return 2 * x * w * grad.detach(), x * x * grad, None

    x = pb.tensor(X, requires_grad=True)
    with dual_level():
        out = Detaching.apply(make_dual(x, pb.tensor(V)), pb.tensor(W), 1)[0]
        (g,) = pb.autograd.grad(unpack_dual(out).tangent.sum(), x)
    assert_close(g, 2 * W * V)


def returning(value):
    """A Function whose jvp returns `value`."""

    class Returning(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            return value

    return Returning


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (
            (pb.ones(3), None),
            RuntimeError,
            r"Returning\.jvp returned an invalid number of tangents \(expected 1 but got 2",
        ),
        (3, TypeError, r"Returning\.jvp returned an int as tangent 0; expected a Tensor or None"),
        (pb.ones(2), RuntimeError, r"tangent of shape \(2,\) .* for output 0 of shape \(3,\).*must agree"),
        (pb.ones(3).float(), RuntimeError, "tangent of shape .* dtype float32 for output 0"),
    ],
)
def test_what_jvp_may_return(value, error, message):
    with dual_level(), pytest.raises(error, match=message):
        returning(value).apply(make_dual(pb.tensor(X), pb.tensor(V)))


def test_no_tangent_is_zero():
    with dual_level():
        assert unpack_dual(returning(None).apply(make_dual(pb.tensor(X), pb.tensor(V)))).tangent is None


def test_a_tangent_for_what_has_none_is_refused():
    class Whole(Function):
        @staticmethod
        def forward(ctx, x):
            return x.long()

        @staticmethod
        def jvp(ctx, t):
            return t

    with dual_level(), pytest.raises(RuntimeError, match="tangent for output 0, a int64, which has none; return None"):
        Whole.apply(make_dual(pb.tensor(X), pb.tensor(V)))


def test_a_function_without_jvp_is_named():
    class Backward(Function):
        @staticmethod
        def forward(ctx, x):
            raise AssertionError("not reached")

    with (
        dual_level(),
        pytest.raises(
            NotImplementedError,
            match=r"forward-mode AD on Backward, a custom Function that does not implement jvp.*save_for_f",
        ),
    ):
        Backward.apply(make_dual(pb.tensor(X), pb.tensor(V)))


def test_save_for_forward_takes_tensors():
    class Saving(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(3)

        @staticmethod
        def jvp(ctx, t):
            return t

    with (
        dual_level(),
        pytest.raises(TypeError, match=r"save_for_forward can only save variables.*attributes of ctx"),
    ):
        Saving.apply(make_dual(pb.tensor(X), pb.tensor(V)))


def view_function(forward, jvp):
    """A Function of these two, and a dual tensor of ones with the tangent 1, 2, 3, 4."""
    methods = {
        "forward": staticmethod(lambda ctx, x: forward(x)),
        "jvp": staticmethod(lambda ctx, t: jvp(t)),
        "backward": staticmethod(lambda ctx, g: g),
    }
    return type("Viewing", (Function,), methods)


VIEWS = {
    "flat": lambda x: x.view(-1),
    "row": lambda x: x[1],
    "turned": lambda x: x.transpose(0, 1),
    "itself": lambda x: x,
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("writes_into_view", [True, False])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_the_tangent_of_its_argument(view, writes_into_view):
    same = lambda t: t.view_as(t) if view in (VIEWS["itself"], VIEWS["detached"]) else view(t)  # noqa: E731
    with dual_level():
        x = make_dual(pb.ones(2, 2), pb.tensor([[1.0, 2.0], [3.0, 4.0]])) * 1
        y = view_function(view, same).apply(x)
        (y if writes_into_view else x).mul_(10)
        expected = unpack_dual(x).primal.numpy() * [[1.0, 2.0], [3.0, 4.0]]
        np.testing.assert_array_equal(unpack_dual(x).tangent.numpy(), expected)
        np.testing.assert_array_equal(unpack_dual(y).tangent.numpy(), view(pb.tensor(expected)).numpy())


@pytest.mark.parametrize(
    ("forward", "jvp"),
    [
        (lambda x: x.view(-1), lambda t: t.clone().view(-1)),
        (lambda x: x, lambda t: 2 * t),
        (lambda x: x, lambda t: t),
        (lambda x: x[0], lambda t: t[1]),
        (lambda x: x.detach(), lambda t: t + 0),
        (lambda x: x.transpose(0, 1), lambda t: t),
    ],
)
def test_a_view_whose_jvp_is_no_view_is_refused(forward, jvp):
    function = view_function(forward, jvp)
    with dual_level(), pytest.raises(RuntimeError, match=r"Viewing: .*the jvp is not returning a view.*t\.view\(-1\)"):
        function.apply(make_dual(pb.ones(2, 2), pb.ones(2, 2)))
    with pytest.raises(RuntimeError, match="jvp is not returning a view"):
        pb.func.jvp(function.apply, (np.ones((2, 2)),), (np.ones((2, 2)),))


def test_it_is_said_of_what_the_jvp_should_return_a_view():
    function = view_function(VIEWS["row"], lambda t: t[1].clone())
    with dual_level():
        x = make_dual(pb.ones(2, 2), pb.ones(2, 2))
        with pytest.raises(RuntimeError, match="not returning a view of the given argument's tangent"):
            function.apply(x)
        with pytest.raises(RuntimeError, match="not returning a view of the same base as the argument's tangent"):
            function.apply(x.view(2, 2))


def test_a_copy_may_return_the_very_tangent_it_got():
    with dual_level():
        x = make_dual(pb.ones(2), pb.ones(2))
        y = view_function(lambda x: x.clone(), lambda t: t).apply(x)
        y.mul_(3)
        assert unpack_dual(x).tangent.tolist() == [1, 1]
        assert unpack_dual(y).tangent.tolist() == [3, 3]


def test_views_under_func_jvp_of_any_layout_and_nested():
    function = view_function(VIEWS["turned"], VIEWS["turned"])
    at, v = np.arange(4.0).reshape(2, 2), np.array([[1.0, 2.0], [3.0, 4.0]])
    for given in (at, at.T, np.asfortranarray(at)):
        np.testing.assert_array_equal(pb.func.jvp(function.apply, (given,), (v,))[1], v.T)
    _, (_, second) = pb.func.jvp(lambda x: pb.func.jvp(function.apply, (x * x,), (x * x,)), (at,), (v,))
    np.testing.assert_array_equal(second, (2 * at * v).T)


def test_a_view_of_an_argument_without_a_tangent():
    class First(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x[0], x.sum() * y

        @staticmethod
        def jvp(ctx, x_t, y_t):
            return x_t[0], y_t * 3

    with dual_level():
        x, y = pb.ones(3), make_dual(pb.tensor(2.0), pb.tensor(1.0))
        first, product = First.apply(x, y)
        assert unpack_dual(first).tangent is None
        assert unpack_dual(product).tangent.item() == 3
