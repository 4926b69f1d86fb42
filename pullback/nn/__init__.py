"""Floor 7: neural-network functions, under PyTorch's names."""

from pullback.nn import functional

__all__ = ["functional"]
