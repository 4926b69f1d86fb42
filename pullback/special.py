"""torch.special's names: special functions."""

from pullback.ops.late import public_functions as _public_functions

_FUNCTIONS = _public_functions("special")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
