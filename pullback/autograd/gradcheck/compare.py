"""Analytical against numerical Jacobians: a Block for each pair of input and output, and where the two disagree."""

import dataclasses

import numpy as np

from pullback.autograd.gradcheck.problem import Problem, values_of
from pullback.core.tensor import Tensor

Jacobians = list[list[np.ndarray]]  # [output][input]

__all__ = ["Block", "blocks_of", "close", "failing"]


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """The two Jacobians of one output with respect to one input (layout: see `numerical`)."""

    input_number: int  # position among the arguments
    output_number: int  # position among the results
    order: int  # position among the results that are looked at
    array: np.ndarray  # the input's memory
    out_shape: tuple[int, ...]
    out_dtype: np.dtype
    numerical: np.ndarray
    analytical: np.ndarray
    missing: bool  # every backward gave None

    @property
    def in_shape(self) -> tuple[int, ...]:
        """Shape of the input."""
        return self.array.shape

    @property
    def is_complex(self) -> bool:
        """True if input or output is complex."""
        return self.array.dtype.kind == "c" or self.out_dtype.kind == "c"

    @property
    def out_size(self) -> int:
        """How many numbers the output has; a complex one has twice as many columns."""
        return int(np.prod(self.out_shape))


def blocks_of(
    problem: Problem, outputs: list[Tensor], numerical: Jacobians, analytical: Jacobians, missing: list[list[bool]]
) -> list[Block]:
    """All pairs, outputs first."""
    blocks = []
    numbers = problem.chosen or range(len(outputs))
    for o, (number, output) in enumerate(zip(numbers, outputs, strict=True)):
        values = values_of(output)
        for i, input_number in enumerate(problem.wrt):
            pair = numerical[o][i], analytical[o][i], missing[o][i]
            blocks.append(Block(input_number, number, o, problem.arrays[i], values.shape, values.dtype, *pair))
    return blocks


def close(problem: Problem, a: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Where |a - n| <= atol + rtol |n|; never where one of them is nan."""
    within: np.ndarray = np.isclose(a, n, rtol=problem.rtol, atol=problem.atol)
    return within


def failing(problem: Problem, blocks: list[Block]) -> list[Block]:
    """The blocks with an entry that is not close."""
    return [b for b in blocks if not close(problem, b.analytical, b.numerical).all()]
