"""Two rules that every backward obeys: zero in gives zero out, and an undefined gradient counts as zero."""

import warnings
from collections.abc import Sequence

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.basic_nodes import UndefinedGrad
from pullback.autograd.gradcheck.analytical import pull_back
from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
from pullback.autograd.gradcheck.problem import Problem, values_of
from pullback.core.cuts import frames_to_user
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

Gradients = list[np.ndarray | None]

__all__ = ["check_undefined", "check_zero_cotangent"]


_EXPECTED = "Expected backward function to handle undefined output grads."  # PyTorch's sentence


def check_zero_cotangent(problem: Problem, outputs: list[Tensor]) -> None:
    """Raise unless gradients of the inputs are zero, in shape and dtype like the inputs, for zero cotangents."""
    for number, output in zip(problem.chosen, outputs, strict=True):
        grads = pull_back(problem, output, np.zeros_like(values_of(output)))
        for i, g in zip(problem.wrt, grads, strict=True):
            if g is None or not g.any():
                continue
            diagnosis = Diagnosis(
                "zero_cotangent",
                f"for a zero gradient of {problem.name_output(number)}, {problem.name_input(i)} gets one that is not"
                f" zero (largest entry {np.abs(g).max():.3g}).",
                "A backward is linear in the incoming gradient: multiply every term by it.",
            )
            raise GradcheckError(
                f"backward not multiplied by grad_output: {diagnosis.text}\n  {diagnosis.advice}",
                input_index=i,
                output_index=number,
                diagnosis=diagnosis,
                side="backward",
            )


def check_undefined(problem: Problem) -> None:
    """Raise unless undefined gradients of the outputs, all of them and each alone, act as zeros."""
    count = len(problem.chosen)
    subsets = [range(count), *([k] for k in range(count) if count > 1)]
    for undefined in subsets:
        outputs = problem.outputs()
        chosen = [outputs[k] for k in problem.chosen]
        grads = _grads(problem, chosen, undefined)
        all_undefined = len(undefined) == count
        expected: Gradients = [None] * len(grads) if all_undefined else _grads(problem, chosen, undefined, zeros=True)
        _compare(problem, undefined, grads, expected)


def _grads(problem: Problem, outputs: list[Tensor], undefined: Sequence[int], zeros: bool = False) -> Gradients:
    """Gradients with ones for the defined outputs, and undefined gradients (or zeros) for the others."""
    heads, cotangents = [], []
    for k, output in enumerate(outputs):
        ones = np.ones_like(values_of(output))
        hidden = k in undefined and not zeros
        heads.append(UndefinedGrad()(output) if hidden else output)
        cotangents.append(from_numpy(np.zeros_like(ones) if k in undefined and zeros else ones))
    try:
        grads = grad(heads, problem.checked, cotangents, retain_graph=True, allow_unused=True)
    except Exception as error:
        warnings.warn(
            "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it "
            "may break existing callers of this function. If this is true for you, you can call this function with "
            '"check_undefined_grad=False" to disable the feature',
            stacklevel=frames_to_user(),
        )
        which = ", ".join(problem.name_output(problem.chosen[k]) for k in undefined)
        diagnosis = _undefined_diagnosis(f"the backward raises {type(error).__name__}: {error}")
        raise GradcheckError(
            f"{_EXPECTED} Undefined gradient of {which}: {diagnosis.text}\n  {diagnosis.advice}",
            output_index=problem.chosen[undefined[0]],
            diagnosis=diagnosis,
        ) from error
    return [None if g is None else np.array(values_of(g)) for g in grads]


def _compare(problem: Problem, undefined: Sequence[int], grads: Gradients, expected: Gradients) -> None:
    """Raise where a gradient is not what zeros would give."""
    for i, g, e in zip(problem.wrt, grads, expected, strict=True):
        if np.allclose(
            0.0 if g is None else g, 0.0 if e is None else e, rtol=problem.rtol, atol=problem.atol, equal_nan=True
        ):
            continue
        which = ", ".join(problem.name_output(problem.chosen[k]) for k in undefined)
        diagnosis = _undefined_diagnosis(f"{problem.name_input(i)} gets a gradient other than for zeros")
        raise GradcheckError(
            f"{_EXPECTED} Undefined gradient of {which}: {diagnosis.text}\n  {diagnosis.advice}",
            input_index=i,
            output_index=problem.chosen[undefined[0]],
            diagnosis=diagnosis,
        )


def _undefined_diagnosis(text: str) -> Diagnosis:
    """The diagnosis for a backward that does not take None for zeros."""
    return Diagnosis(
        "undefined_gradient",
        text + ".",
        "An undefined gradient means zeros: leave materialize_grads on, or treat None in the backward"
        " (return None for inputs that depend on it alone).",
    )
