"""The libraries that take part, as far as they can be imported here."""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

MODULES = {  # contender: (module, distribution)
    "pullback": ("pullback", "pullback"),
    "torch": ("torch", "torch"),
    "autograd": ("autograd", "autograd"),  # HIPS autograd
    "jax": ("jax", "jax"),  # always under jit, which is how it is meant to be used
    "mygrad": ("mygrad", "mygrad"),
    "numpy": ("numpy", "numpy"),  # gradients by hand: what the arithmetic alone costs
}


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
        module.set_num_interop_threads(threads)
    if contender == "jax":
        module.config.update("jax_enable_x64", True)
    return module
