"""NumPy's functions that work element by element: ufuncs without an operator of their own, and functions."""

import numpy as np

from pullback.dispatch.steps import is_whole
from pullback.interop.operands import array, cast, deliver, floating, frozen, operand, ops, refuse, tensor_of
from pullback.interop.registry import rule

# -- ufuncs ---------------------------------------------------------------------------------------------------------


def _in_dtype_of(ufunc, x):
    """`x` in the dtype that NumPy gives the (first) result of a ufunc of floats; its TypeError where it has none."""
    x = floating(x)
    made = ufunc(np.empty(0, x.dtype))
    return cast(x, (made[0] if isinstance(made, tuple) else made).dtype, ufunc.__name__)


@rule("fabs")
def fabs(x, /):
    """np.fabs: floating point for integers too."""
    return ops.abs(_in_dtype_of(np.fabs, array(x)))


@rule("rint")
def rint(x, /):
    """np.rint: floating point for integers too."""
    return ops.round(_in_dtype_of(np.rint, array(x)))


@rule("divmod")
def divmod_(x1, x2, /):
    """np.divmod."""
    return ops.floor_divide(x1, x2), ops.remainder(x1, x2)


@rule("modf")
def modf(x, /):
    """np.modf; an infinity has the fractional part 0."""
    x = _in_dtype_of(np.modf, array(x))
    whole = ops.trunc(x)
    return ops.copysign(ops.where(ops.isinf(x), 0, x - whole), x), whole


@rule("heaviside")
def heaviside(x1, x2, /):
    """np.heaviside: constant in x1 except at 0, where it is x2."""
    x1, x2 = array(x1), operand(x2)
    like = x2 if type(x2) in (bool, int, float) else np.empty(0, x2.dtype)
    dtype = np.dtype(float) if is_whole(x1, x2) else np.heaviside(np.empty(0, x1.dtype), like).dtype
    step = np.astype(x1 > 0, dtype)
    if x1.dtype.kind == "f":
        step = np.where(np.isnan(x1), dtype.type(np.nan), step)
    return cast(np.where(x1 == 0, x2, step), dtype, "heaviside")


# -- functions ------------------------------------------------------------------------------------------------------


@rule("clip")
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **others):
    """np.clip."""
    for argument in others:
        raise refuse("clip", argument, "omit it")
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    low, high = (None if v is None or v is np._NoValue else operand(v) for v in (low, high))
    a = array(a)
    return deliver("clip", ops.clone(a) if low is None and high is None else ops.clamp(a, low, high), out)


@rule("round", "around")
def round_(a, decimals=0, out=None):
    """np.round."""
    return deliver("round", ops.round(array(a), decimals), out)


@rule("fix")
def fix(x, out=None):
    """np.fix."""
    return deliver("fix", ops.trunc(array(x)), out)


@rule("isneginf")
def isneginf(x, out=None):
    """np.isneginf."""
    return deliver("isneginf", ops.isneginf(array(x)), out)


@rule("isposinf")
def isposinf(x, out=None):
    """np.isposinf."""
    return deliver("isposinf", ops.isposinf(array(x)), out)


@rule("nan_to_num")
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """np.nan_to_num; with copy=False written into x."""
    result = ops.nan_to_num(array(x), nan, posinf, neginf)
    return result if copy else deliver("nan_to_num", result, x)


@rule("real")
def real(val):
    """np.real."""
    return ops.real(array(val))


@rule("imag")
def imag(val):
    """np.imag; zeros for a real Tensor."""
    val = array(val)
    return ops.imag(val) if val.dtype.kind == "c" else ops.zeros_like(val)


@rule("angle")
def angle(z, deg=False):
    """np.angle."""
    result = ops.angle(array(z))
    return ops.rad2deg(result) if deg else result


@rule("iscomplex")
def iscomplex(x):
    """np.iscomplex."""
    return tensor_of(np.iscomplex(frozen(x, "iscomplex")))


@rule("isreal")
def isreal(x):
    """np.isreal."""
    return tensor_of(np.isreal(frozen(x, "isreal")))


@rule("isclose")
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """np.isclose."""
    return ops.isclose(array(a), array(b), rtol, atol, equal_nan)


@rule("allclose")
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """np.allclose."""
    a, b, rtol, atol = (frozen(x, "allclose") for x in (a, b, rtol, atol))
    return bool(np.allclose(a, b, rtol, atol, equal_nan))


@rule("array_equal")
def array_equal(a1, a2, equal_nan=False):
    """np.array_equal."""
    return np.array_equal(frozen(a1, "array_equal"), frozen(a2, "array_equal"), equal_nan)


@rule("array_equiv")
def array_equiv(a1, a2):
    """np.array_equiv."""
    return np.array_equiv(frozen(a1, "array_equiv"), frozen(a2, "array_equiv"))


@rule("astype")
def astype(x, dtype, /, *, copy=True, device=None):
    """np.astype."""
    if device not in (None, "cpu"):
        raise refuse("astype", "device", f"{device!r} is not available")
    result = cast(array(x), dtype, "astype", "unsafe")
    return ops.clone(result) if copy and result is x else result
