"""sin and cos of large float64 arrays, from the tangent.

NumPy computes float64 sin and cos one by one (8 to 9 ns an element) but, where the processor has AVX-512, the tangent
in vectors (0.9 ns). With T = tan(x) and u = tan(x/2),

    sin x = 2 u / (1 + u^2),  |cos x| = 1 / sqrt(1 + T^2),  sign cos x = sign (T u).

Both are right to 3 units in the last place everywhere (NumPy's to 1): the relative errors of u and T enter with a
factor of at most one, at the zeros of sin and cos too, which (1 - u^2) / (1 + u^2) for the cosine would not be.
"""

import numpy as np
from numpy import ndarray

from pullback.arrays.numpy.declarations import Exactness, fast, loops

_BLOCK = 16384  # elements: the four buffers stay in the second-level cache (4.0 ns an element; 4.8 with 4096)
_SMALLEST = 2048


def _has_vector_tangent():
    """True if this processor has a vector form of NumPy's tangent, beside the one that is there for all processors."""
    try:
        from numpy.lib.introspect import opt_func_info
    except ImportError:  # not in this version of NumPy
        return False
    forms = opt_func_info("^tan$", "^d").get("tan", {})
    return any(not form["current"].startswith("baseline") for form in forms.values())


_FLOAT64 = np.dtype(np.float64)
_numpy_cos, _numpy_sin = np.cos, np.sin  # looked up once: 3 % of a chain of sines on ten numbers


@fast(plain=np.cos, pays_from=_SMALLEST, exact=Exactness(3))
def cos(x):
    """cos(x)."""
    if type(x) is not ndarray or x.size < _SMALLEST or x.dtype is not _FLOAT64:
        return _numpy_cos(x)
    return _by_blocks(x, _cos_block)


@fast(plain=np.sin, pays_from=_SMALLEST, exact=Exactness(3))
def sin(x):
    """sin(x)."""
    if type(x) is not ndarray or x.size < _SMALLEST or x.dtype is not _FLOAT64:
        return _numpy_sin(x)
    return _by_blocks(x, _sin_block)


@loops("blocks")
def _by_blocks(x, compute):
    out = np.empty_like(x, order="C")
    source, target = np.ascontiguousarray(x).reshape(-1), out.reshape(-1)
    half, root = np.empty(_BLOCK), np.empty(_BLOCK)
    with np.errstate(all="ignore"):
        for start in range(0, source.size, _BLOCK):
            part = source[start : start + _BLOCK]
            compute(part, target[start : start + _BLOCK], half[: part.size], root[: part.size])
    return out


def _cos_block(x, out, half, root):
    np.tan(x, out=out)
    np.multiply(x, 0.5, out=half)
    np.tan(half, out=half)
    np.multiply(out, out, out=root)
    np.add(root, 1.0, out=root)
    np.sqrt(root, out=root)
    np.multiply(half, out, out=half)
    np.divide(1.0, root, out=out)
    np.copysign(out, half, out=out)


def _sin_block(x, out, half, root):
    np.multiply(x, 0.5, out=half)
    np.tan(half, out=half)
    np.multiply(half, half, out=root)
    np.add(root, 1.0, out=root)
    np.add(half, half, out=out)
    np.divide(out, root, out=out)


# The kernels: without a fast tangent, NumPy's own.
SINCOS = {"sin": sin, "cos": cos} if _has_vector_tangent() else {"sin": np.sin, "cos": np.cos}
