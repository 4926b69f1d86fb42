"""Rules that forward mode obeys: zeros give zeros, sums give sums, and an undefined tangent counts as zeros.

They are checked together with undefined tangents, in one call for each input and two more. What they are compared with
is known by then: the tangents that each input gives when it moves alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
from pullback.autograd.gradcheck.problem import Problem
from pullback.autograd.gradcheck.sides import nonlinear

__all__ = ["SIZES", "Move", "check_tangents"]

Push = Callable[[dict[int, np.ndarray], bool], list[np.ndarray]]
# Of tangents, in turn: powers of two, which change no digit of a linear rule, and of both signs, so that a size or a
# maximum of tangents shows.
SIZES = (-2.0, 0.5)


class Move(NamedTuple):
    """A direction in which an input moves alone, and the tangents of the outputs that forward mode gives for it."""

    direction: np.ndarray
    found: Sequence[np.ndarray]


def check_tangents(problem: Problem, push: Push, moves: dict[int, Move]) -> None:
    """Raise unless the rules hold; `push(directions, defined)` gives the others tangents of zeros, or none."""
    _check_zeros(problem, push({}, True))
    if len(moves) == 1:
        return
    _check_sum(problem, moves, push(_weighted(moves), True), None)
    for number in moves:
        others = {i: move for i, move in moves.items() if i != number}
        try:
            found = push(_weighted(others), False)
        except Exception as error:
            raise _undefined(problem, number, f"forward mode raises {type(error).__name__}: {error}") from error
        _check_sum(problem, others, found, number)


def _weighted(moves: dict[int, Move]) -> dict[int, np.ndarray]:
    """Directions of all these inputs."""
    return {i: SIZES[k % 2] * move.direction for k, (i, move) in enumerate(moves.items())}


def _check_sum(problem: Problem, moves: dict[int, Move], found: list[np.ndarray], undefined: int | None) -> None:
    """Raise unless the tangents for several inputs are the sum of those for each."""
    unit = max(np.finfo(move.direction.dtype).eps for move in moves.values())
    share = max(1e-6, 100 * float(unit))
    for o, tangent in enumerate(found):
        parts = np.array([SIZES[k % 2] * move.found[o] for k, move in enumerate(moves.values())])
        expected, sizes = parts.sum(0), np.abs(parts).sum(0)
        told = np.isfinite(expected) & np.isfinite(tangent)
        largest = sizes[told].max(initial=0)
        gap = np.abs(tangent - expected)[told]
        if (gap <= 3 * problem.nondet_tol + share * (10 * sizes[told] + largest)).all():
            continue
        if undefined is not None:
            raise _undefined(problem, undefined, f"{_output(problem, o)} gets another tangent than for zeros")
        raise nonlinear(
            Diagnosis(
                "nonlinear_tangent",
                f"the forward rule is not linear in the incoming tangents: for those of all inputs together, "
                f"{_output(problem, o)} gets something else than the sum of what it gets for each.",
                "Each term has the tangent of one input as a factor, exactly once.",
            ),
            True,
        )


def _check_zeros(problem: Problem, found: list[np.ndarray]) -> None:
    """Raise unless tangents of zeros, all together, have given zeros."""
    for o, tangent in enumerate(found):
        if not tangent.any():
            continue
        diagnosis = Diagnosis(
            "zero_tangent",
            f"for zero tangents of the inputs, {_output(problem, o)} gets one that is not zero (largest entry "
            f"{np.abs(tangent).max():.3g}).",
            "A jvp is linear in the incoming tangents: every term has one of them as a factor.",
        )
        raise GradcheckError(
            f"jvp not multiplied by the tangents: {diagnosis.text}\n  {diagnosis.advice}",
            output_index=_position(problem, o),
            diagnosis=diagnosis,
            side="forward",
        )


def _undefined(problem: Problem, number: int, what: str) -> GradcheckError:
    """The error for a rule that takes no undefined tangent, or takes it for something else than zeros."""
    diagnosis = Diagnosis(
        "undefined_tangent",
        f"{what}.",
        "An undefined tangent means zeros: leave materialize_grads on, or treat None in the jvp (it has no term).",
    )
    return GradcheckError(
        f"gradcheck: {problem.name_input(number)} has an undefined tangent value: {diagnosis.text}\n"
        f"  {diagnosis.advice}",
        input_index=number,
        diagnosis=diagnosis,
        side="forward",
    )


def _position(problem: Problem, o: int) -> int:
    """The position of an output among the results."""
    return problem.chosen[o] if problem.chosen else o


def _output(problem: Problem, o: int) -> str:
    return problem.name_output(_position(problem, o))
