"""Calls on Tensors around plain duals, ndarrays with ndarrays for tangents: the steps of `calls` and `usual` in one.

It is what most programs in forward mode do, and each step as a call of its own would cost a tenth of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.usual import is_plain
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.core import slots
from pullback.core.array_face import AROUND_NDARRAYS, ARRAYS, NESTED, NestedArray, NestedScalar
from pullback.core.array_type import NUMPY, SCALARS
from pullback.core.modes import Modes
from pullback.core.tensor import NestedTensor, ndarray, new
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.tangent_rules import rule_for

Call = Callable[..., Any]


def plainly(op: Operator, arity: int, call: Call) -> Call:
    """The function (modes, *arguments) -> result for plain duals and nothing else; `call` runs all others."""
    rule = rule_for(op.kernel, arity)
    if rule is None or arity > 2 or not is_plain(rule, arity):
        return call
    return (_of_one if arity == 1 else _of_two)(op, NUMPY.kernels[op.kernel], rule.function, call)  # type: ignore[arg-type]


def _of_one(op: Operator, run: Call, push: Call, call: Call) -> Call:
    def quick(state: Modes, x: Any) -> Any:
        kind = type(x)
        dual = x._array if kind in NESTED and not x._requires_grad else None
        if type(dual) is not DualArray or dual.touched is not None or not dual.level.open:
            return call(state, x)
        p, t = dual.primal, dual.tangent
        if type(p) is not ndarray or type(t) is not ndarray:
            return call(state, x)
        try:
            result, before = run(p), warning_state()
            try:
                ignore_warnings()
                (moved,) = push(p, t, result, ops=NUMPY)
            except Exception as error:
                slots.formula_failed(error)
                raise
            finally:
                restore(before)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x,), error)  # noqa: B904
        if result is not p and moved is not t:
            out = _wrapped(result, moved, dual, x._level, kind in ARRAYS)
            if out is not None:
                return out
        return call(state, x)

    return quick


def _of_two(op: Operator, run: Call, push: Call, call: Call) -> Call:  # noqa: C901 - the cases written out
    """Either may be a number, or a tensor without tangent."""

    def quick(state: Modes, x: Any, y: Any) -> Any:  # noqa: C901, PLR0912
        a, b = type(x), type(y)
        t: Any = None
        u: Any = None
        like: Any = None
        if a in NESTED:
            dual, level = x._array, x._level
            if x._requires_grad or type(dual) is not DualArray or dual.touched is not None or not dual.level.open:
                return call(state, x, y)
            p, t, like = dual.primal, dual.tangent, dual
            if type(p) is not ndarray or type(t) is not ndarray:
                return call(state, x, y)
        elif a in SCALARS:
            p = x
        else:
            p = x._array if a in AROUND_NDARRAYS and not x._requires_grad else None
        if b in NESTED:
            dual = y._array
            if y._requires_grad or type(dual) is not DualArray or dual.touched is not None or not dual.level.open:
                return call(state, x, y)
            q, u = dual.primal, dual.tangent
            if type(q) is not ndarray or type(u) is not ndarray:
                return call(state, x, y)
            if like is None:
                like, level = dual, y._level
                if a in AROUND_NDARRAYS and x._level != level:
                    return call(state, x, y)
            elif dual.level is not like.level or dual.co is not like.co or y._level != level:
                return call(state, x, y)
        elif b in SCALARS:
            q = y
        else:
            q = y._array if b in AROUND_NDARRAYS and not y._requires_grad and y._level == level else None
        if p is None or q is None:
            return call(state, x, y)
        try:
            result, before = run(p, q), warning_state()
            try:
                ignore_warnings()
                (moved,) = push(p, t, q, u, result, ops=NUMPY)
            except Exception as error:
                slots.formula_failed(error)
                raise
            finally:
                restore(before)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explain(op, (x, y), error)  # noqa: B904
        if moved is not None and (moved is t or moved is u):  # of a sum with a constant
            moved = moved.copy("K")
        out = None
        if result is not p and result is not q:
            out = _wrapped(result, moved, like, level, a in ARRAYS or b in ARRAYS)
        return call(state, x, y) if out is None else out

    return quick


def _wrapped(primal: Any, tangent: Any, like: DualArray, level: int, array: bool) -> Any:
    """A fresh tensor around a fresh dual array of the level and kind of another; None where these do not fit so."""
    if type(primal) is not ndarray or type(tangent) is not ndarray:
        if not issubclass(type(primal), np.generic) or not issubclass(type(tangent), np.generic):
            return None
        primal, tangent = np.asarray(primal), np.asarray(tangent)
    dtype = primal.dtype
    if (
        tangent.dtype is not dtype
        or tangent.strides != primal.strides
        or tangent.shape != primal.shape
        or primal.base is not None
        or tangent.base is not None
        or dtype.kind not in "fc"
    ):
        return None
    made: Any = new(DualArray)
    made.primal, made.tangent, made.level, made.co = primal, tangent, like.level, like.co
    made.touched = made.given = made.kin = None
    made.apart = False
    out: Any = new((NestedArray if primal.ndim else NestedScalar) if array else NestedTensor)
    out._array, out._level, out._requires_grad = made, level, False
    out._fn = out._counter = out._extra = None
    return out
