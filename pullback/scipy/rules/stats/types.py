"""Types of what the rules of scipy.stats take, for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from scipy.stats import rv_continuous, rv_discrete

# One of SciPy's distributions, or its twin: see interop/adopt/scipy/clones.py.
Distribution: TypeAlias = "rv_continuous | rv_discrete"
