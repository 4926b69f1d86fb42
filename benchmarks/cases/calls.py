"""Single operators on 3x3 arrays: what a call costs above NumPy's, and with a tangent (forward mode)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Goal, Run, Table
from benchmarks.contenders import Build, both
from benchmarks.jax_names import names_of

Call = Callable[..., Any]  # of (library, x, y), with a mask where x > 0 behind them
DUAL_GOAL = 7e-6
REPEATS = 100  # in a level of forward mode, so that entering it does not count

# name: (on tensors, on ndarrays by NumPy's quickest lines, seconds above these, of PyTorch's where it is recorded)
CALLS: dict[str, tuple[Call, Call, float, float]] = {
    "max": (lambda lib, x, y, m: lib.max(x, 0), lambda x, y, m: (x.max(0), x.argmax(0)), 2.0e-6, 3.5),
    "add-alpha": (lambda lib, x, y, m: lib.add(x, y, alpha=2), lambda x, y, m: np.add(x, 2 * y), 1.0e-6, 1.5),
    "stack": (lambda lib, x, y, m: lib.stack([x, y]), lambda x, y, m: np.array([x, y]), 3.0e-6, 2.5),
    "split": (lambda lib, x, y, m: lib.split(x, 1), lambda x, y, m: [x[i : i + 1] for i in range(3)], 5.0e-6, 2.5),
    "where": (lambda lib, x, y, m: lib.where(m, x, y), lambda x, y, m: np.where(m, x, y), 0.8e-6, 1.5),
    "first-row": (lambda lib, x, y, m: x[0], lambda x, y, m: x[0], 0.7e-6, 1.5),
}
DUALS: dict[str, Call] = {
    "sin": lambda lib, x, y, m: lib.sin(x),
    "exp": lambda lib, x, y, m: lib.exp(x),
    "add": lambda lib, x, y, m: x + y,
    "mul": lambda lib, x, y, m: x * y,
    "matmul": lambda lib, x, y, m: x @ y,
    "sum": lambda lib, x, y, m: lib.sum(x, 0),
    "first-row": lambda lib, x, y, m: x[0],
    "max": lambda lib, x, y, m: lib.max(x, 0)[0],
    "split": lambda lib, x, y, m: lib.split(x, 1)[0],
    "relu": lambda lib, x, y, m: lib.relu(x),
    "where": lambda lib, x, y, m: lib.where(m, x, y),
    "cat": lambda lib, x, y, m: lib.cat([x, y]),
}
MIXED = ("add", "mul", "matmul", "where", "cat")  # also with one operand that has no tangent


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Two matrices."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((3, 3)), rng.uniform(0.5, 2.0, (3, 3))


def on_tensors(lib: Any, call: Call, recording: bool) -> Run:
    """One call."""
    x, y = map(lib.from_numpy, numbers())
    return partial(call, lib, x.requires_grad_(recording), y, x.detach() > 0)


def on_arrays(_: Any, *, call: Call) -> Run:
    """NumPy's way to the same."""
    x, y = numbers()
    return partial(call, x, y, x > 0)


def by_jax(lib: Any, *, call: Call) -> Run:
    """The call, compiled."""
    x, y = map(lib.numpy.asarray, numbers())
    compiled, mask = lib.jit(partial(call, names_of(lib))), x > 0
    return lambda: lib.block_until_ready(compiled(x, y, mask))


def duals_by_jax(lib: Any, *, call: Call, mixed: bool = False) -> Run:
    """Calls with tangents, compiled one by one: together they would be none but the last."""
    x, y = map(lib.numpy.asarray, numbers())
    names, mask = names_of(lib), x > 0

    def pushed(x: Any, y: Any, mask: Any) -> Any:
        if mixed:
            return lib.jvp(lambda x: call(names, x, y, mask), (x,), (y,))
        return lib.jvp(lambda x, y: call(names, x, y, mask), (x, y), (y, x))

    compiled = lib.jit(pushed)

    def run() -> Any:
        for _ in range(REPEATS):
            out = lib.block_until_ready(compiled(x, y, mask))
        return out

    return run


def on_duals(lib: Any, call: Call, mixed: bool = False) -> Run:
    """Calls on duals, the second one without tangent if `mixed`."""
    forward_ad = lib.autograd.forward_ad
    x, y = map(lib.from_numpy, numbers())
    mask = x > 0

    def run() -> Any:
        with forward_ad.dual_level():
            duals = forward_ad.make_dual(x, y), y if mixed else forward_ad.make_dual(y, x)
            for _ in range(REPEATS):
                out = call(lib, *duals, mask)
            return tuple(forward_ad.unpack_dual(out))

    return run


def call_case(name: str, recording: bool) -> Case:
    """One operator of `CALLS`."""
    on_tensor, on_array, above, of_torch = CALLS[name]
    build: Build = both(on_tensors, on_tensor, recording) | {"numpy": partial(on_arrays, call=on_array)}
    build |= {} if recording else {"jax": partial(by_jax, call=on_tensor)}
    suffix = "-recorded" if recording else ""
    goals = [Goal(None if recording else above, of="numpy", above=True), Goal(of_torch if recording else None)]
    return Case(f"call-{name}{suffix}", f"{name} of 3x3 arrays", build, goals=goals)


TABLES = [
    Table(
        name="calls",
        title="operators on 3x3 arrays: time above that of NumPy's lines for the same; recorded, beside PyTorch",
        rows=[[call_case(name, recording) for recording in (False, True) for name in CALLS]],
    ),
    Table(
        name="duals",
        title="operators on 3x3 arrays with tangents (forward mode), per operator",
        rows=[
            [
                Case(
                    f"dual-{name}",
                    f"{name} of duals",
                    both(on_duals, call) | {"jax": partial(duals_by_jax, call=call)},
                    REPEATS,
                    [Goal(DUAL_GOAL, of=None)],
                )
                for name, call in DUALS.items()
            ],
            # PyTorch takes 50 times as long for these, which would say nothing of us.
            [
                Case(
                    f"dual-{name}-mixed",
                    f"{name} of a dual and a constant",
                    {
                        "pullback": partial(on_duals, call=DUALS[name], mixed=True),
                        "jax": partial(duals_by_jax, call=DUALS[name], mixed=True),
                    },
                    REPEATS,
                    [Goal(DUAL_GOAL, of=None)],
                )
                for name in MIXED
            ],
        ],
    ),
]
