"""make_tensor: ranges, dtypes, layouts, kinks."""

import numpy as np
import pytest

from pullback.testing import make_tensor
from pullback.testing.arrays import random_array

DTYPES = [np.float64, np.float32, np.complex128, np.int64, np.uint8, np.bool]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_shape_and_dtype(shape, dtype):
    made = make_tensor(shape, dtype=dtype)
    assert (made.shape, made.dtype) == (shape, np.dtype(dtype))


def test_shape_as_several_numbers():
    assert make_tensor(2, 3).shape == (2, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
def test_range(dtype):
    values = random_array(1000, dtype, low=2, high=5, rng=0)
    parts = [values.real, values.imag] if np.dtype(dtype).kind == "c" else [values]
    assert all(2 <= p.min() and p.max() < 5 for p in parts)


def test_seed_fixes_the_values():
    assert (make_tensor(5, generator=3).numpy() == make_tensor(5, generator=3).numpy()).all()
    assert (make_tensor(5).numpy() != make_tensor(5).numpy()).any()


def test_noncontiguous_shares_a_larger_memory():
    made = make_tensor(2, 3, noncontiguous=True)
    assert not made.is_contiguous()


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_exclude_zero(dtype):
    values = random_array(1000, dtype, low=-2, high=3, exclude_zero=True, rng=0)
    assert np.abs(values).min() >= 0.05


@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_away_from_kinks_stays_in_range(low):
    values = random_array(1000, low=low, high=1, away_from=(0, 0.5), rng=0)
    assert np.abs(values).min() >= 0.05
    assert np.abs(values - 0.5).min() >= 0.05 - 1e-12
    assert low <= values.min()
    assert values.max() < 1


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_distinct_values_are_distinct(dtype):
    assert np.unique(random_array((4, 5), dtype, distinct=True, rng=0)).size == 20


def test_integers_cannot_require_grad():
    with pytest.raises(RuntimeError, match="floating or complex"):
        make_tensor(3, dtype=np.int64, requires_grad=True)


def test_dtype_by_position_is_refused():
    with pytest.raises(TypeError, match="dtype= by keyword"):
        make_tensor((2, 3), np.float32)


def test_requires_grad():
    assert make_tensor(3, requires_grad=True).requires_grad
    assert not make_tensor(3).requires_grad


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="floating"):
        make_tensor(3, dtype="datetime64[s]")
