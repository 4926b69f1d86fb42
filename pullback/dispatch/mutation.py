"""In-place operators: writing into the memory of a tensor that exists already (`dispatch.out` has `out=`).

An in-place operator on `self` runs the out-of-place operator's kernel, writes the result into `self`, moves the
version, and makes the new node the function of `self`. Where that is not allowed, and what it means for views, is
the business of the graph: see `graph.inplace_rules` and `graph.inplace_nodes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_type import NUMPY, array_type, has_table, is_constant, memory_of, read, table_of, type_of
from pullback.core.errors import DtypeError, InplaceError, OperatorError, type_name
from pullback.core.instruments import Instrument, run_operator
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.types import Shape
from pullback.core.version import bump, counter_of
from pullback.dispatch.operator import OPERATORS, Operator
from pullback.dispatch.outer_levels import apart_from, constant_part, hold_outer_levels
from pullback.dispatch.pipeline import flat_arguments, prepared, raw_arguments, run_kernel, survey
from pullback.graph.inplace_nodes import rebase_history
from pullback.graph.inplace_rules import check_inplace
from pullback.graph.node import port
from pullback.graph.replay import spread_write


def inplace(op: Operator, args: Sequence[Any]) -> Any:
    """Run `op` and write its result into its first argument, which is returned."""
    state = modes.current()
    if op.quick and state.plain and _inplace_unrecorded(op, args, state):
        return args[0]
    if state.instruments:
        return run_watched(state.instruments, op.inplace_name, args, partial(_inplace_any, op, args))
    return _inplace_any(op, args)


def run_watched(instruments: Sequence[Instrument], name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Run what writes into the tensors that it returns, under the eyes of instruments."""
    result = run_operator(instruments, name, args, run)
    for target in result if isinstance(result, (tuple, list)) else (result,):
        for instrument in instruments:
            instrument.mutated(target)
    return result


def _inplace_any(op: Operator, args: Sequence[Any]) -> Any:
    target, level, records = _prepare(op, args, op.inplace_name)
    args = _with_room(op, args, target, level)
    if level:
        hold_outer_levels(op, op.inplace_name, target, args)
    raws, lifted = raw_arguments(op, args, level)
    if level and type(target._array) is ndarray:  # beside which tensors of lower levels are constants
        for position, _ in op.tensors:
            raws[position] = constant_part(raws[position])
    elif level:
        apart_from(target, op, args, raws)
    given = _before_the_write(op, target, lifted) if records else lifted
    if isinstance(target._array, Tensor):
        inplace(op, raws)  # at the lower level too, where the views of this tensor must see it
    elif (
        type(target._array) is ndarray
        and f"{op.kernel}_" in NUMPY.kernels
        and (not level or table_of(flat_arguments(op, raws)) is NUMPY)
    ):
        _check_writeable(op.inplace_name, target._array)
        run_kernel(op, raws, args, f"{op.kernel}_", op.inplace_name)  # writes into the array itself
    else:
        write_result(op, target, run_kernel(op, raws, args, called=op.inplace_name))
    bump(target, op.inplace_name)
    if records:
        _record(op, target, given)
    return target


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


def mutate(op: Operator, args: Sequence[Any]) -> Tensor:
    """Run an operator whose kernel itself writes into its first argument, which is returned."""
    instruments = modes.current().instruments
    if instruments:
        return run_watched(instruments, op.name, args, partial(_mutate_any, op, args))  # type: ignore[no-any-return]
    return _mutate_any(op, args)


def _mutate_any(op: Operator, args: Sequence[Any]) -> Tensor:
    target, level, records = _prepare(op, args, op.name)
    args = _with_room(op, args, target, level)
    raws, lifted = raw_arguments(op, args, level)
    given = _before_the_write(op, target, lifted) if records else lifted
    result = run_kernel(op, raws, args)
    if memory_of(target) is None:
        _replace(target, result)
    bump(target, op.name)
    if records and op.record is not None:
        _record(op, target, given)
    return target


def _prepare(op: Operator, args: Sequence[Any], name: str) -> tuple[Tensor, int, bool]:
    """(target, level, whether a node is recorded) after all checks."""
    target = args[op.tensors[0][0]]
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}() writes into argument 'input', which must be a Tensor, got {type_name(target)}.")
    level, tensors = survey(op, args, name)
    if target._level != level:
        raise InplaceError(
            f"{name} would write a value that is being differentiated (level {level}) into a tensor of level "
            f"{target._level}, which cannot hold its derivative. Use the out-of-place form."
        )
    wanted = any(t._requires_grad and t._level == level for t in tensors)
    wanted = wanted and target._array.dtype.kind in "fc"  # whole numbers have no derivative
    records = op.record is not None and wanted and modes.current().records(level)
    check_inplace(target, name, records)
    for instrument in modes.current().instruments:
        instrument.mutating(target, op.name)
    return target, level, records


def _with_room(op: Operator, args: Sequence[Any], target: Tensor, level: int) -> Sequence[Any]:
    """The arguments, with a target that can hold what the array types among them compute."""
    kind = type_of([x._array for x in survey(op, args)[1] if x._level == level])
    return prepared(op, args) if kind.make_room(op.inplace_name, target, args, level) else args


def _before_the_write(op: Operator, target: Tensor, args: Sequence[Any]) -> list[Any]:
    """The arguments as the node saves them: the target, and what shares its memory, with the values they had before."""
    given = list(args)
    before = None
    counter = counter_of(target)
    for place, (position, _) in enumerate(op.tensors):
        x = args[position]
        if x is target:
            if before is None:
                others = op.tensors[1:]
                before = _as_it_was(target, copy=op.saves_self or any(args[p] is target for p, _ in others))
            given[position] = before
        elif place and isinstance(x, Tensor) and x._counter is counter:
            given[position] = _as_it_was(x, copy=True)
        else:
            port(x)  # raises for a view that is of no use any more: now, and not when something was written
    for position, _ in op.lists:
        for x in args[position]:
            port(x)
    return given


def _as_it_was(target: Tensor, copy: bool) -> Tensor:
    """`target` before the write, as the argument that the node saves: same place in the graph, old value."""
    data = target._array
    before = wrap(array_type(data).copy(data) if copy else data, target._level)
    before._fn = port(target)
    before._requires_grad = before._fn is not None
    return before


def write_result(op: Operator, target: Tensor, result: Any) -> None:
    """Write what `op` has computed into the array of `target`."""
    data = target._array
    if not isinstance(data, ndarray):
        if np.shape(result) != data.shape:
            raise _shape_error(op.inplace_name, data, np.shape(result))
        _replace(target, array_type(data).assign(op.inplace_name, data, result))
        return
    write_array(op.inplace_name, data, result)


def _replace(target: Tensor, now: Any) -> None:
    """Let `target` be around its array after a write: another one, where the type has no memory (a tracer)."""
    if now is not target._array:
        target._array = now
        spread_write(target)


def write_array(name: str, data: ndarray, result: Any) -> None:
    """Write what the in-place operator of that name has computed into an ndarray."""
    if has_table(type(result)):
        result = array_type(result).values(result)  # into whole numbers, which have no derivative
    if isinstance(result, Tensor):
        raise InplaceError(
            f"{name} would write a value that an outer transform is differentiating into an array, which cannot hold "
            "its derivative. Use the out-of-place form."
        )
    if has_table(type(result)):
        result = read(result, f"{name}, which writes into an ndarray,")
    _check_writeable(name, data)
    if np.shape(result) != data.shape:
        raise _shape_error(name, data, np.shape(result))
    dtype = np.asarray(result).dtype
    if not np.can_cast(dtype, data.dtype, casting="same_kind"):
        raise _dtype_error(name, dtype, data.dtype)
    np.copyto(data, result, casting="same_kind")


def _check_writeable(name: str, data: ndarray) -> None:
    if not data.flags.writeable:
        raise InplaceError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location: "
            f"{name} cannot write into a read-only array, such as expand() gives, where one place in memory stands for "
            "many elements: call clone() first, as in x.expand(...).clone(), and take slices of that."
        )


def _shape_error(name: str, data: Any, shape: Shape) -> OperatorError:
    return OperatorError(
        f"{name}: output with shape {tuple(data.shape)} doesn't match the broadcast shape {tuple(shape)}; an "
        "in-place operator cannot change the shape."
    )


def _dtype_error(name: str, dtype: Any, held: Any) -> DtypeError:
    return DtypeError(
        f"{name}: result type {dtype} can't be cast to the desired output type {held}, the tensor's dtype; use the "
        "out-of-place form."
    )


def _record(op: Operator, target: Tensor, given: Sequence[Any]) -> None:
    """Make a node of the write the function of `target`."""
    out = wrap(target._array, target._level)
    out._counter = counter_of(target)
    op.record(out, *given)  # type: ignore[misc]  # where there is none nothing is recorded
    before = given[op.tensors[0][0]]
    rebase_history(target, out._fn, before._fn, op.inplace_name)
    for instrument in modes.current().instruments:  # last: one that raises must not leave a write that no node knows of
        instrument.recorded(out._fn.node(), target._level)


def assign(target: Tensor, value: Any, name: str) -> Tensor:
    """Write the result of a composite operator into `target`, which is returned; `name` is what the user called."""
    if isinstance(target, Tensor):
        if np.shape(value) != target.shape:
            raise _shape_error(name, target, np.shape(value))
        dtype = value.dtype if isinstance(value, Tensor) else np.asarray(value).dtype
        if not np.can_cast(dtype, target.dtype, casting="same_kind"):
            raise _dtype_error(name, dtype, target.dtype)
    return copy_into(target, value, name)


def copy_into(target: Tensor, value: Any, name: str) -> Tensor:
    """Copy a value into `target`, which is returned; errors and graphs show it as the operator `name`."""
    return inplace(_copying(name), (target, value))  # type: ignore[no-any-return]


@cache
def _copying(name: str) -> Operator:
    """The operator `copy`, under the name of the one that makes the values."""
    made = copy(OPERATORS["copy"])
    made.name = made.shown = made.inplace_name = name
    return made
