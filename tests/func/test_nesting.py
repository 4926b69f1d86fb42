"""Every way to differentiate inside every other: right, or refused by name; never zeros, and no dual tensor leaks."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dual import DualArray
from pullback.autograd import forward_ad, functional
from pullback.utils.checkpoint import checkpoint

X, V, W = np.array([1.3, 0.7]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
# Functions of two inputs with second and third derivatives that mix them; `scale` is what an inner one captures.


def f(x, scale=1.0):
    return (x**3 * np.sin(x[::-1]) * scale).sum()


def along(tangent):
    return (tangent * V).sum()


def by_forward_ad(g, x, v):
    with forward_ad.dual_level():
        x = x if isinstance(x, pb.Tensor) else pb.asarray(x)
        return forward_ad.unpack_dual(g(forward_ad.make_dual(x, pb.asarray(v)))).tangent


def by_autograd(g, x, **how):
    return pb.autograd.grad(g(x), x, **how)[0]


F = functional
# The derivative of g along V, at x: each in another way.
INNER = {
    "func.grad": lambda g, x: along(pb.func.grad(g)(x)),
    "func.value_and_grad": lambda g, x: along(pb.func.value_and_grad(g)(x)[1]),
    "func.jvp": lambda g, x: pb.func.jvp(g, (x,), (V,))[1],
    "forward_ad": lambda g, x: by_forward_ad(g, x, V),
    "autograd.grad": lambda g, x: along(by_autograd(g, x)),
    "autograd.grad, recorded": lambda g, x: along(by_autograd(g, x, create_graph=True)),
    "jacobian": lambda g, x: along(F.jacobian(g, x)),
    "jacobian, recorded": lambda g, x: along(F.jacobian(g, x, create_graph=True)),
    "jacobian, forward": lambda g, x: along(F.jacobian(g, x, strategy="forward-mode")),
    "jacobian, forward, recorded": lambda g, x: along(F.jacobian(g, x, create_graph=True, strategy="forward-mode")),
    "vjp": lambda g, x: along(F.vjp(g, x)[1]),
    "vjp, recorded": lambda g, x: along(F.vjp(g, x, create_graph=True)[1]),
    "jvp": lambda g, x: F.jvp(g, x, V)[1],
    "jvp, recorded": lambda g, x: F.jvp(g, x, V, create_graph=True)[1],
    "hessian": lambda g, x: (F.hessian(g, x) * V * W[:, None]).sum(),
    "hessian, recorded": lambda g, x: (F.hessian(g, x, create_graph=True) * V * W[:, None]).sum(),
    "hessian, forward": lambda g, x: (F.hessian(g, x, outer_jacobian_strategy="forward-mode") * V * W[:, None]).sum(),
    "hvp": lambda g, x: (F.hvp(g, x, V)[1] * W).sum(),
    "hvp, recorded": lambda g, x: (F.hvp(g, x, V, create_graph=True)[1] * W).sum(),
    "vhp": lambda g, x: (F.vhp(g, x, V)[1] * W).sum(),
    "vhp, recorded": lambda g, x: (F.vhp(g, x, V, create_graph=True)[1] * W).sum(),
    "value of vjp": lambda g, x: F.vjp(g, x)[0],
    "value of jvp": lambda g, x: F.jvp(g, x, V)[0],
    "value of hvp, recorded": lambda g, x: F.hvp(g, x, V, create_graph=True)[0],
}
OUTER = {name: INNER[name] for name in INNER if "value" not in name or name.startswith("func.")}
SECOND = ("hessian", "hvp", "vhp")


def is_second(name):
    return name.startswith(SECOND)


def differences(h, x, order):
    """The derivative of h along V (of the second order: along V and W), by differences in complex steps of reals."""
    if order == 1:
        return (h(x + 1e-5 * V) - h(x - 1e-5 * V)) / 2e-5
    return sum(s * t * h(x + 1e-4 * (s * V + t * W)) for s in (1, -1) for t in (1, -1)) / 4e-8


def value(result):
    """The number in a result, which must hold no tangent and belong to no transform."""
    if isinstance(result, pb.Tensor):
        assert result._level == 0
        assert not isinstance(result._array, (DualArray, pb.Tensor))
        return result.detach().numpy()
    assert isinstance(result, (np.ndarray, np.generic, float))
    return np.asarray(result)


REFUSALS = re.compile("does not require grad|starts both from a dual tensor|inside another transform's")


def right_or_refused(h, outer, at, x):
    expected = differences(h, X, 2 if is_second(outer) else 1)
    try:
        found = OUTER[outer](at, x)
    except RuntimeError as error:
        assert REFUSALS.search(str(error)), error  # noqa: PT017 - most raise nothing
        return False
    np.testing.assert_allclose(value(found), expected, rtol=1e-4 if is_second(outer) else 1e-6)
    return True


# What the arguments of the outer function are: arrays, Tensors, and leaves that require grad.
ARGUMENTS = {
    "array": lambda: X.copy(),
    "tensor": lambda: pb.tensor(X),
    "leaf": lambda: pb.tensor(X, requires_grad=True),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_one_inside_another(outer, inner, argument):
    if outer.startswith("autograd") and argument != "leaf":
        return

    def h(x):  # for differences: the inner derivative alone
        return float(value(INNER["func.grad" if inner.startswith("autograd") else inner](f, x)))

    done = right_or_refused(h, outer, lambda x: INNER[inner](f, x), ARGUMENTS[argument]())
    assert done or inner.startswith("autograd") or (outer.startswith("autograd") and "recorded" not in inner)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_what_the_inner_function_captures_is_differentiated(outer, inner):
    if inner.startswith("autograd") or outer.startswith("autograd"):
        return

    def through(x):
        point = pb.tensor(X) * 1.1
        return INNER[inner](lambda y: f(y, scale=(x * x).sum()), point)

    done = right_or_refused(lambda x: float(value(through(x))), outer, through, X.copy())
    assert done or (outer, inner) == ("func.jvp", "forward_ad")


@pytest.mark.parametrize("inner", [name for name in INNER if not name.startswith("autograd")])
@pytest.mark.parametrize("outer", ["func.grad", "func.jvp", "forward_ad", "jacobian", "jvp, recorded"])
def test_three_deep(outer, inner):
    def middle(x):
        return INNER["vjp"](lambda y: INNER[inner](f, y), x)

    done = right_or_refused(lambda x: float(value(middle(x))), outer, middle, X.copy())
    assert done or (outer == "func.grad" and "forward" in inner)


def as_leaf(copy):
    """A leaf that requires grad, within a transform too, where requires_grad_() is refused."""
    copy.requires_grad = True
    return copy


def of_a_copy(x, **how):
    copy = as_leaf(pb.asarray(x).clone())
    return along(pb.autograd.grad(f(copy), copy, **how)[0])


def of_ones(x):
    """The derivative, at ones, of a function that x is in too."""
    ones = pb.ones_like(pb.asarray(x), requires_grad=True)
    return along(pb.autograd.grad(f(ones * x) * x.sum(), ones)[0])


def backward_of_a_copy(x):
    copy = as_leaf(pb.asarray(x).clone())
    copy.retain_grad()
    f(copy).backward()
    return along(copy.grad)


def twice_of_a_copy(x):
    copy = as_leaf(pb.asarray(x).clone())
    (first,) = pb.autograd.grad(f(copy), copy, create_graph=True)
    return (pb.autograd.grad(along(first), copy)[0] * W).sum()


# Derivatives that a function takes in graphs of its own, or along a direction that moves.
OWN = {
    "grad of a copy": of_a_copy,
    "grad of a copy, recorded": lambda x: of_a_copy(x, create_graph=True),
    "grad of ones": of_ones,
    "second grad of a copy": twice_of_a_copy,
    "forward_ad along x": lambda x: by_forward_ad(f, pb.tensor(X) * 1.1, x * x),
    "jvp along x": lambda x: pb.func.jvp(f, (X * 1.1,), (x * x,))[1],
    "vhp of x": lambda x: (F.vhp(f, pb.tensor(X * 1.1), x * x)[1] * W).sum(),
}
TRANSFORMS = ["func.grad", "func.value_and_grad", "func.jvp", "forward_ad"]


@pytest.mark.parametrize("argument", ["array", "tensor"])
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_derivative_that_a_function_takes_of_its_own(transform, own, argument):
    found = INNER[transform](OWN[own], ARGUMENTS[argument]())
    expected = differences(lambda x: float(value(OWN[own](x))), X, 1)
    np.testing.assert_allclose(value(found), expected, rtol=1e-6)


@pytest.mark.parametrize("argument", ["array", "tensor"])
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("middle", [*TRANSFORMS, "vjp", "jvp, recorded", "jacobian"])
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_the_same_two_deep(outer, middle, own, argument):
    found = INNER[outer](lambda x: INNER[middle](OWN[own], x), ARGUMENTS[argument]())
    step = 1e-3 * V
    points = (float(value(OWN[own](X + k * step))) for k in (-1, 0, 1))
    np.testing.assert_allclose(value(found), np.dot((1, -2, 1), list(points)) / 1e-6, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("argument", ["array", "tensor"])
def test_backward_inside_jvp_gives_a_gradient_that_moves(argument):
    found, moved = pb.func.jvp(backward_of_a_copy, (ARGUMENTS[argument](),), (V,))
    np.testing.assert_allclose(value(found), value(INNER["func.grad"](f, X)))
    np.testing.assert_allclose(value(moved), differences(lambda x: float(value(of_a_copy(x))), X, 1), rtol=1e-6)


@pytest.mark.parametrize("transform", ["func.grad", "func.value_and_grad"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_inside_a_transform_is_refused(transform, create_graph):
    def g(x):
        y = f(x)
        y.backward(create_graph=create_graph)
        return y

    for x in (X, pb.tensor(X)):
        with pytest.raises(
            RuntimeError, match=r"backward\(\) called inside a function that func\.grad.*autograd\.grad"
        ):
            INNER[transform](g, x)


@pytest.mark.parametrize("outer", ["jacobian", "vjp, recorded", "jvp", "hvp"])
def test_a_number_that_backward_left_is_refused(outer):
    def g(x):
        y = f(x)
        y.backward(retain_graph=True)
        return (x.grad * V).sum() + y

    with pytest.raises(RuntimeError, match=r"backward\(\) was called inside the function given to .*autograd\.grad"):
        OUTER[outer](g, X)


def test_backward_of_something_else_inside_is_no_matter():
    def g(x):
        w = pb.tensor(2.0, requires_grad=True)
        (w**3).backward()
        return (x * x).sum() * w.grad

    np.testing.assert_allclose(pb.func.grad(g)(X), 24 * X)
    np.testing.assert_allclose(F.jacobian(g, X).numpy(), 24 * X)


def test_outside_of_transforms_results_have_no_history_unless_asked():
    x = pb.tensor(X, requires_grad=True)
    for result in (F.jacobian(f, x), F.vjp(f, x)[1], F.hessian(f, x), *F.jvp(f, x, V)):
        assert not result.requires_grad
    assert not pb.autograd.grad(f(x), x)[0].requires_grad


def test_recording_may_be_switched_off_inside():
    def g(x):
        y = f(x)
        with pb.no_grad():
            slope = pb.autograd.grad(y, x)[0]
        return (slope * x).sum()  # the slope is a constant here

    np.testing.assert_allclose(pb.func.grad(g)(X), pb.func.grad(f)(X))


CUTS = {"detach": lambda t: t.detach(), "data": lambda t: t.data, "detach_": lambda t: (t * 1).detach_()}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("inner", ["grad", "jvp"])
@pytest.mark.parametrize("outer", ["grad", "jvp"])
@pytest.mark.parametrize("kind", [np.asarray, pb.tensor])
def test_detach_leaves_the_graphs_of_all_transforms(outer, inner, cut, kind):
    """The second derivative of c x**2, c = x**2 held constant, is 2 c, as in torch.func; 12 x**2 if it moves."""
    x, v = kind([1.0, 2.0]), np.array([1.0, 0.5])
    if kind is np.asarray and cut is CUTS["data"]:
        pytest.skip("of an Array, data is the buffer of an ndarray")
    derivative = {
        "grad": lambda f: lambda x: (pb.func.grad(f)(x) * v).sum(),
        "jvp": lambda f: lambda x: pb.func.jvp(f, (x,), (kind(v),))[1],
    }
    twice = derivative[outer](derivative[inner](lambda x: (cut(x * x) * x * x).sum()))
    np.testing.assert_allclose(np.asarray(twice(x)), np.sum(2 * np.square([1.0, 2.0]) * v**2))


def test_a_hessian_with_a_stop_gradient_is_the_same_in_every_way():
    """Of (x0 x1) held constant times x0**2, plus x1**3: [[2 x0 x1, 0], [0, 6 x1]]."""

    def g(x):
        held = (x[0] * x[1]).detach()
        return held * x[0] ** 2 + x[1] ** 3

    expected = np.diag([2 * X[0] * X[1], 6 * X[1]])
    np.testing.assert_allclose(F.hessian(g, X).numpy(), expected)
    np.testing.assert_allclose(F.hessian(g, X, outer_jacobian_strategy="forward-mode").numpy(), expected)
    rows = [pb.func.grad(lambda x, i=i: pb.func.grad(g)(x)[i])(X) for i in range(2)]
    np.testing.assert_allclose(rows, expected)
    columns = [pb.func.jvp(pb.func.grad(g), (X,), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(columns, expected)


def test_a_write_through_a_detached_alias_is_noticed_by_all_levels():
    def g(x):
        y = x * 1
        z = y.exp() * y
        y.detach().add_(1)
        return (z * z).sum()

    for differentiate in (pb.func.grad(g), pb.func.grad(lambda x: pb.func.grad(g)(x).sum())):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            differentiate(pb.tensor(X))


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_keeps_the_levels_around_it(reentrant):
    """It works on inputs outside the graph of its own level alone."""

    def cubed(x):
        y = pb.tensor(1.0, requires_grad=True) * x
        return checkpoint(lambda y: y * y * y, y, use_reentrant=reentrant)

    assert np.allclose(pb.func.grad(cubed)(2.0), 12.0)
    assert np.allclose(pb.func.grad(pb.func.grad(cubed))(2.0), 12.0)
    assert np.allclose(pb.func.grad(pb.func.grad(lambda x: Alias.apply(x) ** 3))(2.0), 12.0)


class Alias(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad
