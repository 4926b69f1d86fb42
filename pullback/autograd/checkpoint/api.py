"""checkpoint and checkpoint_sequential: PyTorch's entry points."""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from pullback.autograd.checkpoint.frame import CheckpointError, Frame
from pullback.autograd.checkpoint.log import Comparison
from pullback.autograd.checkpoint.reentrant import reentrant
from pullback.core import modes
from pullback.core.blocks import Steps
from pullback.core.errors import type_name
from pullback.core.modes import ModeSwitch
from pullback.explain.calls import described

_early_stop: contextvars.ContextVar[bool | None] = contextvars.ContextVar("pullback_early_stop", default=None)
_debug: contextvars.ContextVar[bool | None] = contextvars.ContextVar("pullback_checkpoint_debug", default=None)
_CHECKS = ("default", "none")


class _Setting(ModeSwitch):
    """A context manager and decorator that gives a setting of checkpoints another value."""

    setting: contextvars.ContextVar[bool | None]
    value: bool | None

    def _steps(self) -> Steps:
        return self.setting.set, self.value, self.setting.set, self.setting.get()

    def _fresh(self) -> Self:
        return self


class set_checkpoint_early_stop(_Setting):
    """Context manager: whether checkpoints made inside stop recomputing once everything needed is there.

    Stands above the `early_stop` of `checkpoint`. It matters while the function runs, not in backward.

    Parameters
    ----------
    enable : bool

    Raises
    ------
    TypeError
        `enable` is not a bool.

    Examples
    --------
    >>> from pullback.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = pb.tensor(0.0, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(pb.sin, x)
    >>> y.backward()
    >>> x.grad
    tensor(1.)
    """

    setting = _early_stop

    def __init__(self, enable: bool) -> None:
        modes.need_flag("set_checkpoint_early_stop", "enable", enable)
        self.value = enable


class set_checkpoint_debug_enabled(_Setting):
    """Context manager: the `debug` of the checkpoints made inside; None leaves it to each.

    Parameters
    ----------
    enabled : bool or None

    Raises
    ------
    TypeError
        `enabled` is neither a bool nor None.

    Examples
    --------
    >>> from pullback.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = pb.tensor(0.0, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(pb.sin, x)
    >>> y.backward()
    >>> x.grad
    tensor(1.)
    """

    setting = _debug

    def __init__(self, enabled: bool | None) -> None:
        if enabled is not None:
            modes.need_flag("set_checkpoint_debug_enabled", "enabled", enabled)
        self.value = enabled


def no_contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two context managers that do nothing: the default of `context_fn`.

    Returns
    -------
    tuple of two context managers

    Examples
    --------
    >>> from pullback.utils.checkpoint import noop_context_fn
    >>> first, again = noop_context_fn()
    """
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = no_contexts,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call the function and keep only its arguments for backward, which computes the rest again.

    Parameters
    ----------
    function : callable
        Must do the same when it runs again: same operators, shapes and dtypes.
    *args, **kwargs
        What it is called with. Tensors are kept for backward, those in tuples, lists and dicts too.
    use_reentrant : bool, default False
        Use the older way; see Notes.
    context_fn : callable, optional
        Returns two context managers: one is entered around the function, the other around each recomputation. See
        `create_selective_checkpoint_contexts`.
    determinism_check : {"default", "none"}
        Whether shapes, dtypes and devices of the recomputed tensors must be those of the first ones. Their number
        always must.
    debug : bool, default False
        Let the error of this check list the operators that ran each time, and the lines that called them.
    early_stop : bool, default True
        Stop the recomputation once everything needed is there.
    preserve_rng_state : bool, default True
        Recompute with the same random numbers: of the default generator and of NumPy's global one, of generators
        among the arguments, and of those that the function names.

    Returns
    -------
    What `function` returns.

    Raises
    ------
    ValueError, TypeError
        Options that do not fit together or are unknown.
    CheckpointError
        In backward: the recomputation saved other tensors than the function. It is a RuntimeError.
    RuntimeError
        In backward: an argument was modified in place since.

    Notes
    -----
    A chain of n functions in k checkpoints keeps about k + n/k of its activations instead of n, and computes each
    twice: k = sqrt(n) keeps the fewest (see `checkpoint_sequential`).

    Grad modes are those of the call again during the recomputation. Checkpoints may be nested. Where nothing is
    recorded the function is simply called.

    With `use_reentrant=True` the function runs without recording, and its backward is a backward inside backward. It
    takes no keyword arguments and sees no tensors in containers; one of the arguments must require grad; only
    `backward()` without `inputs` goes through it, and no second derivative.

    Examples
    --------
    >>> from pullback.utils.checkpoint import checkpoint
    >>> x = pb.tensor([0.5, 1.0], requires_grad=True)
    >>> y = checkpoint(lambda x: x.sin().exp().tanh(), x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.20747904, 0.04751803])
    """
    _check("checkpoint", function, use_reentrant, preserve_rng_state, debug, early_stop)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check!r}.")
    if not callable(context_fn):
        raise TypeError(
            f"context_fn must be a callable that gives two context managers, got {type(context_fn).__name__}; see "
            "create_selective_checkpoint_contexts."
        )
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"Unexpected keyword arguments: {', '.join(kwargs)}. Pass use_reentrant=False to use them."
            )
        if context_fn is not no_contexts or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return reentrant(function, preserve_rng_state, args)
    state = modes.current()
    if not any(state.records(level) for level in range(state.level + 1)):
        return function(*args, **kwargs)
    overruled = _debug.get()
    explain: Callable[[CheckpointError], CheckpointError] = _how_to_see_more
    inside: AbstractContextManager[Any]
    again: AbstractContextManager[Any]
    if debug if overruled is None else overruled:
        if context_fn is not no_contexts:
            raise ValueError("debug=True is incompatible with a context_fn; leave one of them out.")
        comparison = Comparison()
        inside, again, explain = comparison.forward, comparison.again, comparison.explain
    else:
        inside, again = context_fn()
    stops = _early_stop.get()
    frame = Frame(
        function, args, kwargs,
        preserve_rng_state=preserve_rng_state,
        compare=determinism_check == "default",
        early_stop=early_stop if stops is None else stops,
        again=again, explain=explain,
    )  # fmt: skip
    return frame.run(args, kwargs, inside)


def _check(name: str, function: Any, use_reentrant: Any, preserve_rng_state: Any, debug: Any, early_stop: Any) -> None:
    """Refuse what is no function, and switches that are neither True nor False."""
    if not callable(function):
        raise TypeError(
            f"{name}(): the first argument must be the function to run, got {type_name(function)}. Write "
            f"{name}(function, *its_arguments)."
        )
    given = {
        "use_reentrant": use_reentrant, "preserve_rng_state": preserve_rng_state, "debug": debug,
        "early_stop": early_stop,
    }  # fmt: skip
    for switch, value in given.items():
        if not isinstance(value, int):
            raise TypeError(f"{name}(): {switch} must be True or False, got {value!r}.")


def _how_to_see_more(error: CheckpointError) -> CheckpointError:
    return CheckpointError(f"{error} Pass debug=True to checkpoint() to see which operators ran each time.")


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]],
    segments: int | str,
    input: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
) -> Any:
    """Run functions one after another in segments, each checkpointed but the last, whose backward comes at once.

    Parameters
    ----------
    functions : sequence of callable
        Each takes what the one before it returned.
    segments : int or "sqrt"
        How many, of nearly equal length. "sqrt" takes the square root of the number of functions, so that the
        activations kept at a time are O(sqrt(n)): the inputs of the segments, and the inside of one.
    input
        What the first takes.
    use_reentrant, preserve_rng_state : bool
        As for `checkpoint`.

    Returns
    -------
    What the last function returned.

    Raises
    ------
    TypeError
        `functions` is not a list of functions.
    ValueError
        `segments` is not between 1 and the number of functions.

    Examples
    --------
    >>> from pullback.utils.checkpoint import checkpoint_sequential
    >>> x = pb.tensor([0.5, 1.0], requires_grad=True)
    >>> y = checkpoint_sequential([pb.sin, pb.cos] * 50, "sqrt", x)
    >>> y.sum().backward()
    """
    if not isinstance(functions, Iterable) or not all(map(callable, functions := list(functions))):
        raise TypeError(
            f"checkpoint_sequential: functions is a list of functions, got {described(functions)}; segments and input "
            "come after it."
        )
    count = max(1, round(math.sqrt(len(functions)))) if segments == "sqrt" else segments
    if not isinstance(count, int) or not 1 <= count <= max(1, len(functions)):
        raise ValueError(
            f"segments must be a number from 1 to that of the functions, {len(functions)}, or 'sqrt', got {segments!r}."
        )
    size, longer = divmod(len(functions), count)
    start = 0
    for nr in range(count):
        end = start + size + (nr < longer)
        run = _Chain(functions[start:end])
        if nr == count - 1:
            return run(input)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
        start = end
    return input


class _Chain:
    """Functions one after another, as one."""

    def __init__(self, functions: Sequence[Callable[[Any], Any]]) -> None:
        self.functions = functions

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value
