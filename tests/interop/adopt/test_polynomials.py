"""numpy.polynomial's functions under `adopt()`: NumPy's own Python, run on our arrays, against finite differences."""

import importlib

import numpy as np
import pytest
from numpy.polynomial import polynomial as P

import pullback as pb
from pullback.interop.adopt.rules import POLYNOMIALS, RULES

c = np.array([1.0, 2.0, 0.5, 0.3])
x = np.array([0.3, -0.5, 0.8])
CALLS = {
    "add": [lambda f, c: f(c, [1.0, 2.0])],
    "der": [lambda f, c: f(c, 2)],
    "div": [lambda f, c: np.concatenate(f(c, [1.0, 2.0])), lambda f, c: f([1.0, 2.0, 3.0, 1.0, 2.0], c)[0]],
    "fromroots": [lambda f, c: f(c), lambda f, c: f(c * [1.0, 0.0, 0.0, 1.0])],
    "roots": [lambda f, c: f(c).real],
    "mulx": [lambda f, c: f(c)],
    "pow": [lambda f, c: f(c, 3)],
    "fit": [lambda f, c: f(np.arange(4.0), c, 2), lambda f, c: f(c, np.arange(4.0), 1)],
    "int": [lambda f, c: f(c, 1, k=c[1])],
    "mul": [lambda f, c: f(c, [c[0], 2.0])],
    "sub": [lambda f, c: f([1.0, 2.0], c)],
    "val": [lambda f, c: f(x, c), lambda f, c: f(c[:3], x), lambda f, c: f(c[0], c), lambda f, c: f(0.5, [c[0], c[1]])],
    "vander": [lambda f, c: f(c, 3)],
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_gradients_are_those_of_differences(name, adopted):
    module, _, function = name.replace("np.", "numpy.").rpartition(".")
    f = getattr(importlib.import_module(module), function)
    ending = next(ending for ending in CALLS if function.endswith(ending))
    weights = np.cos(np.arange(40.0))
    for call in CALLS[ending]:

        def total(c, call=call):
            made = np.ravel(call(RULES[name] if isinstance(c, pb.Tensor) else f, c))
            return np.sum(made * weights[: len(made)])

        assert float(pb.func.value_and_grad(total)(c)[0]) == pytest.approx(float(total(c)), rel=1e-12)
        expected = [(total(c + step) - total(c - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(pb.func.grad(total)(c), expected, rtol=1e-5, atol=1e-6)


def test_modules_see_them(module_of):
    users = module_of("""
        import numpy as np
        import numpy.polynomial.polynomial as P
        from numpy.polynomial.chebyshev import chebval

        def f(c):
            return np.polynomial.polynomial.polyval(0.5, c) + P.polyval(0.25, P.polyder(c)) + chebval(0.5, c)

        def grid(c):
            return np.sum(np.polynomial.polynomial.polygrid2d(c, c, np.eye(2)))
    """)
    with pb.adopt():
        gradient = pb.func.grad(users.f)(c)
        with pytest.raises(RuntimeError, match=r"np.polynomial.polynomial.polygrid2d has no rule(.|\n)*line"):
            pb.func.grad(users.grid)(c)
        assert np.array_equal(P.polyval(x, c), np.polyval(c[::-1], x))
        assert P.Polynomial(c)(0.5) == P.polyval(0.5, c)
    expected = [(users.f(c + step) - users.f(c - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_without_adopt_the_error_says_that_it_would_do():
    with pytest.raises(RuntimeError, match=r"polyval(.|\n)*adopt\(\) once"):
        pb.func.grad(lambda c: P.polyval(0.5, c))(c)


@pytest.mark.parametrize("zeros", [(1,), (1, 2), (0, 3), (3,), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", [name for name in POLYNOMIALS if name.endswith(("add", "mul", "pow", "sub"))])
def test_a_coefficient_that_is_zero_keeps_its_gradient_or_is_refused(name, zeros):
    module, _, function = name.replace("np.", "numpy.").rpartition(".")
    f = getattr(importlib.import_module(module), function)
    at, weights = c.copy(), np.cos(np.arange(40.0))
    at[list(zeros)] = 0.0

    def total(c):
        made = (RULES[name] if isinstance(c, pb.Tensor) else f)(c, 3 if name.endswith("pow") else [0.5, 0.0, 2.0])
        return np.sum(made * weights[: len(made)])

    expected = [(total(at + step) - total(at - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    if 3 in zeros:
        with pytest.raises(RuntimeError, match=f"{function} leaves out last coefficients of the result that are 0"):
            pb.func.grad(total)(at)
    else:
        np.testing.assert_allclose(pb.func.grad(total)(at), expected, rtol=1e-5, atol=1e-6)
