"""Discrete Fourier transforms and their frequencies, under the names of torch.fft."""

from pullback.explain.missing_names import getter as _getter
from pullback.ops.late import public_functions as _public_functions
from pullback.ops.tables import PUBLIC as _HOMES

_FUNCTIONS = _public_functions("fft")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
__getattr__ = _getter(__name__, _HOMES)
