"""gradcheck and gradgradcheck: gradients against finite differences, with a diagnosis where they disagree."""

from pullback.autograd.gradcheck.api import gradcheck, gradgradcheck
from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError

__all__ = ["Diagnosis", "GradcheckError", "gradcheck", "gradgradcheck"]
