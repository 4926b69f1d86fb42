"""torch.fft's names: discrete Fourier transforms and their frequencies."""

from pullback.ops.late import public_functions as _public_functions

_FUNCTIONS = _public_functions("fft")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
