"""Says so where there is no gradient to follow: silence would look like a solution."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from pullback.core.errors import GradientError, IndependentResultWarning
from pullback.core.tensor import ndarray


def watched(name: str, evaluate: Callable[[], Any], gradient: Callable[[], ndarray], steers: bool = True) -> None:
    """`evaluate()`, and an error if its result depends on no parameter at all.

    If it steers the solver there is a warning where its gradient is exactly zero.
    """
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", IndependentResultWarning)
        evaluate()
    lost = [w for w in noted if issubclass(w.category, IndependentResultWarning)]
    flat = not gradient().any()
    if lost and flat:
        text = str(lost[0].message).partition(": ")[2].partition(" Where zero is meant")[0]
        raise GradientError(f"{name}: {text.replace('so the derivative is zero', 'so there is no gradient')}")
    for w in noted:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if flat and steers:
        warnings.warn(
            f"{name}: the gradient at x0 is exactly zero, so that the solver stops there. Either x0 is a stationary "
            "point (start elsewhere), or the function does not change with the parameters except for jumps (round, "
            "floor, sign, comparisons), and a method without derivatives is needed (Nelder-Mead, Powell, COBYQA).",
            RuntimeWarning,
            stacklevel=4,
        )
