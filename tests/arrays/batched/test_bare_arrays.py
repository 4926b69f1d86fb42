"""What flows in a backward within vmap: bare arrays of a batch, which formulas add, multiply, slice and expand."""

import operator

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.batched import Batch, BatchedArray
from pullback.arrays.batched.kernels import BATCHED
from pullback.dispatch import mixed

SAMPLES = np.random.default_rng(0).normal(size=(4, 3))
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]


@pytest.fixture
def batch():
    return Batch(len(SAMPLES))


@pytest.fixture
def no_tensors(monkeypatch):
    """No array may be wrapped in a Tensor for the call of one operator."""

    def refuse(function, *args, **kwargs):
        raise AssertionError(f"{function} wraps its arrays")

    monkeypatch.setattr(mixed, "on_wrapped", refuse)


def slices(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_a_hessian_wraps_no_array_for_one_operator(no_tensors):
    x = np.linspace(-1.0, 1.0, 5)
    found = pb.func.hessian(slices)(x)
    rows = [pb.func.grad(lambda z, k=k: pb.func.grad(slices)(z)[k])(x) for k in range(5)]
    np.testing.assert_allclose(found, rows)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    "other",
    [2.0, 3, 1j, np.float32(2), np.array(2.0), np.arange(1.0, 4.0), np.ones(1), np.ones((2, 3)), np.arange(1, 4)],
    ids=str,
)
def test_operators_with_what_is_the_same_for_all(batch, op, swapped, other):
    def given(a):
        return op(other, a) if swapped else op(a, other)

    found = given(BatchedArray(SAMPLES, batch))
    expected = np.stack([given(row) for row in SAMPLES])
    assert found.batch is batch
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("shape", [(4, 3), (4,), (4, 1), (4, 2, 3)])
def test_operators_with_another_of_the_batch(batch, op, shape):
    other = np.random.default_rng(1).normal(size=shape)
    found = op(BatchedArray(SAMPLES, batch), BatchedArray(other, batch)).values
    np.testing.assert_array_equal(found, np.stack([op(a, b) for a, b in zip(SAMPLES, other, strict=True)]))


def test_conjugates_and_negatives(batch):
    x, z = BatchedArray(SAMPLES, batch), BatchedArray(SAMPLES * 1j, batch)
    assert x.conjugate() is x
    np.testing.assert_array_equal(z.conjugate().values, SAMPLES * -1j)
    np.testing.assert_array_equal((-x).values, -SAMPLES)


@pytest.mark.parametrize("index", [slice(1, None), (slice(None, None, 2),), 1, (0, ...), (..., None, slice(2))])
def test_slices_and_their_gradients(batch, no_tensors, index):
    region = SAMPLES[0][index].shape
    seen = BATCHED.slice_view(BatchedArray(SAMPLES, batch), index)
    np.testing.assert_array_equal(seen.values, np.stack([row[index] for row in SAMPLES]).reshape(4, *region))
    placed = BATCHED.slice_backward(seen, (3,), index).values
    expected = np.zeros_like(SAMPLES)
    for row, sample in zip(expected, SAMPLES, strict=True):
        row[index] = sample[index]
    np.testing.assert_array_equal(placed, expected)


def test_an_error_names_the_operator_and_a_closed_batch_is_refused(batch):
    x = BatchedArray(SAMPLES, batch)
    with pytest.raises(Exception, match="reshape"):
        BATCHED.reshape(x, (7,))
    batch.close()
    for use in (lambda: x + 1.0, lambda: 2.0 * x, lambda: -x, lambda: BATCHED.slice_view(x, 0)):
        with pytest.raises(RuntimeError, match="vmap"):
            use()


def test_nan_that_nothing_touched_stays_out_of_a_hessian():
    def f(x):
        y = np.where(x > 0, np.sqrt(x), 0.0)
        return np.sum(y[1:] * x[:-1])

    found = pb.func.hessian(f)(np.array([1.0, 0.0, 4.0, 0.0]))
    assert np.isfinite(found).all()
    assert found[1, 2] == found[2, 1] == 0.25


def test_a_nested_pull_may_outlast_the_level_around_it():
    kept = []

    def f(x):
        _, pull = pb.func.vjp(lambda z: np.sum(3.0 * z), x)
        kept.append(pull)
        return np.sum(x) * pull(1.0)[0].sum()

    np.testing.assert_array_equal(pb.func.grad(f)(np.ones(2)), [6.0, 6.0])
    (found,) = kept[0](1.0)
    np.testing.assert_array_equal(found, [3.0, 3.0])
