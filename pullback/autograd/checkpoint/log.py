"""The log of operators that ran and where, for the error when a recomputation differs from the forward pass."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from pullback.autograd.checkpoint.frame import CheckpointError, PartOfCheckpoint
from pullback.core.cuts import PACKAGE
from pullback.core.modes import Modes
from pullback.core.tensor import Tensor


class OperatorLog(PartOfCheckpoint):
    """Context manager: writes down each operator with what it was given and the line that called it."""

    watches_operators = True

    def __init__(self) -> None:
        self.operators: list[str] = []
        self.lines: list[str] = []

    def _changed(self, modes: Modes) -> Modes:
        self.operators.clear()
        self.lines.clear()
        return super()._changed(modes)

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        self.operators.append(f"{name}({', '.join(map(_shown, args))})")
        self.lines.append(_users_line())
        return run()


class Comparison:
    """The logs of a forward pass and of its recomputation."""

    def __init__(self) -> None:
        self.forward, self.again = OperatorLog(), OperatorLog()

    def explain(self, error: CheckpointError) -> CheckpointError:
        """The error with both logs side by side, and the first difference at its end."""
        rows, first = [], "none: the operators were the same"
        forward = list(zip(self.forward.operators, self.forward.lines, strict=True))
        again = list(zip(self.again.operators, self.again.lines, strict=True))
        for nr, ((was, line), (now, line_again)) in enumerate(zip_longest(forward, again, fillvalue=_NOTHING)):
            if was == now:
                rows.append(f"  {nr}: {was} {line}")
                continue
            rows += [f"  {nr}: forward      {was} {line}".rstrip(), f"     recomputed   {now} {line_again}".rstrip()]
            if first.startswith("none"):
                first = f"operator {nr} was {was} {line} and then {now} {line_again}".rstrip()
        return CheckpointError("\n".join([str(error), "Operators that ran:", *rows, f"The first difference: {first}."]))


# The recomputation also ends as soon as it has what it needs, unless early_stop=False.
_NOTHING = ("nothing", "")


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{value.shape}"
    return repr(value)


def _users_line() -> str:
    """Where the operator was called: the innermost line outside the package."""
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(PACKAGE):
            return f"at {frame.filename}:{frame.lineno}"
    return ""
