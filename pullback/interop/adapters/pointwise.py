"""NumPy's functions that work element by element: ufuncs without an operator of their own, and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS
from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike, NoValue, Numeric, Out
from pullback.core.tensor import Tensor
from pullback.dispatch.steps import is_whole
from pullback.interop.operands import (
    array,
    cast,
    deliver,
    floating,
    frozen,
    is_hidden,
    operand,
    ops,
    refuse,
    tensor_of,
    values,
)
from pullback.interop.registry import UFUNCS, rule
from pullback.interop.ufuncs import call

_CLIP: Any = np._core.umath.clip  # type: ignore[attr-defined]  # the ufunc, for its name

# -- ufuncs ---------------------------------------------------------------------------------------------------------


def _in_dtype_of(ufunc: np.ufunc, x: AnyArray) -> AnyArray:
    """`x` in the dtype that NumPy gives the (first) result of a ufunc of floats; its TypeError where it has none."""
    x = floating(x)
    made = ufunc(np.empty(0, x.dtype))
    return cast(x, (made[0] if isinstance(made, tuple) else made).dtype, ufunc.__name__)


@rule("fabs")
def fabs(x: ArrayLike, /) -> AnyArray:
    """np.fabs: floating point for integers too."""
    return ops.abs(_in_dtype_of(np.fabs, array(x)))


@rule("rint")
def rint(x: ArrayLike, /) -> AnyArray:
    """np.rint: floating point for integers too."""
    return ops.round(_in_dtype_of(np.rint, array(x)))


@rule("reciprocal")
def reciprocal(x: ArrayLike, /) -> AnyArray:
    """np.reciprocal: whole numbers for integers."""
    return ops.reciprocal(x) if array(x).dtype.kind in "fcb" else tensor_of(np.reciprocal(frozen(x, "reciprocal")))


@rule("divmod")
def divmod_(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Any, ...]:
    """np.divmod."""
    return ops.floor_divide(x1, x2), ops.remainder(x1, x2)


@rule("modf")
def modf(x: ArrayLike, /) -> tuple[Any, ...]:
    """np.modf; an infinity has the fractional part 0."""
    x = _in_dtype_of(np.modf, array(x))
    whole = ops.trunc(x)
    return ops.copysign(ops.where(ops.isinf(x), 0, x - whole), x), whole


@rule("heaviside")
def heaviside(x1: Any, x2: Any, /) -> AnyArray:
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
def clip(
    a: Any,
    a_min: ArrayLike | NoValue | None = None,
    a_max: ArrayLike | NoValue | None = None,
    out: Any = None,
    *,
    min: ArrayLike | NoValue | None = None,
    max: ArrayLike | NoValue | None = None,
    **others: Any,
) -> Any:
    """np.clip."""
    low: Any
    high: Any
    low, high = (other if v is None or v is np._NoValue else v for v, other in ((a_min, min), (a_max, max)))
    low, high = (None if v is None or v is np._NoValue else v for v in (low, high))
    if low is None and high is None:
        return np.positive(a, out=out, **others)
    if high is None:
        return np.maximum(a, low, out=out, **others)
    if low is None:
        return np.minimum(a, high, out=out, **others)
    if others:
        return call(_CLIP, ops.clamp, (a, low, high), out=(out,), **others)
    return deliver("clip", _clamp(a, low, high), out)


def _clamp(a: ArrayLike, low: Any, high: Any) -> AnyArray:
    return ops.clamp(array(a), operand(low), operand(high))


UFUNCS[_CLIP] = _clamp  # which the method of a plain array calls


@rule("round", "around")
def round_(a: ArrayLike, decimals: int = 0, out: Out = None) -> AnyArray:
    """np.round; of complex numbers their parts."""
    a = array(a)
    result: AnyArray
    if a.dtype.kind == "c":
        result = ops.complex(ops.round(np.real(a), decimals), ops.round(np.imag(a), decimals))
    elif a.dtype.kind == "b":
        np.round(np.zeros(1, bool), decimals)  # NumPy's error for places behind the point
        result = np.rint(a)
    else:
        result = ops.round(a, decimals)
    return deliver("round", result, out)


@rule("fix")
def fix(x: ArrayLike, out: Out = None) -> AnyArray:
    """np.fix."""
    return deliver("fix", ops.trunc(array(x)), out)


@rule("isneginf")
def isneginf(x: ArrayLike, out: Out = None) -> AnyArray:
    """np.isneginf."""
    return deliver("isneginf", ops.isneginf(array(x)), out)


@rule("isposinf")
def isposinf(x: ArrayLike, out: Out = None) -> AnyArray:
    """np.isposinf."""
    return deliver("isposinf", ops.isposinf(array(x)), out)


@rule("nan_to_num")
def nan_to_num(x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num; with copy=False written into x."""
    x = array(x)
    if x.dtype.kind == "c":
        result = ops.complex(*(nan_to_num(part, True, nan, posinf, neginf) for part in (np.real(x), np.imag(x))))
    else:
        result = ops.nan_to_num(x if copy else ops.clone(x), nan, posinf, neginf)  # the backward needs what was there
    return result if copy else deliver("nan_to_num", result, x)


@rule("real")
def real(val: ArrayLike) -> AnyArray:
    """np.real."""
    return ops.real(array(val))


@rule("imag")
def imag(val: ArrayLike) -> AnyArray:
    """np.imag; zeros for a real Tensor."""
    val = array(val)
    if type(val) in ARRAYS:
        return val.imag
    return ops.imag(val) if val.dtype.kind == "c" else ops.zeros_like(val)


@rule("real_if_close")
def real_if_close(a: ArrayLike, tol: Any = 100) -> Any:
    """np.real_if_close."""
    a = array(a)
    if a.dtype.kind != "c":
        return a
    tol = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return ops.real(a) if np.all(np.abs(frozen(a, "real_if_close").imag) < tol) else a


@rule("angle")
def angle(z: ArrayLike, deg: bool = False) -> AnyArray:
    """np.angle."""
    result = ops.angle(array(z))
    return ops.rad2deg(result) if deg else result


def _imaginary(x: Any) -> AnyArray:
    return ops.imag(x) if x.dtype.kind == "c" else ops.zeros_like(x)


@rule("iscomplex")
def iscomplex(x: ArrayLike) -> Any:
    """np.iscomplex."""
    return _imaginary(x) != 0 if is_hidden(x) else tensor_of(np.iscomplex(frozen(x, "iscomplex")))


@rule("isreal")
def isreal(x: ArrayLike) -> Any:
    """np.isreal."""
    return _imaginary(x) == 0 if is_hidden(x) else tensor_of(np.isreal(frozen(x, "isreal")))


@rule("isclose")
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: float | AnyArray | None = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> AnyArray:
    """np.isclose."""
    if type(rtol) is float and type(atol) is float:
        return ops.isclose(array(a), array(b), rtol, atol, equal_nan)
    a, b, rtol, atol = (frozen(x, "isclose") for x in (array(a), array(b), rtol, atol))
    return tensor_of(np.isclose(a, b, rtol, atol, equal_nan))


@rule("allclose")
def allclose(a: ArrayLike, b: ArrayLike, rtol: Numeric = 1e-05, atol: Numeric = 1e-08, equal_nan: bool = False) -> bool:
    """np.allclose."""
    a, b, rtol, atol = (frozen(x, "allclose") for x in (a, b, rtol, atol))
    return bool(np.allclose(a, b, rtol, atol, equal_nan))


@rule("array_equal")
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Any:
    """np.array_equal."""
    return np.array_equal(frozen(a1, "array_equal"), frozen(a2, "array_equal"), equal_nan)


@rule("array_equiv")
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """np.array_equiv."""
    return np.array_equiv(frozen(a1, "array_equiv"), frozen(a2, "array_equiv"))


@rule("astype")
def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None) -> AnyArray:
    """np.astype."""
    if device not in (None, "cpu"):
        raise refuse("astype", "device", f"{device!r} is not available")
    result = cast(array(x), dtype, "astype", "unsafe")
    return ops.clone(result) if copy and result is x else result


# -- np.emath: complex where the real function ends --------------------------------------------------------------------


def _is_negative(x: AnyArray) -> AnyArray:
    return x < 0


def _is_beyond_one(x: AnyArray) -> AnyArray:
    return np.abs(x) > 1


def _with_roots(x: ArrayLike, leaves: Callable[[Any], Any] = _is_negative) -> AnyArray:
    """`x`, complex if one of its numbers leaves the domain of the real function."""
    x = array(x)
    if x.dtype.kind == "c" or not np.any(leaves(values(x.detach(), "emath") if isinstance(x, Tensor) else x)):
        return x
    return x.astype(np.complex64 if x.dtype.char in "ef" else np.complex128)


def _emath(name: str, leaves: Callable[[Any], Any]) -> None:
    function = getattr(np, name)
    rule(f"emath.{name}")(lambda x: function(_with_roots(x, leaves)))


for _name in ("sqrt", "log", "log2", "log10"):
    _emath(_name, _is_negative)
for _name in ("arcsin", "arccos", "arctanh"):
    _emath(_name, _is_beyond_one)


@rule("emath.power")
def _(x: ArrayLike, p: ArrayLike) -> AnyArray:
    p = array(p)
    return np.power(_with_roots(x), p.astype(float) if p.dtype.kind in "iu" and np.any(p < 0) else p)


@rule("emath.logn")
def _(n: Any, x: ArrayLike) -> AnyArray:
    return np.log(_with_roots(x)) / np.log(_with_roots(n))
