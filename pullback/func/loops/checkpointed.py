"""checkpointed_loop: a long loop, of which backward keeps few states and computes the others again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.named import named
from pullback.core.pytree import flatten, unflatten
from pullback.func.closures import Captures
from pullback.func.implicit.functions import check_functions
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.loops.run import Loop
from pullback.func.loops.scan import Form, name_of
from pullback.func.loops.schedule import slots_for_two


@named("func.checkpointed_loop")
def checkpointed_loop(
    step: Callable[..., Any],
    x0: Any,
    count: int,
    *args: Any,
    slots: int | None = None,
    disk_slots: int = 0,
    directory: Any = None,
) -> Any:
    """x after `count` steps x = step(x, k, *args), k = 0, 1, ..., of which backward keeps few.

    Parameters
    ----------
    step : callable
        `step(x, k, *args)`, written with NumPy's or pullback's functions: a tree like x, of the same shapes. It must do
        the same when it runs again.
    x0 : array, number, or tree of these
        The state at first.
    count : int
    *args
        Arrays or trees, and anything else that step wants.
    slots : int, optional
        How many states are kept at a time, x0 among them, besides the last ones. Without it, as few as let no step be
        computed more than three times in all (but for the last): about sqrt(2 count).
    disk_slots : int, default 0
        How many of these are kept on disk: the ones least often used.
    directory : path, optional
        The folder of the file with these, which has no name and goes with the process. By default the system's for
        temporary files.

    Returns
    -------
    A tree like x0; differentiable by x0 and args.

    Raises
    ------
    RuntimeError
        step gives a tree of another structure, shapes or kinds of dtype than its state.
    CheckpointError
        In backward: step gave something else when it ran again. It is a RuntimeError, in `utils.checkpoint`.
    ValueError, TypeError
        `count` is negative; `slots` is below 1, or not above `disk_slots`.

    Notes
    -----
    Binomial checkpointing [1]_. To reverse n steps with s states takes n recorded steps, and r n - C(s + r, s + 1) that
    are not, r the smallest with C(s + r, s) >= n; no way takes fewer. Where memory for s states is had, time grows with
    the s-th root of n. Forward mode goes along, and keeps nothing. Forward over reverse (jvp of the
    gradient) keeps `slots` states with their tangents; reverse over reverse keeps all states.

    References
    ----------
    .. [1] A. Griewank and A. Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000, 19-45.

    Examples
    --------
    >>> import numpy as np
    >>> def step(x, k, rate):  # logistic growth, by Euler
    ...     return x + 0.01 * rate * x * (1 - x)
    >>> gradient = pb.func.grad(lambda rate: pb.func.checkpointed_loop(step, 0.1, 1000, rate, slots=8))(0.5)
    >>> round(gradient.item(), 6)
    0.539776
    """
    check_functions("checkpointed_loop", step=step)
    for name, number in (("count", count), ("slots", slots), ("disk_slots", disk_slots)):
        if not (isinstance(number, (int, np.integer)) or (name == "slots" and number is None)) or number is True:
            raise TypeError(f"func.checkpointed_loop: {name} must be an int, got {number!r}.")
    if count < 0:
        raise ValueError(f"func.checkpointed_loop: count must not be negative, got {count}.")
    slots = slots_for_two(count) if slots is None else int(slots)
    if slots < 1 or not 0 <= disk_slots < max(slots, 1):
        raise ValueError(
            f"func.checkpointed_loop: slots must be at least 1, and disk_slots fewer than slots, because x0 stays in "
            f"memory; got slots={slots}, disk_slots={disk_slots}."
        )
    name = name_of("checkpointed_loop", step)
    (state, structure), (given, of_args) = flatten(x0), flatten(args)
    form, arguments, captured = Form(state, structure), Form(given, of_args), Captures(name, step)

    def leaf_step(x: Leaves, k: int, _: Leaves, held: Leaves) -> tuple[Leaves, Leaves]:
        function = captured.given(held[len(given) :])[0]
        return form.leaves(name, function(form.tree(x), k, *arguments.tree(held[: len(given)])), k), []

    if not count:
        return x0
    loop = Loop(
        name, captured, leaf_step, state, [], [*given, *captured.tensors], int(count), form=(form.key, arguments.key)
    )
    loop.slots, loop.disk_slots, loop.directory = min(slots, int(count)), disk_slots, directory
    return unflatten(structure, loop.run()[0])
