"""einops and opt_einsum on our tensors: both have a backend for each library, which tells them its functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor


def enter_backends() -> None:
    """Tell them of our tensors, if they have been imported. Other arrays see nothing of it, so nothing is undone."""
    dispatch: Any = sys.modules.get("opt_einsum.backends.dispatch")
    if dispatch is not None:  # which would call pullback.transpose, PyTorch's
        dispatch._cached_funcs |= {(f.__name__, _FRAMEWORK): f for f in (np.tensordot, np.transpose, np.einsum)}
    backends: Any = sys.modules.get("einops._backends")
    if backends is not None and _FRAMEWORK not in backends._loaded_backends:
        backends._loaded_backends[_FRAMEWORK] = _einops_backend(backends)


def _einops_backend(backends: Any) -> Any:
    class Backend(backends.NumpyBackend):  # type: ignore[misc]  # of a module that may not be there
        """NumPy's functions, which take Tensors; the methods of a Tensor are PyTorch's."""

        framework_name = _FRAMEWORK

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def transpose(self, x: Any, axes: Any) -> Any:
            return np.transpose(x, axes)

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            return getattr(np, operation)(x, axis=tuple(axes))

        def to_numpy(self, x: Any) -> Any:
            return np.asarray(x)

    return Backend()


_FRAMEWORK = "pullback"
