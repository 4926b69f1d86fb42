"""scipy.fft's Fourier transforms: NumPy's, whose rules are the package's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.numpy_types import AnyArray, ArrayLike, Axes
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.operands import array

_OPPOSITE: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _enter(name: str) -> None:
    transform = getattr(np.fft, name)
    if name.endswith("n"):

        @scipy_rule(f"scipy.fft.{name}")
        def several(
            x: ArrayLike,
            s: Sequence[int] | None = None,
            axes: Axes = None,
            norm: str | None = None,
            overwrite_x: bool = False,
            workers: int | None = None,
            *,
            plan: object = None,
        ) -> AnyArray:
            x = array(x)
            return transform(x, s, _axes(x, s, axes), norm)

    elif name.endswith("2"):

        @scipy_rule(f"scipy.fft.{name}")
        def two(
            x: ArrayLike,
            s: Sequence[int] | None = None,
            axes: Axes = (-2, -1),
            norm: str | None = None,
            overwrite_x: bool = False,
            workers: int | None = None,
            *,
            plan: object = None,
        ) -> AnyArray:
            return transform(array(x), s, axes, norm)

    else:

        @scipy_rule(f"scipy.fft.{name}")
        def one(x: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
                workers: int | None = None, *, plan: object = None) -> AnyArray:  # fmt: skip
            return transform(array(x), n, axis, norm)


for _name in (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn",
):  # fmt: skip
    _enter(_name)


@scipy_rule("scipy.fft.hfftn")
def hfftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> AnyArray:
    """The transform of a Hermitian signal in several dimensions."""
    x = array(x)
    return np.fft.irfftn(np.conj(x), s, _axes(x, s, axes), _OPPOSITE[norm])


@scipy_rule("scipy.fft.ihfftn")
def ihfftn(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> AnyArray:
    """The inverse of hfftn."""
    x = array(x)
    return np.conj(np.fft.rfftn(x, s, _axes(x, s, axes), _OPPOSITE[norm]))


@scipy_rule("scipy.fft.hfft2")
def hfft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> AnyArray:
    """The same in two dimensions."""
    return hfftn(x, s, axes, norm)


@scipy_rule("scipy.fft.ihfft2")
def ihfft2(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Axes = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> AnyArray:
    """The inverse of hfft2."""
    return ihfftn(x, s, axes, norm)


@scipy_rule("scipy.fft.fftshift")
def fftshift(x: ArrayLike, axes: Axes = None) -> AnyArray:
    """The zero frequency moved to the middle."""
    return np.fft.fftshift(array(x), axes)


@scipy_rule("scipy.fft.ifftshift")
def ifftshift(x: ArrayLike, axes: Axes = None) -> AnyArray:
    """The inverse of fftshift."""
    return np.fft.ifftshift(array(x), axes)


def _axes(x: AnyArray, s: Sequence[int] | None, axes: Axes) -> Any:
    """The last axes where only sizes are given, as SciPy has it."""
    return tuple(range(x.ndim - len(s), x.ndim)) if axes is None and s is not None else axes
