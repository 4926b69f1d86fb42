"""Kernels on dual arrays in the usual case: tangents of one level beside ndarrays, or beside Tensors.

There is a function for each of the usual shapes of operators, with arguments in fixed places; what is known of the
operator is asked for once, when the function is made. What is unusual goes the general way: see `arrays.dual.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.pairing import meets, paired, paired_view
from pullback.arrays.dual.untouched import UNKNOWN, mask_of, plain_mask, plain_masks
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.core import slots
from pullback.core.array_face import AROUND_NDARRAYS, NESTED
from pullback.core.array_type import CONSTANTS, NUMPY, TENSOR
from pullback.core.tensor import Tensor, ndarray, new
from pullback.dispatch.tangent_rules import Rule

Kernel = Callable[..., Any]

VALUES = CONSTANTS | {type(None)}
SUMS = frozenset({"add", "sub"})
ON_TENSORS = CONSTANTS | AROUND_NDARRAYS | NESTED
PLAIN = frozenset({ndarray, type(None)})  # types of tangents, that which is not there included
MOVING = PLAIN | AROUND_NDARRAYS | NESTED


def usual(rule: Rule | None, name: str, in_general: Kernel) -> Kernel:
    """The kernel of that name on dual arrays, for an operator with this rule."""
    if rule is None:
        return _of_values(name, in_general)
    if rule.function is None or rule.mutates or rule.underived:
        return in_general
    if rule.outputs == 1 and not (rule.lists or rule.returns_list):
        if rule.inputs == rule.tensors == (0,):
            return _of_one(rule, name, in_general)
        if rule.inputs == rule.tensors == (0, 1):
            return _of_two(rule, name, in_general)
    return _of_any(rule, name, in_general)


def _of_values(name: str, in_general: Kernel) -> Kernel:
    """What has no derivative, such as a comparison."""
    run = NUMPY.kernels[name]

    def kernel(*args: Any) -> Any:
        values = [x.primal if type(x) is DualArray else x for x in args]
        for x, value in zip(args, values, strict=True):
            if type(value) not in VALUES or (type(x) is DualArray and type(value) is not ndarray):
                return in_general(*args)
        return run(*values)

    return kernel


def _of_one(rule: Rule, name: str, in_general: Kernel) -> Kernel:
    """One array and any arguments more."""
    function: Any = rule.function
    on_arrays, on_tensors = NUMPY.kernels[name], TENSOR.kernels[name]
    masking, placing, keeping, view = rule.masking, rule.placing, rule.pointwise or rule.structural, rule.view

    def kernel(x: Any, *rest: Any) -> Any:  # noqa: PLR0912 - the cases written out
        if type(x) is not DualArray:
            return in_general(x, *rest)
        p, t, level, co = x.primal, x.tangent, x.level, x.co
        masked = masking or x.untouched is not None
        if type(p) is ndarray and type(t) is ndarray and (keeping or not masked):
            run, ops = on_arrays, NUMPY
        elif isinstance(p, Tensor) and isinstance(t, Tensor) and not (masked or placing):
            run, ops = on_tensors, TENSOR
        else:
            return in_general(x, *rest)
        result, mask = run(p, *rest), None
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(p, t, *rest, result, ops=ops)
            if (masked or (placing and result.size > t.size)) and not co:
                mask = plain_mask(rule, (p, *rest), (t,), (mask_of(x),), result, moved)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if mask is UNKNOWN:
            return in_general(x, *rest)
        if issubclass(type(result), np.generic) and type(moved) is type(result):  # NumPy's scalars, as of a sum
            result, moved = np.asarray(result), np.asarray(moved)
        if type(result) is type(moved) is ndarray:
            if result.base is None and result is not p:
                if moved is not t and (made := _fresh(result, moved, (t,), level, co, mask)) is not None:
                    return made
            elif view and result.shape == moved.shape and result.dtype is p.dtype:
                return paired_view(x, result, moved, mask)
        return paired(result, moved, mask, (x,), (p,), (t,))

    return kernel


def _of_two(rule: Rule, name: str, in_general: Kernel) -> Kernel:  # noqa: C901 - the cases written out
    """Two arrays, of which one may be a constant, and any arguments more."""
    function: Any = rule.function
    on_arrays, on_tensors = NUMPY.kernels[name], TENSOR.kernels[name]
    masking, keeping, sums = rule.masking or rule.placing, rule.pointwise or rule.structural, name in SUMS

    def kernel(x: Any, y: Any, *rest: Any) -> Any:  # noqa: PLR0912
        a, b = type(x), type(y)
        if a is DualArray:
            p, t, level, co = x.primal, x.tangent, x.level, x.co
            masked = masking or x.untouched is not None
            if b is DualArray:
                if y.level is not level or (co is not y.co and sums):
                    return in_general(x, y, *rest)
                q, u, co, masked = y.primal, y.tangent, co or y.co, masked or y.untouched is not None
            else:
                q, u = y, None
        elif b is DualArray:
            p, t, q, u, level, co = x, None, y.primal, y.tangent, y.level, y.co
            masked = masking or y.untouched is not None
        else:
            return in_general(x, y, *rest)
        a, b = type(p), type(q)
        if (masked and not keeping) or t is u is None:
            return in_general(x, y, *rest)
        if a in CONSTANTS and b in CONSTANTS and type(t) in PLAIN and type(u) in PLAIN:
            run, ops = on_arrays, NUMPY
        elif a in ON_TENSORS and b in ON_TENSORS and type(t) in MOVING and type(u) in MOVING and not masked:
            run = on_tensors if isinstance(p, Tensor) or isinstance(q, Tensor) else on_arrays
            ops = TENSOR
        else:
            return in_general(x, y, *rest)
        result, mask = run(p, q, *rest), None
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(p, t, q, u, *rest, result, ops=ops)
            if masked and not co:
                mask = plain_mask(rule, (p, q, *rest), (t, u), (mask_of(x), mask_of(y)), result, moved)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if mask is UNKNOWN:
            return in_general(x, y, *rest)
        if type(result) is type(moved) is ndarray and result.base is None and result is not p and result is not q:
            if moved is t or moved is u:
                moved = moved.copy("K")  # of a sum with a constant
            if (made := _fresh(result, moved, (t, u), level, co, mask)) is not None:
                return made
        duals, tangents = [z for z in (x, y) if type(z) is DualArray], [z for z in (t, u) if z is not None]
        return paired(result, moved, mask, duals, (p, q), tangents)

    return kernel


def _of_any(rule: Rule, name: str, in_general: Kernel) -> Kernel:  # noqa: C901, PLR0915 - one pass over all arguments
    """Any plain arrays, and lists of them, among any arguments, and any results."""
    run, places = NUMPY.kernels[name], [(i, i in rule.inputs) for i in rule.tensors]
    view = rule.view
    masking, placing, keeping = rule.masking, rule.placing, rule.pointwise or rule.structural
    listing, single = rule.returns_list, rule.outputs == 1 and not rule.returns_list

    def kernel(*args: Any) -> Any:  # noqa: C901, PLR0912
        primals, tangents = list(args), [None] * len(args)
        duals, given, moving = [], [], []
        level, co, masked, lacking, listed = None, False, masking, False, False
        for i, moves in places:
            x = args[i]
            several = type(x) is list
            ps, ts = [], []
            for y in x if several else (x,):
                if type(y) is DualArray:
                    p, t = y.primal, y.tangent
                    if level is None:
                        level, co = y.level, y.co
                    if type(p) is not ndarray or type(t) not in PLAIN or y.level is not level or y.co is not co:
                        return in_general(*args)
                    masked = masked or y.untouched is not None
                    duals.append(y)
                elif y is None or type(y) in CONSTANTS:
                    p, t = y, None
                else:
                    return in_general(*args)
                ps.append(p)
                ts.append(t)
                if t is None:
                    lacking = lacking or moves
                elif moves:
                    moving.append(t)
            primals[i], tangents[i] = (ps, ts) if several else (p, t)
            given += ps
            listed = listed or several
        if not moving or (masked and (listed or not keeping)):
            return in_general(*args)
        result, masks = run(*primals), None
        outputs = [result] if single or listing else result
        before = warning_state()
        try:
            ignore_warnings()
            found = rule.push(primals, tangents, outputs, NUMPY)
            if not co:
                wanted = masked or (placing and (lacking or (single and result.size > sum([t.size for t in moving]))))
                if wanted:
                    masks = plain_masks(rule, primals, tangents, [mask_of(x) for x in args], outputs, found)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if masks is UNKNOWN:
            return in_general(*args)
        made = list(result) if listing or not single else [result]
        parts = found[0] if listing else found
        for nr, i in enumerate(range(len(made)) if listing else rule.moving):
            mask = None if masks is None else masks[nr]
            made[i] = _result(made[i], parts[nr], mask, duals, given, moving, view)
        return made[0] if single else made if listing else tuple(made)

    return kernel


def _result(
    primal: Any, tangent: Any, mask: Any, duals: Sequence[DualArray], given: Any, moving: Any, view: bool
) -> Any:
    """One of the results with its tangent."""
    first, made = duals[0], None
    if type(primal) is type(tangent) is ndarray:
        if primal.base is None:
            if not any(primal is x for x in given):
                own = tangent.copy("K") if any(tangent is x for x in moving) else tangent
                made = _fresh(primal, own, moving, first.level, first.co, mask)
        elif view and len(duals) == 1 and primal.shape == tangent.shape and primal.dtype is first.primal.dtype:
            made = paired_view(first, primal, tangent, mask)
    return paired(primal, tangent, mask, duals, given, moving) if made is None else made


def _fresh(
    primal: ndarray, tangent: ndarray, given: Sequence[Any], level: ForwardLevel, co: bool, mask: Any
) -> DualArray | None:
    """A primal in memory of its own with its tangent; None if that is in the memory of a given one, or does not fit."""
    dtype = primal.dtype
    if (
        (tangent.base is not None and meets(tangent, given))
        or tangent.dtype is not dtype
        or tangent.strides != primal.strides
        or tangent.shape != primal.shape
        or dtype.kind not in "fc"
    ):
        return None
    made = new(DualArray)
    made.primal, made.tangent, made.level, made.co, made.untouched = primal, tangent, level, co, mask
    made.apart, made.given, made.kin = False, None, None
    return made
