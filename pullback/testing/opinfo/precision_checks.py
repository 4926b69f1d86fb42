"""Checks that backward keeps its precision: in float32 and less it gives what it gives in double precision."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pullback.core.annotations import DTypeLike
from pullback.testing.opinfo.calls import accepted, function_of, require, result_and_grads, sampling, seeded
from pullback.testing.opinfo.core import OpInfo, Plain, map_arrays

__all__ = ["check_backward"]

UNITS: Final = 64  # of the dtype's precision, of the largest number in the gradients: what they may be away
EXACT: Final = {"f": np.float64, "c": np.complex128}


def check_backward(info: OpInfo, dtype: DTypeLike, samples: int | None = None) -> None:
    """Gradients in that dtype have it, and agree with those of the same numbers in double precision."""
    eps = float(np.finfo(dtype).eps)
    for sample in accepted(info, dtype)[:samples]:
        with sampling(info, sample, dtype):
            args, kwargs = map_arrays(_exact, (sample.args, sample.kwargs))
            seeded(info)
            _, *found = result_and_grads(function_of(info), sample.args, sample.kwargs, True)
            seeded(info)
            _, *wanted = result_and_grads(function_of(info), args, kwargs, True)
            for got in found:
                kept = float(np.finfo(got.dtype).eps) == eps
                require(kept, f"the gradient of an input in {np.dtype(dtype)} is one in {got.dtype}")
            if not info.random:  # whose numbers are others in double precision
                worst = _distance(found, wanted, float(np.finfo(dtype).max) / 2) / eps
                words = f"a gradient is {worst:.0f} units of {np.dtype(dtype)} away from that in double precision"
                require(worst <= UNITS, words)


def _distance(found: list[Any], wanted: list[Any], largest: float) -> float:
    """How far gradients are apart, relative to the largest number in them, where double precision has finite ones."""
    off, scale = 0.0, 1.0
    for got, right in zip(found, wanted, strict=True):
        held = np.isfinite(right) & (np.abs(right) < largest)
        scale = max(scale, float(np.max(np.abs(right[held]), initial=0.0)))
        gaps = np.nan_to_num(np.abs(got.astype(right.dtype) - right)[held], nan=np.inf)
        off = max(off, float(np.max(gaps, initial=0.0)))
    return off / scale


def _exact(x: Any) -> Any:
    if isinstance(x, Plain) or x.dtype.kind not in EXACT:
        return x
    return x.astype(EXACT[x.dtype.kind])  # a subclass stays: what is an input stays one
