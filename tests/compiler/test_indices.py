"""Masks, positions and sizes that a compiled function computes: views stay views, another count is another program."""

import numpy as np
import pytest

import pullback as pb

FIRST = np.array([1.0, -2.0, 3.0, -4.0, 5.0])
POINTS = [FIRST, FIRST / 2, -FIRST, FIRST[::-1].copy(), abs(FIRST), FIRST * [-1, -1, 1, 1, 1], -abs(FIRST), FIRST]


def written(x, write):
    y = np.stack([x, 2 * x, x + 1], 1)
    write(y, x)
    return y


def at_the_largest(y, x):
    row = y[np.argmax(x)]
    row[0] = 7.0
    y[np.argmin(x), 1] += row[1]


def each(y, x):
    y[x > 0] = y[x > 0] * 2


def columns(y, x):
    y.T[1:, x > 0] = np.arange(float((x > 0).sum()))


def all_or_nothing(y, x):
    y[x.sum() > 0] = 3.0


FUNCTIONS = {
    "mean of the positive": lambda x: x[x > 0].sum() / len(x[x > 0]),
    "a count": lambda x: np.nonzero(x > 0)[0].size * x,
    "rows": lambda x: np.stack([x, x + 1], 1)[x > 0],
    "columns": lambda x: np.stack([x, x + 1])[:, x > 0],
    "a matrix of truth values": lambda x: np.stack([[x, x], [2 * x, x]])[:, np.stack([x, -x]) > 0],
    "beside an integer": lambda x: np.stack([x, x + 1], 1)[x > 0, 1],
    "one truth value": lambda x: x[x.sum() > 0].sum(),
    "one number": lambda x: x[np.argmax(x)] * x,
    "unique": lambda x: np.unique(abs(x) > 2, return_counts=True)[1],
    "a view": lambda x: written(x, at_the_largest),
    "each written": lambda x: written(x, each),
    "columns written": lambda x: written(x, columns),
    "all or nothing written": lambda x: written(x, all_or_nothing),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_indexed_by_computed_values(name):
    function = FUNCTIONS[name]
    compiled = pb.compile(check=True)(function)
    for x in POINTS:
        np.testing.assert_array_equal(compiled(x.copy()), function(x))


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
@pytest.mark.parametrize("index", [lambda i: i, lambda i: i > 0, lambda i: (i, i)])
def test_complex_values_are_not_written_into_real_arrays(index):
    def f(i, y):
        x = pb.ones(2, 2)
        x[index(i)] = y[0, 0] if index(i) is not i else y
        return x

    for function in (f, pb.compile(f)):
        with pytest.raises(RuntimeError, match="complex value cannot be written into an array of dtype float64"):
            function(pb.tensor([0, 1]), pb.ones(2, 2) * 1j)
