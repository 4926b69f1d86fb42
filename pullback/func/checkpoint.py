"""checkpoint: a function of which backward keeps the arguments alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.autograd.checkpoint.api import checkpoint as checkpointed_call
from pullback.core.errors import type_name
from pullback.core.named import named


@named("func.checkpoint", "callable function")
def checkpoint(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A form of the function that keeps only its arguments for backward, and computes the rest again there.

    Parameters
    ----------
    function : callable
        Must do the same when it runs again.
    **options
        Those of `utils.checkpoint.checkpoint`, which says more, and of which this is the form that takes a function and
        gives one: `context_fn`, `determinism_check`, `debug`, `early_stop`, `preserve_rng_state`.

    Returns
    -------
    callable
        Takes the same arguments.

    Raises
    ------
    CheckpointError
        In backward: the function did something else when it ran again.

    Examples
    --------
    >>> import numpy as np
    >>> layer = pb.func.checkpoint(lambda x: np.tanh(np.exp(np.sin(x))))
    >>> pb.func.grad(lambda x: np.sum(layer(layer(x))))(np.array([0.5, 1.0])).round(6)
    array([0.012775, 0.002412])
    """
    if not callable(function):
        raise TypeError(f"func.checkpoint: the function must be callable, got {type_name(function)}.")

    @functools.wraps(function)
    def of_all(args: Any, kwargs: Any) -> Any:
        return function(*args, **kwargs)

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return checkpointed_call(of_all, args, kwargs, **options)

    return checkpointed
