"""Kernels on ndarrays: plain functions under the names that native_functions.yaml gives, one module an area."""

import importlib as _importlib
import pkgutil as _pkgutil

__all__ = []
for _found in _pkgutil.iter_modules(__path__):
    _module = _importlib.import_module(f"{__name__}.{_found.name}")
    for _name in getattr(_module, "__all__", ()):
        globals()[_name] = getattr(_module, _name)
        __all__.append(_name)

globals()["heap"].keep_freed_memory()
