"""NumPy without floating-point warnings, for derivative formulas: they may pass through 0/0 on their way to a result.

    before = warning_state()
    try:
        ignore_warnings()
        ...
    finally:
        restore(before)

is `with np.errstate(...)` in a third of its time, which every backward pays. Each is one step, in the midst of which
no signal's exception can come.
"""

from functools import partial
from typing import Any

import numpy as np

try:  # what np.errstate sets
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:  # not in this version of NumPy
    IGNORE_ALL: Any = ({"all": "ignore"}, None)

    def warning_state() -> Any:
        """NumPy's current settings for floating-point warnings."""
        return np.geterr(), np.geterrcall()

    def restore(before: Any) -> None:
        """Restore settings that `warning_state()` returned."""
        np.seterr(**before[0])
        np.seterrcall(before[1])

    def ignore_warnings() -> None:
        """Switch floating-point warnings off."""
        np.seterr(all="ignore")
else:
    IGNORE_ALL = _make_extobj(all="ignore")
    warning_state = _extobj_contextvar.get
    restore = _extobj_contextvar.set  # type: ignore[assignment]

    ignore_warnings = partial(_extobj_contextvar.set, IGNORE_ALL)  # type: ignore[assignment]  # no warnings from here on
