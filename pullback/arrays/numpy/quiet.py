"""NumPy without floating-point warnings, for backward formulas: they may pass through 0/0 on their way to a result.

    before = warnings()
    try:
        silence()
        ...
    finally:
        restore(before)

is `with np.errstate(all="ignore")` in a third of its time, which every backward pays. Each is one step, in the midst of
which no signal's exception can come.
"""

from functools import partial
from typing import Any

import numpy as np

try:  # what np.errstate sets
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:  # not in this version of NumPy
    warnings = np.geterr
    silence = partial(np.seterr, all="ignore")

    def restore(before: Any) -> None:
        """Back to how it was."""
        np.seterr(**before)
else:
    warnings = _extobj_contextvar.get
    silence = partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    restore = _extobj_contextvar.set
