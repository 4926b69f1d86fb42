"""Any two and any three transforms, one inside another, against Taylor coefficients that mpmath finds."""

import itertools

import mpmath
import numpy as np
import pytest

import pullback as pb
from pullback.func import (
    checkpoint,
    custom_fixed_point,
    custom_linear_solve,
    custom_minimum,
    custom_root,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    vhp,
    vjp,
    vmap,
)

X, V = np.array([0.3, 0.8]), np.array([1.0, -2.0])

# A function of two numbers, and the same of a number t along X + t V, for mpmath.
FUNCTIONS = {
    "product": (lambda x: x**3 * np.sin(x[::-1]), lambda a, b: (a**3 * mpmath.sin(b), b**3 * mpmath.sin(a))),
    "quotient": (
        lambda x: np.exp(x) / (1 + x.sum() ** 2),
        lambda a, b: (mpmath.exp(a) / (1 + (a + b) ** 2), mpmath.exp(b) / (1 + (a + b) ** 2)),
    ),
    "written in place": (
        lambda x: written(x),
        lambda a, b: (a * a, a * a * b + mpmath.cos(a * a)),
    ),
    "matrix": (
        lambda x: np.linalg.solve(np.stack([np.stack([x[0], x[1]]), np.stack([-x[1], x[0]])]), np.tanh(x)),
        lambda a, b: (
            (a * mpmath.tanh(a) - b * mpmath.tanh(b)) / (a * a + b * b),
            (b * mpmath.tanh(a) + a * mpmath.tanh(b)) / (a * a + b * b),
        ),
    ),
}


def written(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    y[1] = y[0] * x[1] + np.cos(y[0])
    return y


# -- what a solver finds -----------------------------------------------------------------------------------------------
def right_side(x):
    return x**2 * np.sin(x[::-1])


def by_newton(_, x):
    """y with y + y^3/4 = right_side(x), in plain numbers."""
    r = right_side(x)
    y = r / 2
    for _ in range(50):
        y = y - (y + y**3 / 4 - r) / (1 + 0.75 * y**2)
    return y


def by_newton_along(a, b):
    def solved(r):
        y = r / 2
        for _ in range(8):
            y = y - (y + y**3 / 4 - r) / (1 + 3 * y**2 / 4)
        return y

    return solved(a * a * mpmath.sin(b)), solved(b * b * mpmath.sin(a))


ROOT = custom_root(by_newton, lambda y, x: y + y**3 / 4 - right_side(x))
FIXED_POINT = custom_fixed_point(by_newton, lambda y, x: right_side(x) - y**3 / 4)
MINIMUM = custom_minimum(by_newton, lambda y, x: (y**2 / 2 + y**4 / 16 - right_side(x) * y).sum())
LINEAR = custom_linear_solve(
    lambda b, x: np.linalg.solve([[2 + x[0] ** 2, x[1]], [-x[1], 3.0]], b),
    lambda y, x: np.stack([(2 + x[0] ** 2) * y[0] + x[1] * y[1], 3 * y[1] - x[1] * y[0]]),
)
IMPLICIT = {
    "root": (lambda x: ROOT(None, x), by_newton_along),
    "fixed point": (lambda x: FIXED_POINT(None, x), by_newton_along),
    "minimum": (lambda x: MINIMUM(None, x), by_newton_along),
    "linear solve": (
        lambda x: LINEAR(np.tanh(x), x),
        lambda a, b: (
            (3 * mpmath.tanh(a) - b * mpmath.tanh(b)) / (6 + 3 * a * a + b * b),
            ((2 + a * a) * mpmath.tanh(b) + b * mpmath.tanh(a)) / (6 + 3 * a * a + b * b),
        ),
    ),
}


# The derivative of a function of x along V, as a function of x: each in another way.
WAYS = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (V,))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](V),
    "vjp twice": lambda f: lambda x: vjp(lambda c: vjp(f, x)[1](c)[0], np.ones(2))[1](V)[0],
    "grad": lambda f: lambda x: np.stack([grad(lambda y, i=i: f(y)[i])(x) @ V for i in range(2)]),
    "jacrev": lambda f: lambda x: jacrev(f)(x) @ V,
    "jacfwd": lambda f: lambda x: jacfwd(f, chunk_size=1)(x) @ V,
    "jacobian": lambda f: lambda x: jacobian(f)(x) @ V,
    "vmap": lambda f: lambda x: V @ vmap(lambda e: jvp(f, (x,), (e,))[1])(np.eye(2)),
}


def expected(along, order):
    """The derivative of that order along V, exact to the last digits."""
    parts = (lambda t, i=i: along(X[0] + t * V[0], X[1] + t * V[1])[i] for i in range(2))
    with mpmath.workdps(40):
        return np.array([float(mpmath.diff(part, 0, order)) for part in parts])


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("ways", [*itertools.product(WAYS, repeat=2)], ids=" of ".join)
def test_two(ways, function):
    nested, along = function
    for way in reversed(ways):
        nested = WAYS[way](nested)
    np.testing.assert_allclose(nested(X), expected(along, 2), rtol=1e-11)


@pytest.mark.parametrize("ways", [*itertools.product(WAYS, repeat=3)], ids=" of ".join)
def test_three(ways):
    nested, along = FUNCTIONS["product"]
    for way in reversed(ways):
        nested = WAYS[way](nested)
    np.testing.assert_allclose(nested(X), expected(along, 3), rtol=1e-11)


@pytest.mark.parametrize(
    ("function", "ways"),
    [
        *itertools.product(["root", "linear solve"], itertools.product(WAYS, repeat=2)),
        *itertools.product(["fixed point", "minimum"], zip(WAYS, [*WAYS][1:] + [*WAYS][:1], strict=True)),
    ],
    ids=lambda x: x if isinstance(x, str) else " of ".join(x),
)
def test_two_of_what_a_solver_finds(function, ways):
    nested, along = IMPLICIT[function]
    for way in reversed(ways):
        nested = WAYS[way](nested)
    np.testing.assert_allclose(nested(X), expected(along, 2), rtol=1e-9)


@pytest.mark.parametrize("function", IMPLICIT.values(), ids=IMPLICIT)
@pytest.mark.parametrize(
    "ways",
    [
        ("linearize", "vjp twice", "jvp"),
        ("grad", "linearize", "linearize"),
        ("vmap", "jacrev", "linearize"),
        ("jacfwd", "vmap", "grad"),
    ],
    ids=" of ".join,
)
def test_three_of_what_a_solver_finds(ways, function):
    nested, along = function
    for way in reversed(ways):
        nested = WAYS[way](nested)
    np.testing.assert_allclose(nested(X), expected(along, 3), rtol=1e-8)


SECOND = {
    "hessian": lambda f: lambda x: V @ hessian(f)(x) @ V,
    "hvp": lambda f: lambda x: hvp(f, x, V) @ V,
    "vhp": lambda f: lambda x: vhp(f, x, V) @ V,
    "jvp of grad": lambda f: lambda x: jvp(grad(f), (x,), (V,))[1] @ V,
    "grad of grad": lambda f: lambda x: grad(lambda y: grad(f)(y) @ V)(x) @ V,
    "jvp of vjp": lambda f: lambda x: jvp(lambda y: vjp(f, y)[1](1.0)[0], (x,), (V,))[1] @ V,
    "forward over reverse": lambda f: lambda x: V @ hessian(f, mode="forward-over-reverse")(x) @ V,
}


@pytest.mark.parametrize("outer", SECOND)
@pytest.mark.parametrize("inner", SECOND)
def test_second_derivatives_of_second_derivatives(outer, inner):
    def f(x):
        return np.sin(x[0] * x[1]) * x[0]

    def along(a, b):
        return (mpmath.sin(a * b) * a,) * 2

    np.testing.assert_allclose(SECOND[outer](SECOND[inner](f))(X), expected(along, 4)[0], rtol=1e-10)


# -- perturbation confusion --------------------------------------------------------------------------------------------
DERIVATIVES = {
    "grad": grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jacobian": jacobian,
}


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_an_inner_perturbation_is_not_the_outer_one(outer, inner):
    D, d = DERIVATIVES[outer], DERIVATIVES[inner]
    assert D(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0  # not 2
    assert D(lambda x: x * d(lambda y: x * y)(2.0))(3.0) == 6.0
    assert D(lambda x: d(lambda y: stop_gradient(x) * y)(x) * x)(3.0) == 3.0
    curried = d(lambda x: x) if inner == "jacobian" else d(lambda y: y**2)
    assert D(lambda x: curried(x) * x)(2.0) == (1.0 if inner == "jacobian" else 8.0)


@pytest.mark.parametrize("outer", DERIVATIVES)
def test_a_closure_that_outlives_its_transform_does_not_carry_the_perturbation(outer):
    """Manzyuk et al.: the derivative of a function that returns a function."""
    shifted = {}

    def offset(u):
        shifted["f"] = lambda x: x * x + u
        return u * 1.0

    DERIVATIVES[outer](offset)(2.0)
    assert float(DERIVATIVES[outer](lambda x: shifted["f"](x))(3.0)) == 6.0


# -- checkpoints -------------------------------------------------------------------------------------------------------
def scanned(x):
    """Overwrites what its own operators have saved."""
    y = x.copy()
    for i in range(3):
        y[i % 2] = y[(i + 1) % 2] * x[0] + y[i % 2] ** 2
    return y


def of_a_captured(x):
    return grad(lambda y: (y * x[0] * np.sin(y)).sum())(x)


@pytest.mark.parametrize("outer", ["jvp", "grad", "jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jvp", "vjp twice", "grad", "jacrev", "vmap", None])
@pytest.mark.parametrize(
    "f",
    [scanned, of_a_captured, lambda x: checkpoint(lambda y: np.tanh(y) * y[::-1])(x)],
    ids=["scan", "grad", "inner"],
)
def test_a_checkpoint_of_transforms_changes_nothing(f, inner, outer):
    """What they save at levels of their own is not to be had back; what is overwritten meanwhile is."""
    if inner == "vmap" and f not in (scanned, of_a_captured):
        pytest.skip("a checkpoint inside of vmap, of which an outer transform takes a gradient, is refused")
    inside = WAYS[inner](f) if inner else f
    expected = WAYS[outer](inside)(X)
    np.testing.assert_allclose(WAYS[outer](checkpoint(inside))(X), expected, rtol=1e-12)
    assert np.abs(expected).min() > 0.1


def test_a_checkpoint_whose_recomputation_overwrites_what_it_saved_is_refused():
    """Of Tensors no journal is kept, as without the checkpoint."""

    def f(x):
        y = x * 2.0
        z = y * y
        y.mul_(3.0)
        return z + y + y.exp()

    x = pb.tensor(X, requires_grad=True)
    for function in (f, checkpoint(f)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            function(x).sum().backward()
