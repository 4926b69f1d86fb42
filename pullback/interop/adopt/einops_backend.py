"""einops' functions on our tensors: einops asks each of its backends whether it knows the type of an array."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor


def enter_backend() -> None:
    """Tell einops of our tensors, if it has been imported. Other arrays see nothing of it, so nothing is undone."""
    backends: Any = sys.modules.get("einops._backends")
    if backends is None or _FRAMEWORK in backends._loaded_backends:
        return

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

    backends._loaded_backends[_FRAMEWORK] = Backend()


_FRAMEWORK = "pullback"
