"""NumPy without floating-point warnings, for backward formulas: they may pass through 0/0 on their way to a result."""

from typing import Any

import numpy as np

try:  # what np.errstate does, in less than half of its time: every backward pays for it
    from numpy._core.umath import _extobj_contextvar, _make_extobj
except ImportError:  # not in this version of NumPy

    class quiet:
        """np.errstate(all="ignore"), which cannot be entered twice."""

        def __enter__(self) -> None:
            self._state = np.errstate(all="ignore")
            self._state.__enter__()

        def __exit__(self, *exception: Any) -> None:
            self._state.__exit__(*exception)
else:
    _IGNORE = _make_extobj(all="ignore")

    class quiet:
        """np.errstate(all="ignore")."""

        __slots__ = ("_token",)

        def __enter__(self) -> None:
            self._token = _extobj_contextvar.set(_IGNORE)

        def __exit__(self, *_: object) -> None:
            _extobj_contextvar.reset(self._token)
