"""torch.masked's names: reductions, scans and normalisations of the elements that a mask names."""

from pullback.ops.late import public_functions as _public_functions

_FUNCTIONS = _public_functions("masked")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
