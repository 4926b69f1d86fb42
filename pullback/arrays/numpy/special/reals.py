"""Makes kernels of SciPy's functions of real numbers."""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.dtypes import in_common, is_complex

_OTHER = np.dtype(object)  # stands for what has no dtype


def of_reals(function):
    """The kernel of a function of real arrays and numbers.

    Whole numbers are computed in double precision; half precision, which SciPy has not, is given back in its own dtype.
    """

    @loops("arguments")
    def kernel(*args):
        for x in args:
            if getattr(x, "dtype", _OTHER).char not in "fd":
                return _of_other_dtypes(function, args)
        return function(*args)

    kernel.__name__ = function.__name__
    return kernel


def _of_other_dtypes(function, args):
    common = np.result_type(*refuse_complex(args))
    result = function(*(np.asarray(x, None if common.kind == "f" else float) for x in in_common(*args)))
    return result.astype(common) if common == np.float16 else result


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
