"""Floor 9: signal processing, under PyTorch's names."""

from pullback.core.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.signal import windows

__all__ = ["windows"]

__getattr__ = _getter(__name__, _HOMES)
