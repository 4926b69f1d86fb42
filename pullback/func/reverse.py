"""vjp: the value of a function of arrays, and its derivative as a linear map that pulls cotangents back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.engine.accumulate import owned
from pullback.autograd.engine.execution import execute
from pullback.core import cuts, modes
from pullback.core.array_face import surfaced
from pullback.core.array_type import array_type, is_array
from pullback.core.errors import GradientError, refusals
from pullback.core.named import named
from pullback.core.pytree import flatten, leaves_like, unflatten
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, inside_tensors, ndarray, wrap
from pullback.core.version import counter_inside
from pullback.dispatch.outer_levels import seen_outside
from pullback.func.boundary import (
    TENSOR_FACES,
    Argnums,
    Choice,
    called_as,
    check_results,
    direction_like,
    enter_chosen,
    floating_argument,
    gradient_outward,
    is_plain,
    leave,
    leave_all,
    rebuild,
    say_undefined,
    split_aux,
    told,
    undefined_at,
    zeros_of,
)
from pullback.graph.kept_values import refuse_kept_now, surfaced_result
from pullback.graph.node import edge_to


@named("func.vjp", "callable func")
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False, argnums: Argnums | None = None) -> Any:
    """The value of `func`, and a function that pulls cotangents back: its vector-Jacobian product.

    Parameters
    ----------
    func : callable
        Takes arrays, written with NumPy's or pullback's functions, and returns an array or a tree (dict, list, tuple)
        of arrays (with `has_aux`, a pair of that and anything else).
    *primals : array, float or tree of these
        The positional arguments.
    has_aux : bool, default False
        `func` returns a pair (output, aux). aux is not differentiated, and is returned beside the rest.
    argnums : int, str, or tuple of these, optional
        Which arguments are differentiated, by position or name; all of them if it is omitted.

    Returns
    -------
    (output, vjp_fn) or, with `has_aux`, (output, vjp_fn, aux)
        `vjp_fn(cotangent)` takes a tree of the structure, shapes and dtypes of the output (None stands for zeros) and
        gives J^H cotangent: a tuple with one gradient for each primal (with `argnums` an int or a name, that gradient
        alone). It may be called many times; the function itself runs once.

    Raises
    ------
    TypeError
        A primal is not floating point; in `vjp_fn`, a cotangent is not an array.
    RuntimeError
        The function returned no arrays; in `vjp_fn`, a cotangent has another structure, shape or kind than its output.
        An array that the function used has been written into since.

    Notes
    -----
    The memory of the run is kept as long as `vjp_fn` lives. A gradient of complex primals is the conjugate of the
    derivative, as everywhere in pullback: J^H v, not J^T v.

    Examples
    --------
    >>> import numpy as np
    >>> y, vjp_fn = pb.func.vjp(np.sin, np.array([0.0, np.pi]))
    >>> vjp_fn(np.array([1.0, 3.0]))
    (array([ 1., -3.]),)
    >>> _, vjp_fn = pb.func.vjp(lambda x, n: {"power": x**n}, 3.0, 2, argnums="x")
    >>> vjp_fn({"power": 1.0}).item()
    6.0
    """
    if not primals:
        raise TypeError("func.vjp: there are no primals; give the arguments after the function: vjp(f, x, y).")
    choice = Choice("vjp", func, tuple(range(len(primals))) if argnums is None else argnums)
    recording = Recording(choice, primals, {}, has_aux)
    vjp_fn = VjpFunction(recording)
    value = recording.value()
    return (value, vjp_fn, recording.aux) if has_aux else (value, vjp_fn)


class VjpFunction:
    """The linear map of cotangents to gradients that `func.vjp` returns."""

    __slots__ = ("_recording",)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def __repr__(self) -> str:
        function = self._recording.choice.function
        return f"<vjp_fn of {getattr(function, '__qualname__', None) or type(function).__name__}>"

    def __call__(self, *cotangent: Any, **named: Any) -> Any:
        """The gradients for a cotangent of the structure of the function's output."""
        if len(cotangent) != 1 or named:
            raise TypeError(
                f"vjp_fn takes one cotangent, built like the function's output, but got {len(cotangent)} arguments"
                f"{''.join(f', {name}=' for name in named)}. For a function that returns a tuple write vjp_fn((a, b))."
            )
        recording = self._recording
        return recording.built(recording.pull(recording.cotangents(cotangent[0])))


class Recording:
    """A function that has been run and recorded at a level of its own, through which cotangents are pulled back.

    Attributes
    ----------
    aux : what the function returned beside its value, one level out, in memory of its own
    outputs : list of Tensor or None
        For each leaf of the value the tensor of the level; None for one that depends on nothing.
    """

    def __init__(
        self, choice: Choice, given: Sequence[Any], kwargs: dict[str, Any], has_aux: bool, own: bool = False
    ) -> None:
        self.choice = choice
        args, state, refused = list(given), modes.current(), refusals.last
        self.level = level = state.level + 1
        self.run = run = cuts.Run(level, choice.transform, choice.function)
        try:
            modes.restore(state.deeper().differentiating())
            places = choice.places(args, kwargs)
            self.leaves, self.structures = enter_chosen(args, kwargs, places, run, own)
            for leaf in self.leaves:
                if isinstance(leaf._array, Tensor):  # which the caller may write into before cotangents come
                    leaf._counter = counter_inside(leaf._array)
            output = run.watch(choice.function, *args, **kwargs)
            output, aux = split_aux(choice.transform, output, self.leaves) if has_aux else (output, None)
            found, self.structure = flatten(output)
            found = [surfaced_result(x, run) for x in found]
            tensors = [type(leaf) in TENSOR_FACES for leaf in self.leaves]
            _check_outputs(choice.transform, found, self.structure, all(tensors))
        except Exception as error:
            if (better := told(choice.transform, error, given, refused)) is error:
                raise
            raise better from None
        finally:
            modes.restore(state)
            run.over = next_sequence_nr()
        self.call = places, args, self.structures
        if cuts.WATCHED:
            cuts.note_derivative(leaf._array for leaf in self.leaves)
        recorded = [isinstance(x, Tensor) and x._level == level and x._requires_grad for x in found]
        self.outputs = [x if is_one else None for x, is_one in zip(found, recorded, strict=True)]
        self.forms = [x if isinstance(x, Tensor) else np.asarray(x) for x in found]
        self._found, self._tensors = found, any(tensors)
        self.aux = _each(_apart, leave_all(aux, level, self._tensors)) if has_aux else None
        self._said = False

    def value(self) -> Any:
        """Return what the function returned, one level out, in memory of its own."""
        return unflatten(self.structure, [_apart(leave(x, self.level, self._tensors)) for x in self._found])

    def cotangents(self, given: Any, whole: bool = False) -> list[Any]:
        """Return what flows into each output, of what the user gave: arrays (with `whole` integers too), None for 0."""
        found: list[Any] = [None] * len(self.outputs)
        name = "vjp_fn" if self.choice.transform == "vjp" else f"func.{self.choice.transform}"
        try:
            for i, x, path in leaves_like(given, self.structure, "the cotangent"):
                found[i] = _cotangent(x, self.forms[i], f"{name}: {path}", whole)
        except ValueError as error:
            raise GradientError(
                f"{name}: Expected pytree structure of cotangents to be the same as that of the outputs: {error} It "
                "must have the structure of the function's output."
            ) from None
        return found

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The gradient of each leaf, raw; None where it is zero."""
        for x in (*self.outputs, *self.leaves):
            _refuse_ended(x, self.choice.transform)
        if self.level > 1 and cuts.WATCHED:
            refuse_kept_now(self.outputs)
        roots, plain = [], True
        for y, cotangent in zip(self.outputs, cotangents, strict=True):
            if y is not None and cotangent is not None:
                roots.append((edge_to(y), array_type(y._array).root_gradient(y, _beside(y, cotangent))))
                plain = plain and array_type(y._array).only_part(y._array) is not None
        edges = [edge_to(leaf) for leaf in self.leaves]
        captures: Any = {(edge.node(), 0): i for i, edge in enumerate(edges)}  # type: ignore[union-attr]  # leaves have one
        found: Any = {}
        if roots:
            found = execute(roots, level=self.level, keep_graph=True, captures=captures, numbers=plain)  # type: ignore[arg-type]
        gradients = [found.pop(i, None) for i in range(len(edges))]
        if not self._said and any(g is None for g in gradients):
            self._say(gradients)
        return gradients

    def _say(self, gradients: Sequence[Any]) -> None:
        """Warn once of what no path leads to from any output; what is zero for these cotangents alone is no matter."""
        self._said = True
        missing = [i for i, g in enumerate(gradients) if g is None]
        starts = [edge_to(y) for y in self.outputs if y is not None]
        unused, dropped = undefined_at(starts, self.leaves, missing) if starts else (missing, {})
        say_undefined(self.run, self.choice, self.call, unused, dropped)

    def built(self, gradients: list[Any]) -> Any:
        """The gradients as their user sees them, in the structures of the arguments and memory of their own."""
        results = []
        for i, leaf in enumerate(self.leaves):
            box, gradients[i] = [gradients[i]], None
            raw = zeros_of(leaf) if box[0] is None else owned(box)
            level = modes.current().level
            results.append(seen_outside(gradient_outward(leaf, surfaced(raw, level), self.level), level))
        return self.arranged(results)

    def arranged(self, results: Sequence[Any]) -> Any:
        """One result for each leaf, in the structures of the arguments."""
        found = rebuild(results, self.structures)
        return tuple(found) if self.choice.several else found[0]


def _refuse_ended(x: Any, transform: str) -> None:
    """Raise an error for a tensor around a dual array of a transform that has ended."""
    x = inside_tensors(x)
    if getattr(getattr(x, "level", None), "open", True) is False:
        raise GradientError(
            f"{transform}: what it recorded belongs to a func.jvp, jacfwd or linearize around it, which has ended. "
            f"Call the function that {transform} returned before that ends, or take {transform} of plain arrays "
            "outside of it."
        )


def _check_outputs(transform: str, found: Sequence[Any], structure: Any, tensors: bool) -> None:
    if not found:
        raise GradientError(
            f"{called_as(transform)}: Expected f to be a function that has non-empty output: the function "
            f"returned nothing to differentiate (it returned {unflatten(structure, [])!r}). Is a `return` missing?"
        )
    check_results(found, structure, f"{called_as(transform)}: ", tensors=tensors)


def _cotangent(given: Any, output: Any, path: str, whole: bool) -> Any:
    """The cotangent of one output, checked: an array of its shape and dtype."""
    if given is None:
        return None
    given = surfaced(given, modes.current().level)
    if type(given) in (int, float, complex) and not (type(given) is complex and output.dtype.kind == "f"):
        x = np.asarray(given, output.dtype)  # a Python number has no dtype of its own
    else:
        x = direction_like(given, output.dtype, f"{path} is") if whole else floating_argument(given, f"{path} is")
    if tuple(x.shape) != tuple(output.shape):
        raise GradientError(
            f"{path} has shape {tuple(x.shape)}, but the function's output {tuple(output.shape)}; they must agree."
        )
    if x.dtype != output.dtype:
        if not np.can_cast(x.dtype, output.dtype, "same_kind") or x.dtype.kind != output.dtype.kind:
            raise GradientError(
                f"{path} has dtype {x.dtype}, but the function's output {output.dtype}; convert it, for example "
                f"with .astype({output.dtype})."
            )
        x = x.astype(output.dtype)
    return x


def _beside(y: Tensor, cotangent: Any) -> Any:
    """A cotangent as it is to flow beside what is in `y`."""
    if isinstance(y._array, Tensor) and issubclass(type(cotangent), (ndarray, np.generic)):
        return wrap(np.array(cotangent), y._array._level)
    if type(y) is Tensor and is_plain(cotangent):
        return cotangent._array
    return cotangent


def _apart(x: Any) -> Any:
    """Return what leaves for the user, who may write into it: the graph may keep the same memory."""
    return array_type(x).copy(x) if is_array(x) else x


def _each(function: Callable[[Any], Any], tree: Any) -> Any:
    found, structure = flatten(tree)
    return unflatten(structure, [function(x) for x in found])
