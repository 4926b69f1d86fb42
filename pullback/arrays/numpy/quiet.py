"""NumPy without floating-point warnings, for derivative formulas: they may pass through 0/0 on their way to a result.

    before = warnings()
    try:
        silence()
        ...
    finally:
        restore(before)

is `with np.errstate(...)` in a third of its time, which every backward pays. Each is one step, in the midst of which
no signal's exception can come.

Silent is not unheard: 0/0, 0*inf and their like put the thread into `careful`, where it stays until `calm`; see
`pullback.arrays.zero_directions`.
"""

from threading import get_ident
from typing import Any

import numpy as np

# The threads that have met an invalid operation, or expect NaNs, since they were silenced. Almost always empty, which
# is all that is asked on a hot path.
careful: set[int] = set()


def _heard(error: str, flag: int) -> None:
    careful.add(get_ident())


try:  # what np.errstate sets
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:  # not in this version of NumPy
    _SILENT: Any = ({"divide": "ignore", "over": "ignore", "under": "ignore", "invalid": "call"}, _heard)

    def warnings() -> Any:
        """How NumPy warns at present."""
        return np.geterr(), np.geterrcall()

    def restore(before: Any) -> None:
        """Back to how it was."""
        np.seterr(**before[0])
        np.seterrcall(before[1])

    def hush() -> None:
        """No warnings from here on, and nobody listens."""
        np.seterr(all="ignore")

    def silence() -> None:
        """No warnings from here on."""
        restore(_SILENT)
else:
    _SILENT = _make_extobj(all="ignore", invalid="call", call=_heard)
    warnings = _extobj_contextvar.get
    restore = _extobj_contextvar.set

    _HUSHED = _make_extobj(all="ignore")

    def silence() -> None:
        """No warnings from here on."""
        _extobj_contextvar.set(_SILENT)

    def hush() -> None:
        """No warnings from here on, and nobody listens."""
        _extobj_contextvar.set(_HUSHED)


def is_careful() -> bool:
    """Whether this thread has met an invalid operation, or expects NaNs."""
    return bool(careful) and get_ident() in careful


def expect_nans() -> None:
    """Let a backward or a forward derivative that is under way look out for NaNs from here on."""
    if warnings() == _SILENT:
        careful.add(get_ident())


def calm() -> None:
    """Forget what this thread has met."""
    careful.discard(get_ident())
