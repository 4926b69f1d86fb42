"""Frame: one call of a checkpointed function: its inputs, what its nodes would have saved, and the recomputation.

While the function runs, hooks give each node an empty `Holder` instead of what it saves. The first holder that backward
opens runs the function again, under hooks that fill the holders in the same order. A holder gives its tensor away as
it is opened, so that no activation outlives its use, and is filled again should another backward come.

Checkpoints nest by the rules of hooks. Inside the inner function the inner hooks are in force. Its inputs are kept
like any saved tensor, by the outer hooks where there are some, so that opening an inner holder runs the outer function
first.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from pullback.autograd.checkpoint.randomness import as_it_was, states_around
from pullback.autograd.saved_hooks import disable_saved_tensors_hooks, innermost_hooks, pack, saved_tensors_hooks
from pullback.core import level_numbers, modes
from pullback.core.array_type import array_type
from pullback.core.drawing import drawing
from pullback.core.errors import Explained
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.pytree import tree_leaves, tree_map
from pullback.core.tensor import Tensor, wrap
from pullback.core.types import Version
from pullback.core.version import counter_of
from pullback.graph.captured import Captured
from pullback.graph.node import edge_to
from pullback.graph.packed import Packed
from pullback.graph.saved import checked, version_when_saved

TIP = (
    "The function must do the same when it runs again: nothing in it may depend on what has changed since (a counter, "
    "the time, a generator of its own)."
)


class CheckpointError(Explained, RuntimeError):
    """The recomputation of a checkpointed function did not save what the function itself had saved."""


class StopRecomputation(BaseException):
    """Everything that backward needs is there again: no `except Exception` in the function may stop this."""


class PartOfCheckpoint(Observer, ModeSwitch):
    """An observer that looks on at one run of a checkpointed function."""

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        return modes.with_observer(self)

    def kept(self) -> Iterable[Any]:
        """Raw results of the function that it keeps for the recomputation."""
        return ()


class Holder:
    """Stands for a saved tensor; has it from the recomputation until it is asked for."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self) -> None:
        self.tensor: tuple[Tensor, Version] | None = None


class Frame:
    """A call `function(*args, **kwargs)` and how to repeat it."""

    _extra = None  # as of a node, whose part it plays in errors about its inputs

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        preserve_rng_state: bool,
        compare: bool,
        early_stop: bool,
        again: AbstractContextManager[Any],
        explain: Callable[[CheckpointError], CheckpointError],
    ) -> None:
        self.function = function
        self.captured = Captured(self.name(), function, recorded=True)
        self.captured.keep()
        self.early_stop = early_stop
        self.again = again  # entered around the recomputation
        self.explain = explain  # makes the most of an error
        self.state, self.drawing = modes.current(), drawing.get()
        self.inputs: list[_Input] = []
        self.arguments = tree_map(self._keep, (args, kwargs))
        self.randomness = states_around(function, tree_leaves((args, kwargs))) if preserve_rng_state else []
        self.holders: list[weakref.ref[Holder]] = []
        self.metadata: list[tuple[Any, ...]] | None = [] if compare else None
        self.levels: list[int] = []  # the numbers of the forward levels that the function enters
        self.complete = False  # whether the function has returned

    @property
    def may_rehearse(self) -> bool:
        """True if a recomputation more does no harm: a context manager of the user's may be good for one alone."""
        return isinstance(self.again, (nullcontext, PartOfCheckpoint))

    def kept_inputs(self) -> list[tuple[Any, Version]]:
        """Tensors among its arguments, as they are kept: for those who look at a graph, nothing is unpacked."""
        return [(x.held, x.version) for x in tree_leaves(self.arguments) if isinstance(x, _Input)]

    def kept_results(self) -> Iterable[Any]:
        """Results that a policy has chosen to keep."""
        return self.again.kept() if isinstance(self.again, PartOfCheckpoint) else ()

    def name(self) -> str:
        """The name by which errors refer to it."""
        return f"checkpoint({getattr(self.function, '__name__', type(self.function).__name__)})"

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], inside: AbstractContextManager[Any]) -> Any:
        """Call the function; its nodes save holders."""
        result, returned = None, False
        with _Hold(self), level_numbers.noted(self.levels), inside:
            result, returned = self.function(*args, **kwargs), True
        if not returned:
            raise RuntimeError(
                f"{self.name()}: the forward context that context_fn gave suppressed an exception of the function, so "
                "there is no result to return; let the context pass exceptions on."
            )
        self.complete = True
        self.captured.settle()
        return result

    def open(self, holder: Holder) -> Tensor:
        """The tensor that a holder stands for."""
        filled, holder.tensor = holder.tensor, None
        if filled is not None:
            return _as_filled(filled, self)
        try:
            return self._recompute(holder)
        except CheckpointError as error:
            raise self.explain(error) from error.__cause__

    def _keep(self, value: Any) -> Any:
        return _Input(value, self.state) if isinstance(value, Tensor) else value

    def _recompute(self, wanted: Holder) -> Tensor:
        """Fill the holders that are still there, and return what belongs into the one that is wanted."""
        function = self.captured.renew()[0]
        args, kwargs = tree_map(lambda value: value.get(self) if isinstance(value, _Input) else value, self.arguments)
        hooks = _Fill(self, wanted)
        before = modes.set_modes(_with_hooks(self.state, hooks))
        try:
            with (
                nullcontext() if self.drawing is None else self.drawing.again(),
                as_it_was(self.randomness) if self.randomness else nullcontext(),
                level_numbers.again(self.levels),
                self.again,
            ):
                function(*args, **kwargs)
        except StopRecomputation as stop:
            if stop.args[0] is not hooks:
                raise
        except BaseException:
            self.empty()
            raise
        finally:
            modes.restore(before)
        return hooks.found()

    def empty(self) -> None:
        """Let go of what a recomputation has filled in, where nobody will ask for it: the next one begins anew."""
        for reference in self.holders:
            holder = reference()
            if holder is not None:
                holder.tensor = None


def _with_hooks(state: Modes, hooks: saved_tensors_hooks) -> Modes:
    """The grad modes of `state` with what looks on now, and these hooks as the innermost.

    A recomputation starts as if no checkpoint were under way, and what forbids hooks here means those of a user.
    """
    apart = (disable_saved_tensors_hooks, PartOfCheckpoint)
    present = (i for i in modes.current().observers if not isinstance(i, apart))
    return state.with_observers((*present, hooks))


class _Input:
    """A tensor among the arguments, kept as a node keeps what it saves: packed by hooks, checked for modification."""

    __slots__ = ("held", "version")
    version: Version

    def __init__(self, tensor: Tensor, state: Modes) -> None:
        hooks = innermost_hooks(state)
        if hooks is None or not hooks.takes(tensor._level):
            self.held, self.version = tensor, version_when_saved(tensor)
            return
        before = modes.set_modes(state.with_recording(False, tensor._level))
        try:
            self.held, self.version = pack(hooks, tensor, edge_to(tensor))
        finally:
            modes.restore(before)

    def get(self, frame: Any) -> Any:
        """The tensor, in its place in the graph."""
        if type(self.version) is Packed:
            return _still_dual(self.version.tensor(self.held, frame, None))
        return _still_dual(checked(self.held, self.version, frame))


def frame_behind(unpack: Callable[[Any], Tensor]) -> Frame | None:
    """Return the call of which a node has kept holders, by the hook that unpacks for it; None for other hooks."""
    owner = getattr(unpack, "__self__", None)
    return owner.frame if isinstance(owner, _Hold) else None


def _still_dual(tensor: Tensor) -> Tensor:
    """A tensor with its tangents, also where their forward level has ended: the backward of a jvp comes after it."""
    array: Any = tensor._array
    if isinstance(array, Tensor):
        made: Any = _still_dual(array)
    elif array_type(array).dual:
        made = array_type(array).saved_again(array)
        for _, holder, attribute in list(array_type(made).components(made)):
            part = getattr(holder, attribute)
            if isinstance(part, Tensor):  # of an outer transform, whose tangents these may be too
                setattr(holder, attribute, _still_dual(part))
    else:
        return tensor
    if made is array:
        return tensor
    out = wrap(made, tensor._level)
    out._counter, out._fn, out._requires_grad = counter_of(tensor), edge_to(tensor), tensor._requires_grad
    return out


class _OfFrame(saved_tensors_hooks):
    """The hooks of a frame, which leave alone what transforms inside the function save at levels of their own.

    Those graphs end with the function, and are gone through in the midst of it: nothing is to be had back for them.
    """

    frame: Frame

    def takes(self, level: int) -> bool:
        return level <= self.frame.state.level


class _Hold(_OfFrame):
    """In force while the function runs."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.trusts_unpack = frame.metadata is None
        self.keeps_tangents = True  # the recomputation makes them again

    def pack_hook(self, tensor: Tensor) -> Holder:
        holder = Holder()
        self.frame.holders.append(weakref.ref(holder))
        if self.frame.metadata is not None:
            self.frame.metadata.append(_metadata(tensor))
        return holder

    def unpack_hook(self, holder: Holder) -> Tensor:
        return self.frame.open(holder)


class _Fill(_OfFrame):
    """In force while the function runs again. Its nodes keep their tensors: the function may run a backward itself."""

    def __init__(self, frame: Frame, wanted: Holder) -> None:
        self.frame, self.wanted = frame, wanted
        self.result: tuple[Tensor, Version] | None = None
        self.count = 0
        self.stopped = False
        self.different: list[str] = []

    def pack_hook(self, tensor: Tensor) -> Tensor:
        frame, nr = self.frame, self.count
        self.count += 1
        tensor = _without_graph(tensor)
        if nr >= len(frame.holders):
            self._one_too_many()
            return tensor
        holder = frame.holders[nr]()
        if holder is not None:  # else its node has run and let go of it
            if frame.metadata is not None and frame.metadata[nr] != _metadata(tensor):
                before, now = _in_words(frame.metadata[nr]), _in_words(_metadata(tensor))
                self.different.append(f"tensor at position {nr}: saved {before}, recomputed {now}")
            if holder is self.wanted:  # handed on directly: another thread may open holders meanwhile
                self.result = tensor, version_when_saved(tensor)
            else:
                holder.tensor = tensor, version_when_saved(tensor)
        if frame.early_stop and self.count == len(frame.holders):
            self.stopped = True
            raise StopRecomputation(self)
        return tensor

    @staticmethod
    def unpack_hook(tensor: Tensor) -> Tensor:
        return tensor

    def _one_too_many(self) -> None:
        # Not so where a backward inside the function repeats it beyond that point, or it has swallowed the exception.
        if self.frame.complete and not self.stopped:
            raise CheckpointError(
                f"{self.frame.name()}: trying to save more tensors during recomputation than the "
                f"{len(self.frame.holders)} of the original forward pass.\n{TIP}"
            )

    def found(self) -> Tensor:
        """The tensor that was wanted; raises unless the same were saved as in forward."""
        try:
            self._check()
        except CheckpointError:
            self.frame.empty()
            raise
        assert self.result is not None
        return _as_filled(self.result, self.frame)

    def _check(self) -> None:
        frame = self.frame
        if self.count < len(frame.holders):
            raise CheckpointError(
                f"{frame.name()}: A different number of tensors was saved during the original forward and "
                "recomputation: "
                f"{len(frame.holders)} and {self.count}.\n{TIP}"
            )
        if self.different:
            raise CheckpointError(
                f"{frame.name()}: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass:\n" + "\n".join(self.different) + f"\n{TIP}"
            )


def _as_filled(filled: tuple[Tensor, Version], frame: Any) -> Tensor:
    """Return what the recomputation saved, as it was then: the function may have overwritten it since."""
    return checked(*filled, frame)  # type: ignore[no-any-return]


def _without_graph(tensor: Tensor) -> Tensor:
    """The same memory outside the graph, with the tangent of forward mode, which detach() leaves out."""
    counter = counter_of(tensor)
    out = wrap(tensor._array, tensor._level)
    out._counter = counter
    return out


def _metadata(tensor: Tensor) -> tuple[Any, ...]:
    """The metadata of a tensor that must be the same after recomputation."""
    return tensor.shape, tensor.dtype, tensor.device


def _in_words(metadata: tuple[Any, ...]) -> str:
    return "shape {}, dtype {}, device {!r}".format(*metadata)
