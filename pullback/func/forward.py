"""jvp: the value of a function of arrays and its derivative along a direction, in one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.dual import DualArray, ForwardLevel
from pullback.arrays.dual.boundary import pack, primal_part, tangent_part
from pullback.arrays.dual.kernels import hoisted
from pullback.arrays.masks import mask_in
from pullback.autograd.forward_ad import tangents_kept
from pullback.autograd.function import jvp as _function_jvp  # noqa: F401 - lets custom Functions meet duals
from pullback.core import cuts, modes
from pullback.core.array_face import as_given, as_tensor, surfaced
from pullback.core.array_type import REGISTERED, array_type, numbers_of, parts_of, table_of
from pullback.core.errors import GradientError, GradientTypeError, explained, refusals
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import NestedTensor, Tensor, wrap
from pullback.core.version import counter_inside
from pullback.func.boundary import (
    called_as,
    check_callable,
    check_results,
    direction_like,
    enter,
    floating_argument,
    is_plain,
    note_on_lists,
    raw_outward,
    split_aux,
    value_outward,
)
from pullback.graph.kept_values import surfaced_result


@named("func.jvp", "callable func")
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of `func` and its Jacobian-vector product, by forward mode.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree (dict, list, tuple)
        of arrays (with `has_aux`, a pair of that and anything else).
    primals : tuple
        The positional arguments: floating-point arrays, or trees of these.
    tangents : tuple
        The direction: of the same structure, shapes and dtypes.
    strict : bool, default False
        Whether to refuse an output that does not depend on `primals`, instead of giving it a tangent of zeros.
    has_aux : bool, default False
        `func` returns a pair (output, aux). aux is not differentiated, and is returned beside the rest.

    Returns
    -------
    (output, tangent) or, with `has_aux`, (output, tangent, aux)
        f(x) and J(x) v, ndarrays for ndarrays; Tensors where a primal or a tangent is a Tensor, or a captured one
        requires grad. In a function that is being differentiated both are differentiable: `jvp(grad(f))`, `grad` of a
        function that calls jvp, and jvp of jvp nest.

    Raises
    ------
    TypeError
        `primals` or `tangents` is not a tuple, or a leaf is not floating point.
    RuntimeError
        Structures, shapes or dtypes of primals and tangents differ; `strict` and an output does not depend on them.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Notes
    -----
    The cost is about twice that of `func`, whatever the number of inputs; no memory is kept.

    Examples
    --------
    >>> import numpy as np
    >>> value, tangent = pb.func.jvp(np.sin, (np.zeros(2),), (np.array([1.0, 3.0]),))
    >>> tangent
    array([1., 3.])
    """
    return push("jvp", func, primals, tangents, strict=strict, has_aux=has_aux)


def push(
    transform: str,
    function: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
    names: Sequence[str] | None = None,
    masks: bool = True,
    warns: bool = True,
) -> Any:
    """`jvp`, for the public function of this name; `names` are those of the arguments in a warning.

    Without `masks` the caller looks for NaNs itself; `warns`: of a result that does not depend on the primals.
    """
    check_callable(transform, function)
    state = modes.current()
    leaves, structure = paired(transform, primals, tangents, state.level)
    level = state.level + 1
    run = cuts.Run(level, transform, function)
    forward = ForwardLevel(masks, run)
    inner = state.deeper() if state.plain else tangents_kept(state.deeper())
    before, refused = modes.set_modes(inner), refusals.last
    try:
        entered = _bare if all(is_plain(p) for _, p, _ in leaves) else _entered
        duals = [entered(given, p, t, forward, level) for given, p, t in leaves]
        output = run.watch(function, *unflatten(structure, duals))
        output, aux = split_aux(transform, output, (given for given, _, _ in leaves)) if has_aux else (output, None)
        tensors = [type(given) in (Tensor, NestedTensor) for given, _, _ in leaves]
        value, tangent, depends = _take_apart(output, run, forward, strict, tensors)
        aux = _leave_all(aux, level, forward, any(tensors)) if has_aux else None
        if run.left_behind and any(map(_has_nan, flatten(tangent)[0])):
            raise GradientError(run.left_behind)
    except Exception as error:
        note_on_lists(error, primals)
        if (better := explained(error, refused)) is error:
            raise
        raise better from None
    finally:
        forward.open = False
        modes.restore(before)
    if cuts.WATCHED:
        cuts.note_derivative(p for _, p, _ in leaves)
    if warns and not depends and not run.explained:
        names = names or [cuts.argument_name(function, i, len(primals)) for i in range(len(primals))]
        cuts.warn(run, f"func.{transform}", function, names)
    return (value, tangent, aux) if has_aux else (value, tangent)


def _entered(given: Any, primal: Any, tangent: Any, forward: ForwardLevel, level: int) -> Any:
    """A tensor of the level around a dual array, which the function gets for an argument."""
    primal = primal if type(primal) is np.ndarray else as_given(primal)
    tangent = tangent if type(tangent) is np.ndarray else as_given(tangent)
    return enter(given, _dual(given, primal, tangent, forward), level)


def _bare(given: Tensor, primal: Tensor, tangent: Any, forward: ForwardLevel, level: int) -> Tensor:
    """The same around the numbers of a Tensor, whose memory it still shares."""
    tangent = tangent._array if is_plain(tangent) else as_tensor(tangent)
    entered = wrap(_dual(given, primal._array, tangent, forward), level)
    entered._counter = counter_inside(primal)
    return entered


def _dual(given: Any, primal: Any, tangent: Any, forward: ForwardLevel) -> Any:
    """A dual array; the zeros of the direction that the user gave stand still, however steep the function is."""
    if type(given) not in (Tensor, NestedTensor):  # code for NumPy may write into its argument
        primal = array_type(primal).copy(primal)
    tangent = array_type(tangent).copy(tangent)  # a write into the argument is none into the user's direction
    dual = pack(primal, tangent, forward, False)
    if forward.masks:
        dual.touched = mask_in(tangent)
    return forward.begin_at(dual)


def paired(transform: str, primals: Any, tangents: Any, level: int) -> tuple[Any, ...]:
    """(triples of what was given, primal and tangent, the structure of the primals), checked."""
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise GradientTypeError(
                f"func.{transform}: Expected {name} to be a tuple of arguments, got {type(given).__name__}; write (x,) "
                "for one. Primals and tangents have the same python structure."
            )
    if not primals:
        raise GradientError(
            f"func.{transform}: expected at least one Tensor: there are no primals; pass a non-empty tuple of "
            "arguments."
        )
    found, structure = flatten(primals)
    if not found:
        raise GradientError(
            f"func.{transform}: expected at least one Tensor: the chosen arguments hold no array to differentiate."
        )
    directions, other = flatten(tangents)
    found, directions = ([surfaced(x, level) for x in items] for items in (found, directions))
    if structure != other:
        raise GradientError(
            f"func.{transform}: expected primals and tangents to have the same python structure: primals and tangents "
            "have different structures; every array among the primals needs one direction."
        )
    return [(p, *_pair(transform, i, p, t)) for i, (p, t) in enumerate(zip(found, directions, strict=True))], structure


def _pair(transform: str, i: int, primal: Any, tangent: Any) -> tuple[Any, ...]:
    contains = "to only contain Tensors or arrays"
    primal = floating_argument(primal, f"func.{transform}: expected primals {contains}: primal {i} is")
    if primal.dtype.kind not in "fc":
        raise GradientTypeError(
            f"func.{transform}: primal {i} has dtype {primal.dtype}, which has no tangents: convert it, for example "
            "with .astype(float)."
        )
    tangent = direction_like(tangent, primal.dtype, f"func.{transform}: expected tangents {contains}: tangent {i} is")
    if primal.shape != tangent.shape or primal.dtype != tangent.dtype:
        raise GradientError(
            f"func.{transform}: expected primals and tangents to only contain Tensors or arrays of the same shapes and "
            f"dtypes: primal {i} has shape {primal.shape} and dtype {primal.dtype}, its tangent "
            f"{tangent.shape} and {tangent.dtype}; they must agree."
        )
    return primal, tangent


def _take_apart(
    output: Any, run: cuts.Run, forward: ForwardLevel, strict: bool, tensors: Sequence[bool]
) -> tuple[Any, ...]:
    """(values, tangents, whether one was dual) of what the function returned, one level further out.

    `tensors` says which primals are Tensors. Where one is, Tensors stay Tensors, of what was written into too.
    """
    transform, level = run.transform, run.level
    found, structure = flatten(output)
    if not found:
        raise GradientError(
            f"func.{transform}: {called_as(transform)}: Expected f to be a function that has non-empty "
            f"output: the function returned no array to differentiate (it returned {output!r}). Is a `return` missing?"
        )
    found = [surfaced_result(x, run, records=False) for x in found]
    check_results(found, structure, f"func.{transform}: {called_as(transform)}: ", tensors=all(tensors))
    values, tangents, depends = [], [], False
    for i, x in enumerate(found):
        raw = x._array if isinstance(x, Tensor) and x._level == level else x
        if raw is not x and not (type(raw) is DualArray and raw.level is forward):
            raw = hoisted(raw, forward)
        dual = type(raw) is DualArray and raw.level.number >= forward.number
        if strict and not dual:
            raise GradientError(
                f"func.{transform}: with strict=True output {i} must depend on the primals, but it does not. Omit "
                "strict for a tangent of zeros."
            )
        depends = depends or dual
        parts = [primal_part(raw, forward), tangent_part(raw, forward)] if dual else [raw]
        value = value_outward(x, parts[0], level, any(tensors))
        values.append(value)
        tangents.append(raw_outward(x, parts[1], level, any(tensors)) if dual else _zeros_like(value))
    return unflatten(structure, values), unflatten(structure, tangents), depends


def _leave_all(aux: Any, level: int, forward: ForwardLevel, tensors: bool) -> Any:
    """The auxiliary results of the function, moved one level out and without tangents."""
    found, structure = flatten(aux)
    found = [surfaced(x, level) for x in found]
    own = [hoisted(x._array, forward) if isinstance(x, Tensor) and x._level == level else x for x in found]
    own = [primal_part(x, forward) if type(x) is DualArray else x for x in own]
    left = [
        value_outward(x, raw, level, tensors) if hasattr(raw, "shape") else raw
        for x, raw in zip(found, own, strict=True)
    ]
    return unflatten(structure, left)


def _has_nan(tangent: Any) -> bool:
    parts = parts_of(tangent) if isinstance(tangent, Tensor) else [tangent]
    return any(numbers is not None and bool(np.isnan(numbers).any()) for numbers in map(numbers_of, parts))


def _zeros_like(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.new_zeros(value.shape)
    return table_of((value,)).zeros_like(value) if type(value) in REGISTERED else np.zeros_like(value)[()]
