"""The repr of a Tensor: PyTorch's frame around NumPy's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.array_type import array_type
from pullback.core.errors import InplaceError
from pullback.core.tensor import Tensor, only_number

_IMPLIED = (np.dtype(float), np.dtype(np.int64), np.dtype(bool), np.dtype(complex))


def tensor_repr(self: Tensor) -> str:
    """tensor([1., 2.], grad_fn=<MulBackward0>): dtype only where the numbers do not imply it."""
    array: Any = self._array
    if not issubclass(type(array), np.ndarray):  # which an Array says it is
        return array_type(array).shown(array, self._level)
    prefix = "tensor("
    body = np.array2string(array, separator=", ", prefix=prefix)
    parts = []
    if array.size == 0 and array.shape != (0,):
        parts.append(f"size={array.shape}")
    if array.dtype not in _IMPLIED or (array.size == 0 and array.dtype.kind != "f"):
        parts.append(f"dtype={array.dtype}")
    text = prefix + ", ".join([body, *parts])
    if type(self) is Tensor and self._level:  # of a transform, directly around numbers
        return f"GradTrackingTensor(lvl={self._level}, value={text}))"
    return f"{text}{_autograd_part(self)})"


def _autograd_part(self: Tensor) -> str:
    try:
        fn = self.grad_fn
    except InplaceError:
        return ", grad_fn=<Invalid>"
    if fn is not None:
        return f", grad_fn=<{fn.name()}>"
    return ", requires_grad=True" if self._requires_grad else ""


def tensor_format(self: Tensor, spec: str) -> str:
    """format(t, spec): that of the number for one element, the repr otherwise."""
    if self._array.ndim == 0:
        return format(only_number(self, "format()"), spec)
    if spec:
        raise TypeError(f"unsupported format string for a Tensor of shape {self.shape}; format its elements instead.")
    return repr(self)


Tensor.__repr__ = tensor_repr  # type: ignore[method-assign, assignment]  # printing needs a Tensor that is all there
Tensor.__format__ = tensor_format  # type: ignore[method-assign, assignment]
