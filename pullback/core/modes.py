"""Grad modes: what is recorded, at which level, in this thread and this asyncio task.

One immutable `Modes` describes everything that can make an operator leave its fast path. All that the fast path must
ask is whether the state is `plain` and, if it might record, `records_all`. A ContextVar holds it, which threads and
asyncio tasks see separately.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, Self, TypeVar, overload

from pullback.core.blocks import Block, Steps
from pullback.core.cuts import WATCHED, note_block
from pullback.core.observers import Observer

_F = TypeVar("_F", bound=Callable[..., Any])


class Modes:
    """level: the innermost level in use; off: the levels that do not record; inference: inside inference_mode.

    batched: the levels of vmap, which is no differentiating one: a switch there holds for the level outside as well.
    differentiated: the levels at which func.grad and its like run the user's function at present. observers: what
    looks on, the one switched on last at the end. plain: nothing but recording may be switched; records_all: and it is
    on at every level.
    """

    __slots__ = (
        "_batching",
        "_deeper",
        "_differentiating",
        "_off_here",
        "batched",
        "differentiated",
        "inference",
        "level",
        "observers",
        "off",
        "plain",
        "records_all",
    )  # fmt: skip

    _off_here: Modes | None
    _batching: Modes | None
    _deeper: Modes | None
    _differentiating: Modes | None

    def __init__(
        self,
        level: int = 0,
        off: frozenset[int] = frozenset(),
        inference: bool = False,
        observers: tuple[Observer, ...] = (),
        differentiated: frozenset[int] = frozenset(),
        batched: frozenset[int] = frozenset(),
    ) -> None:
        self.level = level
        self.batched = batched
        self.differentiated = differentiated
        self.off = off
        self.inference = inference
        self.observers = observers
        self._off_here = self._batching = self._deeper = self._differentiating = None
        self.plain = not inference and not observers
        self.records_all = not off

    def records(self, level: int) -> bool:
        """True if operators on tensors of `level` record nodes."""
        return level not in self.off

    def with_recording(self, enabled: bool, level: int | None = None) -> Modes:
        """The state with recording at `level` (default: the innermost) switched on or off."""
        level = self.level if level is None else level
        if (level not in self.off) == enabled:
            return self
        if not enabled and level == self.level and level not in self.batched:
            if self._off_here is None:  # kept: every backward and every no_grad block asks for it
                self._off_here = self._with(self.off | {level}, self.inference)
            return self._off_here
        off = self.off - {level} if enabled else self.off | {level}
        return self._with(off, self.inference)

    def switched(self, enabled: bool) -> Modes:
        """The state with recording switched by a user: at the innermost level that may differentiate."""
        modes, level = self.with_recording(enabled), self.level
        while level in self.batched:
            level -= 1
            modes = modes.with_recording(enabled, level)
        return modes

    def within(self, level: int) -> Modes:
        """The state in which `level` is the innermost, if that has been left: a user's switch holds for it."""
        if level <= self.level:
            return self
        return Modes(level, self.off, self.inference, self.observers, self.differentiated, self.batched - {level})

    def with_inference(self, enabled: bool) -> Modes:
        """The state inside (or outside) inference mode, which never records."""
        modes = self.switched(not enabled)
        return self._with(modes.off, enabled)

    def with_observer(self, observer: Observer) -> Modes:
        """The state in which this observer looks on as well."""
        return self.with_observers((*self.observers, observer))

    def with_observers(self, observers: tuple[Observer, ...]) -> Modes:
        """The state in which these look on and no others."""
        return Modes(self.level, self.off, self.inference, observers, self.differentiated, self.batched)

    def deeper(self) -> Modes:
        """The state one level further in, where everything records anew."""
        if self._deeper is None:
            level = self.level + 1
            off, batched = self.off - {level}, self.batched - {level}  # of a level further in that has been left
            self._deeper = Modes(level, off, False, self.observers, self.differentiated, batched)
        return self._deeper

    def batching(self) -> Modes:
        """The state one level further in, in which vmap runs a function; it records there where it did outside."""
        if self._batching is None:
            level, off = self.level + 1, self.off
            if self.level in off:
                off |= {level}
            batched = self.batched | {level}
            self._batching = Modes(level, off, False, self.observers, self.differentiated, batched)
        return self._batching

    def differentiating(self, level: int | None = None) -> Modes:
        """The state in which a function is differentiated at a level (default: the innermost)."""
        level = self.level if level is None else level
        if level in self.differentiated:
            return self
        if self._differentiating is None or level not in self._differentiating.differentiated:
            levels = self.differentiated | {level}
            self._differentiating = Modes(self.level, self.off, self.inference, self.observers, levels, self.batched)
        return self._differentiating

    def _with(self, off: frozenset[int], inference: bool) -> Modes:
        return Modes(self.level, off, inference, self.observers, self.differentiated, self.batched)


_state = contextvars.ContextVar("pullback_modes", default=Modes())  # noqa: B039 - never changed once made
current = _state.get
restore = _state.set  # set_modes for `finally`: one step, in the midst of which no signal's exception can come


def set_modes(modes: Modes) -> Modes:
    """Replace the state of this thread or task; returns the one before."""
    before = _state.get()
    try:
        _state.set(modes)
    except BaseException:  # a signal's, which comes when the call has returned
        _state.set(before)
        raise
    return before


def need_flag(name: str, argument: str, value: Any) -> None:
    """Refuse what is no True or False; 0, 1 and NumPy's bools may stand for them."""
    if not (isinstance(value, int) or (hasattr(value, "dtype") and value.dtype == bool)):
        raise TypeError(f"{name}: {argument} must be True or False, got {type(value).__name__}.")


class ModeSwitch(Block):
    """A context manager that is also a decorator; subclasses say how the state changes."""

    def _changed(self, modes: Modes) -> Modes:
        raise NotImplementedError

    def _steps(self) -> Steps:
        before = current()
        state = self._changed(before)
        if WATCHED and not state.records(state.level):
            note_block(type(self).__name__, state.level)
        return restore, state, restore, before

    def _fresh(self) -> Self:
        return type(self)()

    def __call__(self, function: _F) -> _F:
        """Run every call of `function` (or every step of its generator) under this mode."""
        if not callable(function):
            raise TypeError(
                f"{type(self).__name__}: it decorates a function, got {type(function).__name__}; otherwise write "
                f"`with {type(self).__name__}():`."
            )
        if inspect.isclass(function):
            raise TypeError(
                f"{type(self).__name__} cannot decorate the class {function.__name__!r}; decorate its methods instead."
            )
        if inspect.isgeneratorfunction(function):
            return self._around_generator(function)  # type: ignore[return-value]  # of the same signature
        if inspect.isasyncgenfunction(function):
            return self._around_async_generator(function)  # type: ignore[return-value]
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self._fresh():
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _around_async_generator(self, function: Callable[..., AsyncGenerator[Any, Any]]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            inner = function(*args, **kwargs)
            step, value = inner.asend, None
            try:
                while True:
                    try:
                        with self._fresh():
                            out = await step(value)
                    except StopAsyncIteration:
                        return
                    try:
                        step, value = inner.asend, (yield out)
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 - handed to the generator, which may catch it
                        step, value = inner.athrow, error
            finally:
                with self._fresh():
                    await inner.aclose()

        return generator

    def _around_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
        # The mode must hold while the generator runs and not while it waits: between steps the caller's mode rules.
        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            inner = function(*args, **kwargs)
            step, value = inner.send, None
            try:
                while True:
                    try:
                        with self._fresh():
                            out = step(value)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        step, value = inner.send, (yield out)
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 - handed to the generator, which may catch it
                        step, value = inner.throw, error
            finally:
                with self._fresh():
                    inner.close()

        return generator


class no_grad(ModeSwitch):
    """Context manager and decorator: inside, operators record nothing at the current level.

    In a function under `vmap` that is the level outside, as if a loop ran the function.
    Results have `requires_grad=False`. Outer levels (a gradient being taken around this code by
    `pullback.func.grad`) go on recording.

    Parameters
    ----------
    function : callable, optional
        What `@no_grad` decorates; `@no_grad()` and `with no_grad():` work too.

    Raises
    ------
    TypeError
        It decorates a class, or something that is not a function.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: Callable[..., Any]) -> Any: ...
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)

    def _changed(self, modes: Modes) -> Modes:
        return modes._off_here or modes.switched(False)

    def _steps(self) -> Steps:
        before = _state.get()
        state = before._off_here
        if state is None or WATCHED or type(self) is not no_grad:
            return super()._steps()
        return restore, state, restore, before  # the usual case, written out


def _switched(modes: Modes, enabled: bool) -> Modes:
    """The state with recording switched by a user, whom inference mode overrules."""
    return modes.switched(enabled and not modes.inference)


class enable_grad(no_grad):
    """Context manager and decorator: inside, operators record again, even within `no_grad`; not in inference mode.

    Parameters
    ----------
    function : callable, optional
        What `@enable_grad` decorates.

    Raises
    ------
    TypeError
        It decorates a class, or something that is not a function.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.no_grad(), pb.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def _changed(self, modes: Modes) -> Modes:
        return _switched(modes, True)


class set_grad_enabled(ModeSwitch):
    """Switch recording on or off: at once when called, back again at the end of a `with` block.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        `mode` is not a bool.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> training = False
    >>> with pb.set_grad_enabled(training):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}: it takes "
                "a bool, "
                f"got {type(mode).__name__}."
            )
        self.mode = mode
        self._outer = set_modes(_switched(current(), mode))
        if WATCHED and not mode:
            note_block("set_grad_enabled", current().level)

    def _steps(self) -> Steps:
        enter, state, leave, _ = super()._steps()
        return enter, state, leave, self._outer  # the constructor has switched already

    def _changed(self, modes: Modes) -> Modes:
        return _switched(modes, self.mode)

    def _fresh(self) -> Self:
        return type(self)(self.mode)

    def __call__(self, function: _F) -> _F:
        set_modes(self._outer)  # used as a decorator: the switch belongs to the calls, not to the definition
        return super().__call__(function)


class inference_mode(ModeSwitch):
    """Context manager and decorator: nothing is recorded, and results can never enter a graph later.

    Parameters
    ----------
    mode : bool, default True
        False leaves inference mode for the block.

    Raises
    ------
    TypeError
        `mode` is neither a bool nor a function, or is a class.

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        if not callable(mode):
            need_flag("inference_mode", "mode", mode)
        self.mode = bool(mode)

    def _changed(self, modes: Modes) -> Modes:
        return modes.with_inference(self.mode)

    def _fresh(self) -> Self:
        return type(self)(self.mode)


def is_grad_enabled() -> bool:
    """True if operators record at the current level.

    Returns
    -------
    bool

    Examples
    --------
    >>> with pb.no_grad():
    ...     pb.is_grad_enabled()
    False
    """
    modes = current()
    return modes.records(modes.level)


def is_inference_mode_enabled() -> bool:
    """True if the code runs inside `inference_mode`.

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.is_inference_mode_enabled()
    False
    """
    return current().inference
