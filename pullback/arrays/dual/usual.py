"""Kernels on dual arrays in the usual case: tangents of one level beside ndarrays, or beside Tensors.

There is a function for each of the usual shapes of operators, with arguments in fixed places; what is known of the
operator is asked for once, when the function is made. What is unusual goes the general way: see `arrays.dual.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, Kin, holds_dual
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.pairing import meets, paired, paired_view
from pullback.arrays.dual.touched import (
    SUMS,
    UNKNOWN,
    begun,
    mask_at,
    mask_of,
    moves_everywhere,
    plain_mask,
    plain_masks,
    still,
)
from pullback.arrays.masks import cleaned
from pullback.arrays.numpy.quiet import ignore_warnings, restore, warning_state
from pullback.core import slots
from pullback.core.array_face import AROUND_NDARRAYS, NESTED
from pullback.core.array_type import CONSTANTS, NUMPY, TENSOR
from pullback.core.tensor import Tensor, ndarray, new
from pullback.dispatch.tangent_rules import Rule

Kernel = Callable[..., Any]

VALUES = CONSTANTS | {type(None)}
ON_TENSORS = CONSTANTS | AROUND_NDARRAYS | NESTED
PLAIN = frozenset({ndarray, type(None)})  # types of tangents, that which is not there included
MOVING = PLAIN | AROUND_NDARRAYS | NESTED


def usual(rule: Rule | None, name: str, in_general: Kernel) -> Kernel:
    """The kernel of that name on dual arrays, for an operator with this rule."""
    if rule is None:
        in_short = _of_values(name, in_general)
        return _of_zeros(in_short, in_general) if name == "zeros_like" else in_short
    if rule.function is None or rule.mutates:
        return in_general
    if rule.outputs == 1 and not (rule.lists or rule.returns_list or rule.underived):
        if rule.inputs == rule.tensors == (0,):
            return _of_one(rule, name, in_general)
        if rule.inputs == rule.tensors == (0, 1):
            return _of_two(rule, name, in_general)
    in_any = _of_any(rule, name, in_general)
    if rule.inputs == rule.tensors == (0,) and not rule.underived:
        if rule.outputs == 1 and not rule.returns_list:
            return _of_list(rule, name, in_any)
        if not rule.lists:
            return _of_several(rule, name, in_any)
    if rule.tensors == (0, 1, 2) and rule.inputs == (1, 2) and rule.copying and rule.arity == 3:
        return _of_choice(rule, name, in_any)
    return in_any


def is_plain(rule: Rule | None, count: int) -> bool:
    """True if the tangent of the one result is computed of those of so many arrays alone, and no masks begin there."""
    if rule is None or rule.function is None or rule.mutates or rule.view or rule.masking or rule.placing:
        return False
    if rule.outputs != 1 or rule.lists or rule.returns_list or rule.underived:
        return False
    return rule.inputs == rule.tensors == tuple(range(count)) and rule.arity == count


def _of_values(name: str, in_general: Kernel) -> Kernel:
    """A rule for what has no derivative, such as a comparison."""
    run = NUMPY.kernels[name]

    def kernel(*args: Any) -> Any:
        values = []
        for x in args:
            if type(x) is DualArray:
                x = x.primal
                if type(x) is not ndarray:
                    return in_general(*args)
            elif type(x) not in VALUES:
                return in_general(*args)
            values.append(x)
        return run(*values)

    return kernel


def _of_zeros(in_short: Kernel, in_general: Kernel) -> Kernel:
    """A rule for zeros_like, whose result is a co-dual where a formula gives it in place of one."""
    return lambda x, *rest: (in_general if type(x) is DualArray and x.co else in_short)(x, *rest)


def _of_one(rule: Rule, name: str, in_general: Kernel) -> Kernel:  # noqa: C901 - the cases written out
    """One array and any arguments more."""
    function: Any = rule.function
    on_arrays, on_tensors = NUMPY.kernels[name], TENSOR.kernels[name]
    masking, placing, keeping, view = rule.masking, rule.placing, rule.pointwise or rule.structural, rule.view

    def kernel(x: Any, *rest: Any) -> Any:  # noqa: C901, PLR0912 - the cases written out
        if type(x) is not DualArray:
            return in_general(x, *rest)
        p, t, masked = x.primal, x.tangent, masking
        if x.touched is not None:
            if not keeping and still(mask_of(x)):
                return in_general(x, *rest)
            masked = keeping
        if type(p) is ndarray and type(t) is ndarray:
            run, ops = on_arrays, NUMPY
        elif isinstance(t, Tensor) and not (masked or placing) and (type(p) is ndarray or isinstance(p, Tensor)):
            run, ops = on_arrays if type(p) is ndarray else on_tensors, TENSOR
        else:
            return in_general(x, *rest)
        result, mask = run(p, *rest) if rest else run(p), None
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(p, t, *rest, result, ops=ops) if rest else function(p, t, result, ops=ops)
            if (masked or (placing and result.size > t.size)) and not x.co:
                own = None if x.touched is None else mask_of(x)
                mask = UNKNOWN if own is not None else begun(rule, moved, (t,), result.shape)
                if mask is UNKNOWN:
                    mask = plain_mask(rule, (p, *rest), (t,), (own,), result, moved)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if mask is UNKNOWN:
            if moved is None or not rule.pointwise:
                return in_general(x, *rest)
            mask = mask_of(x)  # what is untouched is 0 whatever the slope
            moved = cleaned(moved, mask)
        if type(result) is ndarray and result.base is not None and (view or meets(result, (p,))):
            if view and type(moved) is ndarray and result.shape == moved.shape and result.dtype is p.dtype:
                return paired_view(x, result, moved, mask)
        elif result is not p:
            if moved is t and type(t) is ndarray:
                moved = t.copy("K")
            if (made := _fresh(result, moved, (t,), x.level, x.co, mask)) is not None:
                return made
        return paired(result, moved, mask, (x,), (p,), (t,))

    return kernel


def _of_two(rule: Rule, name: str, in_general: Kernel) -> Kernel:  # noqa: C901, PLR0915 - the cases written out
    """Two arrays, of which one may be a constant, and any arguments more."""
    function: Any = rule.function
    on_arrays, on_tensors = NUMPY.kernels[name], TENSOR.kernels[name]
    masking, keeping, sums = rule.masking or rule.placing, rule.pointwise or rule.structural, name in SUMS

    def kernel(x: Any, y: Any, *rest: Any) -> Any:  # noqa: C901, PLR0912
        a, b = type(x), type(y)
        if a is DualArray:
            p, t, level, co, masked = x.primal, x.tangent, x.level, x.co, x.touched is not None
            if b is DualArray:
                if y.level is not level or (co is not y.co and sums):
                    return in_general(x, y, *rest)
                q, u, co, masked = y.primal, y.tangent, co or y.co, masked or y.touched is not None
            else:
                q, u = y, None
        elif b is DualArray:
            p, t, q, u, level, co = x, None, y.primal, y.tangent, y.level, y.co
            masked = y.touched is not None
        else:
            return in_general(x, y, *rest)
        if masked and not keeping:
            if still(mask_of(x)) or still(mask_of(y)):
                return in_general(x, y, *rest)
            masked = False
        masked = masked or masking
        a, b = type(p), type(q)
        if t is u is None:
            return in_general(x, y, *rest)
        if a in CONSTANTS and b in CONSTANTS and type(t) in PLAIN and type(u) in PLAIN:
            run, ops = on_arrays, NUMPY
        elif a in ON_TENSORS and b in ON_TENSORS and type(t) in MOVING and type(u) in MOVING and not masked:
            if (t is None and holds_dual(p)) or (u is None and holds_dual(q)):
                return in_general(x, y, *rest)
            run = on_tensors if isinstance(p, Tensor) or isinstance(q, Tensor) else on_arrays
            ops = TENSOR
        else:
            return in_general(x, y, *rest)
        result, mask = run(p, q, *rest) if rest else run(p, q), None
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(p, t, q, u, *rest, result, ops=ops) if rest else function(p, t, q, u, result, ops=ops)
            if masked and not co:
                each = mask_of(x), mask_of(y)
                mask = begun(rule, moved, (t, u), result.shape) if each[0] is each[1] is None else UNKNOWN
                if mask is UNKNOWN:
                    mask = plain_mask(rule, (p, q, *rest), (t, u), each, result, moved)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if mask is UNKNOWN:
            return in_general(x, y, *rest)
        if result is not p and result is not q:
            if type(moved) is ndarray and (moved is t or moved is u):
                moved = moved.copy("K")  # of a sum with a constant
            if (made := _fresh(result, moved, (t, u), level, co, mask)) is not None:
                return made
        duals, tangents = [z for z in (x, y) if type(z) is DualArray], [z for z in (t, u) if z is not None]
        return paired(result, moved, mask, duals, (p, q), tangents)

    return kernel


def _of_several(rule: Rule, name: str, in_general: Kernel) -> Kernel:
    """One plain array and any arguments more: several results, or a list of them."""
    function: Any = rule.function
    run, listing, view, moving = NUMPY.kernels[name], rule.returns_list, rule.view, rule.moving
    begins, keeping = rule.masking or rule.placing, rule.pointwise or rule.structural

    def kernel(x: Any, *rest: Any) -> Any:
        if type(x) is not DualArray:
            return in_general(x, *rest)
        p, t, own = x.primal, x.tangent, None if x.touched is None else mask_of(x)
        if type(p) is not ndarray or type(t) is not ndarray or (own is not None and not keeping):
            return in_general(x, *rest)
        results, masks = run(p, *rest), None
        outputs, given = [results] if listing else results, (t,)
        before = warning_state()
        try:
            ignore_warnings()
            found = function(p, t, *rest, *outputs, ops=NUMPY)
            if (own is not None or (begins and not moves_everywhere(found))) and not x.co:
                nothing = [None] * len(rest)
                masks = plain_masks(rule, (p, *rest), (t, *nothing), (own, *nothing), outputs, found)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if masks is UNKNOWN:
            return in_general(x, *rest)
        if listing:
            return in_a_list(x, results, found[0], masks)
        made = list(results)
        for nr, i in enumerate(moving):
            primal, tangent = made[i], found[nr]
            mask, part = None if masks is None else masks[nr], None
            if type(primal) is ndarray and primal.base is None and primal is not p and tangent is not t:
                part = _fresh(primal, tangent, given, x.level, x.co, mask)
            made[i] = _result(primal, tangent, mask, (x,), (p,), given, view) if part is None else part
        return made

    def in_a_list(x: DualArray, primals: Any, tangents: Any, masks: Any) -> list[Any]:
        if view and not x.apart and (made := _view_parts(x, primals, tangents, masks)) is not None:
            return made
        masks, p, t = [None] * len(primals) if masks is None else masks, x.primal, x.tangent
        return [_result(*part, (x,), (p,), (t,), view) for part in zip(primals, tangents, masks, strict=True)]

    return kernel


def _of_list(rule: Rule, name: str, in_general: Kernel) -> Kernel:
    """A list of plain arrays, of which some may be constants, and any arguments more."""
    function: Any = rule.function
    run, masking, placing, view = NUMPY.kernels[name], rule.masking, rule.placing, rule.view

    def kernel(xs: Any, *rest: Any) -> Any:
        if type(xs) is not list or masking:
            return in_general(xs, *rest)
        primals, tangents, first, lacking, mask = [], [], None, False, None
        for x in xs:
            if type(x) is DualArray:
                first = x if first is None else first
                p, t = x.primal, x.tangent
                other = x.level is not first.level or x.co is not first.co
                if other or x.touched is not None or type(t) is not ndarray:
                    return in_general(xs, *rest)
            else:
                p, t, lacking = x, None, True
            if type(p) is not ndarray:
                return in_general(xs, *rest)
            primals.append(p)
            tangents.append(t)
        if first is None:
            return in_general(xs, *rest)
        duals, moving = xs, tangents
        if lacking:
            duals, moving = [x for x in xs if type(x) is DualArray], [t for t in tangents if t is not None]
        result = run(primals, *rest)
        begins = placing and (lacking or result.size > sum([t.size for t in tangents]))
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(primals, tangents, *rest, result, ops=NUMPY)
            if begins and not first.co:
                mask = begun(rule, moved, moving, result.shape)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if mask is UNKNOWN:
            return in_general(xs, *rest)
        return _result(result, moved, mask, duals, primals, moving, view)

    return kernel


def _of_choice(rule: Rule, name: str, in_general: Kernel) -> Kernel:
    """A plain array that says which of two others each element is from, of which one may be a constant: `where`."""
    function: Any = rule.function
    run = NUMPY.kernels[name]

    def kernel(chosen: Any, x: Any, y: Any) -> Any:
        p, t, q, u, first = x, None, y, None, None
        if type(x) is DualArray:
            p, t, first = x.primal, x.tangent, x
            if x.touched is not None or type(p) is not ndarray or type(t) is not ndarray:
                return in_general(chosen, x, y)
        if type(y) is DualArray:
            q, u = y.primal, y.tangent
            if y.touched is not None or type(q) is not ndarray or type(u) is not ndarray:
                return in_general(chosen, x, y)
            if first is None:
                first = y
            elif first.level is not y.level or first.co is not y.co:
                return in_general(chosen, x, y)
        if first is None or type(chosen) is not ndarray or type(p) not in CONSTANTS or type(q) not in CONSTANTS:
            return in_general(chosen, x, y)
        result = run(chosen, p, q)
        before = warning_state()
        try:
            ignore_warnings()
            (moved,) = function(chosen, p, t, q, u, result, ops=NUMPY)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        mask = None if first.co else begun(rule, moved, (t, u), result.shape)
        if mask is UNKNOWN or (made := _fresh(result, moved, (t, u), first.level, first.co, mask)) is None:
            return in_general(chosen, x, y)
        return made

    return kernel


def _of_any(rule: Rule, name: str, in_general: Kernel) -> Kernel:
    """Any plain arrays, and lists of them, among any arguments, and any results."""
    function: Any = rule.function
    run, view, listing, several = NUMPY.kernels[name], rule.view, rule.returns_list, rule.outputs > 1
    kinds = [_MOVES if i in rule.inputs else _ARRAY if i in rule.tensors else _OTHER for i in range(rule.arity)]
    masking, placing, keeping = rule.masking, rule.placing, rule.pointwise or rule.structural
    underived = [i for i, _ in rule.underived]
    take = _taken if rule.lists else _taken_flat

    def kernel(*args: Any) -> Any:
        taken = take(kinds, args)
        if taken is None or not taken[4] or (underived and any(_tangent(args[i]) is not None for i in underived)):
            return in_general(*args)
        primals, values, duals, given, moving, masked, lacking = taken
        if masked and not keeping:
            if any(still(mask_of(x)) for x in duals):
                return in_general(*args)
            masked = False
        result, masks = run(*primals), None
        outputs = result if several else [result]
        before = warning_state()
        try:
            ignore_warnings()
            found = function(*values, *outputs, ops=NUMPY)
            begins = masking or (
                placing and (lacking or listing or several or result.size > sum([t.size for t in moving]))
            )
            if begins and not masked and not duals[0].co and not (listing or several):
                mask = begun(rule, found[0], moving, result.shape)
                begins = mask is UNKNOWN
                masks = None if begins or mask is None else [mask]
            if (masked or (begins and not moves_everywhere(found))) and not duals[0].co:
                each = [mask_at(x, duals[0].level.number) for x in args]
                masks = plain_masks(rule, primals, [_tangent(x) for x in args], each, outputs, found)
        except Exception as error:
            slots.formula_failed(error)
            raise
        finally:
            restore(before)
        if masks is UNKNOWN:
            return in_general(*args)
        if not (listing or several):
            return _result(result, found[0], None if masks is None else masks[0], duals, given, moving, view)
        made, parts = list(result), found[0] if listing else found
        for nr, i in enumerate(range(len(made)) if listing else rule.moving):
            made[i] = _result(made[i], parts[nr], None if masks is None else masks[nr], duals, given, moving, view)
        return made if listing else tuple(made)

    return kernel


_OTHER, _ARRAY, _MOVES = range(3)  # kinds of arguments: no array; one without derivative; one with

# (primals, these with tangents as the rule takes them, the dual arrays, the primals one by one, those in lists too, the
# tangents that are there, whether a dual has a mask, whether a tangent is not there)
_Taken = tuple[list[Any], list[Any], list[DualArray], list[Any], list[ndarray], bool, bool]


def _taken(kinds: Sequence[int], args: Sequence[Any]) -> _Taken | None:  # noqa: C901, PLR0912 - lists written out
    """Plain arrays, and dual ones of one level around plain ones, taken apart; None for what is unusual."""
    primals: list[Any] = []
    values: list[Any] = []
    duals: list[DualArray] = []
    given = primals
    moving: list[ndarray] = []
    masked = lacking = False
    level: Any = None
    co = False
    for x, kind in zip(args, kinds, strict=True):
        p: Any = x
        t: Any = None
        if type(x) is DualArray:
            p, t = x.primal, x.tangent
            if level is None:
                level, co = x.level, x.co
            if type(p) is not ndarray or type(t) not in PLAIN or x.level is not level or x.co is not co:
                return None
            duals.append(x)
            masked = masked or x.touched is not None
        elif type(x) is list and kind != _OTHER:
            p, t = [], []
            for y in x:
                q, u = y, None
                if type(y) is DualArray:
                    q, u = y.primal, y.tangent
                    if level is None:
                        level, co = y.level, y.co
                    if type(q) is not ndarray or type(u) not in PLAIN or y.level is not level or y.co is not co:
                        return None
                    duals.append(y)
                    masked = masked or y.touched is not None
                elif y is not None and type(y) not in CONSTANTS:
                    return None
                p.append(q)
                t.append(u)
            given = [*given, *p]
        elif kind != _OTHER and x is not None and type(x) not in CONSTANTS:
            return None
        primals.append(p)
        if given is not primals:
            given.append(p)
        values.append(p)
        if kind == _MOVES:
            values.append(t)
            if type(t) is ndarray:
                moving.append(t)
            elif t is None:
                lacking = True
            else:
                there = [u for u in t if u is not None]
                moving += there
                lacking = lacking or len(there) < len(t)
    return primals, values, duals, given, moving, masked, lacking


def _taken_flat(kinds: Sequence[int], args: Sequence[Any]) -> _Taken | None:
    """The same where no argument is a list."""
    primals, values, moving = [], [], []
    duals: list[Any] = []
    masked = lacking = False
    for x, kind in zip(args, kinds, strict=True):
        if type(x) is DualArray:
            p, t = x.primal, x.tangent
            if type(p) is not ndarray or type(t) not in PLAIN:
                return None
            if duals and (x.level is not duals[0].level or x.co is not duals[0].co):
                return None
            duals.append(x)
            masked = masked or x.touched is not None
        elif kind == _OTHER or x is None or type(x) in CONSTANTS:
            p, t = x, None
        else:
            return None
        primals.append(p)
        values.append(p)
        if kind == _MOVES:
            values.append(t)
            if t is None:
                lacking = True
            else:
                moving.append(t)
    return primals, values, duals, primals, moving, masked, lacking


def _tangent(x: Any) -> Any:
    """That of one argument, or of each in a list; None where there is none."""
    return x.tangent if type(x) is DualArray else [_tangent(y) for y in x] if type(x) is list else None


def _result(
    primal: Any, tangent: Any, mask: Any, duals: Sequence[DualArray], given: Any, moving: Any, view: bool
) -> Any:
    """One of the results with its tangent."""
    first, made = duals[0], None
    if type(primal) is not ndarray or primal.base is None or not (view or meets(primal, given)):
        for x in given:
            if primal is x:
                break
        else:
            for t in moving:
                if tangent is t:
                    tangent = t.copy("K")
            made = _fresh(primal, tangent, moving, first.level, first.co, mask)
    elif view and len(duals) == 1 and type(tangent) is ndarray and primal.shape == tangent.shape:
        made = paired_view(first, primal, tangent, mask)
    return paired(primal, tangent, mask, duals, given, moving) if made is None else made


def _view_parts(x: DualArray, primals: Any, tangents: Any, masks: Any) -> list[DualArray] | None:
    """Views of a plain dual array whose parts share memory: `paired_view` of the usual case, None in any other."""
    p, t, level, co = x.primal, x.tangent, x.level, x.co
    owner, moved_owner, kin = p.base, t.base, x.kin or Kin()
    made = []
    for nr, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        base, moved = primal.base, getattr(tangent, "base", None)
        if base is None or moved is None or not (base is p or base is owner):
            return None
        if not (moved is t or moved is moved_owner):
            return None
        if tangent.shape != primal.shape or tangent.dtype is not primal.dtype:
            return None
        part = new(DualArray)
        part.primal, part.tangent, part.level, part.co, part.kin = primal, tangent, level, co, kin
        part.touched = None if masks is None else masks[nr]
        part.apart, part.given = False, None
        made.append(part)
    x.kin = kin
    return made


def _fresh(
    primal: Any, tangent: Any, given: Sequence[Any], level: ForwardLevel, co: bool, mask: Any
) -> DualArray | None:
    """A primal in memory of its own, or a number, with its tangent; None if that does not fit or lies in `given`."""
    if type(primal) is not ndarray or type(tangent) is not ndarray:
        if issubclass(type(primal), np.generic):  # as of a sum
            primal = np.asarray(primal)
        if issubclass(type(tangent), np.generic):
            tangent = np.asarray(tangent)
        if type(primal) is not ndarray or type(tangent) is not ndarray:
            return None
    dtype = primal.dtype
    if (
        tangent.dtype is not dtype
        or tangent.strides != primal.strides
        or tangent.shape != primal.shape
        or (tangent.base is not None and meets(tangent, given))
        or dtype.kind not in "fc"
    ):
        return None
    made = new(DualArray)
    made.primal, made.tangent, made.level, made.co, made.touched = primal, tangent, level, co, mask
    made.apart, made.given, made.kin = False, None, None
    return made
