"""How SciPy's functions of real numbers become kernels."""

import numpy as np

from pullback.arrays.numpy.kinds import is_complex

__all__ = []


def of_reals(function):
    """The kernel of a function of real arrays and numbers.

    SciPy computes what is shorter than single precision in single precision: half precision is given back in its own
    dtype, and whole numbers are computed in double precision, as NumPy does with longer ones.
    """

    def kernel(*args):
        result = function(*refuse_complex(args))
        if result.dtype == np.float32:
            common = np.result_type(*args)
            if common == np.float16:
                return result.astype(np.float16)
            if common.kind != "f":
                return function(*(np.asarray(x, float) for x in args))
        return result

    kernel.__name__ = function.__name__
    return kernel


def refuse_complex(args):
    """The arguments, or an error when one is complex."""
    if any(map(is_complex, args)):
        raise ValueError("not defined for complex tensors.")
    return args


def in_double(x):
    """(x in double precision, the dtype of results): for formulas of our own, which lose a few digits."""
    x = np.asarray(x)
    refuse_complex((x,))
    return x.astype(np.float64, copy=False), x.dtype if x.dtype.kind == "f" else np.dtype(float)
