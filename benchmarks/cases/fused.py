"""sum(sin(a) exp(-a a / 2) + log(b) a) and both gradients: elementwise work over memory, which compilers fuse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Run

GOALS = {"float32": 0.9, "float64": 1.1}


def function(a: Any, b: Any, lib: Any) -> Any:
    """The function, on any library with NumPy's names."""
    return lib.sum(lib.sin(a) * lib.exp(-a * a / 2) + lib.log(b) * a)


def inputs(size: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """a from the normal distribution, b between 1/2 and 2."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(size).astype(dtype), rng.uniform(0.5, 2.0, size).astype(dtype)


def tensors(lib: Any, *, size: int, dtype: str) -> Run:
    """pullback and PyTorch."""
    a, b = (lib.from_numpy(array).requires_grad_() for array in inputs(size, dtype))

    def run() -> Any:
        a.grad = b.grad = None
        function(a, b, lib).backward()
        return a.grad, b.grad

    return run


def hips(lib: Any, *, size: int, dtype: str) -> Run:
    """HIPS autograd."""
    import autograd.numpy as anp

    return partial(lib.grad(partial(function, lib=anp), (0, 1)), *inputs(size, dtype))


def jax(lib: Any, *, size: int, dtype: str) -> Run:
    """JAX, compiled."""
    import jax.numpy as jnp

    grad = lib.jit(lib.grad(partial(function, lib=jnp), (0, 1)))
    a, b = (jnp.asarray(array) for array in inputs(size, dtype))
    return lambda: tuple(part.block_until_ready() for part in grad(a, b))


def case(exponent: int, dtype: str) -> Case:
    """The case of 10**exponent elements."""
    size = 10**exponent
    return Case(
        name=f"fused-1e{exponent}-{dtype}",
        title=f"sum(sin(a)*exp(-a*a/2) + log(b)*a) and both gradients, {size:,} {dtype}",
        build={
            "pullback": partial(tensors, size=size, dtype=dtype),
            "torch": partial(tensors, size=size, dtype=dtype),
            "autograd": partial(hips, size=size, dtype=dtype),
            "jax": partial(jax, size=size, dtype=dtype),
        },
        goals={"torch": GOALS[dtype]} if exponent >= 5 else {},  # below, the machinery shows: see small-ops
        rtol=1e-4,
    )


CASES = [case(exponent, dtype) for dtype in GOALS for exponent in (3, 5, 6)]
