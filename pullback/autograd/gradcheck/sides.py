"""The two rules that can be wrong, backward and forward: tests that each is linear, and the wording for each."""

import dataclasses
from collections.abc import Callable

import numpy as np

from pullback.autograd.api import grad
from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
from pullback.autograd.gradcheck.problem import Problem, real_coordinates, values_of
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

__all__ = [
    "BACKWARD_ALONE",
    "BOTH",
    "FORWARD_ALONE",
    "OF_THE_FUNCTION",
    "Map",
    "backward_of",
    "check_linear",
    "directions",
    "in_forward_words",
    "nonlinear",
    "not_linear",
]

Map = Callable[[float], list[np.ndarray]]  # what a rule gives for some incoming values times a number

# Diagnoses of the function or the point and not of a rule.
OF_THE_FUNCTION = frozenset(
    {"kink", "discontinuity", "low_precision", "nondeterminism", "unreliable_differences", "changing_outputs"}
)
FORWARD_ALONE = (
    "The backward agrees with the differences: the mistake is in the forward rule alone (`result:` of a declaration, "
    "jvp of a custom Function)."
)
BACKWARD_ALONE = "Forward mode agrees with the differences: the mistake is in the backward alone."
BOTH = (
    "Backward and forward mode agree with each other: the mistake is in what both come from, the formula of the "
    "backward where the declaration has `result: auto_element_wise`, or one that was written twice."
)


def backward_of(problem: Problem, outputs: list[Tensor]) -> Map:
    """The backward, applied to random cotangents of all outputs."""
    rng = np.random.default_rng(1)
    cotangents = [_random(rng, values_of(o)) for o in outputs]

    def apply(factor: float) -> list[np.ndarray]:
        given = [from_numpy(np.asarray(factor * c, c.dtype)) for c in cotangents]
        grads = grad(outputs, problem.checked, given, retain_graph=True, allow_unused=True)
        found = zip(grads, problem.arrays, strict=True)
        return [real_coordinates(np.zeros_like(a) if g is None else values_of(g)) for g, a in found]

    return apply


def directions(problem: Problem) -> dict[int, np.ndarray]:
    """Random tangents of all inputs, by number."""
    rng = np.random.default_rng(1)
    return {number: _random(rng, array) for number, array in zip(problem.wrt, problem.arrays, strict=True)}


def not_linear(rule: Map, forward: bool, tolerance: float = 0.0) -> Diagnosis | None:
    """Return what shows that a rule is not linear in what comes in, as every right one is.

    Jacobians do not show it: they are made of zeros and ones, whose squares and sizes are the same.
    """
    zero, once, twice, minus = (rule(k) for k in (0.0, 1.0, 2.0, -1.0))
    if not all(np.isfinite(part).all() for part in (*zero, *once, *twice, *minus)):
        return None
    if (
        not any(part.any() for part in zero)
        and _close(twice, once, 2, tolerance)
        and _close(minus, once, -1, tolerance)
    ):
        return None
    incoming, name = ("tangent", "forward rule") if forward else ("gradient", "backward")
    # What is linear but for a constant gives that constant for zero, and so tells it; zeros that are handed in may be
    # structural ones, which a forward rule never sees.
    constant = [2 * a - b for a, b in zip(once, twice, strict=True)]
    affine = _close([m + a for m, a in zip(minus, once, strict=True)], constant, 2, tolerance)
    found = constant if affine and not any(part.any() for part in zero) else zero
    largest = max((float(np.abs(part).max(initial=0)) for part in found), default=0.0)
    if largest:
        return Diagnosis(
            "zero_tangent" if forward else "zero_cotangent",
            f"the {name} gives what is not zero (largest entry {largest:.3g}) for incoming {incoming}s of zero.",
            f"It is linear in the incoming {incoming}s: multiply every term by one"
            + (" (`self_t` in `result:`)." if forward else " (`grad` in a formula)."),
        )
    return Diagnosis(
        "nonlinear_tangent" if forward else "nonlinear_cotangent",
        f"the {name} is not linear in the incoming {incoming}s: for twice of these it gives something else than twice.",
        "`result: auto_linear` is right for operators alone that are themselves linear; write the derivative times "
        "`self_t` instead, with `self_p` for values."
        if forward
        else "Each term has the incoming gradient as a factor exactly once; values are those of inputs and outputs.",
    )


def _close(found: list[np.ndarray], once: list[np.ndarray], factor: float, tolerance: float) -> bool:
    """True if these are so many times the others, which rounding does not change where nothing is cancelled."""
    pairs = zip(found, once, strict=True)
    return all(
        np.allclose(f, factor * o, rtol=1e-5, atol=3 * tolerance + 1e-6 * np.abs(o).max(initial=0)) for f, o in pairs
    )


def check_linear(rule: Map, forward: bool, tolerance: float) -> None:
    """Raise unless a rule is linear."""
    diagnosis = not_linear(rule, forward, tolerance)
    if diagnosis is not None:
        raise nonlinear(diagnosis, forward)


def nonlinear(diagnosis: Diagnosis, forward: bool) -> GradcheckError:
    """The error for a rule that is not linear."""
    what = "jvp is not linear in the tangents" if forward else "backward is not linear in grad_output"
    return GradcheckError(
        f"{what}: {diagnosis.text}\n  {diagnosis.advice}",
        diagnosis=diagnosis,
        side="forward" if forward else "backward",
    )


def _random(rng: "np.random.Generator", like: np.ndarray) -> np.ndarray:
    made = rng.uniform(0.5, 1.5, like.shape)
    if like.dtype.kind == "c":
        made = made + 1j * rng.uniform(0.5, 1.5, like.shape)
    return np.asarray(made).astype(like.dtype)


_ADVICE = {
    "sign": "Change the sign in the forward rule: `result:` of a declaration, jvp of a custom Function.",
    "transposed": (
        "The forward rule multiplies by J^T where it must multiply by J: `result: auto_element_wise` is right for "
        "operators alone that work element by element."
    ),
    "missing_gradient": (
        "Look for an input whose tangent (`self_t`) has no term in `result:`, a jvp that returns None or zeros, or "
        "detach() and .numpy() on the way."
    ),
    "swapped_inputs": "Multiply the tangent of each input by the derivative with respect to that input.",
    "swapped_factors": "Multiply the tangent of each input by the derivative with respect to that input.",
}
# The same numbers have other reasons than in a backward, whose Jacobian is the conjugate transpose.
_CONJUGATES = {
    "the derivative is not conjugated": (
        "the derivative is conjugated",
        "Write self_t * derivative: its conjugate belongs to the backward alone.",
    ),
    "the incoming gradient is conjugated": (
        "the tangent is the conjugate of the right one",
        "Leave out the conj() around the whole.",
    ),
    "the gradient is the conjugate of the right one": (
        "the incoming tangent is conjugated",
        "Use self_t itself.",
    ),
}


def in_forward_words(diagnosis: Diagnosis) -> Diagnosis:
    """A diagnosis of the numbers of a forward rule: patterns speak of gradients and the backward."""
    if diagnosis.kind in OF_THE_FUNCTION or diagnosis.kind.endswith("_tangent"):
        return diagnosis
    text, advice = diagnosis.text, diagnosis.advice
    if diagnosis.kind == "missing_conjugate":
        for form, (said, remedy) in _CONJUGATES.items():
            if text.endswith(f": {form}."):
                text, advice = text.replace(form, said), remedy
                break
    else:
        advice = _ADVICE.get(diagnosis.kind, advice)
    for old, new in (("gradient", "tangent"), ("the backward", "the forward rule"), ("a backward", "a forward rule")):
        text, advice = text.replace(old, new), advice.replace(old, new)
    return dataclasses.replace(diagnosis, text=text, advice=advice)
