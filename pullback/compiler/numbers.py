"""A look at the numbers of results: NaN, differences beyond rounding, a few of them in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.errors import with_article
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor, ndarray

_NUMBERS = (ndarray, np.generic)


def in_words(x: Any) -> str:
    """A number or an array in one short line."""
    text = np.array2string(x, threshold=6, precision=4) if type(x) is ndarray else repr(x)
    text += "0" * text.endswith(".")  # as Python writes a number
    return text if len(text) < 60 else f"{text[:57]}..."


def differs(a: Any, b: Any, given: Sequence[Any] = (), faces: bool = True) -> str:
    """How two results differ by more than rounding, in words; "" if they do not. They are of the arguments `given`.

    Without `faces` a Tensor is compared with the array in it.
    """
    (one, form), (other, other_form) = flatten(a), flatten(b)
    if form != other_form or len(one) != len(other):
        return "results that are built differently"
    for x, y in zip(one, other, strict=True):
        if faces and isinstance(x, Tensor) is not isinstance(y, Tensor):
            return f"{with_article(x)} for {with_article(y)}"
        x, y = (t.detach().numpy() if isinstance(t, Tensor) else t for t in (x, y))
        if any(issubclass(type(t), (ndarray, np.generic)) for t in (x, y)):
            x, y = np.asarray(x), np.asarray(y)
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"an array of shape {x.shape}, {x.dtype}, for one of shape {y.shape}, {y.dtype}"
            if not _close(x, y) and not _close(x, y, _size_of_sums(given)):
                return f"{in_words(x)} for {in_words(y)}"
        elif x is not y and x != y:
            return f"{x!r} for {y!r}"
    return ""


def _close(x: ndarray, y: ndarray, size: float = 0.0) -> bool:
    """True if each number is equal to the other but for rounding, among numbers of this size at least."""
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    tolerance = float(np.finfo(x.dtype).eps) ** 0.75
    with np.errstate(all="ignore"):
        size = max(size, _largest(y))
        return bool(np.isclose(x, y, rtol=tolerance, atol=tolerance * size, equal_nan=True).all())


def _size_of_sums(given: Sequence[Any]) -> float:
    """Of what size sums of the numbers given may have been on the way, where they cancel in the end."""
    arrays = [np.asarray(x._array if isinstance(x, Tensor) else x) for x in given if isinstance(x, (Tensor, *_NUMBERS))]
    return max((_largest(x) * float(np.sqrt(x.size)) for x in arrays if x.dtype.kind in "fc"), default=0.0)


def _largest(x: ndarray) -> float:
    return float(np.abs(x[np.isfinite(x)]).max(initial=0.0))
