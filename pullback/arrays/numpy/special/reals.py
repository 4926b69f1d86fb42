"""How SciPy's functions of real numbers become kernels."""

import numpy as np

from pullback.arrays.numpy.kinds import is_complex

__all__ = []


def of_reals(function):
    """The kernel of a function of real arrays and numbers; half precision in gives half precision out."""

    def kernel(*args):
        return as_half(args, function(*refuse_complex(args)))

    kernel.__name__ = function.__name__
    return kernel


def refuse_complex(args):
    """The arguments, or an error when one is complex."""
    if any(map(is_complex, args)):
        raise ValueError("not defined for complex tensors.")
    return args


def as_half(args, result):
    """A result that SciPy computed in single precision, in half precision if the arguments were."""
    if result.dtype == np.float32 and np.result_type(*args) == np.float16:
        return result.astype(np.float16)
    return result


def in_double(x):
    """(x in double precision, the dtype of results): for formulas of our own, which lose a few digits."""
    x = np.asarray(x)
    refuse_complex((x,))
    return x.astype(np.float64, copy=False), x.dtype if x.dtype.kind == "f" else np.dtype(float)
