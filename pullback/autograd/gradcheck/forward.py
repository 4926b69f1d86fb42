"""Jacobians by forward mode: one row for each real direction in which an input can move, by one call of the function.

Loaded when a check of forward mode is first asked for. The layout is that of the numerical Jacobians.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pullback.autograd import forward_ad
from pullback.autograd.gradcheck.analytical import analytical_jacobians
from pullback.autograd.gradcheck.compare import Block, blocks_of, close, failing
from pullback.autograd.gradcheck.diagnose import diagnose
from pullback.autograd.gradcheck.error import GradcheckError
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
from pullback.autograd.gradcheck.tangents import SIZES, Move, check_tangents
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor

__all__ = ["check_forward", "jvp_function", "pushed"]


def check_forward(problem: Problem, outputs: list[Tensor], fast: bool, backward_too: bool, undefined: bool) -> None:
    """Compare forward mode with differences; then see that it obeys the rules of `tangents`."""
    moves = _projections_agree(problem, outputs) if fast else None
    if moves is None:
        moves = _check_jacobians(problem, outputs, fast, backward_too)
    if undefined:
        check_tangents(problem, partial(_push_forward, problem, outputs=outputs), moves)


def _push_forward(
    problem: Problem, directions: dict[int, np.ndarray], defined: bool = True, *, outputs: list[Tensor]
) -> list[np.ndarray]:
    """The tangents of the outputs, as vectors of real coordinates, when inputs (by number) move along directions.

    The other inputs have tangents of zeros, as in PyTorch: a function that unpacks them finds some. If not `defined`,
    they have none.
    """
    arrays = dict(zip(problem.wrt, problem.arrays, strict=True))
    moved = {i: np.zeros_like(a) for i, a in arrays.items()} | directions if defined else directions
    tangents = {i: from_numpy(np.asarray(v, arrays[i].dtype)) for i, v in moved.items()}
    found = pushed(problem, tangents, outputs)
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
    """`jacobians[o][i]`, shaped as the numerical ones.

    The tangents have other sizes than 1, whose square and size are 1: a rule that is not linear gives other numbers.
    """
    jacobians: list[list[np.ndarray]] = [[] for _ in outputs]
    for number, array in zip(problem.wrt, problem.arrays, strict=True):
        widths = [real_coordinates(values_of(o)).size for o in outputs]
        blocks: list[np.ndarray] = [np.zeros((array.size, width), jacobian_dtype(array)) for width in widths]
        for row, index in enumerate(np.ndindex(array.shape)):
            size = SIZES[row % 2]
            for unit in units_of(array):
                direction = np.zeros(array.shape, array.dtype)
                direction[index] = size * unit
                found = _push_forward(problem, {number: direction}, outputs=outputs)
                for block, tangent in zip(blocks, found, strict=True):
                    block[row] += tangent / size * unit
        for per_output, block in zip(jacobians, blocks, strict=True):
            per_output.append(block)
    return jacobians


def _check_jacobians(problem: Problem, outputs: list[Tensor], after_fast: bool, backward_too: bool) -> dict[int, Move]:
    """Compare Jacobians; return what they say of each input moving alone."""
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
        moved = directions(problem)
        columns = zip(moved.items(), zip(*forward, strict=True), strict=True)
        return {i: Move(v, [(v.conj().ravel() @ block).real for block in of_input]) for (i, v), of_input in columns}
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
        return _push_forward(problem, {i: factor * v for i, v in moved.items()}, outputs=outputs)

    return apply


def _side(problem: Problem, outputs: list[Tensor], blocks: list[Block]) -> tuple[str | None, str]:
    """Say which rule is wrong where forward mode is ("forward", "both"), by the backward; and a remark."""
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


def _projections_agree(problem: Problem, outputs: list[Tensor]) -> dict[int, Move] | None:
    """Moves of each input alone along a random v; None unless u^T J v is close for every input and output."""
    rng = np.random.default_rng(0)
    us = [real_coordinates(unit_direction(rng, values_of(o))) for o in outputs]
    agree, moves = True, {}
    for number, array in zip(problem.wrt, problem.arrays, strict=True):
        v = unit_direction(rng, array)
        found = _push_forward(problem, {number: SIZES[0] * v}, outputs=outputs)
        moves[number] = move = Move(v, [tangent / SIZES[0] for tangent in found])
        for u, forward, numerical in zip(us, move.found, derivative_along(problem, array, v), strict=True):
            expected = float(u @ numerical)
            # An error of atol in every entry of J moves u^T J v by as much as this.
            atol = problem.atol * np.abs(u).sum() * np.abs(real_coordinates(v)).sum()
            agree &= math.isclose(float(u @ forward), expected, rel_tol=0, abs_tol=atol + problem.rtol * abs(expected))
    return moves if agree else None


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
