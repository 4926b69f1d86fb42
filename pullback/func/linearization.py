"""linearize: the value of a function of arrays, and its derivative as a linear map that is replayed for any tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.tape import Tape, TapeArray
from pullback.core import cuts, modes
from pullback.core.array_face import surfaced, wrap_as
from pullback.core.array_type import array_type, is_array
from pullback.core.errors import GradientError
from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray, wrap
from pullback.func.boundary import check_callable, direction_like, face_of
from pullback.func.forward import paired, push
from pullback.func.rules import calls
from pullback.graph.kept_values import surfaced_result


@named("func.linearize", "callable func")
def linearize(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and a function that pushes tangents forward: one linearisation, many tangents.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree (dict, list, tuple)
        of arrays (with `has_aux`, a pair of that and anything else).
    *primals : array, float or tree of these
        The positional arguments.
    has_aux : bool, default False
        `func` returns a pair (output, aux). aux is not differentiated, and is returned beside the rest.

    Returns
    -------
    (output, jvp_fn) or, with `has_aux`, (output, jvp_fn, aux)
        `jvp_fn(*tangents)` takes one tangent for each primal, of its structure, shapes and dtype, and gives J tangent.
        It may be called many times; the function itself runs once.

    Raises
    ------
    TypeError, RuntimeError
        As `jvp` does; `jvp_fn` too.
    NotImplementedError
        An operator on the way has no forward-mode derivative.

    Notes
    -----
    `func` runs once in forward mode on tangents that are not known yet. What is computed of these is written on a
    tape; `jvp_fn` runs the tape, which needs no Python code of the function's and knows no rules. The memory of what
    the derivative needs is kept as long as `jvp_fn` lives. One jvp alone is cheaper by `jvp`. A 0 in a tangent is a
    number here, which is nan times an infinite slope; `jvp` knows that nothing moves there.

    Examples
    --------
    >>> import numpy as np
    >>> y, jvp_fn = pb.func.linearize(lambda x: x[0] * np.sin(x), np.array([2.0, 0.0]))
    >>> jvp_fn(np.array([0.0, 1.0]))
    array([0., 2.])
    >>> jvp_fn(np.array([0.0, 3.0]))
    array([0., 6.])
    """
    value, jvp_fn, _, *aux = linearized(func, primals, primals, has_aux=has_aux)
    return (value, jvp_fn, *aux)


def linearized(
    function: Callable[..., Any], primals: Any, samples: Any, *, has_aux: bool = False, masks: bool = True
) -> tuple[Any, ...]:
    """(the value, the linear map, what it gives for tangents `samples`, by leaves, perhaps what is auxiliary).

    What is 0 in a sample may stay 0 for every tangent. Without `masks` the caller looks for NaNs itself.
    """
    check_callable("linearize", function)
    state = modes.current()
    level = state.level + 1
    run = cuts.Run(level, "linearize", function)  # of the tape, where nothing is recorded
    leaves, structure = paired("linearize", primals, samples, state.level)  # of the tangents to come the forms alone
    tape = Tape()
    unknown = [wrap(tape.enter(t if _is_fixed(t) else array_type(t).copy(t)), level) for _, _, t in leaves]
    try:
        modes.restore(state.deeper())
        found = push("linearize", function, primals, unflatten(structure, unknown), has_aux=has_aux, masks=masks)
    finally:
        modes.restore(state)
    value, tangent, *aux = (
        _each(lambda x: surfaced(surfaced_result(x, run, records=False), state.level), tree) for tree in found
    )
    forms = [_Form(i, p) for i, (_, p, _) in enumerate(leaves)]
    sampled = [_sampled(x) for x in flatten(tangent)[0]]
    return (value, JvpFunction(function, tape, (forms, structure), value, tangent), sampled, *aux)


class JvpFunction:
    """The linear map of tangents that `func.linearize` returns."""

    __slots__ = ("_forms", "_function", "_results", "_structure", "_structure_of_results", "_tape")

    def __init__(self, function: Callable[..., Any], tape: Tape, given: Any, value: Any, tangent: Any) -> None:
        self._function, self._tape = function, tape
        self._forms, self._structure = given
        values, self._structure_of_results = flatten(value)
        # For each leaf: its place on the tape or, where that is none, the tangent; and what it is to look like.
        self._results = [(_place(t), face_of(v)) for t, v in zip(flatten(tangent)[0], values, strict=True)]

    def __repr__(self) -> str:
        return f"<jvp_fn of {getattr(self._function, '__qualname__', None) or type(self._function).__name__}>"

    def __call__(self, *tangents: Any, **named: Any) -> Any:
        """The tangent of the function's output for tangents of its arguments."""
        if named:
            raise TypeError(f"jvp_fn takes the tangents by position, but got {', '.join(named)} by name.")
        given, structure = flatten(tangents)
        if structure != self._structure:
            raise GradientError(
                "jvp_fn: the tangents must have the structure of the primals of linearize; give one for each argument."
            )
        level = modes.current().level
        arrays = [form.fitting(surfaced(x, level)) for form, x in zip(self._forms, given, strict=True)]
        found = iter(self._tape.replay(arrays, [place for place, _ in self._results if type(place) is int]))
        taken: set[int] = {id(x) for x in arrays}
        results = []
        for place, face in self._results:
            result = next(found) if type(place) is int else place
            if is_array(result):
                if id(result) in taken or _is_shared(result):
                    result = array_type(result).copy(result)
                taken.add(id(result))
            results.append(face(result))
        return unflatten(self._structure_of_results, results)


class _Form:
    """Says what a tangent of a primal must be."""

    __slots__ = ("dtype", "is_tensor", "position", "shape")

    def __init__(self, position: int, primal: Any) -> None:
        self.position, self.shape, self.dtype = position, tuple(primal.shape), primal.dtype
        self.is_tensor = isinstance(primal, Tensor)

    def fitting(self, given: Any) -> Any:
        """The tangent as it goes through the tape."""
        x = direction_like(given, self.dtype, f"jvp_fn: tangent {self.position} is")
        if tuple(x.shape) != self.shape or x.dtype != self.dtype:
            raise GradientError(
                f"jvp_fn: tangent {self.position} has shape {tuple(x.shape)} and dtype {x.dtype}, its primal "
                f"{self.shape} and {self.dtype}; they must agree."
            )
        return wrap(np.array(x), 0) if self.is_tensor and type(x) is ndarray else x


def _place(tangent: Any) -> Any:
    """The place on the tape of the tangent of a result; the tangent itself if it depends on none."""
    inside = tangent._array if isinstance(tangent, Tensor) else tangent
    return inside.place if type(inside) is TapeArray else tangent


def _is_fixed(sample: Any) -> bool:
    return type(sample) is ndarray and not sample.flags.writeable and sample.flags.c_contiguous


def _sampled(tangent: Any) -> Any:
    inside = tangent._array if isinstance(tangent, Tensor) else tangent
    return inside.sample if type(inside) is TapeArray else tangent


def _is_shared(result: Any) -> bool:
    return type(result) is ndarray and (result.base is not None or not result.flags.writeable)


def _each(function: Callable[[Any], Any], tree: Any) -> Any:
    found, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in found])


def _on_tape(function: Callable[..., Any], args: Sequence[Any]) -> list[Any] | None:
    """Return the result of a function linear in unknown tangents for some of these; None if none is among `args`.

    The function itself is written on the tape: on each replay it runs again, and is differentiated there if need be.
    """
    level = max((x._level for x in args if isinstance(x, Tensor)), default=0)
    own = [x for x in args if isinstance(x, Tensor) and x._level == level]
    unknown = [x for x in own if type(x._array) is TapeArray]
    if not unknown:
        return None
    inside = [x._array if isinstance(x, Tensor) and x._level == level else x for x in args]
    tape: Tape = max((x.tape for x in inside if type(x) is TapeArray), key=lambda tape: tape.number)
    return [None if x is None else wrap_as(unknown[0], x, level) for x in tape.apply(function, inside)]


calls.tape_apply = _on_tape
