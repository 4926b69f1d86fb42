"""The messages of a GradcheckError."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.autograd.gradcheck.compare import Block, close
from pullback.autograd.gradcheck.error import Diagnosis, GradcheckError
from pullback.autograd.gradcheck.problem import Problem

__all__ = ["backward_varies", "mismatch_message"]

SHOWN = 6  # rows of the table


def mismatch_message(
    problem: Problem, bad: list[Block], findings: Sequence[tuple[Diagnosis, str]], what: str = "Jacobian mismatch"
) -> str:
    """The message: what disagrees, the worst entries, and the diagnoses. `findings`: pairs of Diagnosis and where."""
    first = bad[0]
    entries = sum(int((~close(problem, b.analytical, b.numerical)).sum()) for b in bad)
    total = sum(b.numerical.size for b in bad)
    output, input_ = problem.name_output(first.output_number), problem.name_input(first.input_number)
    others = "" if len(bad) == 1 else f" (and {len(bad) - 1} other pair{'s' if len(bad) > 2 else ''})"
    tolerance = f"atol={problem.atol:g} + rtol={problem.rtol:g} * |numerical|"
    lines = [
        f"{_part(problem, first)}{what} for {output} with respect to {input_}{others}.",
        f"{entries} of {total} entries differ by more than {tolerance}. The worst:",
        _table(problem, bad),
    ]
    for diagnosis, where in findings:
        lines.append(f"Diagnosis{where}: {diagnosis.text}\n  {diagnosis.advice}")
    if not findings:
        lines.append("None of the usual mistakes fits these numbers: compare the formula with the rows above.")
    return "\n".join(lines)


def _part(problem: Problem, block: Block) -> str:
    """PyTorch's words for the part of a complex output that disagrees; of two, the one that it looks at first."""
    if block.out_dtype.kind != "c":
        return ""
    imaginary = close(problem, block.analytical, block.numerical)[:, block.out_size :]
    return f"While considering the {'real' if imaginary.all() else 'imaginary'} part of complex outputs only, "


def backward_varies(problem: Problem, output: int, i: int, distance: float) -> GradcheckError:
    """The error for a backward that gives different gradients for the same cotangent."""
    from_output = (problem.chosen or range(output + 1))[output]
    diagnosis = Diagnosis(
        "nondeterminism",
        f"two runs of the same backward differ by up to {distance:.3g}.",
        "Look for random numbers, threads, or state that the backward changes (a saved array modified in place); "
        "if a difference of this size is expected, give nondet_tol.",
    )
    number = problem.wrt[i]
    return GradcheckError(
        f"Backward is not reentrant: run twice with the same cotangent of {problem.name_output(from_output)} it gives "
        f"different gradients of {problem.name_input(number)} (nondet_tol={problem.nondet_tol:g}).\n"
        f"Diagnosis: {diagnosis.text}\n  {diagnosis.advice}",
        input_index=number,
        output_index=from_output,
        diagnosis=diagnosis,
    )


def _table(problem: Problem, bad: list[Block]) -> str:
    """The worst entries of all the blocks, one a row."""
    candidates = []
    for block in bad:
        a, n = block.analytical, block.numerical
        with np.errstate(all="ignore"):
            absolute = np.abs(a - n)
        absolute = np.where(close(problem, a, n), -1.0, np.where(np.isnan(absolute), np.inf, absolute))
        for flat in np.argsort(-absolute, axis=None, kind="stable")[:SHOWN]:
            at = np.unravel_index(flat, a.shape)
            if absolute[at] >= 0:
                candidates.append((absolute[at], block, at))
    candidates.sort(key=lambda c: -c[0])
    rows: list[tuple[str, ...]] = [("input", "output", "analytical", "numerical", "absolute", "relative")]
    rows += [_row(block, at) for _, block, at in candidates[:SHOWN]]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)


def _row(block: Block, at: tuple[Any, ...]) -> tuple[str, ...]:
    """One entry of the table."""
    a, n = block.analytical[at], block.numerical[at]
    with np.errstate(all="ignore"):
        absolute, relative = np.abs(a - n), np.abs(a - n) / np.abs(n)
    element = _element(at[0], block.in_shape)
    part, place = divmod(int(at[1]), max(block.out_size, 1))
    out = f"{block.output_number}{_element(place, block.out_shape)}" + (".real", ".imag")[part] * (
        block.out_dtype.kind == "c"
    )
    return (f"{block.input_number}{element}", out, f"{a:.6g}", f"{n:.6g}", f"{absolute:.2g}", f"{relative:.2g}")


def _element(flat: int, shape: tuple[int, ...]) -> str:
    """An index in brackets, nothing for a 0-d array."""
    index = np.unravel_index(flat, shape) if shape else ()
    return "[" + ",".join(str(int(i)) for i in index) + "]" if shape else ""
