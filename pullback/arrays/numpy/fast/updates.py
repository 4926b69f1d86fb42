"""Updates in place, such as an optimiser's steps are made of."""

import numpy as np

from pullback.arrays.numpy.declarations import Exactness, fast

# The kernels, ufuncs apart, that write into the array given as `out`.
WRITE_OUT: set[str] = set()
# From so many elements on a call of BLAS, which needs no array for alpha * y, is quicker than two ufuncs.
_MANY = 4096


def writes_out(kernel):
    """Note that `kernel` takes `out`, like a ufunc."""
    WRITE_OUT.add(kernel)
    return kernel


def _scaled_plainly(x, y, alpha):
    np.add(x, y * alpha, out=x)


@fast(plain=_scaled_plainly, pays_from=_MANY, exact=Exactness(1, "terms"), writes=True)
def scaled_into(x, y, alpha):
    """Add alpha * y to x in place, by BLAS, and say so; False if that does not apply, with nothing done."""
    if x.size < _MANY or type(y) is not np.ndarray or x.dtype.char not in "fd" or isinstance(alpha, complex):
        return False
    if y.dtype != x.dtype or y.shape != x.shape or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return False
    if np.may_share_memory(x, y) or alpha == 0:  # with which BLAS does nothing, whereas 0 * inf is nan
        return False
    from scipy.linalg import blas

    axpy = blas.daxpy if x.dtype.char == "d" else blas.saxpy
    axpy(y.reshape(-1), x.reshape(-1), a=alpha)
    return True
