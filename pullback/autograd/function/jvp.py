"""Custom Functions in forward mode: forward runs on the primals, then jvp on the tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.arrays.dual import DualArray, ForwardLevel
from pullback.arrays.dual.array import plain_part
from pullback.arrays.dual.boundary import at_level
from pullback.arrays.dual.kernels import overlap
from pullback.arrays.dual.lifting import innermost, lift_plain, settle_all
from pullback.arrays.dual.touched import relate, written
from pullback.autograd.function import definition
from pullback.autograd.function.arguments import explain_missing_attribute
from pullback.autograd.function.arrays import differentiated_inside
from pullback.autograd.function.definition import Function, forward_of
from pullback.autograd.function.node import FunctionNode
from pullback.autograd.function.outputs import check_forward, finish
from pullback.core import modes
from pullback.core.array_type import TENSOR
from pullback.core.errors import GradientError, InplaceError, with_article
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.core.version import counter_of, version_of
from pullback.graph.node import edge_to
from pullback.graph.view import make_view


def dual_apply(cls: type[Function], args: tuple[Any, ...], level: int) -> Any:
    """The outputs of a custom Function of which an argument is dual."""
    args = tuple(settle_all(args, level))
    top = innermost(args, level)
    if top is None:  # the levels are closed
        return cls.apply(*args)
    if cls.jvp is Function.jvp:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD: "
            f"you are trying to use forward-mode AD on {cls.__name__}, a custom Function that does not implement jvp. "
            f"Give {cls.__name__} a static method jvp(ctx, *tangents) that returns the tangent of each output, and "
            "keep what it needs with ctx.save_for_forward."
        )
    state = modes.current()
    given = args
    args = tuple(lift_plain(args, level)) if state.records(level) else args
    primals = tuple(_stand_in(x, y, top) if isinstance(x, Tensor) else x for x, y in zip(args, given, strict=True))
    ctx = cls._backward_cls(cls, level, args)
    records = any(ctx.needs_input_grad) and state.records(level)
    edges = tuple(edge_to(x) for x in args) if records else ()
    versions = [version_of(p) for p, needs in zip(primals, ctx.needs_input_grad, strict=True) if needs]
    output = forward_of(cls, ctx, primals, state)
    ctx._outer = differentiated_inside(given)
    single = not isinstance(output, tuple)
    check_forward(ctx, primals, versions, output)
    outputs = (output,) if single else output
    directions = [_tangent(ctx, x, top) for x in args]
    tangents = _tangents(cls, ctx, directions, outputs, state)
    duals = [_dual(ctx, o, t, primals, directions, args, given, top) for o, t in zip(outputs, tangents, strict=True)]
    _exchange(ctx, (*primals, *outputs), (*args, *duals))
    _exchange(ctx, args, given, dirty_alone=True)
    results = finish(ctx, args, tuple(duals), edges, records)
    return results[0] if single else tuple(results)


def _stand_in(x: Tensor, given: Tensor, top: ForwardLevel) -> Tensor:
    """The primal of an argument as a tensor: what forward sees."""
    array: Any = x._array
    dual = type(array) is DualArray and array.level.number == top.number
    out = wrap(array.primal if dual else array, x._level)
    out._counter = counter_of(given)
    out._requires_grad, out._fn = x._requires_grad, edge_to(x)
    return out


def _tangents(
    cls: type[Function],
    ctx: FunctionNode,
    given: Sequence[Tensor | None],
    outputs: Sequence[Any],
    state: modes.Modes,
) -> Sequence[Any]:
    """Runs the user's jvp; returns its tangents, one for each output, checked."""
    before = modes.set_modes(state.with_recording(False, ctx._level))
    ctx._in_jvp = True
    try:
        found = cls.jvp(ctx, *given)
    except AttributeError as error:
        explain_missing_attribute(ctx, error)
        raise
    finally:
        ctx._in_jvp, ctx._for_forward = False, ()
        modes.set_modes(before)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise GradientError(
            f"{cls.__name__}.jvp returned an invalid number of tangents (expected {len(outputs)} but got "
            f"{len(found)}): it returns one for each output of forward, None for those without."
        )
    for i, (t, out) in enumerate(zip(found, outputs, strict=True)):
        _check_tangent(cls, i, t, out)
    return found


def _tangent(ctx: FunctionNode, x: Any, top: ForwardLevel) -> Tensor | None:
    """The tangent of one argument as jvp gets it."""
    if not isinstance(x, Tensor):
        return None
    array: Any = x._array
    if type(array) is DualArray and array.level.number == top.number and array.tangent is not None:
        return wrap(array.tangent, x._level)
    if not ctx._materialize or x.dtype.kind not in "fc":
        return None
    return wrap(TENSOR.zeros(x.shape, dtype=x.dtype)._array, x._level)


def _check_tangent(cls: type[Function], i: int, tangent: Any, out: Any) -> None:
    if tangent is None:
        return
    if not isinstance(tangent, Tensor):
        raise TypeError(
            f"{cls.__name__}.jvp returned {with_article(tangent)} as tangent {i}; expected a Tensor or None."
        )
    if not isinstance(out, Tensor) or out.dtype.kind not in "fc":
        kind = out.dtype if isinstance(out, Tensor) else type(out).__name__
        raise GradientError(
            f"{cls.__name__}.jvp returned a tangent for output {i}, a {kind}, which has none; return None for it."
        )
    if tangent.shape != out.shape or tangent.dtype != out.dtype:
        raise GradientError(
            f"{cls.__name__}.jvp returned a tangent of shape {tangent.shape} and dtype {tangent.dtype} for output {i} "
            f"of shape {out.shape} and dtype {out.dtype}; they must agree."
        )


def _dual(
    ctx: FunctionNode,
    out: Any,
    tangent: Tensor | None,
    primals: Sequence[Any],
    directions: Sequence[Tensor | None],
    args: Sequence[Any],
    given: Sequence[Any],
    top: ForwardLevel,
) -> Any:
    """One output with its tangent; an argument that was modified in place gets it in place."""
    if not isinstance(out, Tensor):
        return out
    raw = None if tangent is None else _raw(ctx, tangent)
    of = next((i for i, p in enumerate(primals) if out is p), None)
    if any(out is x for x in ctx._dirty) and of is not None:
        return _written(ctx, given[of], tangent, directions[of], top)
    if out.dtype.kind not in "fc":
        return out
    shared = _shared_with(out, primals)
    if shared is not None and tangent is not None:
        raw = _view_of_tangent(ctx, out, tangent, primals[shared], directions[shared], given[shared], top)
    elif type(raw) is ndarray:
        raw = raw.copy()  # jvp may return what others hold
    elif raw is not None and any(overlap(plain_part(raw), plain_part(t)) for t in directions if t is not None):
        raw = wrap(raw, ctx._level).clone()._array
    made = DualArray(out._array if out._level == ctx._level else out, raw, top)
    if shared is not None and (held := at_level(given[shared], top)) is not None:
        relate(made, held)
    result = wrap(made, ctx._level)
    result._counter = counter_of(out)
    if of is None and out._extra is not None and out._extra.base is not None:
        of = next((i for i, p in enumerate(primals) if out._extra.base is p), None)
    if of is not None and isinstance(args[of], Tensor):
        make_view(result, args[of])
    if any(out is x for x in ctx._non_differentiable):
        ctx._non_differentiable = (*ctx._non_differentiable, result)
    return result


def _raw(ctx: FunctionNode, tangent: Tensor) -> Any:
    """A tangent that jvp returned as what a dual number holds."""
    return tangent._array if tangent._level == ctx._level else tangent


def _shared_with(out: Tensor, primals: Sequence[Any]) -> int | None:
    """Which argument's memory the output is in, that it is or is a view of."""
    memory = plain_part(out)
    return next((i for i, p in enumerate(primals) if out is p or overlap(memory, plain_part(p))), None)


def _view_of_tangent(
    ctx: FunctionNode,
    out: Tensor,
    tangent: Tensor,
    primal: Tensor,
    direction: Tensor | None,
    given: Tensor,
    top: ForwardLevel,
) -> Any:
    """The tangent of an output in the memory of an argument: that part of the argument's, so that one write is both's.

    None where the argument has no tangent, and jvp gave that part of the zeros that it got. The very tangent of the
    argument is refused, as in PyTorch: an output is a tensor of its own beside the argument, and so is its tangent.
    """
    parts = [plain_part(x) for x in (out, primal, tangent, direction)]
    held = at_level(given, top)
    if tangent is not direction and all(type(x) is ndarray for x in parts):
        here, whole, moved, moving = parts
        if _lies(moved, moving) == _lies(here, whole):
            return None if held is None or held.tangent is None else _raw(ctx, tangent)
    name = ctx.name().removesuffix("Backward")
    is_view = given._is_view() and held is not None and held.given is None  # what make_dual gives is no view of a dual
    of = "same base as the argument's tangent" if is_view else "given argument's tangent"
    raise GradientError(
        f"{name}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
        f"view of the {of}: a write into the one would leave the other's tangent as it was. Let jvp return the same "
        "view of the argument's tangent (t.view(-1) for x.view(-1), t.view_as(t) for x itself), or forward a copy "
        "(x.clone())."
    )


def _lies(part: ndarray, whole: ndarray) -> tuple[Any, ...]:
    """Where one array lies in the memory of another: where it begins, and the steps of both."""
    start, of = part.__array_interface__["data"][0], whole.__array_interface__["data"][0]
    steps = [step for x in (part, whole) for size, step in zip(x.shape, x.strides, strict=True) if size > 1]
    return (start - of if part.size else 0, *steps)


def _written(
    ctx: FunctionNode, target: Tensor, tangent: Tensor | None, direction: Tensor | None, top: ForwardLevel
) -> Tensor:
    """An argument whose primal forward has written into, with its tangent written too, by jvp; None is zeros."""
    array: Any = target._array
    if type(array) is not DualArray or array.level.number != top.number or array.tangent is None:
        raise InplaceError(
            f"{ctx.name()}: forward modified an argument in place that has no tangent, while another has one, so its "
            "new tangent could not be stored. Make it dual first (forward_ad.make_dual(t, zeros)), or pass a clone()."
        )
    if tangent is None:
        tangent = TENSOR.zeros(target.shape, dtype=target.dtype)
    elif tangent is not direction:
        raise InplaceError(
            f"{ctx.name().removesuffix('Backward')}: An inplace custom Function is not modifying the forward mode "
            "gradients inplace. Forward modifies an argument in place, so jvp must modify the argument's tangent in "
            "place, and return it: write t.mul_(2); return t."
        )
    if tangent._array is not array.tangent:
        wrap(array.tangent, target._level).copy_(tangent)
    written(array, None)
    return target


def _exchange(ctx: FunctionNode, old: Sequence[Any], new: Sequence[Any], dirty_alone: bool = False) -> None:
    """Put the dual tensors in the places of their primals among what ctx was told of."""

    def exchanged(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(next((n for o, n in zip(old, new, strict=True) if o is x), x) for x in tensors)

    ctx._dirty = exchanged(ctx._dirty)
    if not dirty_alone:
        ctx._to_save, ctx._non_differentiable = exchanged(ctx._to_save), exchanged(ctx._non_differentiable)


definition.dual_apply = dual_apply
