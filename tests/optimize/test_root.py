"""optimize.root: SciPy's roots with exact Jacobians, on trees, differentiable by args."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.optimize import root


def system(x):
    return np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


ROOT = [0.8411639, 0.1588361]


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_every_method_finds_it(method):
    found = root(system, [0.6, 0.2], method=method)
    np.testing.assert_allclose(found.x, ROOT, atol=1e-4)
    assert found.derivatives["jac"] == ("exact, dense" if method in ("hybr", "lm") else f"none ({method})")
    if method in ("hybr", "lm"):
        expected = scipy.optimize.root(system, [0.6, 0.2], method=method, jac=pb.func.jacobian(system))
        assert (found.nfev, found.njev) == (expected.nfev, expected.njev)


def test_trees_args_and_given_jacobians():
    def tree(p, a):
        return {"first": p["x"] ** 2 + p["y"] - a, "second": p["y"] - 1}

    found = root(tree, {"x": np.full(2, 2.0), "y": 0.0}, args=(np.array([5.0, 10.0]),))
    np.testing.assert_allclose(found.x["x"], [2, 3])
    assert found.x["y"] == pytest.approx(1)
    found = root(lambda x: (x**3 - 8, np.diag(3 * x**2)), np.ones(2), jac=True)
    np.testing.assert_allclose(found.x, 2)
    assert found.derivatives["jac"] == "given"


def test_a_list_with_whole_numbers_in_it_is_a_vector():
    found = root(lambda x: [x[0] ** 2 - 4 + x[1], x[1] * 2], [1, 1])
    np.testing.assert_allclose(found.x, [2, 0], atol=1e-9)
    fitted = pb.optimize.least_squares(lambda x: [x[0] - 3, 0, 1], [1.0])
    assert fitted.x[0] == pytest.approx(3)


def test_history_and_callback():
    found = root(system, [0, 0], history=True)
    assert len(found.history) == found.nfev
    assert found.history[-1].fun < 1e-8
    seen = []
    root(system, [0, 0], method="broyden1", callback=lambda x, f: seen.append((x, f)))
    assert len(seen) > 2


def test_the_root_is_differentiable_by_args():
    gradient = pb.func.grad(lambda a: np.sum(root(lambda x, a: x**3 - a, np.ones(2), args=(a,)).x))(
        np.array([8.0, 27.0])
    )
    np.testing.assert_allclose(gradient, [1 / 12, 1 / 27])


@pytest.mark.parametrize(
    ("fun", "match"),
    [
        (lambda x: x[:1], "1 numbers for 2 unknowns"),
        (lambda x: np.zeros(2), "does not depend on"),
        (lambda x: np.log(x - 3), "2 of the 2 equations are nan at x0"),
    ],
)
def test_what_has_no_root_to_be_found_is_refused(fun, match):
    with np.errstate(all="ignore"), pytest.raises((RuntimeError, ValueError), match=match):
        root(fun, np.ones(2))
    with pytest.raises(RuntimeError, match="Pass it in args"):
        pb.func.grad(lambda a: np.sum(root(lambda x: x**2 - a, np.ones(2)).x))(np.ones(2))
