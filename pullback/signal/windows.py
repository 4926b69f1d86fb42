"""torch.signal.windows' names: windows."""

from pullback.ops.late import public_functions as _public_functions

_FUNCTIONS = _public_functions("signal.windows")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
