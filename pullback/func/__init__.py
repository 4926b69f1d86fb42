"""Floor 5: function transforms. Plain functions in, functions that compute derivatives out."""

from pullback.func.gradient import grad, value_and_grad

__all__ = ["grad", "value_and_grad"]
