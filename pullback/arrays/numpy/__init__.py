"""Kernels on ndarrays: plain functions under the names that native_functions.yaml gives, one folder an area.

An area imports its kernels by name. What several areas need stands beside the folders; `fast` has the special ways that
are taken for speed. The areas of `KERNELS` come with the package, the others when one of their operators is used.
"""

import importlib as _importlib
from types import ModuleType as _Module

from pullback.arrays.numpy import creation, indexing, joining, linalg, pointwise, reductions, shape
from pullback.arrays.numpy.declarations import loops


@loops("arguments")
def kernels_of(*areas):
    """The kernels of some areas, by name; a name that two areas define is refused."""
    found, homes = {}, {}
    for area in areas:
        for name, kernel in vars(area).items():
            if name.startswith("__") or isinstance(kernel, _Module):
                continue
            if name in found:
                raise ImportError(f"two kernels are called {name!r}: one in {homes[name]}, one in {area.__name__}.")
            found[name], homes[name] = kernel, area.__name__
    return found


KERNELS = kernels_of(creation, indexing, joining, linalg, pointwise, reductions, shape)


def load_kernels(area):
    """The kernels of an area that is loaded late, by name."""
    return kernels_of(_importlib.import_module(f"{__name__}.{area}"))
