"""Kernels on ndarrays: plain functions under the names that native_functions.yaml gives, one module a topic.

The modules here are imported with the package; a folder holds the kernels of an area that is loaded when first used.
"""

import importlib as _importlib
import pkgutil as _pkgutil


def kernels_in(package, path):
    """The kernels of all modules of a package, by name."""
    found = {}
    for entry in _pkgutil.iter_modules(path):
        if not entry.ispkg:
            module = _importlib.import_module(f"{package}.{entry.name}")
            found |= {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return found


def load_kernels(area):
    """The kernels of an area that is loaded late, by name."""
    return _importlib.import_module(f"{__name__}.{area}").KERNELS


_found = kernels_in(__name__, __path__)
globals().update(_found)
__all__ = list(_found)

globals()["heap"].keep_freed_memory()
