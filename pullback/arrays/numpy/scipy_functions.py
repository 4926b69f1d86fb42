"""SciPy's functions, as kernels use them."""

import functools

import numpy as np

HALF = np.dtype(np.float16)


@functools.cache
def scipy_special():
    """scipy.special, imported when first needed: it takes longer to import than the whole package."""
    import scipy.special

    return scipy.special


def in_half(result, x):
    """The result of a function of SciPy, which has none of float16, in x's dtype if that is float16."""
    return result.astype(HALF) if x.dtype is HALF else result
