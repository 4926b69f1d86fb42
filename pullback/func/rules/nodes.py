"""Nodes of functions with custom rules: they run the user's vjp and jvp, and make the one of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pullback.autograd.engine.execution import execute
from pullback.autograd.function.definition import Function
from pullback.autograd.function.intermediates import guarded
from pullback.autograd.function.reads import Apart, alike, is_apart, may_share, moved, reads_outside
from pullback.core import modes
from pullback.core.array_face import as_array, as_tensor, is_single, show_as_array, show_as_plural
from pullback.core.array_type import array_type, is_array, memory_of, numbers_of
from pullback.core.errors import (
    DetachingError,
    GradientError,
    GradientTypeError,
    ReadError,
    UnsupportedError,
    UntraceableError,
    with_article,
)
from pullback.core.factory import from_numpy
from pullback.core.late import calling
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray, new_extra, wrap
from pullback.func.rules import calls
from pullback.func.rules.calls import Call, Rule, handed_out, levels_of, shape_of, stripped
from pullback.func.rules.not_held import is_object
from pullback.graph.journal import refuse_writes, refuses_writes
from pullback.graph.node import edge_to
from pullback.graph.saved import Form, checked, save_other
from pullback.graph.snapshot import MANY, copy_of, kept_apart

_Map = Callable[[list[Any]], Sequence[Any]]
_marks, _marked = (calling("pullback.arrays.dual.graphs", name) for name in ("marks", "marked"))


def record(node: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], state: modes.Modes) -> Any:
    """A call with Tensors among the arguments: what the function returns, recorded. `state`: the modes of the call."""
    if calls.batched_apply is not None:
        found = calls.batched_apply(rule.name, partial(_again, node, rule, state), args, kwargs, rule)
        if found is not None:
            return found[0]
    if calls.taylor_apply is not None:
        found = calls.taylor_apply(rule.name, partial(_again, node, rule, state), args, kwargs)
        if found is not None:
            return found[0]
    call = Call(rule, args, kwargs, state)
    leaves, call.leaves = call.leaves, []  # which are kept as they are saved, no longer
    results = node.apply(call, *leaves)
    if call.arrays:
        pairs = zip(results, call.single, strict=True)
        results = [_shown(y, one) if isinstance(y, Tensor) else y for y, one in pairs]
    return unflatten(call.result, list(results))


def _again(node: Any, rule: Rule, state: modes.Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same call for one sample of a batch: with Tensors of the levels further out, or with none."""
    leaves, structure = flatten((args, kwargs))
    if any(isinstance(x, Tensor) for x in leaves):
        return record(node, rule, args, kwargs, state)
    args, kwargs = unflatten(structure, [*map(handed_out, leaves)])
    return rule.call(rule.function, args, kwargs)


def _shown(y: Tensor, single: bool) -> Any:
    return show_as_array(y, True) if single else show_as_plural(show_as_array(y))


class _Kept(int):
    """Stands for an array among the leaves of a call: its number among the saved tensors."""

    __slots__ = ()


class _Watched(NamedTuple):
    """Stands for an ndarray among the leaves of a call that is too large to be copied."""

    array: Any
    version: Any


_ALIASED = (
    "{0}: an argument and a result, or two results, share memory in NumPy, but not where {0} is differentiated: a "
    "write into one of them would not reach the other. Let {0} return a copy (return x.copy()), or write into a copy."
)


class Recorded(Function):
    """A call of a custom function with Tensors, in leaves; a subclass for each function gives the node its name."""

    follows_intermediates = False  # of residuals there is a rule: see _pulled

    @classmethod
    def _named_backward(cls, ctx: Any) -> tuple[str, Callable[..., Any]]:
        return ("jvp", ctx.call.rule.jvp) if ctx.call.rule.vjp is None else ("vjp", ctx.call.rule.vjp)

    @staticmethod
    def forward(ctx: Any, call: Call, *leaves: Any) -> tuple[Any, ...]:
        ctx.call, rule = call, call.rule
        inside = [stripped(x) for x in leaves]
        if any(isinstance(x, Tensor) and y is x and numbers_of(x) is None for x, y in zip(leaves, inside, strict=True)):
            raise ReadError(
                f"{rule.name} needs the numbers of its arguments, but in func.linearize the numbers of tangents are "
                "not known yet. Use func.jvp instead, which has them."
            )
        ctx.has_residuals = rule.forward is not None
        if any(isinstance(x, Tensor) for x in inside):  # differentiated further out: recorded there, by this same rule
            found = record(ctx._function, rule, unflatten(call.args, inside), call.kwargs, call.state)
            outputs, call.result = flatten(found)
            lent, lending = ([isinstance(y, Tensor) and refuses_writes(y) for y in ys] for ys in (outputs, inside))
            outputs = [wrap(y, ctx._level) if isinstance(y, Tensor) and y._level < ctx._level else y for y in outputs]
            ctx.has_residuals = False
            residuals: list[Any] = []
        else:
            outputs, residuals, lent, lending = _computed(ctx, call, inside)
        # A user's Tensor in a transform: what was given as a Tensor gives Tensors.
        ctx.around = any(y._level == 0 for x in leaves if isinstance(x, Tensor) for y in levels_of(x._array))
        call.single = [is_single(y) if is_array(y) or issubclass(type(y), np.generic) else False for y in outputs]
        made: dict[int, Any] = {}
        for i, y in enumerate(outputs):
            again = id(y) in made and issubclass(type(y), ndarray)  # two results share no memory
            outputs[i] = _as_output(y.copy() if again else y, ctx)
            made.setdefault(id(y), outputs[i])
        residuals = [made.get(id(x), x) for x in residuals]
        for x, is_one in zip((*outputs, *leaves), (*lent, *lending), strict=True):
            if is_one and call.arrays and isinstance(x, Tensor):
                refuse_writes(x, _ALIASED.format(rule.name))
        saved: list[Any] = []

        def keep(x: Any) -> Any:
            if not (is_array(x) or issubclass(type(x), np.inexact)) or x.dtype.kind not in "biufc":
                return x
            x = x if isinstance(x, (Tensor, ndarray, np.inexact)) else wrap(x)
            saved.append(x)
            return _Kept(len(saved) - 1)

        ctx.leaves = [keep(x) if isinstance(x, Tensor) else _constant(x) for x in leaves]
        ctx.forms = [Form(x) if isinstance(x, Tensor) else x for x in leaves]
        ctx.outputs_kept = [keep(y) for y in outputs]
        ctx.residuals = [keep(x) for x in residuals]
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        call = ctx.call
        differentiable = [d is not None and d.kind in "fc" for _, d in ctx._output_metadata]
        cotangents = [stripped(g) if is_one else None for g, is_one in zip(grads, differentiable, strict=True)]
        wanted = [i for i, needs in enumerate(ctx.needs_input_grad[1:]) if needs]
        if call.rule.vjp is not None:
            call.refuse_missing(wanted)
            found = _pulled(ctx, cotangents, "the gradient is itself being differentiated", wanted)
        else:
            args, outputs = _values(ctx, ctx.leaves), _values(ctx, ctx.outputs_kept)

            def push(directions: list[Any]) -> list[Any]:
                given = [_zeros(x) for x in args]
                for i, direction in zip(wanted, directions, strict=True):
                    given[i] = direction
                return _pushed(ctx, given, args, outputs, "there is no vjp, so it is made of the jvp")

            found = [None] * len(args)
            co = frozenset[int]().union(*[_marks(c) for c in cotangents if isinstance(c, Tensor)])
            plain = [_marked(c, frozenset()) for c in cotangents] if co else cotangents
            pulled = _transposed(call.rule, push, [args[i] for i in wanted], plain)
            for i, g in zip(wanted, pulled, strict=True):
                found[i] = _marked(g, co) if co else g
        found = [g if needs else None for g, needs in zip(found, ctx.needs_input_grad[1:], strict=True)]
        found = [None if g is None else _at_level(g, ctx) for g in found]
        return (None, *_guarded(ctx, found))

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        args, outputs = _values(ctx, ctx.leaves), _values(ctx, ctx.outputs_kept)
        directions = [
            _zeros(x) if t is None else stripped(t, ctx.call.rule) for x, t in zip(args, tangents, strict=True)
        ]
        if ctx.call.rule.jvp is not None:
            found = _pushed(ctx, directions, args, outputs, "the tangent is itself being differentiated")
        else:
            why = f"there is no jvp (@{ctx.call.rule.name}.defjvp), so it is made of the vjp"
            moving = [i for i, t in enumerate(tangents) if t is not None]

            def pull(cotangents: list[Any]) -> list[Any]:
                given = iter(cotangents)
                found = _pulled(ctx, [next(given) if _is_differentiable(y) else None for y in outputs], why, moving)
                return [None if found[i] is None else _summed(found[i], args[i]) for i in moving]

            points = [y for y in outputs if _is_differentiable(y)]
            moved = iter(_transposed(ctx.call.rule, pull, points, [directions[i] for i in moving]))
            found = [next(moved) if _is_differentiable(y) else None for y in outputs]
        return tuple(None if t is None else _at_level(t, ctx) for t in found)


def _guarded(ctx: Any, found: list[Any]) -> list[Any]:
    """The gradients; where they are differentiated, and the vjp reads what the function has computed, an error."""
    rule, records = ctx.call.rule, modes.current().records(ctx._level)
    if rule.forward is not None or rule.vjp is None or is_apart() or not (records or ctx._outer):
        return found
    if not reads_outside(rule.vjp) or not may_share(rule.name, (rule.function,), rule.vjp):
        return found
    leaves = [numbers_of(x) if is_array(x) else x for x in _values(ctx, ctx.leaves)]
    results = [numbers_of(y) if is_array(y) else y for y in _values(ctx, ctx.outputs_kept)]
    try:
        if not _depends_unseen(rule, ctx.call, leaves, results):
            return found
        why = f"depends on them, because {rule.name} has computed it"
    except Exception as error:  # noqa: BLE001 - it may do what cannot be done again
        why = f"may depend on them: running {rule.name} again, to see that, failed ({type(error).__name__}: {error})"
    message = (
        f"trying to differentiate twice through {rule.name}: its vjp reads a variable outside of its arguments that "
        f"{why}. The second derivative would lack a part. Let the vjp compute it from its arguments, or return it as a "
        f"residual (@{rule.name}.defvjp(forward, backward))."
    )
    if not records:
        raise GradientError(message)
    return [g if g is None else guarded(g, message, ctx.edges()) for g in found]


def _depends_unseen(rule: Rule, call: Call, leaves: list[Any], results: list[Any]) -> bool:
    """True if a vjp gives something else for the same arguments when its function has run at others close by."""
    found = []
    for close_by in (True, False):
        rng = np.random.default_rng(0)
        cotangent = unflatten(call.result, [_random(y, rng) if _is_differentiable(y) else None for y in results])
        points = [moved(x, rng, close_by) if _is_differentiable(x) else x for x in leaves]
        with Apart(rule.name, rule.function, rule.vjp) as (function, vjp):
            function(*call.arguments(points), **call.kwargs)
            pulled = vjp(cotangent, unflatten(call.result, results), *call.arguments(leaves), **call.kwargs)
        found.append([x for x in flatten(pulled)[0] if x is not None])
    return not alike(*found)


def _computed(ctx: Any, call: Call, inside: list[Any]) -> tuple[list[Any], list[Any], list[bool], list[bool]]:
    """(results, residuals, which results and which arguments are one memory for NumPy), in memory of their own."""
    rule = call.rule
    before = modes.set_modes(call.state)  # so that what the function should not use is seen: see _own
    try:
        found = rule.call(rule.forward or rule.function, call.arguments(inside), call.kwargs)
        found, residuals = (found, None) if rule.forward is None else _pair(rule.name, found)
        outputs, call.result = flatten(found)
        kept, ctx.residuals_structure = flatten(residuals)
        del found, residuals  # so that it can be counted who else holds an array
        count = len(outputs)
        leaves = [*[_result(call, y) for y in outputs], *[_own(rule.name, x) for x in kept]]
        del outputs, kept
    finally:
        modes.restore(before)
    lent, lending = _aliases(leaves[:count], inside)
    # What is saved in the memory of an argument is watched there.
    watched = [i for i in range(count, len(leaves)) if any(_overlap(leaves[i], x) for x in inside)]
    leaves = kept_apart(leaves, watched)
    return leaves[:count], leaves[count:], lent, lending


def _pulled(ctx: Any, cotangents: list[Any], why: str, wanted: Sequence[int]) -> list[Any]:
    """The gradients by leaves, from the user's vjp: at least those of the wanted leaves."""
    call, rule = ctx.call, ctx.call.rule
    cotangent = unflatten(call.result, [handed_out(c) for c in cotangents])
    if rule.forward is None:
        args = _values(ctx, ctx.leaves)
        result = unflatten(call.result, [handed_out(y) for y in _values(ctx, ctx.outputs_kept)])
        given = (cotangent, result, *call.arguments(args))
        return call.gradients(call.vjp(given, why, wanted), args)  # type: ignore[no-any-return]
    # The arguments are looked at only where the residuals depend on them: they may have been written into since.
    plain = ctx.has_residuals and not modes.current().records(ctx._level)
    args = ctx.forms if plain else _values(ctx, ctx.leaves)
    if plain or (ctx.has_residuals and not any(isinstance(x, Tensor) for x in args)):
        residuals = unflatten(ctx.residuals_structure, [handed_out(x) for x in _values(ctx, ctx.residuals)])
    else:
        found = call.run("forward", rule.forward, call.arguments(args), call.kwargs, why)
        _, residuals = _pair(rule.name, found)
    return call.gradients(call.run("backward", rule.vjp, (residuals, cotangent), {}, why), args)  # type: ignore[no-any-return]


def _pushed(ctx: Any, directions: list[Any], args: list[Any], outputs: list[Any], why: str) -> list[Any]:
    """The tangents by leaves of the result, from the user's jvp.

    One that calls what needs numbers, and gets tangents that func.linearize does not know yet, goes on its tape as a
    whole: it is linear.
    """
    call, n, m = ctx.call, len(directions), len(directions) + len(outputs)

    def push(*leaves: Any) -> list[Any]:
        ys = leaves[n:m]
        result = unflatten(call.result, [handed_out(y) for y in ys])
        given = (call.arguments(list(leaves[:n])), result, *call.arguments(list(leaves[m:])))
        return call.tangents(call.run("jvp", call.rule.jvp, given, call.kwargs, why), ys)  # type: ignore[no-any-return]

    leaves = (*directions, *outputs, *args)
    try:
        return push(*leaves)
    except (DetachingError, UnsupportedError):
        found = calls.tape_apply and calls.tape_apply(push, leaves)
        if not found:
            raise
        return found  # type: ignore[no-any-return]


def _transposed(rule: Rule, linear: _Map, points: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The transpose of a rule, a linear map of arrays like `points`, applied to cotangents of its results."""
    _test_linear(rule, linear, points)
    state = before = modes.current()
    depth = max((x._level for p in (*points, *cotangents) if isinstance(p, Tensor) for x in levels_of(p)), default=0)
    while state.level <= depth or state is before:
        state = state.deeper()
    level = state.level
    try:
        modes.restore(state.differentiating())
        variables = []
        for p in points:
            variables.append(variable := wrap(_zeros(p), level))
            variable._requires_grad, variable._extra = True, new_extra()
        roots: list[Any] = []
        for y, cotangent in zip(_of_zeros(rule, linear(variables)), cotangents, strict=True):
            if isinstance(y, Tensor) and y._level == level and y._requires_grad and cotangent is not None:
                inside: Any = y._array
                if not isinstance(cotangent, Tensor):  # which flows beside what is inside, and may be saved there
                    plain = np.array(cotangent) if issubclass(type(cotangent), (ndarray, np.generic)) else cotangent
                    cotangent = wrap(plain) if isinstance(inside, Tensor) else plain
                roots.append((edge_to(y), array_type(inside).root_gradient(y, cotangent)))
        if roots:
            execute(roots, level=level)
        grads = [variable._extra.grad for variable in variables]  # type: ignore[union-attr]
        return [_zeros(p) if g is None else g._array for p, g in zip(points, grads, strict=True)]
    finally:
        modes.restore(before)


def _of_zeros(rule: Rule, found: Sequence[Any]) -> Sequence[Any]:
    """Return what a rule has made of zeros, which must be zeros: else a transpose would lose a part of it."""
    if all(y is None for y in found):
        raise _not_linear(rule, "it gives None for everything")
    if any(_is_nonzero(y) for y in found):
        raise _not_linear(rule, "for zeros it does not give zeros")
    return found


def _test_linear(rule: Rule, linear: _Map, points: Sequence[Any]) -> None:
    """Refuse a rule that is not linear, such as a square, whose transpose at zero would be zero: at its first use.

    Of a and b it must give what adds up to what it gives of a + b, as closely as an iterative solver may have it.
    """
    if rule.seen_linear is (rule.jvp if rule.vjp is None else rule.vjp):
        return
    rng = np.random.default_rng(0)
    a = [_random(p, rng) for p in points]
    b = [np.asarray(-x * rng.uniform(0.2, 0.8, x.shape), x.dtype) for x in a]  # of other signs: abs(g) is found too
    terms = [linear(a), linear(b), linear([x + y for x, y in zip(a, b, strict=True)])]
    for parts in zip(*terms, strict=True):
        one, other, both = (None if y is None else numbers_of(y) for y in parts)
        if one is None or other is None or both is None:
            continue
        with np.errstate(all="ignore"):
            apart, size = np.abs(one + other - both), np.abs(one) + np.abs(other) + np.abs(both)
        if np.any(apart > _ROUGHLY * np.max(size, initial=0, where=np.isfinite(size))):
            raise _not_linear(rule, "for a + b it does not give the sum of its results for a and for b")
    rule.seen_linear = rule.jvp if rule.vjp is None else rule.vjp


_ROUGHLY = 1e-2


def _random(point: Any, rng: np.random.Generator) -> Any:
    like = np.asarray(_zeros(point))
    numbers = 100 * rng.standard_normal(like.shape)  # so that what is cut off at 1 is found
    if like.dtype.kind == "c":
        numbers = numbers + 100j * rng.standard_normal(like.shape)
    return np.asarray(numbers, dtype=like.dtype)


def _not_linear(rule: Rule, what: str) -> GradientError:
    role, other, argument = ("jvp", "vjp", "tangents") if rule.vjp is None else ("vjp", "jvp", "cotangent")
    return GradientError(
        f"{rule.name}: there is no {other}, so its {role} must be transposed, which is not possible: {what}. "
        f"The {role} must be linear in the {argument}, and compute with nothing but constants besides. Or name "
        f"the {other} too (@{rule.name}.def{other})."
    )


def _is_nonzero(x: Any) -> bool:
    values = None if x is None else memory_of(x)
    return values is not None and bool(np.any((values != 0) & ~np.isnan(values)))


# -- leaves -----------------------------------------------------------------------------------------------------------
def _own(name: str, x: Any) -> Any:
    """A leaf of what the user's function returned, as a plain value."""
    x = stripped(x)
    if isinstance(x, Tensor):
        raise GradientError(
            f"{name}: its result depends on a Tensor that is being differentiated but is not an argument (of shape "
            f"{x.shape}). Its rule gives no gradient for that. Pass it as an argument, or detach() it."
        )
    return np.asarray(x)[()] if type(x) in (float, complex) else x


def _result(call: Call, x: Any) -> Any:
    """A leaf of what the function returned, as a plain value that can carry a derivative or needs none."""
    if is_object(x):
        raise UntraceableError(
            f"{call.rule.name} gives an object that is no array, which no program can hand on. Call it outside of the "
            "compiled function, or let it return arrays and numbers."
        )
    if call.differentiated and not isinstance(x, _LEAVES) and not is_array(x):
        raise GradientTypeError(
            f"{call.rule.name} returned {with_article(x)}, through which no gradient flows; return arrays, numbers or "
            "trees of these (lists, tuples, dicts, registered classes)."
        )
    return _own(call.rule.name, x)


_LEAVES = (Tensor, ndarray, np.generic, int, float, complex, str, bytes)


def _as_output(y: Any, ctx: Any) -> Any:
    """A leaf of the result as a tensor of the graph, if it can be one."""
    if type(y) is not ndarray and is_array(y):
        return y if isinstance(y, Tensor) else wrap(_further_out(y, ctx), ctx._level)
    is_one = isinstance(y, np.inexact) or (type(y) is ndarray and y.dtype.kind in "biufc")
    return wrap(_further_out(from_numpy(np.asarray(y))._array, ctx), ctx._level) if is_one else y


def _further_out(x: Any, ctx: Any) -> Any:
    """Return what a Tensor of the node's level is to hold: a Tensor where those of the arguments hold Tensors."""
    return wrap(x) if ctx.around else x


def _constant(x: Any) -> Any:
    """Return what to keep of an argument that is no tensor, such that later changes do not change the gradient."""
    if type(x) is ndarray and x.size <= MANY:
        return copy_of(x)
    kept, version = save_other(x)
    return kept if version is None else _Watched(kept, version)


def _aliases(outputs: list[Any], inside: list[Any]) -> tuple[list[bool], list[bool]]:
    """(which results are in one memory with an argument or another result, which arguments with a result)."""
    if len({*map(id, outputs)}) == len(outputs) and not any(
        issubclass(type(y), ndarray) and y.base is not None for y in outputs
    ):
        return [False] * len(outputs), [False] * len(inside)  # the usual case
    others = [(*inside, *outputs[:i], *outputs[i + 1 :]) for i in range(len(outputs))]
    lent = [any(_overlap(y, x) for x in xs) for y, xs in zip(outputs, others, strict=True)]
    return lent, [any(_overlap(x, y) for y in outputs) for x in inside]


def _overlap(a: Any, b: Any) -> bool:
    return issubclass(type(a), ndarray) and issubclass(type(b), ndarray) and np.may_share_memory(a, b)


def _values(ctx: Any, kept: list[Any]) -> list[Any]:
    """The leaves of a call again."""
    return [stripped(_saved(ctx, x)) if type(x) in (_Kept, _Watched) else x for x in kept]


def _saved(ctx: Any, nr: Any) -> Any:
    if type(nr) is _Watched:
        return checked(nr.array, nr.version, ctx)
    return ctx._for_forward[nr] if ctx._in_jvp else ctx._unpack(*ctx._saved[nr])


def _zeros(x: Any) -> Any:
    """Zeros of the shape and dtype of a leaf; None where it can have no derivative."""
    if type(x) in (float, complex):
        return type(x)(0)
    return np.zeros(x.shape, x.dtype) if _is_differentiable(x) else None


def _is_differentiable(x: Any) -> bool:
    return (is_array(x) or issubclass(type(x), np.generic)) and x.dtype.kind in "fc"


def _at_level(x: Any, ctx: Any) -> Any:
    """A gradient or tangent as a Tensor of the node's level, with the face of the arguments."""
    faced = as_array if ctx.call.arrays else as_tensor
    x = faced(x) if isinstance(x, Tensor) else _further_out(x if is_array(x) else np.asarray(x), ctx)
    return x if isinstance(x, Tensor) and x._level == ctx._level else faced(wrap(x, ctx._level))


def _summed(gradient: Any, x: Any) -> Any:
    """A gradient in the shape of its argument."""
    if not isinstance(gradient, Tensor) or gradient.shape == shape_of(x):
        return gradient
    return gradient.sum_to_size(shape_of(x))


def _pair(name: str, found: Any) -> Any:
    if not isinstance(found, tuple) or len(found) != 2:
        raise GradientError(f"{name}: its forward must return a pair (result, residuals), got {with_article(found)}.")
    return found
