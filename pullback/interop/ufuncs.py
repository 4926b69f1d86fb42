"""`__array_ufunc__`: what NumPy calls when a ufunc, or an operator of an ndarray, meets a Tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.array_face import ARRAYS, Array, NestedArray, NestedScalar, Scalar, wrap_array
from pullback.core.array_type import REGISTERED, layout_of
from pullback.core.errors import InplaceError, UnsupportedError
from pullback.core.late import ready
from pullback.core.modes import current
from pullback.core.numpy_types import AnyArray, ArrayLike, Arrays, Axis, Casting, DTypeLike, Mask, Order
from pullback.core.tensor import NestedTensor, Tensor, ndarray
from pullback.dispatch.call_errors import explained_call
from pullback.interop import ufunc_methods
from pullback.interop.adopt.rules import RULES
from pullback.interop.numpy_errors import raise_as_numpy
from pullback.interop.operands import (
    READY,
    array,
    astype,
    cast,
    deliver,
    in_order,
    index_values,
    is_hidden,
    moveaxis,
    needs_grad,
    operand,
    ops,
    refuse,
)
from pullback.interop.rebinding import Probe, may_be_replaced
from pullback.interop.registry import UFUNCS, load_adapters
from pullback.interop.results import apart_from, as_numpy_gives
from pullback.interop.suggest import from_scipy, ufunc_name, unsupported
from pullback.ops.tables import NUMPY_RULES

# SciPy's names of operators; pullback/scipy/rules/special has the others.
SCIPY = {
    "cbrt": "cbrt",
    "entr": "special_entr", "erf": "erf", "erfc": "erfc", "erfcinv": "special_erfcinv", "erfcx": "special_erfcx",
    "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1",
    "gammaln": "lgamma", "i0": "i0", "i0e": "special_i0e", "i1": "special_i1",
    "i1e": "special_i1e", "j0": "special_bessel_j0", "j1": "special_bessel_j1",
    "k0": "special_modified_bessel_k0", "k0e": "special_scaled_modified_bessel_k0", "k1": "special_modified_bessel_k1",
    "k1e": "special_scaled_modified_bessel_k1", "log1p": "log1p",
    "log_expit": "logsigmoid", "log_ndtr": "special_log_ndtr", "logit": "logit", "ndtr": "special_ndtr",
    "ndtri": "special_ndtri", "xlog1py": "special_xlog1py", "xlogy": "xlogy",
    "y0": "special_bessel_y0", "y1": "special_bessel_y1",
}  # fmt: skip
# Functions of a degree or an order, which SciPy has first; of polynomials the operators have the argument first.
SCIPY_OF_DEGREE = {
    "kn": "special_kv", "yn": "special_yv",
    "eval_chebyt": "special_chebyshev_polynomial_t", "eval_chebyu": "special_chebyshev_polynomial_u",
    "eval_hermite": "special_hermite_polynomial_h", "eval_hermitenorm": "special_hermite_polynomial_he",
    "eval_laguerre": "special_laguerre_polynomial_l", "eval_legendre": "special_legendre_polynomial_p",
    "eval_sh_chebyt": "special_shifted_chebyshev_polynomial_t",
    "eval_sh_chebyu": "special_shifted_chebyshev_polynomial_u",
}  # fmt: skip


# The rules of functions of one number that have been called: the shortest way, where each step costs some 20 ns.
OF_ONE: dict[Any, Callable[..., Any]] = {}
_known = UFUNCS.get


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, x: Any, *others: Any, **kwargs: Any) -> object:
    """The rule of a ufunc, called or reduced, on inputs of any kind."""
    try:
        if others and type(self) in (NestedArray, NestedScalar) and not current().level:  # it stands for an ndarray
            self = next((y for y in (x, *others) if type(y) is NestedTensor), self)
        if (
            type(self) in (NestedArray, NestedScalar)
            and method == "__call__"
            and not kwargs
            and (found := of_small_numbers(ufunc, (x, *others))) is not None
        ):
            return found
        if type(x) is Tensor and not others and not kwargs:
            try:
                rule = OF_ONE[ufunc]
            except KeyError:
                pass
            else:
                return rule(x)
        if method == "__call__" and not kwargs and len(others) == 1:
            (y,) = others
            known, other = _known(ufunc), y if x is self else x
            kind = type(other)
            if known is not None and kind in READY and (kind is not ndarray or other.dtype.char != "O"):
                result = known(x, y)
                return _of_arrays(ufunc, result, (x, y)) if type(self) in ARRAYS else result
        elif type(x) in ARRAYS and not others and not kwargs and ufunc in OF_ONE:
            return _of_arrays(ufunc, OF_ONE[ufunc](x), (x,))
        return _on_inputs(self, ufunc, method, (x, *others), kwargs)
    except Exception as error:
        inputs = (x, *others)
        if type(error) is FloatingPointError and "out" in kwargs:  # NumPy has written all elements when it raises
            with np.errstate(all="ignore"):
                array_ufunc(self, ufunc, method, *inputs, **kwargs)
            raise
        if type(self) in ARRAYS:
            raise_as_numpy(getattr(ufunc, method), inputs, kwargs)
        name = ufunc_name(ufunc)
        function: Any = ufunc
        if method != "__call__":
            name, function, inputs = f"{name}.{method}", METHODS[method], (ufunc, *inputs)
        raise explained_call(name, function, inputs, kwargs, error)  # noqa: B904


def of_small_numbers(ufunc: np.ufunc, inputs: Sequence[Any]) -> Arrays | None:
    """The result of NumPy for truth values and small whole numbers, where they are hidden; None elsewhere.

    They have no derivative, and no operator has the dtypes that NumPy makes of them: int8, or half precision.
    """
    first = next(x for x in inputs if type(x) in (NestedArray, NestedScalar))
    kind = REGISTERED.get(type(first._array))
    if kind is None or not all(map(_is_small, inputs)):
        return None
    found = kind.apply(first._array, ufunc, inputs)
    if found is None:
        return None
    outs = [wrap_array(y, first._level, single=not y.shape) for y in (found if type(found) is tuple else (found,))]
    return tuple(outs) if type(found) is tuple else outs[0]


def _is_small(x: Any) -> bool:
    """True of a small whole number, or an array of these, which no derivative can reach."""
    if type(x) in (NestedArray, NestedScalar):
        x = x._array
    if isinstance(x, Tensor) or not hasattr(x, "dtype"):
        return type(x) in (bool, int)
    return x.dtype.kind in "biu" and x.dtype.itemsize <= 2


def _on_inputs(self: Any, ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> object:
    rule = UFUNCS.get(ufunc) or find_ufunc(ufunc)
    if rule is not None and not kwargs and method == "__call__":
        if ufunc.nin == 1:
            OF_ONE[ufunc] = rule
        for x in inputs:
            if type(x) not in READY or (type(x) is ndarray and x.dtype.char == "O"):
                break
        else:
            result = rule(*inputs)
            return _of_arrays(ufunc, result, inputs) if type(self) in ARRAYS else result
    if method == "__call__" and "out" in kwargs and may_be_replaced(self, kwargs["out"]):
        result = _in_place_of(kwargs["out"][0], array_ufunc(self, ufunc, method, *inputs))
        if result is not None:
            return result
    if _foreign(inputs, kwargs):
        return NotImplemented
    result = METHODS[method](ufunc, *inputs, **kwargs)
    return as_numpy_gives(result, inputs, kwargs) if type(self) in ARRAYS else result


def _of_arrays(ufunc: np.ufunc, result: Any, inputs: Sequence[Any]) -> object:
    """Return what a rule returned where an Array is among the inputs, as NumPy gives it."""
    kind = type(result)
    if (kind is Array or kind is Scalar) and result is not inputs[0]:
        raw = result._array
        if raw.dtype.kind in "fc" and (raw.ndim or kind is Scalar):
            return result  # as it is: the common case
    return as_numpy_gives(apart_from(inputs[0], result, ufunc), inputs)


Probe.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]


def _in_place_of(array: np.ndarray[Any, Any], result: Any) -> Any:
    """The result of `array += t` if it must be a Tensor, and may stand for `array`; else None."""
    if not needs_grad(result) or result.shape != array.shape:
        return None
    if result.dtype == array.dtype:
        return result
    return result.astype(array.dtype) if np.can_cast(result.dtype, array.dtype, "same_kind") else None


def find_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The rule of a ufunc that is not in the table yet, or None. Its name counts only in its own library."""
    load_adapters()
    found, name = UFUNCS.get(ufunc), ufunc.__name__
    if found is None:
        if getattr(np, name, None) is ufunc:
            found = NUMPY_RULES.get(name)
        elif name in SCIPY and from_scipy(ufunc):
            found = getattr(ops, SCIPY[name], None)
        elif name in SCIPY_OF_DEGREE and from_scipy(ufunc):
            found = _of_degree(name, ready(getattr(ops, SCIPY_OF_DEGREE[name])))
        elif from_scipy(ufunc):
            found = RULES.get(f"scipy.special.{name}")
        if found is not None:
            found = UFUNCS[ufunc] = ready(found)
    return found


def _of_degree(name: str, polynomial: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a polynomial for the degrees where SciPy's function is one; of Bessel functions of whole orders."""

    def rule(n: Any, x: ArrayLike) -> object:
        if needs_grad(n):
            raise UnsupportedError(f"scipy.special.{name} has no derivative in n, a whole number: detach() it.")
        degree = n.detach().numpy() if isinstance(n, Tensor) else n
        is_bessel = name in ("kn", "yn")
        if not np.all((np.trunc(degree) == degree) & (is_bessel | np.greater_equal(degree, 0))):
            kind = "order n must be a whole number" if is_bessel else "degree n must be a whole number and not negative"
            raise ValueError(f"{name}: the {kind} when Tensors are given, got {degree}.")
        return polynomial(n, x) if is_bessel else polynomial(x, n)

    return rule


def _foreign(inputs: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """True if another library's array is among the arguments, whose own rules may know what to do."""
    outs = kwargs.get("out") or ()
    known = (Tensor, ndarray, np.generic)
    return any(hasattr(type(x), "__array_ufunc__") and not isinstance(x, known) for x in (*inputs, *outs))


def _call(ufunc: np.ufunc, *inputs: object, **keywords: Any) -> Arrays:
    rule = find_ufunc(ufunc)
    if rule is None:
        raise unsupported(ufunc_name(ufunc))
    return call(ufunc, rule, inputs, **keywords)


METHODS: dict[str, Callable[..., Any]] = {"__call__": _call, **ufunc_methods.METHODS}


def call(
    ufunc: np.ufunc,
    rule: Callable[..., Any],
    inputs: Iterable[Any],
    *,
    out: Any = None,
    dtype: DTypeLike = None,
    casting: Casting = "same_kind",
    where: Mask = True,
    order: Order = "K",
    subok: bool = True,
    axes: Sequence[Any] | None = None,
    axis: Axis = None,
    keepdims: bool = False,
    **others: object,
) -> Arrays:
    """A call with lists among the inputs or with keywords."""
    name = ufunc.__name__
    for argument in others:
        raise refuse(name, argument, "omit it")
    if order not in ("K", "A", "C", "F"):
        raise ValueError(f"np.{name}: order must be one of 'C', 'F', 'A' or 'K', got {order!r}.")
    inputs = [operand(x) for x in inputs]
    if dtype is not None:
        inputs = [cast(array(x), dtype, name, casting) for x in inputs]
    if not any(isinstance(x, Tensor) for x in inputs):
        rule = ufunc  # only where, or out, is a Tensor
    outs = (None,) * ufunc.nout if out is None else out
    if where is not True and where is not np._NoValue:
        result = chosen_places(rule, inputs, where, outs, name)
    elif axes is not None or axis is not None:
        result = _along_axes(ufunc, rule, [array(x) for x in inputs], axes, axis, keepdims)
    else:
        result = rule(*inputs)
        if keepdims:
            result = _kept(ufunc, result, -1)
    results = result if isinstance(result, tuple) else (result,)
    if dtype is not None and any(r.dtype != np.dtype(dtype) for r in results):
        raise refuse(name, "dtype", f"the result has dtype {results[0].dtype}; convert it with .astype()")
    if any(o is not None for o in outs) and any(o is None for o in outs):  # the others are as large
        shape = np.broadcast_shapes(*(o.shape for o in outs if o is not None))
        results = tuple(
            r if o is not None else np.copy(np.broadcast_to(r, shape)) for r, o in zip(results, outs, strict=True)
        )
    if len(outs) == 2 and all(o is not None for o in outs):
        first, second = map(layout_of, outs)
        if first is not None and second is not None and np.shares_memory(first, second):
            raise InplaceError(f"np.{name}: both results would be written into the same memory; give each its own out.")
    delivered = tuple(deliver(name, in_order(r, order), o, casting) for r, o in zip(results, outs, strict=True))
    return delivered if isinstance(result, tuple) else delivered[0]


def chosen_places(
    rule: Callable[..., Any], inputs: Sequence[Any], where: Mask, outs: Sequence[AnyArray | None], name: str
) -> Arrays:
    """The rule run on the elements where the mask holds, and on no others, beside the elements of `outs`.

    NumPy leaves what is elsewhere as its memory was; without `out` it is 0 here.
    """
    mask = index_values(where, name)
    mask = cast(mask, bool, name, "safe") if is_hidden(mask) else mask.astype(bool, casting="safe")
    shape = np.broadcast_shapes(mask.shape, *(np.shape(x) for x in inputs), *(o.shape for o in outs if o is not None))
    mask = np.broadcast_to(mask, shape)
    hidden = is_hidden(mask)  # then all are computed, and chosen from
    chosen = [np.broadcast_to(x, shape)[mask] if np.ndim(x) and not hidden else x for x in inputs]
    with np.errstate(all="ignore" if hidden else None):  # of what is not chosen nobody wants to hear
        parts = rule(*chosen)
    made = []
    parts = tuple(map(array, parts)) if isinstance(parts, tuple) else array(parts)
    for part, out in zip(parts if isinstance(parts, tuple) else (parts,), outs, strict=True):
        base = np.zeros(shape, part.dtype) if out is None else astype(out, np.result_type(part.dtype, out.dtype))
        made.append(ops.where(mask, part, base) if hidden else ops.setitem(base, mask, part))
    return tuple(made) if isinstance(parts, tuple) else made[0]


def _along_axes(
    ufunc: np.ufunc,
    rule: Callable[..., Any],
    inputs: Sequence[AnyArray],
    axes: Sequence[Any] | None,
    axis: Axis,
    keepdims: bool,
) -> AnyArray:
    """A product of vectors or matrices whose core dimensions stand elsewhere than at the end."""
    cores = [len(core.split(",")) if core else 0 for core in re.findall(r"\(([^)]*)\)", str(ufunc.signature))]
    if axes is None:
        if max(cores) > 1:
            raise TypeError(f"np.{ufunc.__name__}: axis is for functions of vectors; give axes.")
        axes = [axis] * len(inputs)
    axes = [a if isinstance(a, tuple) else (a,) * bool(core) for a, core in zip(axes, cores, strict=False)]
    ends = [tuple(range(-core, 0)) for core in cores]
    moved = [moveaxis(x, a, end) for x, a, end in zip(inputs, axes, ends, strict=False)]
    result = rule(*moved)
    if len(axes) == len(cores):
        return moveaxis(result, ends[-1], axes[-1])
    return _kept(ufunc, result, axes[0][0]) if keepdims else result


def _kept(ufunc: np.ufunc, result: AnyArray, axis: int) -> AnyArray:
    if not str(ufunc.signature).endswith("()"):
        raise TypeError(f"np.{ufunc.__name__}: keepdims is for functions that sum one dimension away.")
    return np.expand_dims(result, axis)
