"""Signal processing, under the names of torch.signal. The functions are in `signal.windows`."""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.signal import windows

__all__ = ["windows"]

__getattr__ = _getter(__name__, _HOMES)
