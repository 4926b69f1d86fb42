"""A look at the numbers of results: NaN, differences beyond rounding, a few of them in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray


def has_nan(x: Any) -> bool:
    """True if an array or a number holds a NaN; of one with infinities it may say so too."""
    if not x.ndim or not x.flags.c_contiguous:
        return bool(np.isnan(x).any())
    x = x.reshape(-1)
    square = np.vdot(x, x)  # a tenth of the time of isnan
    return bool(square != square)  # noqa: PLR0124


def in_words(x: Any) -> str:
    """A number or an array in one short line."""
    text = np.array2string(x, threshold=6, precision=4) if type(x) is ndarray else repr(x)
    return text if len(text) < 60 else f"{text[:57]}..."


def differs(a: Any, b: Any) -> str:
    """How two results differ by more than rounding, in words; "" if they do not."""
    (one, form), (other, other_form) = flatten(a), flatten(b)
    if repr(form) != repr(other_form) or len(one) != len(other):
        return "the results are built differently"
    for x, y in zip(one, other, strict=True):
        x, y = (t.detach().numpy() if isinstance(t, Tensor) else t for t in (x, y))
        if any(issubclass(type(t), (ndarray, np.generic)) for t in (x, y)):
            x, y = np.asarray(x), np.asarray(y)
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"an array of shape {x.shape}, {x.dtype}, for one of shape {y.shape}, {y.dtype}"
            if not _close(x, y):
                return f"{in_words(x)} for {in_words(y)}"
        elif x is not y and x != y:
            return f"{x!r} for {y!r}"
    return ""


def _close(x: ndarray, y: ndarray) -> bool:
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    tolerance = float(np.finfo(x.dtype).eps) ** 0.75
    with np.errstate(all="ignore"):
        size = np.abs(y[np.isfinite(y)]).max(initial=0.0)
        return bool(np.isclose(x, y, rtol=tolerance, atol=tolerance * float(size), equal_nan=True).all())
