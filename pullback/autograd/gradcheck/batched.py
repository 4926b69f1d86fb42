"""Checks of derivatives for several cotangents, or tangents, at once against one after another."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.batched import BatchedArray
from pullback.arrays.batched.boundary import leave
from pullback.autograd.api import gradients_of
from pullback.autograd.gradcheck.analytical import pull_back
from pullback.autograd.gradcheck.error import GradcheckError
from pullback.autograd.gradcheck.forward import pushed
from pullback.autograd.gradcheck.problem import Problem, values_of
from pullback.autograd.rows.batched_pass import Graph, in_one, opened
from pullback.core.factory import from_numpy
from pullback.core.tensor import Tensor, wrap

__all__ = ["check_batched_cotangents", "check_batched_tangents"]

_ROWS = 2
_Arrays = Sequence[np.ndarray | None]


def check_batched_cotangents(problem: Problem, outputs: list[Tensor]) -> None:
    """Raise unless the backward of every output gives for a batch of cotangents what it gives for each."""
    for o, output in enumerate(outputs):
        rows = _random_rows(values_of(output), o)
        expected = [pull_back(problem, output, np.array(row)) for row in rows]
        found = _or_raise("check_batched_grad", "backward", partial(_pulled_back, problem, output, rows))
        _compare(problem, "check_batched_grad", "gradient", problem.wrt, found, expected)


def _pulled_back(problem: Problem, output: Tensor, rows: np.ndarray) -> _Arrays:
    """The gradients for all rows, whatever is on the way."""

    def gradients(cotangents: list[Tensor]) -> tuple[Any, ...]:
        return gradients_of((output,), problem.checked, cotangents, True, False, allow_unused=True)

    found = in_one(Graph((output,), problem.checked), gradients, [from_numpy(rows)], False)
    return [None if g is None else values_of(g) for g in found]


def check_batched_tangents(problem: Problem, outputs: list[Tensor]) -> None:
    """Raise unless forward mode gives for a batch of tangents of every input what it gives for each."""
    for number, array in zip(problem.wrt, problem.arrays, strict=True):
        rows = _random_rows(array, number)
        expected = [
            [
                None if t is None else np.array(values_of(t))
                for t in pushed(problem, {number: from_numpy(np.asarray(row))}, outputs)
            ]
            for row in rows
        ]
        found = _or_raise(
            "check_batched_forward_grad",
            "forward mode",
            partial(_pushed_forward, problem, number, rows, outputs),
        )
        numbers = problem.chosen or range(len(outputs))
        _compare(problem, "check_batched_forward_grad", "tangent", numbers, found, expected)


def _pushed_forward(problem: Problem, number: int, rows: np.ndarray, outputs: list[Tensor]) -> _Arrays:
    """The tangents of all outputs for all rows of tangents of one input."""
    with opened(_ROWS, "gradcheck(check_batched_forward_grad=True)") as (batch, level):
        found = pushed(problem, {number: wrap(BatchedArray(rows, batch), level)}, outputs)
        return [None if t is None else np.asarray(leave(t.detach(), 0, batch, level)) for t in found]


def _random_rows(like: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = rng.uniform(-1, 1, (_ROWS, *like.shape))
    if like.dtype.kind == "c":
        made = made + 1j * rng.uniform(-1, 1, made.shape)
    return made.astype(like.dtype)


def _or_raise(option: str, mode: str, compute: Callable[[], _Arrays]) -> _Arrays:
    """Return what `compute` gives; its error as that of the check."""
    try:
        return compute()
    except Exception as error:
        raise GradcheckError(
            f"gradcheck: {option}=True: {mode} works for one at a time, but for a batch of {_ROWS} at once (as under "
            f"func.vmap) it raises {type(error).__name__}: {error}\n  Write it with operators of pullback, without "
            f"looking at numbers, or leave {option} out."
        ) from error


def _compare(
    problem: Problem, option: str, what: str, numbers: Sequence[int], found: _Arrays, expected: Sequence[_Arrays]
) -> None:
    for i, (number, batch) in enumerate(zip(numbers, found, strict=True)):
        for row in range(_ROWS):
            one = expected[row][i]
            if one is None and batch is None:
                continue
            one = np.zeros_like(batch[row]) if one is None else one  # type: ignore[index]  # not both are None
            several = np.zeros_like(one) if batch is None else batch[row]
            if one.shape == several.shape and np.allclose(several, one, problem.rtol, problem.atol, equal_nan=True):
                continue
            whose = problem.name_input(number) if what == "gradient" else problem.name_output(number)
            raise GradcheckError(
                f"gradcheck: {option}=True: the {what} of {whose} for a batch of {_ROWS} at once is, in row {row},\n"
                f"{several}\nbut for that one alone it is\n{one}\nRows must not know of each other: no operator may "
                "work along what func.vmap hides.",
                input_index=number if what == "gradient" else None,
                output_index=None if what == "gradient" else number,
            )
