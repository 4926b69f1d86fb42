"""scipy.fft's cosine and sine transforms inside of transforms give the numbers that SciPy gives outside of them."""

import numpy as np
import pytest
from scipy import fft

import pullback as pb

IMAGE = np.random.default_rng(1).standard_normal((4, 5)) * (1 + 0.3j) + 0.5j


@pytest.mark.parametrize("orthogonalize", [None, True, False])
@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward"])
@pytest.mark.parametrize("variety", [1, 2, 3, 4])
@pytest.mark.parametrize("name", [f"{i}{kind}{n}" for i in ("", "i") for kind in ("dct", "dst") for n in ("", "n")])
def test_cosine_and_sine_transforms_agree_with_scipys(name, variety, norm, orthogonalize):
    """Also of complex numbers, for which SciPy's ignore `orthogonalize`."""

    def f(x):
        return getattr(fft, name)(x, variety, norm=norm, orthogonalize=orthogonalize)

    with pb.adopt():
        for x in (IMAGE, IMAGE.real, IMAGE.astype(np.complex64)):
            expected, found = f(x), np.asarray(pb.func.vjp(f, x)[0])
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12 if x.dtype != np.complex64 else 1e-5, atol=1e-6)
