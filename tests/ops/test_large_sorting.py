"""Sorting, tops, medians and masks of many numbers, against what NumPy's plain ways give."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy.indexing import argsort, masked_fill, masked_select, masked_select_backward, topk
from pullback.arrays.numpy.reductions import median

RNG = np.random.default_rng(0)
NUMBERS = {
    "no ties": RNG.permutation(8000).astype(float).reshape(40, 200),
    "ties": RNG.integers(-20, 20, (40, 200)) / 4,
    "few ties": np.where(RNG.random((40, 200)) < 0.02, 0.25, RNG.standard_normal((40, 200))),
    "signed zeros": RNG.choice([-0.0, 0.0, 1.0], (40, 200)),
    "infinities and nan": RNG.choice([math.nan, math.inf, -math.inf, 1.0, 2.0, 3.0], (40, 200)),
    "a single nan": np.where(np.arange(8000).reshape(40, 200) == 77, math.nan, RNG.standard_normal((40, 200))),
    "all equal": np.ones((40, 200)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", NUMBERS)
def test_equal_numbers_keep_their_order(kind, dim, dtype):
    x = NUMBERS[kind].astype(dtype)
    np.testing.assert_array_equal(argsort(x, dim), np.argsort(x, dim, kind="stable"))
    backwards = np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    np.testing.assert_array_equal(argsort(x, dim, True), x.shape[dim] - 1 - backwards)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", NUMBERS)
def test_the_top_is_the_beginning_of_the_sorted_numbers(kind, dim, largest):
    x = NUMBERS[kind]
    for k in (1, 3, 5):
        values, indices = topk(x, k, dim, largest)
        expected = np.take(argsort(x, dim, largest), range(k), dim)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, dim))


@pytest.mark.parametrize("kind", NUMBERS)
def test_vectors_and_stacks_are_sorted_like_matrices(kind):
    vector = NUMBERS[kind].reshape(-1)
    np.testing.assert_array_equal(argsort(vector), np.argsort(vector, kind="stable"))
    np.testing.assert_array_equal(topk(vector, 20)[1], argsort(vector, 0, True)[:20])
    np.testing.assert_array_equal(topk(vector, 20, largest=False)[1], argsort(vector)[:20])
    stack = vector.reshape(2, 40, 100)
    for dim in range(3):
        np.testing.assert_array_equal(argsort(stack, dim), np.argsort(stack, dim, kind="stable"))
        np.testing.assert_array_equal(topk(stack, 1, dim)[1], argsort(stack, dim, True).take([0], dim))
    np.testing.assert_array_equal(argsort(vector[:, None], 1), np.zeros((8000, 1), int))


@pytest.mark.parametrize("kind", NUMBERS)
def test_median_of_many(kind):
    x = NUMBERS[kind]
    ordered = np.sort(x, None)
    np.testing.assert_array_equal(median(x), ordered[-1] if np.isnan(ordered[-1]) else ordered[3999])


@pytest.mark.parametrize("value", [0, 0.0, -1.5, math.nan, math.inf, np.float64(2), True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
def test_filling_and_selecting_by_masks_of_many(dtype, value):
    x = RNG.integers(-9, 9, (50, 60)).astype(dtype)
    for mask in (RNG.random((50, 60)) < 0.5, np.asfortranarray(RNG.random((50, 60)) < 0.5), RNG.random(60) < 0.5):
        whole = np.broadcast_to(mask, x.shape)
        expected = x.copy()
        with np.errstate(invalid="ignore"):
            np.copyto(expected, value, where=whole, casting="unsafe")
            got = masked_fill(x, mask, value)
        assert got.dtype == x.dtype
        assert not np.shares_memory(got, x)
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(masked_select(x, mask), x[whole])
        spread = np.zeros(x.shape, dtype)
        spread[whole] = x[whole]
        np.testing.assert_array_equal(masked_select_backward(x[whole], x.shape, mask), spread)


def test_gradients_of_sorted_numbers_and_tops():
    x = pb.from_numpy(NUMBERS["ties"]).requires_grad_()
    weights = pb.from_numpy(RNG.standard_normal((40, 200)))
    values, indices = x.sort(1)
    (values * weights).sum().backward()
    expected = np.zeros((40, 200))
    np.put_along_axis(expected, indices.numpy(), weights.numpy(), 1)
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    x.grad = None
    values, indices = x.topk(3)
    values.sum().backward()
    np.put_along_axis(expected := np.zeros((40, 200)), indices.numpy(), 1.0, 1)
    np.testing.assert_array_equal(x.grad.numpy(), expected)
