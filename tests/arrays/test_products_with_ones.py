"""Sums as products with ones: those of a large matrix are taken in blocks that BLAS gives to one thread."""

import numpy as np
import pytest

from pullback.arrays.numpy.fast import products_with_ones
from pullback.arrays.numpy.fast.products_with_ones import ONE_THREAD, column_sums, row_sums

OPENBLAS = 115200 * 4  # elements of a matrix from which on it gives a product with a vector to several threads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(3, 4), (1, 1), (7, 1), (1, 7), (1024, 300), (4096, 130), (100_003, 8), (2, 300_000)]
)
def test_sums_are_those_of_numpy(shape, dtype, monkeypatch):
    rows = np.random.default_rng(3).random(shape).astype(dtype)
    largest = 0
    for name in ("dot", "matmul"):
        genuine = getattr(np, name)

        def noted(x, y, *args, genuine=genuine, **kwargs):
            nonlocal largest
            largest = max(largest, *(np.prod(a.shape[-2:]) for a in (x, y) if a.ndim > 1))
            return genuine(x, y, *args, **kwargs)

        monkeypatch.setattr(products_with_ones.np, name, noted)
    tolerance = 40 * np.finfo(dtype).eps
    if shape[1] <= 4096:
        np.testing.assert_allclose(row_sums(rows), rows.sum(1), rtol=tolerance)
        out = np.empty(len(rows), dtype)
        assert row_sums(rows, out) is out
        np.testing.assert_allclose(out, rows.sum(1), rtol=tolerance)
    if shape[0] <= 4096:
        np.testing.assert_allclose(column_sums(rows), rows.sum(0), rtol=tolerance)
    assert largest <= max(ONE_THREAD, shape[1]) < OPENBLAS
