"""scipy.fft's cosine and sine transforms: the orthogonal one, with the weights of other norms before and after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Axes
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array
from pullback.scipy.rules.fft.operators import orthonormal_transform
from pullback.scipy.rules.fft.sizes import resized

_SWAPPED = {1: 1, 2: 3, 3: 2, 4: 4}
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _one(
    x: ArrayLike, kind: str, type: int, n: int | None, axis: int, norm: Any, orthogonalize: bool | None
) -> AnyArray:
    """A transform along one axis."""
    if type not in _SWAPPED:
        raise ValueError(f"invalid transform type: expected 1, 2, 3 or 4, got {type!r}.")
    if norm not in _OPPOSITE:
        raise ValueError(f"invalid norm value {norm!r}: expected 'backward', 'ortho' or 'forward'.")
    x = resized(array(x), n, axis)
    if orthogonalize is None or x.dtype.kind == "c":  # SciPy loses it on its way to the real and imaginary parts
        orthogonalize = norm == "ortho"
    size = x.shape[axis]
    period = 2 * (size + {("dct", 1): -1, ("dst", 1): 1}.get((kind, type), 0))
    before, after = np.ones(size), np.ones(size)
    if not orthogonalize:  # which elements the orthogonal matrix weighs by the root of 2
        if kind == "dct" and type == 1:
            before[[0, -1]], after[[0, -1]] = math.sqrt(0.5), math.sqrt(2)
        elif type in (2, 3):
            (after if type == 2 else before)[0 if kind == "dct" else -1] = math.sqrt(2 if type == 2 else 0.5)
    scale = {"ortho": 1.0, "forward": period**-0.5}.get(norm, period**0.5)
    shape = [1] * x.ndim
    shape[axis] = size
    dtype = np.float32 if x.dtype in (np.float32, np.complex64) else np.float64
    before, after = (w.reshape(shape).astype(dtype) for w in (before, after * scale))
    return orthonormal_transform(x * before, kind, type, axis % x.ndim) * after


def _enter(kind: str, inverse: bool) -> None:
    """The rules of a transform along one axis and along several."""
    name = ("i" if inverse else "") + kind

    def turned(type: int, norm: str | None) -> tuple[int, str | None]:
        return (_SWAPPED.get(type, type), _OPPOSITE.get(norm, norm)) if inverse else (type, norm)

    @scipy_rule(f"scipy.fft.{name}")
    def one(
        x: ArrayLike,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> AnyArray:
        type, norm_ = turned(type, norm)
        return _one(x, kind, type, n, axis, norm_, orthogonalize)

    @scipy_rule(f"scipy.fft.{name}n")
    def several(
        x: ArrayLike,
        type: int = 2,
        s: ArrayLike | None = None,
        axes: Axes = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> AnyArray:
        type, norm_ = turned(type, norm)
        x = array(x)
        sizes = None if s is None else list(np.atleast_1d(s))
        if axes is None:
            axes = range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim)
        axes = list(np.atleast_1d(axes))
        for axis, n in zip(axes, sizes or [None] * len(axes), strict=True):
            x = _one(x, kind, type, None if n is None else int(n), int(axis), norm_, orthogonalize)
        return x


for _kind in ("dct", "dst"):
    for _inverse in (False, True):
        _enter(_kind, _inverse)
