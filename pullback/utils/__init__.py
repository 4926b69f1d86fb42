"""Names only, where PyTorch's users look for them: `utils.checkpoint`."""

from pullback.utils import checkpoint

__all__ = ["checkpoint"]
