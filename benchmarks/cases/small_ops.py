"""A chain of 100 operators on a handful of numbers: what the machinery itself costs, forward and backward."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Run

LINKS = 20
OPERATORS = 5 * LINKS + 1  # five a link, and the sum at the end


def chain(x: Any, lib: Any) -> Any:
    """sin, a constant factor, a sum with the input, tanh, exp: bounded however long it gets."""
    y = x
    for _ in range(LINKS):
        y = lib.exp(lib.tanh(lib.sin(y) * 0.9 + x))
    return lib.sum(y)


def numbers(size: int) -> np.ndarray:
    """The input: `size` numbers between -1 and 1."""
    return np.linspace(-1.0, 1.0, size)


def tensors(lib: Any, *, size: int) -> Run:
    """pullback and PyTorch: the same lines run on both."""
    x = lib.from_numpy(numbers(size)).requires_grad_()

    def run() -> Any:
        x.grad = None
        chain(x, lib).backward()
        return x.grad

    return run


def mygrad(lib: Any, *, size: int) -> Run:
    """MyGrad, where every tensor records and null_grad drops what was accumulated."""
    x = lib.tensor(numbers(size))

    def run() -> Any:
        x.null_grad()
        chain(x, lib).backward()
        return x.grad

    return run


def hips(lib: Any, *, size: int) -> Run:
    """HIPS autograd, which transforms functions."""
    import autograd.numpy as anp

    return partial(lib.grad(partial(chain, lib=anp)), numbers(size))


def jax(lib: Any, *, size: int) -> Run:
    """JAX: the whole chain compiled into one program, so no machinery is left to measure."""
    import jax.numpy as jnp

    grad = lib.jit(lib.grad(partial(chain, lib=jnp)))
    x = jnp.asarray(numbers(size))
    return lambda: grad(x).block_until_ready()


CASES = [
    Case(
        name=f"small-ops-{size}",
        title=f"chain of {OPERATORS} operators on {size} float64, forward and backward, per operator",
        build={
            "pullback": partial(tensors, size=size),
            "torch": partial(tensors, size=size),
            "autograd": partial(hips, size=size),
            "jax": partial(jax, size=size),
            "mygrad": partial(mygrad, size=size),
        },
        per=OPERATORS,
        goals={"torch": 0.70},
    )
    for size in (4, 10)
]
