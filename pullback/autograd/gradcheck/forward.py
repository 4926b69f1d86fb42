"""Jacobians by forward mode: one row for each real direction in which an input can move, by one call of the function.

Loaded when a check of forward mode is first asked for. The layout is that of the numerical Jacobians.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd import forward_ad
from pullback.autograd.gradcheck.analytical import analytical_jacobians
from pullback.autograd.gradcheck.compare import Block, blocks_of, close, failing
from pullback.autograd.gradcheck.diagnose import diagnose
from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
from pullback.autograd.gradcheck.fast import unit_direction
from pullback.autograd.gradcheck.numerical import derivative_along, numerical_jacobians, units_of
from pullback.autograd.gradcheck.problem import Problem, as_tuple, jacobian_dtype, real_coordinates, values_of
from pullback.autograd.gradcheck.report import mismatch_message
from pullback.autograd.gradcheck.sides import (
    BOTH,
    FORWARD_ALONE,
    OF_THE_FUNCTION,
    Map,
    backward_of,
    check_linear,
    directions,
    not_linear,
)
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

__all__ = ["check_forward", "jvp_function", "pushed"]


def check_forward(problem: Problem, outputs: list[Tensor], fast: bool, backward_too: bool) -> None:
    """Compare forward mode with differences; then see that zero tangents give zeros."""
    if not fast or not _projections_agree(problem, outputs):
        _check_jacobians(problem, outputs, fast, backward_too)
    _check_zero_tangents(problem, outputs)
    check_linear(_rule(problem, outputs), True, problem.nondet_tol)


def _push_forward(problem: Problem, directions: dict[int, np.ndarray], outputs: list[Tensor]) -> list[np.ndarray]:
    """The tangents of the outputs, as vectors of real coordinates, when inputs (by number) move along directions.

    The other inputs have tangents of zeros, as in PyTorch: a function that unpacks them finds some.
    """
    still = {number: np.zeros_like(array) for number, array in zip(problem.wrt, problem.arrays, strict=True)}
    found = pushed(problem, {i: from_numpy(direction) for i, direction in (still | directions).items()}, outputs)
    pairs = zip(found, outputs, strict=True)
    return [real_coordinates(np.zeros_like(values_of(y)) if t is None else values_of(t).copy()) for t, y in pairs]


def pushed(problem: Problem, tangents: dict[int, Tensor], outputs: list[Tensor]) -> list[Tensor | None]:
    """The tangents of the outputs, None where there is none, for those of inputs (by number)."""
    with forward_ad.dual_level():
        arguments = [
            forward_ad.make_dual(x.detach(), tangents[i]) if i in tangents else _constant(x)
            for i, x in enumerate(problem.inputs)
        ]
        results = problem.outputs(arguments)
        positions = problem.positions(results)
        return [forward_ad.unpack_dual(results[k]).tangent for k, _ in zip(positions, outputs, strict=True)]


def _constant(x: Any) -> Any:
    """An input that does not move, out of any graph: nothing is to be recorded beside the tangents."""
    return x.detach() if isinstance(x, Tensor) else x


def _jacobians(problem: Problem, outputs: list[Tensor]) -> list[list[np.ndarray]]:
    """`jacobians[o][i]`, shaped as the numerical ones."""
    jacobians: list[list[np.ndarray]] = [[] for _ in outputs]
    for number, array in zip(problem.wrt, problem.arrays, strict=True):
        widths = [real_coordinates(values_of(o)).size for o in outputs]
        blocks: list[np.ndarray] = [np.zeros((array.size, width), jacobian_dtype(array)) for width in widths]
        for row, index in enumerate(np.ndindex(array.shape)):
            for unit in units_of(array):
                direction = np.zeros(array.shape, array.dtype)
                direction[index] = unit
                for block, slope in zip(blocks, _push_forward(problem, {number: direction}, outputs), strict=True):
                    block[row] += slope * unit
        for per_output, block in zip(jacobians, blocks, strict=True):
            per_output.append(block)
    return jacobians


def _check_jacobians(problem: Problem, outputs: list[Tensor], after_fast: bool, backward_too: bool) -> None:
    forward, numerical = _jacobians(problem, outputs), numerical_jacobians(problem)
    missing = [[False for _ in row] for row in forward]
    blocks = blocks_of(problem, outputs, numerical, forward, missing)
    bad = failing(problem, blocks)
    if not bad:
        if after_fast:
            check_linear(_rule(problem, outputs), True, problem.nondet_tol)
            raise GradcheckError(
                "gradcheck: fast mode found a mismatch in forward mode that slow mode does not: errors within the "
                "tolerance add up, or the function is not deterministic. Check with fast_mode=False."
            )
        return
    side, remark = _side(problem, outputs, blocks) if backward_too and problem.chosen else ("forward", "")
    findings = diagnose(problem, blocks, bad, _rule(problem, outputs), forward=side == "forward")
    if findings and findings[0][0].kind in OF_THE_FUNCTION:
        side, remark = None, ""
    raise GradcheckError(
        mismatch_message(problem, bad, findings, "Jacobian computed with forward mode mismatch") + remark,
        input_index=bad[0].input_number,
        output_index=bad[0].output_number,
        numerical=bad[0].numerical,
        analytical=bad[0].analytical,
        diagnosis=findings[0][0] if findings else None,
        side=side,
    )


def _rule(problem: Problem, outputs: list[Tensor]) -> Map:
    """Forward mode, applied to random tangents of all inputs."""
    moved = directions(problem)

    def apply(factor: float) -> list[np.ndarray]:
        return _push_forward(problem, {i: np.asarray(factor * v, v.dtype) for i, v in moved.items()}, outputs)

    return apply


def _side(problem: Problem, outputs: list[Tensor], blocks: list[Block]) -> tuple[str | None, str]:
    """Which rule is wrong where forward mode is, by a look at the backward; and a remark on it."""
    try:
        found, _ = analytical_jacobians(problem, outputs)
    except Exception:  # noqa: BLE001 - whatever a wrong backward raises, it is told of when its turn comes
        return "forward", ""
    pairs = [(b, found[b.order][problem.wrt.index(b.input_number)]) for b in blocks]
    if all(close(problem, a, b.numerical).all() for b, a in pairs):
        return "forward", f"\n{FORWARD_ALONE}"
    same = all(close(problem, a, b.analytical).all() for b, a in pairs)
    if same or (not_linear(backward_of(problem, outputs), False) and not_linear(_rule(problem, outputs), True)):
        return "both", f"\n{BOTH}"
    return "forward", "\nThe backward disagrees with the differences too, in another way."


def _projections_agree(problem: Problem, outputs: list[Tensor]) -> bool:
    """True if the two values of u^T J v, for random u and v, are close for every input and output."""
    rng = np.random.default_rng(0)
    us = [real_coordinates(unit_direction(rng, values_of(o))) for o in outputs]
    agree = True
    for number, array in zip(problem.wrt, problem.arrays, strict=True):
        v = unit_direction(rng, array)
        pushed, along = _push_forward(problem, {number: v}, outputs), derivative_along(problem, array, v)
        for u, forward, numerical in zip(us, pushed, along, strict=True):
            expected = float(u @ numerical)
            # An error of atol in every entry of J moves u^T J v by as much as this.
            atol = problem.atol * np.abs(u).sum() * np.abs(real_coordinates(v)).sum()
            agree &= math.isclose(float(u @ forward), expected, rel_tol=0, abs_tol=atol + problem.rtol * abs(expected))
    return bool(agree)


def _check_zero_tangents(problem: Problem, outputs: list[Tensor]) -> None:
    """Raise unless tangents of zeros, all together, give tangents of zeros."""
    zeros = {number: np.zeros_like(array) for number, array in zip(problem.wrt, problem.arrays, strict=True)}
    for o, tangent in enumerate(_push_forward(problem, zeros, outputs)):
        if not tangent.any():
            continue
        number = (problem.chosen or range(len(outputs)))[o]
        diagnosis = Diagnosis(
            "zero_tangent",
            f"for zero tangents of the inputs, {problem.name_output(number)} gets one that is not zero (largest entry "
            f"{np.abs(tangent).max():.3g}).",
            "A jvp is linear in the incoming tangents: every term has one of them as a factor.",
        )
        raise GradcheckError(
            f"jvp not multiplied by the tangents: {diagnosis.text}\n  {diagnosis.advice}",
            output_index=number,
            diagnosis=diagnosis,
            side="forward",
        )


def jvp_function(first: Problem, count: int) -> Callable[..., tuple[Tensor, ...]]:
    """(inputs, tangents of those that are checked) -> tangents of the outputs, without those that are None."""

    def tangents(*arguments: Any) -> tuple[Tensor, ...]:
        inputs = list(arguments[:count])
        with forward_ad.dual_level():
            for i, tangent in zip(first.wrt, arguments[count:], strict=True):
                inputs[i] = forward_ad.make_dual(inputs[i], tangent)
            results = as_tuple(first.func(*inputs))
            found = [forward_ad.unpack_dual(results[k]).tangent for k in first.chosen]
        return tuple(t for t in found if t is not None)

    return tangents
