"""Inputs and outputs of autograd.functional: one or a tuple, arrays or Tensors, at which level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pullback.autograd.api import gradients_of, gradients_of_rows
from pullback.autograd.dropped_gradients import keepers
from pullback.core import cuts, modes
from pullback.core.array_type import TENSOR
from pullback.core.errors import DtypeError, GradientError, GradientTypeError
from pullback.core.factory import asarray
from pullback.core.tensor import Tensor, ndarray, set_requires_grad, wrap
from pullback.core.version import counter_of
from pullback.graph.kept_values import reached, surfaced_result
from pullback.graph.node import edge_to

Arrays: TypeAlias = Any  # a Tensor, ndarray or number, or a tuple of these
Function: TypeAlias = Callable[..., Any]
Gradients: TypeAlias = tuple[Tensor | None, ...]
_ARRAYS = (Tensor, ndarray, np.generic, int, float, complex)


_WHOSE = {  # what _tensors speaks of, in our words and in PyTorch's
    "inputs": ("the inputs of {}()", "inputs given to {}"),
    "v": ("the v of {}()", "v given to {}"),
    "outputs": ("the outputs of the function given to {}()", "outputs of the user-provided function given to {}"),
}
_SCALAR = {
    "input": "input to the user-provided function is a single Tensor with a single element",
    "output": "user-provided function returns a single Tensor with a single element",
}


class _Recording(modes.ModeSwitch):
    """Inside, a function is differentiated at a level: operators of it record."""

    def __init__(self, level: int, is_transform: bool) -> None:
        self.level, self.is_transform = level, is_transform

    def _changed(self, modes: modes.Modes) -> modes.Modes:
        state = modes.deeper() if self.is_transform else modes
        return state.with_recording(True, self.level).differentiating(self.level)


class Bundle(NamedTuple):
    """One Tensor or several, and which of the two the user has given or expects."""

    tensors: tuple[Tensor, ...]
    is_tuple: bool

    def like_this(self, results: Sequence[Any]) -> Any:
        """One result for each tensor, as a tuple or alone like the tensors."""
        return tuple(results) if self.is_tuple else results[0]


class Point:
    """Where a function is differentiated: its inputs as Tensors that require grad, and how results are wanted."""

    def __init__(self, name: str, inputs: Arrays, *, create_graph: bool, strict: bool) -> None:
        if modes.current().inference:
            raise GradientError(
                f"{name}() cannot differentiate inside inference_mode: nothing computed there enters a graph. Switch "
                "it off "
                "for this call: `with pullback.inference_mode(False):`."
            )
        self.name, self.strict, self.asks_for_graph = name, strict, create_graph
        self.dropped: dict[int, list[str]] = {}  # input -> Functions whose backward returned None on the way to it
        self.depends = False  # in forward mode: whether an output had a tangent
        given = _tensors(inputs, "inputs", name)
        if not given.tensors:
            raise GradientError(f"the inputs given to {name}() are an empty tuple: there is nothing to differentiate.")
        # Inside a transform this call is one more, at a level of its own: what is around differentiates its results
        # like all else. Beside Tensors of level 0 it has theirs; there create_graph=True is what a call around needs.
        state = modes.current()
        self.level = max(state.level, *(x._level for x in given.tensors))
        self.create_graph = create_graph or self.level in state.differentiated
        self.is_transform = self.level > 0
        self.level += self.is_transform
        if self.is_transform and cuts.WATCHED:
            cuts.note_derivative(given.tensors)
        with self.recording():
            self.inputs = Bundle(tuple(self._input(x, i) for i, x in enumerate(given.tensors)), given.is_tuple)

    def recording(self) -> modes.ModeSwitch:
        """Record here, whatever the caller's mode."""
        return _Recording(self.level, self.is_transform)

    def _input(self, x: Tensor, i: int) -> Tensor:
        """A new Tensor on the memory of an input: the same Tensor, captured by the function, stays a constant."""
        if x.dtype.kind not in "fc":
            raise DtypeError(
                f"The inputs given to {self.name} must be either a Tensor or a tuple of Tensors that can require grad: "
                f"{self.name}() cannot differentiate with respect to input {i}, which has dtype {x.dtype}: only "
                "Tensors of floating point and complex dtype can require gradients. Convert it, for example with "
                ".astype(float)."
            )
        if self.requires_grad(x) and self.create_graph:
            return TENSOR.alias(x)  # type: ignore[no-any-return]
        return set_requires_grad(self.at_level(_without_history(x) if x._level == self.level else x))

    def at_level(self, x: Tensor) -> Tensor:
        """`x` as a tensor of the level at which this call differentiates."""
        if x._level == self.level:
            return x
        return wrap(x if x._requires_grad or x._level else x._array, self.level)

    def requires_grad(self, x: Tensor) -> bool:
        """True if `x` is connected to anything here (being differentiated at an outer level does not count)."""
        return x._requires_grad and x._level == self.level

    def evaluate(self, function: Function, inputs: Sequence[Tensor] | None = None) -> Bundle:
        """The outputs of the user's function (with `inputs`: its inputs again, with tangents)."""
        self.run, self.function = cuts.Run(self.level, self.name, function), function
        returned = self.run.watch(function, *(self.inputs.tensors if inputs is None else inputs))
        if any(_has_constant_grad(x) for x in self.inputs.tensors):
            raise GradientError(
                f"backward() was called inside the function given to {self.name}(), and left in .grad of an input a "
                "value without history. Take the inner gradient with autograd.grad or pullback.func.grad, "
                "which return it."
            )
        outputs = _tensors(returned, "outputs", self.name)
        return outputs._replace(tensors=tuple(surfaced_result(x, self.run) for x in outputs.tensors))

    def evaluate_scalar(self, function: Function, inputs: Sequence[Tensor] | None = None) -> Tensor:
        """The only output of a function whose Hessian is asked for."""
        outputs = self.evaluate(function, inputs)
        if outputs.is_tuple:
            raise GradientError(
                f"The function given to {self.name} should return a single Tensor: the function given to "
                f"{self.name}() must "
                "return a single Tensor of one element, but it returned a "
                f"tuple of {len(outputs.tensors)}."
            )
        (output,) = outputs.tensors
        if output.numel() != 1:
            raise GradientError(
                f"The Tensor returned by the function given to {self.name} should contain a single element: the "
                "function "
                f"given to {self.name}() must return a single Tensor of one element, but it returned one "
                f"of shape {output.shape}. Reduce it, for example with .sum(), or take the jacobian() of its gradient."
            )
        return output

    def vector(self, v: Arrays | None, like: Bundle, what: str) -> tuple[Tensor | None, ...]:
        """The checked `v`, one Tensor for each of `like`: the function's inputs or outputs, as `what` says."""
        if v is None:
            if len(like.tensors) != 1 or like.tensors[0].numel() != 1 or like.tensors[0].is_complex():
                found = ", ".join(f"{x.shape} {x.dtype}" for x in like.tensors)
                raise GradientError(
                    f"The vector v can only be None if the {_SCALAR[what]}: {self.name}() needs v: it can be left out "
                    f"only if the {what} of the function is a single real "
                    f"Tensor of one element, and here there is {found or 'none'}."
                )
            return (None,)
        given = _tensors(v, "v", self.name)
        if len(given.tensors) != len(like.tensors):
            wanted = f"a tuple of {len(like.tensors)}" if like.is_tuple else "a single Tensor"
            number = isinstance(v, tuple) and any(issubclass(type(entry), (int, float, complex)) for entry in v)
            raise (GradientTypeError if number else GradientError)(
                (f"The v given to {self.name} must be either a Tensor or a tuple of Tensors. " if number else "")
                + f"The given v should contain {wanted}: the v given to {self.name}() must be {wanted}, as the {what} "
                "of the function is, but it has "
                f"{len(given.tensors)} entries."
            )
        for i, (entry, x) in enumerate(zip(given.tensors, like.tensors, strict=True)):
            _check_entry(entry, x, f"v[{i}]" if like.is_tuple else "v", self.name, f"{what} {i}")
        if self.create_graph or self.is_transform:
            return given.tensors
        return tuple(map(_without_history, given.tensors))

    def gradients(
        self,
        outputs: Sequence[Tensor | None],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Tensor | None] | None = None,
        *,
        create_graph: bool,
        retain_graph: bool | None = None,
    ) -> Gradients:
        """grad() of those outputs that are connected to anything; None where there is no connection."""
        cotangents = (None,) * len(outputs) if cotangents is None else cotangents
        pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if y is not None and self.requires_grad(y)]
        if not pairs:
            return (None,) * len(inputs)
        connected, given = zip(*pairs, strict=True)
        found: tuple[Tensor | None, ...]
        found = gradients_of(connected, tuple(inputs), given, retain_graph, create_graph, allow_unused=True)
        self._look_for_withheld(connected, inputs, found)
        return found

    def gradients_of_rows(self, output: Tensor, batch: Tensor) -> Gradients:
        """The gradients of an output for each row of a batch of cotangents; None where there is no connection."""
        inputs = self.inputs.tensors
        if not self.requires_grad(output):
            return (None,) * len(inputs)
        found: Gradients
        found = gradients_of_rows((output,), inputs, [batch], True, self.create_graph, allow_unused=True)
        self._look_for_withheld((output,), inputs, found)
        return found

    def _look_for_withheld(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], found: Gradients) -> None:
        """Remember the custom Functions because of which an input has no gradient."""
        missing = [(x, i) for x, g in zip(inputs, found, strict=True) if g is None for i in self._number_of(x)]
        if not missing:
            return
        nodes = reached(edge.node() for edge in map(edge_to, outputs) if edge is not None)
        for x, i in missing:
            if names := keepers(nodes, x):
                self.dropped[i] = names

    def _number_of(self, x: Tensor) -> list[int]:
        return [i for i, own in enumerate(self.inputs.tensors) if own is x]

    def say_withheld(self, i: int) -> None:
        """Warn that zeros stand for the derivative with respect to an input because a custom Function gave none."""
        if i in self.dropped:
            cuts.warn_dropped(self.run, f"functional.{self.name}", self.function, f"input {i}", self.dropped.pop(i))

    def zero_cotangents(self, tensors: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """Zeros that require grad: the variables in which a vjp is linear. None for what has no derivative."""
        return tuple(
            None if x.dtype.kind not in "fc" else set_requires_grad(self.at_level(TENSOR.zeros_like(x)))
            for x in tensors
        )

    def finished(self, results: Sequence[Tensor]) -> list[Tensor]:
        """Results as the user wants them: of the level around, with their history, or without."""
        if self.is_transform:
            return [_outward(x) if x._level == self.level else x for x in results]
        return list(results) if self.create_graph else [_without_history(x) for x in results]


def _without_history(x: Tensor) -> Tensor:
    """The same memory outside the graph, as detach() gives it, but with its tangents of forward mode."""
    counter_of(x)
    out = wrap(x._array, x._level)
    out._counter = x._counter
    return out


def _outward(x: Tensor) -> Tensor:
    """The value inside a tensor of a transform, as a Tensor of the level below."""
    return x._array if isinstance(x._array, Tensor) else wrap(x._array, 0)


def _has_constant_grad(x: Tensor) -> bool:
    grad = None if x._extra is None else x._extra.grad
    return grad is not None and not grad._requires_grad


def _tensors(value: Arrays, argument: str, name: str) -> Bundle:
    """`inputs` and `v` may be arrays and numbers; what the function returns may not, or its history would be lost."""
    whose, phrase = _WHOSE[argument]
    kinds = (Tensor,) if argument == "outputs" else _ARRAYS
    entries = value if isinstance(value, tuple) else (value,)
    for i, x in enumerate(entries):
        if not isinstance(x, kinds):
            which = f"entry {i} of {whose}" if isinstance(value, tuple) else whose
            remedy = (
                "Compute it from the inputs with pullback's or NumPy's functions, which return Tensors; a constant "
                "is pullback.asarray(...)."
                if argument == "outputs"
                else "Turn it into an array, or a list into a tuple of arrays."
            )
            must = (
                "a Tensor or a tuple of Tensors" if argument == "outputs" else "a Tensor, an array or a tuple of these"
            )
            raise TypeError(
                f"The {phrase.format(name)} must be either a Tensor or a tuple of Tensors: {which.format(name)} must "
                f"be {must}, got {type(x).__name__}. {remedy}"
            )
    return Bundle(tuple(asarray(x) for x in entries), isinstance(value, tuple))


def _check_entry(entry: Tensor, x: Tensor, label: str, name: str, whose: str) -> None:
    if entry.shape != x.shape:
        raise GradientError(
            f"v has invalid size: should be {x.shape} but got {entry.shape}: the {label} given to {name}() has shape "
            f"{entry.shape}, but {whose} of the function has shape {x.shape}."
        )
    if entry.is_complex() != x.is_complex():
        remedy = f"Pass {label} + 0j." if x.is_complex() else f"Pass {label}.real."
        raise GradientError(
            f"the {label} given to {name}() has dtype {entry.dtype}, but {whose} of the function has dtype {x.dtype}: "
            f"both must be complex, or both real. {remedy}"
        )
