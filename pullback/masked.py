"""Reductions, scans and normalisations of the elements that a mask selects, under the names of torch.masked."""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.late import public_functions as _public_functions
from pullback.ops.tables import PUBLIC as _HOMES

_FUNCTIONS = _public_functions("masked")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
__getattr__ = _getter(__name__, _HOMES)
