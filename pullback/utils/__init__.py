"""Names only, where PyTorch's users look for them: `utils.checkpoint`."""

from pullback.core.absent import getter as _getter
from pullback.ops.tables import PUBLIC as _HOMES
from pullback.utils import checkpoint

__all__ = ["checkpoint"]

__getattr__ = _getter(__name__, _HOMES)
