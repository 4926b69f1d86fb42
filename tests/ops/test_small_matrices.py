"""Many small matrices at once have the results that each of them has by itself."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.testing import assert_close

RNG = np.random.default_rng(5)
DTYPES = (np.float64, np.float32, np.complex128, np.complex64)
COUNT = 60  # more than are done one by one
flags = pytest.mark.parametrize(("upper", "left", "unitriangular"), list(itertools.product((False, True), repeat=3)))


def numbers(shape, dtype):
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@flags
@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_systems(dtype, upper, left, unitriangular):
    how = {"upper": upper, "left": left, "unitriangular": unitriangular}
    for shape in ((4, 3), (1, 2), (2, 5)):
        n = shape[0]
        A = numbers((COUNT, n, n), dtype) + 3 * np.eye(n, dtype=dtype)
        B = numbers((COUNT, *shape) if left else (COUNT, *shape[::-1]), dtype)
        found = pb.linalg.solve_triangular(A, B, **how)
        alone = [pb.linalg.solve_triangular(a, b, **how).numpy() for a, b in zip(A, B, strict=True)]
        assert_close(found, np.stack(alone), rtol=1e-3 if found.dtype.itemsize < 16 else 1e-10, atol=1e-4)


def test_a_zero_on_the_diagonal_gives_infinities_without_a_warning():
    A, B = np.stack([np.zeros((2, 2))] * COUNT), np.ones((COUNT, 2, 1))
    assert not pb.linalg.solve_triangular(A, B, upper=True).isfinite().any()
    assert pb.linalg.lu_factor_ex(A).info.tolist() == [1] * COUNT


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (1, 1)])
def test_lu_factors(dtype, shape):
    A = numbers((COUNT, *shape), dtype)
    A[7] = 0
    LU, pivots, info = pb.linalg.lu_factor_ex(pb.tensor(A))
    assert (LU.dtype, pivots.dtype, info.dtype) == (dtype, np.int32, np.int32)
    (getrf,) = scipy.linalg.get_lapack_funcs(("getrf",), (A,))
    for i, a in enumerate(A):
        expected, exchanges, problem = getrf(a)
        assert_close(LU[i], expected, rtol=1e-3 if LU[i].dtype.itemsize < 16 else 1e-9, atol=1e-4)
        assert (pivots[i].numpy() == exchanges + 1).all()
        assert info[i].item() == problem
    P, L, U = pb.lu_unpack(LU, pivots)
    assert_close(P @ L @ U, A, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.5, np.inf])
@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_distances(p, dtype):
    left, right = numbers((COUNT, 5, 3), dtype), numbers((COUNT, 4, 3), dtype)
    right[:, :2] = left[:, :2]
    found = pb.cdist(left, right, p)
    alone = np.stack([pb.cdist(a, b, p).numpy() for a, b in zip(left, right, strict=True)])
    assert_close(found, alone, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-7)
