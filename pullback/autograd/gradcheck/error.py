"""GradcheckError, and the diagnosis in it."""

import dataclasses

import numpy as np

from pullback.core.errors import DetachingError, Explained

__all__ = ["Diagnosis", "GradcheckError"]


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """A usual mistake that the numbers of a mismatch show.

    `kind` is one of constant_factor, sign, transposed, missing_conjugate, missing_sum, swapped_inputs, swapped_outputs,
    swapped_factors, missing_factor, missing_gradient, dropped_entries, integer_truncation, piecewise_constant,
    not_finite, kink, discontinuity, changing_outputs, modified_input, low_precision, nondeterminism,
    unreliable_differences, zero_cotangent, zero_tangent, nonlinear_cotangent, nonlinear_tangent, undefined_gradient,
    undefined_tangent, saved_wrong, not_derived, inverted, missing_term, element_by_element.
    """

    kind: str
    text: str
    advice: str


class GradcheckError(Explained, RuntimeError):
    """A gradient does not agree with finite differences, or a backward breaks a rule.

    Attributes
    ----------
    input_index, output_index : int or None
        Positions of the input and output of the first disagreement.
    numerical, analytical : ndarray or None
        Their two Jacobians: a row for each element of the input, a column for each real coordinate of the output (of a
        complex one: all real parts, then all imaginary parts).
    diagnosis : Diagnosis or None
        The usual mistake that the numbers show, with the fields `kind`, `text` and `advice`.
    side : "backward", "forward", "both" or None
        Which rule is wrong, where that is known: the backward, the rule of forward mode (`result:` of a declaration,
        the jvp of a custom Function), or both alike.
    """

    def __init__(
        self,
        message: str,
        *,
        input_index: int | None = None,
        output_index: int | None = None,
        numerical: np.ndarray | None = None,
        analytical: np.ndarray | None = None,
        diagnosis: Diagnosis | None = None,
        side: str | None = None,
    ) -> None:
        super().__init__(message)
        self.input_index, self.output_index = input_index, output_index
        self.numerical, self.analytical = numerical, analytical
        self.diagnosis, self.side = diagnosis, side


class OutputsChangeError(GradcheckError, AssertionError, page=None):
    """The shapes, dtypes or number of a function's outputs change with its inputs; an AssertionError as in PyTorch."""


class OutputsDetachError(GradcheckError, DetachingError, page=None):
    """A function refuses to detach what is differentiated; the DetachingError that it is, and a failed check."""
