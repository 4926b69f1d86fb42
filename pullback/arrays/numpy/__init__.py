"""Kernels on ndarrays: plain functions under the names that native_functions.yaml gives, one folder an area.

An area imports its kernels by name. What several areas need stands beside the folders; `fast` has the special ways that
are taken for speed. An area is imported when one of its operators is used.
"""

import importlib as _importlib
from types import ModuleType as _Module

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


def load_kernels(area):
    """The kernels of an area by name, imported."""
    return kernels_of(_importlib.import_module(f"{__name__}.{area}"))


_FASTER_IN_FORMULAS = frozenset({"linalg", "nn", "reductions", "shape"})


def load_formula_kernels(area):
    """Return what takes the places of some operators of an area where formulas call them, by name.

    They are faster than kernels and composites, where less generality is needed. On Tensors, under create_graph, the
    operators of the same names run, which are differentiable.
    """
    if area not in _FASTER_IN_FORMULAS:
        return {}
    return _importlib.import_module(f"{__name__}.{area}.in_formulas").IN_FORMULAS
