"""einops and opt_einsum on our tensors: both have a backend for each library, which tells them its functions.

They are told when they are imported, before or after us, and not imported for it. Other arrays see nothing of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.tensor import Tensor

if TYPE_CHECKING:
    from pullback.core.numpy_types import AnyArray, ArrayLike, Axes

_FRAMEWORK = "pullback"


def _enter_opt_einsum(dispatch: Any) -> None:  # which would call pullback.transpose, PyTorch's
    dispatch._cached_funcs |= {(f.__name__, _FRAMEWORK): f for f in (np.tensordot, np.transpose, np.einsum)}


def _enter_einops(backends: Any) -> None:
    backends._loaded_backends[_FRAMEWORK] = _einops_backend(backends)


_ENTERED = {"einops._backends": _enter_einops, "opt_einsum.backends.dispatch": _enter_opt_einsum}


class _Awaited:
    """Stands first on sys.meta_path, for these two modules alone, and tells them of our tensors when they have run."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _ENTERED else None
        loader: Any = spec and spec.loader
        if loader is None:
            return None
        run = loader.exec_module

        def run_and_enter(module: ModuleType) -> None:
            run(module)
            _ENTERED[name](module)

        loader.exec_module = run_and_enter
        return spec


def enter_backends() -> None:
    """Tell them of our tensors: now if they have been imported, else when they are."""
    for name, enter in _ENTERED.items():
        if name in sys.modules:
            enter(sys.modules[name])
    sys.meta_path.insert(0, _Awaited)


def _einops_backend(backends: Any) -> Any:
    class Backend(backends.NumpyBackend):  # type: ignore[misc]  # of a module that may not be there
        """NumPy's functions, which take Tensors; the methods of a Tensor are PyTorch's."""

        framework_name = _FRAMEWORK

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def transpose(self, x: ArrayLike, axes: Axes) -> AnyArray:
            return np.transpose(x, axes)

        def reduce(self, x: ArrayLike, operation: str, axes: Iterable[int]) -> object:
            return getattr(np, operation)(x, axis=tuple(axes))

        def to_numpy(self, x: ArrayLike) -> np.ndarray[Any, Any]:
            return np.asarray(x)

    return Backend()
