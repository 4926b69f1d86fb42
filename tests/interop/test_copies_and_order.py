"""Whether NumPy's functions give copies, views or their argument, and in which order: later writes show it."""

from functools import partial

import numpy as np
import pytest

import pullback as pb

A = np.arange(1.0, 7.0).reshape(2, 3)


def written(make, write):
    """A program in which a write into what `make` gives shows in the argument, or does not."""

    def program(x):
        base = x * 1.0
        made = make(base)
        write(made)
        return np.sum(base * np.arange(1.0, 7.0).reshape(base.shape)) + np.sum(made)

    return program


def doubled(made):
    made *= 2.0


def cleared_by_ravel(made):
    made.ravel()[:] = 0.0


def cleared_by_reshape(made):
    made.reshape(-1)[:] = 0.0


MAKERS = {
    "block": np.block,
    "add.reduce": lambda x: np.add.reduce(x, axis=()),
    "max": lambda x: np.max(x, axis=()),
    "mean": lambda x: np.mean(x, axis=()),
    "choose": lambda x: np.choose(0, [x]),
    "diff": lambda x: np.diff(x, 0),
    "matrix_power": lambda x: np.linalg.matrix_power(x @ x.T, 1),
    "einsum": lambda x: np.einsum("ij,kj->ki", x, x),
    "zeros_like": lambda x: np.zeros_like(x.T),
    "ones_like": lambda x: np.ones_like(np.transpose(np.stack([x, x]), (1, 2, 0))),
    "full_like": lambda x: np.full_like(x.T, 2.0),
    "select": lambda x: np.select([x.T > 2.5], [x.T], 0.0),
    "sort": lambda x: np.sort(x.T, axis=0),
    "quantile": lambda x: np.quantile(np.stack([x, x + 1, x * 2]), [0.2, 0.5], axis=1),
    "delete nothing": lambda x: np.delete(x, [], axis=0),
}


@pytest.mark.parametrize("write", [doubled, cleared_by_ravel, cleared_by_reshape])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_write_shows_where_numpy_shows_it(make, write):
    program = written(make, write)
    value, slope = pb.func.value_and_grad(program)(A)
    assert value == pytest.approx(program(A), rel=1e-12)
    steps = 1e-6 * np.eye(A.size).reshape(-1, *A.shape)
    expected = [(program(A + s) - program(A - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(slope.ravel(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("function", [np.correlate, np.convolve])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlate_and_convolve_of_all_lengths(function, mode):
    rng = np.random.default_rng(0)
    for n, m in np.ndindex(5, 6):
        a, v = rng.standard_normal(n + 1), rng.standard_normal(m + 1)
        found = pb.func.jvp(partial(function, mode=mode), (a, v), (a, 0 * v))
        expected = function(a, v, mode)
        np.testing.assert_allclose(found[0], expected)
        np.testing.assert_allclose(found[1], expected)


@pytest.mark.parametrize("rng", [np.random.default_rng(0), np.random.RandomState(0), np.random])
def test_rows_that_would_be_shuffled_by_views_are_refused(rng):
    def shuffled(x):
        y = x * 1.0
        rng.shuffle(y)
        return np.sum(y)

    with pytest.raises(RuntimeError, match=r"x = x\[rng.permutation"):
        pb.func.grad(shuffled)(A)


SOLVES = [lambda a: np.linalg.pinv(a, rcond=0.3), lambda a: np.linalg.lstsq(a, A[0], rcond=0.3)[0]]


@pytest.mark.parametrize("solve", SOLVES)
def test_a_cutoff_that_drops_more_than_zeros_is_refused(solve):
    matrix = np.diag([3.0, 2.0, 0.5]) + 0.01
    with pytest.raises(RuntimeError, match="drops singular values that are not zero"):
        pb.func.grad(lambda a: np.sum(solve(a)))(matrix)


def test_ldexp_by_a_number():
    assert pb.func.grad(lambda x: np.ldexp(x, 2) * 1.5)(1.5) == 6.0
