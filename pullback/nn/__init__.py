"""Floor 7: neural-network functions, under PyTorch's names."""

from pullback.nn import functional
from pullback.ops.composite.linear_losses import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions", "functional"]
