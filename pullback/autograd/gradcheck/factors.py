"""Constant factors between two Jacobians, and names for those that people forget."""

import math
from collections.abc import Iterator

import numpy as np

from pullback.autograd.gradcheck.compare import Block

__all__ = ["common_factor", "name_factor"]

CONSTANTS = (
    [(1.0, "1")]
    + [(float(k), str(k)) for k in range(2, 11)]
    + [(1.0 / k, f"1/{k}") for k in range(2, 11)]
    + [
        (math.pi, "pi"),
        (2 * math.pi, "2 pi"),
        (1 / math.pi, "1/pi"),
        (0.5 / math.pi, "1/(2 pi)"),
        (math.pi / 2, "pi/2"),
        (2 / math.pi, "2/pi"),
        (math.sqrt(2), "sqrt(2)"),
        (math.sqrt(0.5), "1/sqrt(2)"),
        (math.sqrt(math.pi), "sqrt(pi)"),
        (2 / math.sqrt(math.pi), "2/sqrt(pi)"),
        (math.sqrt(math.pi) / 2, "sqrt(pi)/2"),
        (math.log(2), "log(2)"),
        (1 / math.log(2), "1/log(2)"),
        (math.log(10), "log(10)"),
        (1 / math.log(10), "1/log(10)"),
        (math.e, "e"),
        (math.pi / 180, "pi/180"),
        (180 / math.pi, "180/pi"),
    ]
)


def common_factor(a: np.ndarray, n: np.ndarray) -> complex | float | None:
    """The k that brings k * n nearest to a; None where n vanishes. Real unless the imaginary part matters."""
    square = float(np.vdot(n, n).real)
    if square == 0 or not np.isfinite(square):
        return None
    k = complex(np.vdot(n, a) / square)
    if not np.isfinite(k.real + k.imag):
        return None
    return k.real if abs(k.imag) <= 1e-4 * abs(k) else k


def name_factor(k: complex | float, blocks: list[Block], tolerance: float = 1e-4) -> tuple[str, str, bool]:
    """A name for a factor ("2", "-1/pi", "1/6") or its digits; which size it is, if any; whether it has a name."""
    for value, name in [*CONSTANTS, *_sizes(blocks)]:
        for sign, prefix in ((1, ""), (-1, "-"), (1j, "1j * "), (-1j, "-1j * ")):
            if abs(k - sign * value) <= tolerance * abs(value):
                return prefix + name, _which_size(value, blocks, tolerance), True
    return f"{k:.6g}", "", False


def _which_size(value: float, blocks: list[Block], tolerance: float) -> str:
    """Which size of the problem a factor is, if it is one."""
    for size, text in _named_sizes(blocks):
        if size > 1 and min(abs(value - size) / size, abs(value * size - 1)) <= tolerance:
            return f"{size} is {text}"
        if size > 1 and abs(value - size / (size - 1)) <= tolerance:
            return f"n/(n-1) with n = {size}, {text}: a variance with and without correction"
        if size > 1 and abs(value - (size - 1) / size) <= tolerance:
            return f"(n-1)/n with n = {size}, {text}: a variance with and without correction"
    return ""


def _sizes(blocks: list[Block]) -> Iterator[tuple[float, str]]:
    """Factors made of sizes, with their names."""
    for size, _ in _named_sizes(blocks):
        if size > 1:
            yield float(size), str(size)
            yield 1 / size, f"1/{size}"
            yield size / (size - 1), f"{size}/{size - 1}"
            yield (size - 1) / size, f"{size - 1}/{size}"


def _named_sizes(blocks: list[Block]) -> Iterator[tuple[int, str]]:
    """The sizes of input and output that a formula may have multiplied or divided by."""
    block = blocks[0]
    n_in, n_out = int(np.prod(block.in_shape)), block.out_size
    yield n_in, "the number of elements of the input"
    yield n_out, "the number of elements of the output"
    if n_in and n_out and n_out % n_in == 0:
        yield n_out // n_in, "how often the input is repeated in the output"
    if n_in and n_out and n_in % n_out == 0:
        yield n_in // n_out, "how many elements of the input go into one of the output"
    for where, shape in (("input", block.in_shape), ("output", block.out_shape)):
        for dim, size in enumerate(shape):
            if size > 2:  # a forgotten 2 is more often an exponent than a dimension
                yield size, f"the size of dimension {dim} of the {where}"
