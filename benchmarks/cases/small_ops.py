"""A chain of 100 operators on a handful of numbers: what the machinery itself costs, forward and backward.

Two chains: `small-ops` alternates a product with a leaf and a sine, both differentiated; `mixed-ops` goes through
five operators, a factor that is a Python number among them. The second is there for comparison, without a goal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Run

Chain = Callable[[Any, Any, Any], Any]


def products(x: Any, w: Any, lib: Any) -> Any:
    """100 operators and the sum: sin(y * w), 50 times."""
    y = x
    for _ in range(50):
        y = lib.sin(y * w)
    return lib.sum(y)


def mixed(x: Any, w: Any, lib: Any) -> Any:
    """100 operators and the sum: sin, a constant factor, a sum with the input, tanh, exp, 20 times."""
    y = x * w
    for _ in range(20):
        y = lib.exp(lib.tanh(lib.sin(y) * 0.9 + x))
    return lib.sum(y)


def numbers(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The input, `size` numbers between -1 and 1, and the factors."""
    return np.linspace(-1.0, 1.0, size), np.full(size, 1.0)


def tensors(lib: Any, *, chain: Chain, size: int) -> Run:
    """pullback and PyTorch: the same lines run on both."""
    x, w = (lib.from_numpy(array).requires_grad_() for array in numbers(size))

    def run() -> Any:
        x.grad = w.grad = None
        chain(x, w, lib).backward()
        return x.grad, w.grad

    return run


def mygrad(lib: Any, *, chain: Chain, size: int) -> Run:
    """MyGrad, where every tensor records and null_grad drops what was accumulated."""
    x, w = map(lib.tensor, numbers(size))

    def run() -> Any:
        x.null_grad()
        w.null_grad()
        chain(x, w, lib).backward()
        return x.grad, w.grad

    return run


def hips(lib: Any, *, chain: Chain, size: int) -> Run:
    """HIPS autograd, which transforms functions."""
    import autograd.numpy as anp

    return partial(lib.grad(partial(chain, lib=anp), (0, 1)), *numbers(size))


def jax(lib: Any, *, chain: Chain, size: int) -> Run:
    """JAX: the whole chain compiled into one program, so no machinery is left to measure."""
    import jax.numpy as jnp

    grad = lib.jit(lib.grad(partial(chain, lib=jnp), (0, 1)))
    x, w = map(jnp.asarray, numbers(size))
    return lambda: tuple(g.block_until_ready() for g in grad(x, w))


def case(name: str, chain: Chain, size: int, goals: dict[str, float]) -> Case:
    """One chain on arrays of one size."""
    builders = {"pullback": tensors, "torch": tensors, "autograd": hips, "jax": jax, "mygrad": mygrad}
    return Case(
        name=f"{name}-{size}",
        title=f"chain of 100 operators on {size} float64, forward and backward, per operator",
        build={library: partial(build, chain=chain, size=size) for library, build in builders.items()},
        per=100,
        goals=goals,
    )


CASES = [
    case("small-ops", products, 4, {"torch": 0.70}),
    case("small-ops", products, 10, {"torch": 0.70}),
    case("mixed-ops", mixed, 10, {}),
]
