"""Floor 9: neural-network functions, under PyTorch's names."""

from pullback.core.absent import getter as _getter
from pullback.nn import functional
from pullback.ops.composite.nn.linear_losses import LinearCrossEntropyOptions
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["LinearCrossEntropyOptions", "functional"]

__getattr__ = _getter(__name__, _HOMES)
