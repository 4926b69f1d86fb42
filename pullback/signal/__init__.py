"""Floor 7: signal processing, under PyTorch's names."""

from pullback.signal import windows

__all__ = ["windows"]
