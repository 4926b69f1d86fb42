"""`__array_ufunc__`: what NumPy calls when a ufunc, or an operator of an ndarray, meets a Tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from pullback.core.array_face import ARRAYS, Array, Scalar
from pullback.core.tensor import Tensor, ndarray
from pullback.dispatch.call_errors import explained_call
from pullback.interop.numpy_errors import raise_as_numpy
from pullback.interop.operands import READY, array, cast, deliver, needs_grad, operand, ops, refuse
from pullback.interop.rebinding import Probe, may_be_replaced
from pullback.interop.registry import FUNCTIONS, UFUNCS, load_adapters
from pullback.interop.results import apart_from, as_numpy_gives
from pullback.interop.suggest import from_scipy, ufunc_name, unsupported, unsupported_method
from pullback.ops.tables import NUMPY_RULES

# SciPy's names of operators; those absent from the operator table have no rule.
SCIPY = {
    "_zeta": "special_zeta", "betainc": "special_betainc", "betaincinv": "special_betaincinv",
    "entr": "special_entr", "erf": "erf", "erfc": "erfc", "erfcinv": "special_erfcinv", "erfcx": "special_erfcx",
    "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "gammainc": "igamma",
    "gammaincc": "igammac", "gammainccinv": "special_gammainccinv", "gammaincinv": "special_gammaincinv",
    "gammaln": "lgamma", "i0": "i0", "i0e": "special_i0e", "i1": "special_i1",
    "i1e": "special_i1e", "iv": "special_iv", "j0": "special_bessel_j0", "j1": "special_bessel_j1", "jv": "special_jv",
    "k0": "special_modified_bessel_k0", "k0e": "special_scaled_modified_bessel_k0", "k1": "special_modified_bessel_k1",
    "k1e": "special_scaled_modified_bessel_k1", "kn": "special_kv", "kv": "special_kv", "log1p": "log1p",
    "log_expit": "logsigmoid", "log_ndtr": "special_log_ndtr", "logit": "logit", "ndtr": "special_ndtr",
    "ndtri": "special_ndtri", "psi": "digamma", "xlog1py": "special_xlog1py", "xlogy": "xlogy",
    "y0": "special_bessel_y0", "y1": "special_bessel_y1", "yn": "special_yv", "yv": "special_yv",
}  # fmt: skip
# Polynomials, of which SciPy has the degree first, and the operators the argument.
SCIPY_OF_DEGREE = {
    "eval_chebyt": "special_chebyshev_polynomial_t", "eval_chebyu": "special_chebyshev_polynomial_u",
    "eval_hermite": "special_hermite_polynomial_h", "eval_hermitenorm": "special_hermite_polynomial_he",
    "eval_laguerre": "special_laguerre_polynomial_l", "eval_legendre": "special_legendre_polynomial_p",
    "eval_sh_chebyt": "special_shifted_chebyshev_polynomial_t",
    "eval_sh_chebyu": "special_shifted_chebyshev_polynomial_u",
}  # fmt: skip


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """The rule of a ufunc, called or reduced, on inputs of any kind."""
    try:
        if "out" in kwargs and method == "__call__" and may_be_replaced(self, kwargs["out"]):
            result = _in_place_of(kwargs["out"][0], array_ufunc(self, ufunc, method, *inputs))
            if result is not None:
                return result
        if method == "__call__":
            rule = UFUNCS.get(ufunc) or find_ufunc(ufunc)
            if rule is not None and not kwargs:
                for x in inputs:
                    if type(x) not in READY or (type(x) is ndarray and x.dtype.char == "O"):
                        break
                else:
                    result = rule(*inputs)
                    return _of_arrays(ufunc, result, inputs) if type(self) in ARRAYS else result
        result = _in_general(ufunc, method, inputs, kwargs)
        return as_numpy_gives(result, inputs, kwargs) if type(self) in ARRAYS else result
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        if type(self) in ARRAYS:
            raise_as_numpy(getattr(ufunc, method), inputs, kwargs)
        name = ufunc_name(ufunc) if method == "__call__" else f"{ufunc_name(ufunc)}.{method}"
        raise explained_call(name, ufunc, inputs, kwargs, error)  # noqa: B904


def _in_general(ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    if _foreign(inputs, kwargs):
        return NotImplemented
    if method != "__call__":
        return _METHODS[method](ufunc, *inputs, **kwargs)
    rule = UFUNCS.get(ufunc) or find_ufunc(ufunc)
    if rule is None:
        raise unsupported(ufunc_name(ufunc))
    return _call(ufunc, rule, inputs, **kwargs)


def _of_arrays(ufunc: np.ufunc, result: Any, inputs: Sequence[Any]) -> Any:
    """What a rule returned where an Array is among the inputs, as NumPy gives it."""
    kind = type(result)
    if (kind is Array or kind is Scalar) and result is not inputs[0]:
        raw = result._array
        if raw.dtype.kind in "fc" and (raw.ndim or kind is Scalar):
            return result  # as it is: the common case
    return as_numpy_gives(apart_from(inputs[0], result, ufunc), inputs)


Probe.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]


def _in_place_of(array: Any, result: Any) -> Any:
    """The result of `array += t` if it must be a Tensor, and may stand for `array`; else None."""
    if not needs_grad(result) or result.shape != array.shape:
        return None
    if result.dtype == array.dtype:
        return result
    return result.astype(array.dtype) if np.can_cast(result.dtype, array.dtype, "same_kind") else None


def find_ufunc(ufunc: np.ufunc) -> Any:
    """The rule of a ufunc that is not in the table yet, or None. Its name counts only in its own library."""
    load_adapters()
    found, name = UFUNCS.get(ufunc), ufunc.__name__
    if found is None:
        if getattr(np, name, None) is ufunc:
            found = NUMPY_RULES.get(name)
        elif name in SCIPY and from_scipy(ufunc):
            found = getattr(ops, SCIPY[name], None)
        elif name in SCIPY_OF_DEGREE and from_scipy(ufunc):
            found = _of_degree(name, getattr(ops, SCIPY_OF_DEGREE[name]))
        if found is not None:
            UFUNCS[ufunc] = found
    return found


def _of_degree(name: str, polynomial: Any) -> Callable[..., Any]:
    """The rule of a polynomial for the degrees where SciPy's function is one."""

    def rule(n: Any, x: Any) -> Any:
        degree = n.detach().numpy() if isinstance(n, Tensor) else n
        if not np.all((np.trunc(degree) == degree) & np.greater_equal(degree, 0)):
            raise ValueError(f"{name}: the degree n must be whole and not negative beside Tensors, but it is {degree}.")
        return polynomial(x, n)

    return rule


def _foreign(inputs: Any, kwargs: Any) -> bool:
    """Whether another library's array is among the arguments, whose own rules may know what to do."""
    outs = kwargs.get("out") or ()
    known = (Tensor, ndarray, np.generic)
    return any(hasattr(type(x), "__array_ufunc__") and not isinstance(x, known) for x in (*inputs, *outs))


def _call(
    ufunc: np.ufunc,
    rule: Any,
    inputs: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    casting: Any = "same_kind",
    where: bool = True,
    order: str = "K",
    subok: bool = True,
    **others: Any,
) -> Any:
    """A call with lists among the inputs or with keywords."""
    name = ufunc.__name__
    for argument in others:
        raise refuse(name, argument, "omit it")
    if where is not True:
        raise refuse(
            name,
            "where",
            "elements where it is False would be uninitialised; write np.where(where, result, otherwise)",
        )
    if order not in ("K", "A", "C"):
        raise refuse(name, "order", "the memory layout of the result cannot be chosen; omit it")
    inputs = [operand(x) for x in inputs]
    if dtype is not None:
        inputs = [cast(array(x), dtype, name, casting) for x in inputs]
    result = rule(*inputs)
    results = result if isinstance(result, tuple) else (result,)
    if dtype is not None and any(r.dtype != np.dtype(dtype) for r in results):
        raise refuse(name, "dtype", f"the result has dtype {results[0].dtype}; convert it with .astype()")
    if out is None:
        return result
    outs = tuple(deliver(name, r, o, casting) for r, o in zip(results, out, strict=True))
    return outs if isinstance(result, tuple) else outs[0]


def _reduce(
    ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **limits: Any
) -> Any:
    """ufunc.reduce by the function that NumPy has for it: np.add.reduce is np.sum, along the first axis by default."""
    load_adapters()
    if ufunc is np.logaddexp:
        return deliver("logaddexp.reduce", _logsumexp(array(a), axis, keepdims, dtype, limits), out)
    function = _REDUCTIONS.get(ufunc)
    if function is None:
        raise unsupported_method(ufunc, "reduce")
    if dtype is not None:
        limits["dtype"] = dtype
    return FUNCTIONS[function](array(a), axis=axis, out=out, keepdims=keepdims, **limits)


def _logsumexp(a: Any, axis: Any, keepdims: bool, dtype: Any, limits: Any) -> Any:
    for argument in (*limits, *(["dtype"] if dtype is not None else [])):
        raise refuse("logaddexp.reduce", argument, "omit it")
    return ops.logsumexp(a, tuple(range(a.ndim)) if axis is None else axis, keepdims)


def _accumulate(ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.accumulate: running sums, products, extrema."""
    a = array(a)
    if ufunc in _ACCUMULATIONS:
        result = getattr(ops, _ACCUMULATIONS[ufunc])(a if dtype is None else cast(a, dtype, "accumulate"), axis)
    elif ufunc in (np.maximum, np.minimum):
        result = (ops.cummax if ufunc is np.maximum else ops.cummin)(a, axis)[0]
    else:
        raise unsupported_method(ufunc, "accumulate")
    return deliver(f"{ufunc.__name__}.accumulate", result, out)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    """Every element of `a` with every element of `b`: ufunc(a[..., None, None], b)."""
    a, b = array(a), array(b)
    return ufunc(np.reshape(a, (*a.shape, *(1,) * b.ndim)), b, **kwargs)


def _at(ufunc: np.ufunc, *_: Any, **__: Any) -> NoReturn:
    raise unsupported_method(ufunc, "at")


def _reduceat(ufunc: np.ufunc, *_: Any, **__: Any) -> NoReturn:
    raise unsupported_method(ufunc, "reduceat")


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "at": _at,
    "reduceat": _reduceat,
}
_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.logical_and: np.all,
    np.logical_or: np.any,
}  # fmt: skip
_ACCUMULATIONS = {np.add: "cumsum", np.multiply: "cumprod", np.logaddexp: "logcumsumexp"}
