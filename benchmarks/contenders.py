"""The libraries that take part, as far as they can be imported here, and how each is asked for a gradient."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks.case import Run
from benchmarks.jax_names import names_of

MODULES = {  # contender: (module, distribution)
    "pullback": ("pullback", "pullback"),
    "torch": ("torch", "torch"),
    "autograd": ("autograd", "autograd"),  # HIPS autograd
    "jax": ("jax", "jax"),  # always under jit, which is how it is meant to be used
    "operators": ("pullback", "pullback"),  # pullback by its own functions, where the case goes through NumPy's
    "loop": ("pullback", "pullback"),  # pullback, a sample at a time, where the case takes all at once
    "eager": ("pullback", "pullback"),  # pullback without its compiler, where the case is about that
    "numpy": ("numpy", "numpy"),  # gradients by hand: what the arithmetic alone costs
}
Build = dict[str, Callable[[Any], Run]]


def version(contender: str) -> str | None:
    """The installed version, None where there is none. Imports nothing."""
    module, distribution = MODULES[contender]
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        pass
    if importlib.util.find_spec(module) is None:
        return None
    return "uninstalled checkout" if contender == "pullback" else "unknown"


def load(contender: str, *, threads: int | None) -> Any:
    """Import a contender and set it up: its number of threads, and float64 where that is off by default."""
    module = importlib.import_module(MODULES[contender][0])
    if contender == "torch" and threads is not None:
        module.set_num_threads(threads)
    if contender == "jax":
        module.config.update("jax_enable_x64", True)
    return module


def fastest(*ways: Callable[[Any], Run]) -> Callable[[Any], Run]:
    """The quickest of several usual ways to one answer, found by trying each: it depends on machine and version."""
    return lambda lib: min(ways, key=lambda way: _least_seconds(way(lib)))(lib)


def _least_seconds(run: Run) -> float:
    """The least of several times, which others on the machine disturb least."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def both(build: Callable[..., Run], *args: Any) -> Build:
    """pullback and PyTorch: the same lines, `build(lib, *args)`, run on both."""
    return dict.fromkeys(("pullback", "torch"), lambda lib: build(lib, *args))


def value_and_grad(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray] = ()
) -> Build:
    """`function(lib, *arrays, *constants)` and its gradients by `arrays`, with PyTorch's names; by JAX too."""
    return both(by_backward, function, arrays, constants) | by_jax(function, arrays, constants)


def by_jax(function: Callable[..., Any], arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray] = ()) -> Build:
    """The same by JAX alone, compiled."""
    return {"jax": partial(_by_jax, function=function, arrays=arrays, constants=constants)}


def by_backward(
    lib: Any,
    function: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    constants: Sequence[np.ndarray] = (),
    laid_out: Callable[[Any], Any] = lambda tensor: tensor,
) -> Run:
    """The same on one library, whose tensors may be laid out in another way."""
    # Copies: the libraries share one process, and a tensor shares the memory of its array.
    leaves = [laid_out(lib.from_numpy(array.copy())).requires_grad_() for array in arrays]
    others = [laid_out(lib.from_numpy(array.copy())) for array in constants]

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        value = function(lib, *leaves, *others)
        value.backward()
        return value, *(leaf.grad for leaf in leaves)

    return run


def value_and_grad_everywhere(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], constants: Sequence[np.ndarray] = ()
) -> Build:
    """The same where `function` uses NumPy's names alone: on HIPS autograd too."""
    hips = partial(_by_hips, function=function, arrays=arrays, constants=constants)
    return value_and_grad(function, arrays, constants) | {"autograd": hips}


def _by_hips(lib: Any, *, function: Any, arrays: Any, constants: Any) -> Run:
    import autograd.numpy as anp

    transformed = lib.value_and_grad(lambda inputs: function(anp, *inputs, *constants))

    def run() -> Any:
        value, grads = transformed(tuple(arrays))
        return value, *grads

    return run


def _by_jax(lib: Any, *, function: Any, arrays: Any, constants: Any) -> Run:
    import jax.numpy as jnp

    transformed = lib.jit(lib.value_and_grad(partial(function, names_of(lib)), tuple(range(len(arrays)))))
    inputs = [jnp.asarray(array) for array in (*arrays, *constants)]

    def run() -> Any:
        value, grads = lib.block_until_ready(transformed(*inputs))
        return value, *grads

    return run
