"""The pipeline by which every operator runs; its steps are defined in `dispatch.steps` and `dispatch.targets`.

    prepare   what the array types among the arguments want; the highest level; the arrays inside
    kernel    computes with these arrays
    wrap      makes Tensors of what it returned; in place and with `out=`: writes it into those that are there
    record    makes a node the function of the results
    view      ties a result to the tensor whose memory it shares

The closures of `pullback.ops.generated.calls` are the same for the common case: tensors of one level around ndarrays
and no modes but grad modes. Everything else comes here: nested tensors, levels mixed, observers, other shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.core import modes, slots
from pullback.core.array_face import AROUND_NDARRAYS, ARRAYS, NESTED, SCALAR_FACES, program_run, show_as_plural
from pullback.core.array_type import (
    ARRAY_TYPES,
    NUMPY,
    PLAIN,
    REGISTERED,
    TENSOR,
    ArrayType,
    array_type,
    innermost,
    is_constant,
    memory_of,
    table_of,
)
from pullback.core.cuts import called_by_name
from pullback.core.observers import Observer, run_operator
from pullback.core.overrides import ENTERED, mode_in_force, taking_part
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.version import bump, counter_of
from pullback.dispatch.call_errors import explain
from pullback.dispatch.nested_calls import call_on_nested
from pullback.dispatch.operator import Operator
from pullback.dispatch.outer_levels import apart_from, constant_part, hold_outer_levels
from pullback.dispatch.steps import (
    BARE,
    flat_arguments,
    floated,
    kernel,
    lower,
    mark_each_inference,
    may_be_none,
    note_cut,
    prepare,
    record,
    survey,
    tie_views,
    watched_kernel,
    wrap_result,
    wrapped,
)
from pullback.dispatch.targets import (
    admit,
    check_out,
    once_in_memory,
    out_targets,
    refuse_graph,
    refuse_tangents,
    values_before,
    with_room,
    write_result,
)
from pullback.graph.gathered import tie_of
from pullback.graph.inplace_nodes import rebase_history
from pullback.graph.journal import KEEPERS, note_write
from pullback.graph.lent import refuse_if_lent


# -- out of place -----------------------------------------------------------------------------------------------------
def dispatch(op: Operator, args: Sequence[Any]) -> Any:
    """Run an operator on any mixture of arguments."""
    state = modes.current()
    result = None
    if state.plain:
        for x in args:
            kind = type(x)
            if (kind is list or kind is tuple) and x:
                x = x[0]
                kind = type(x)
            if kind in NESTED:  # _on_nested, written out
                inside, calls = type(x._array), op.calls
                call = calls[inside] if inside in calls else _call_of(op, inside, len(args))
                result = None if call is None else call(state, *args)
                break
            if kind in ARRAYS:
                if not x._level and _stands_for_ndarrays():
                    break
                call = op.array_calls[kind] if kind in op.array_calls else _array_call_of(op, kind)
                return dispatch_arrays(op, args) if call is None else call(*args)
        else:
            result = _on_arrays(op, args, state) if op.quick else None
    return _in_general(op, args, state) if result is None else result


def dispatch_arrays(op: Operator, args: Sequence[Any]) -> Any:
    """`dispatch` where an Array is among the arguments, but for the common case."""
    if op.view and type(args[0]) in SCALAR_FACES:  # with whose memory nothing may be shared
        args = (show_as_plural(TENSOR.clone(args[0])), *args[1:])
    state = modes.current()
    if state.plain:
        for x in args:
            if type(x) in NESTED:
                result = _on_nested(op, args, x, state)
                if result is not None:
                    return result
                break
        else:
            if op.returns_value and op.quick and (result := _on_arrays(op, args, state)) is not None:
                return result
    return _in_general(op, args, state)


def _in_general(op: Operator, args: Sequence[Any], state: modes.Modes) -> Any:
    if ENTERED and op.row is not None and mode_in_force():
        return op.row.asked(args)
    try:
        if state.observers:
            return run_operator(state.observers, op.name, args, partial(_dispatch, op, args))
        return _dispatch(op, args)
    except TypeError:
        if op.row is None or not taking_part(args):
            raise
    return op.row.asked(args)


def _on_nested(op: Operator, args: Sequence[Any], first: Any, state: modes.Modes) -> Any:
    """All steps at once where the first tensor is around a tensor, or a type that has a quick way; None elsewhere."""
    kind = type(first._array)
    call = op.calls[kind] if kind in op.calls else _call_of(op, kind, len(args))
    return None if call is None else call(state, *args)


def _array_call_of(op: Operator, kind: type) -> Callable[..., Any] | None:
    """A function that runs the operator where an Array or a Scalar comes first, the common case, if there is one."""
    made: Callable[..., Any] | None = slots.array_call(op, kind)
    op.array_calls[kind] = made
    return made


def _call_of(op: Operator, array_type: type, arity: int) -> Callable[..., Any] | None:
    """A function that runs the operator on Tensors around arrays of this type, the usual case, if there is one."""
    described = ARRAY_TYPES[array_type]
    made = described.call(op, arity) if described.rank != PLAIN else None
    if made is None and type(described).prepare is ArrayType.prepare and described.rank != PLAIN:
        made = call_on_nested(op, array_type, described)
    op.calls[array_type] = made
    return made


def _on_arrays(op: Operator, args: Sequence[Any], state: modes.Modes) -> Any:
    """All steps at once for tensors of one level around ndarrays, and no lists; None for everything else."""
    raws = list(args)
    level, needs, value = -1, False, op.returns_value
    for position, name in op.tensors:
        x = args[position]
        kind = type(x)
        if kind is Tensor or (value and kind in AROUND_NDARRAYS):  # of a number it is not asked what face it has
            if x._level != level:
                if level >= 0:
                    return None
                level = x._level
            raws[position] = x._array
            needs = needs or x._requires_grad
        elif kind in REGISTERED or not (may_be_none(op, name) if x is None else is_constant(x)):
            return None
    if level < 0:
        return None
    if op.floating:
        floated(op, raws)
    try:
        result = NUMPY.kernels[op.kernel](*raws)
    except Exception as error:  # noqa: BLE001 - raised again, with what was called
        raise explain(op, args, error)  # noqa: B904
    if value:
        note_cut(op, args)
        return result
    multi = op.multi
    out = wrap_result(result, level) if multi is None else multi._make([wrap_result(each, level) for each in result])
    if needs and op.record is not None and state.records(level):
        op.record(out, *args)
        if multi is None:
            return out
    note_cut(op, args)
    return out


def _plain_number(x: Any) -> Any:
    """`x`, as a number of Python's own class where it is of a user's class derived from that."""
    kind = next((kind for kind in (int, float, complex) if issubclass(type(x), kind)), None)
    return x if kind is None or is_constant(x) else kind(x)


def _dispatch(op: Operator, args: Sequence[Any]) -> Any:
    try:
        given = prepare(op, args)
    except TypeError:
        plain = [_plain_number(x) for x in args]
        if all(x is y for x, y in zip(args, plain, strict=True)):
            raise
        args, given = plain, prepare(op, plain)
    if given.level == BARE:
        return kernel(op, args, args)  # what comes is bare too
    result = watched_kernel(op, given.raws, given.args)
    note_cut(op, given.args)
    if op.returns_value:
        return result
    outs, each = wrapped(op, result, max(given.level, 0), _shows_arrays(given.tensors))
    record(op, outs, each, given)
    if op.view:
        tie_views(op, each, given)
    if modes.current().inference:
        mark_each_inference(each)
    return outs


def _shows_arrays(tensors: Sequence[Tensor]) -> bool:
    """True if what an operator makes of these has NumPy's face."""
    arrays = [x for x in tensors if type(x) in ARRAYS]
    if not arrays or any(x._level for x in arrays):
        return bool(arrays)
    if len(arrays) == len(tensors):
        return not _stands_for_ndarrays()
    if modes.current().level and all(type(x) in ARRAYS or x.dtype.kind == "b" for x in tensors):
        return True  # the masks of a backward have no face
    return not any(array_type(innermost(x)).for_ndarrays for x in tensors)


def _stands_for_ndarrays() -> bool:
    """True in a trace where the user calls an operator by its name: of the ndarrays themselves it makes Tensors."""
    return program_run.get() is not None and called_by_name()


# -- in place ---------------------------------------------------------------------------------------------------------
def inplace(op: Operator, args: Sequence[Any]) -> Any:
    """Run an operator and write its result into its first argument, which is returned."""
    state = modes.current()
    if op.quick and state.plain and not op.mutates and _inplace_unrecorded(op, args, state):
        return args[0]
    if ENTERED and op.row is not None and mode_in_force():
        return op.row.asked(args, in_place=True)
    try:
        if state.observers:
            return _watched(state.observers, op.inplace_name, args, partial(_inplace, op, args))
        return _inplace(op, args)
    except TypeError:
        if op.row is None or not taking_part(args):
            raise
    return op.row.asked(args, in_place=True)


def _watched(observers: Sequence[Observer], name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Run what writes into the tensors that it returns, under the eyes of observers."""
    result = run_operator(observers, name, args, run)
    for target in result if isinstance(result, (tuple, list)) else (result,):
        for observer in observers:
            observer.mutated(target)
    return result


def _inplace(op: Operator, args: Sequence[Any]) -> Tensor:
    target, level, tensors, records = admit(op, args)
    if all(t._level == level and type(t) in AROUND_NDARRAYS for t in tensors):  # the usual case: no other array type
        raws, saved = lower(op, args, level)
    else:
        args = with_room(op, args, target, level, tensors)
        if level:
            hold_outer_levels(op, op.inplace_name, target, args)
        raws, saved = lower(op, args, level)
        if level and type(target._array) is ndarray:  # beside which tensors of lower levels are constants
            for position, _ in op.tensors:
                raws[position] = constant_part(raws[position])
        elif level:
            apart_from(target, op, args, raws)
    given = values_before(op, target, saved) if records else saved
    if type(target) in ARRAYS:
        if records:
            refuse_if_lent(target, op.inplace_name)
        note_write(target, args[1] if op.kernel == "setitem" else ...)
    elif target._counter is not None and type(target._counter.journal) in KEEPERS:
        note_write(target, args[1] if op.kernel == "setitem" else ...)
    _write(op, target, raws, args, records)
    bump(target, op.inplace_name)
    if records:
        _record_write(op, target, given)
    if target._extra is not None and (tied := tie_of(target)) is not None:
        tied.written()
    return target


def _write(op: Operator, target: Tensor, raws: list[Any], args: Sequence[Any], records: bool) -> None:
    """Compute, and let `target` hold the result."""
    name = op.inplace_name
    if isinstance(target._array, Tensor):
        inplace(op, raws)  # at the lower level too, where the views of this tensor must see it
    elif op.mutates:
        result = kernel(op, raws, args)
        written = raws[op.tensors[0][0]] is target._array  # and no copy apart from it
        if not written or memory_of(target) is None:
            write_result(op, target, result, records)
    elif (
        type(target._array) is ndarray
        and f"{op.kernel}_" in NUMPY.kernels
        and table_of(flat_arguments(op, raws)) is NUMPY
    ):
        if not target._array.flags.writeable:
            raws[op.tensors[0][0]] = once_in_memory(op, target, records, args[1] if op.kernel == "setitem" else ())
        kernel(op, raws, args, f"{op.kernel}_", name)  # writes into the array itself
    else:
        write_result(op, target, kernel(op, raws, args, called=name), records)


def _record_write(op: Operator, target: Tensor, given: Sequence[Any]) -> None:
    """Make a node of the write the function of `target`."""
    out = wrap(target._array, target._level)
    out._counter = counter_of(target)
    op.record(out, *given)  # type: ignore[misc]  # where there is none nothing is recorded
    before = given[op.tensors[0][0]]
    rebase_history(target, out._fn, before._fn, op.inplace_name)
    for observer in modes.current().observers:  # last: one that raises must not leave a write that no node knows of
        observer.recorded(out._fn.node(), target._level)


def _inplace_unrecorded(op: Operator, args: Sequence[Any], state: modes.Modes) -> bool:
    """The common case of an optimiser's update, a ufunc on arrays that records nothing; says whether it was one."""
    kernel = NUMPY.kernels[op.kernel]
    target = args[0]
    if type(target) is not Tensor or (type(kernel) is not np.ufunc and kernel not in NUMPY.write_out):
        return False
    level, extra = target._level, target._extra
    recording = state.records_all or state.records(level)
    if extra is not None and (extra.inference or extra.no_view or (recording and extra.base is not None)):
        return False
    raws = list(args)
    for position, _ in op.tensors:
        x = args[position]
        if type(x) is Tensor:
            if x._level != level or (recording and x._requires_grad):
                return False
            raws[position] = x._array
        elif not is_constant(x):
            return False
    data: Any = target._array
    if not data.flags.writeable:
        return False
    try:
        kernel(*raws, out=data)
    except (TypeError, ValueError, OverflowError):
        return False  # nothing was written; the general way says what is wrong
    bump(target, op.inplace_name)
    return True


# -- out= -------------------------------------------------------------------------------------------------------------
def write_out(op: Operator, args: Sequence[Any], out: Any) -> Any:
    """Run an operator and write its result into `out`, which is returned.

    Nothing is recorded, so nothing there may require grad.
    """
    observers = modes.current().observers
    if ENTERED and op.row is not None and mode_in_force():
        return op.row.asked(args, {"out": out})
    try:
        if observers:
            return _watched(observers, op.name, args, partial(_write_out, op, args, out))
        return _write_out(op, args, out)
    except TypeError:
        if op.row is None or not taking_part((*args, out)):
            raise
    return op.row.asked(args, {"out": out})


def _write_out(op: Operator, args: Sequence[Any], out: Any) -> Any:
    from_graph = any(a._requires_grad for a in survey(op, args, op.shown)[1])
    targets = out_targets(op.shown, out)
    refuse_graph(op.shown, from_graph, targets)
    raws, _ = lower(op, args, 0)
    refuse_tangents(op.shown, [*flat_arguments(op, raws), *(target._array for target in targets)])
    results = kernel(op, raws, args)
    results = results if op.multi is not None or op.returns_list else (results,)
    check_out(op.shown, targets, results, out)
    for target, result in zip(targets, results, strict=True):
        for observer in modes.current().observers:
            observer.mutating(target, op.name)
        write_result(op, target, result)
        bump(target, f"{op.shown}(out=...)")
        if (tied := tie_of(target)) is not None:
            tied.written()
    return out
