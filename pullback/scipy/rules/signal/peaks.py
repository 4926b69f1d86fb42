"""scipy.signal's peaks: which ones there are has no derivative; their heights, prominences and widths have one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import signal

from pullback.core.numpy_types import AnyArray, ArrayLike
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.operands import array, floating, frozen, ops


def _values(x: Any) -> Any:
    return plain(x, lambda tensor: frozen(tensor, "find_peaks")[()])


def _prominences(x: AnyArray, peaks: AnyArray, left: AnyArray, right: AnyArray) -> AnyArray:
    return x[peaks] - ops.maximum(x[left], x[right])


def _widths(
    x: AnyArray, peaks: AnyArray, rel_height: AnyArray | float, prominences: AnyArray, found: Sequence[AnyArray]
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """As `peak_widths` gives them, of which `found` are the plain ones: where the lines of height cross the signal."""
    heights, known = x[peaks] - prominences * rel_height, _values(x)
    crossings = []
    for place, step in ((np.floor(found[2]).astype(int), 1), (np.ceil(found[3]).astype(int), -1)):
        crossed = known[place] < found[1]  # else the line ends at a base, or at an end of the signal
        inner = np.where(crossed, place + step, place)
        rise = np.where(crossed, x[inner] - x[place], 1.0)
        crossings.append(place + step * np.where(crossed, heights - x[place], 0.0) / rise)
    left, right = crossings
    return right - left, heights, left, right


@scipy_rule("scipy.signal.peak_prominences")
def peak_prominences(x: ArrayLike, peaks: ArrayLike, wlen: int | None = None) -> tuple[AnyArray, AnyArray, AnyArray]:
    """How far each peak stands out above the higher of its bases."""
    x = floating(array(x))
    _, left, right = signal.peak_prominences(_values(x), peaks := _values(peaks), _values(wlen))
    return _prominences(x, np.asarray(peaks), left, right), left, right


@scipy_rule("scipy.signal.peak_widths")
def peak_widths(
    x: ArrayLike,
    peaks: ArrayLike,
    rel_height: AnyArray | float = 0.5,
    prominence_data: tuple[ArrayLike, ...] | None = None,
    wlen: int | None = None,
) -> tuple[AnyArray, ...]:
    """(width, height at which it is measured, left end, right end) of each peak."""
    x = floating(array(x))
    if prominence_data is None:
        prominence_data = peak_prominences(x, peaks, wlen)
    data, peaks = _values(prominence_data), _values(peaks)
    found = signal.peak_widths(_values(x), peaks, _values(rel_height), data)
    return _widths(x, np.asarray(peaks), rel_height, array(prominence_data[0]), found)


@scipy_rule("scipy.signal.find_peaks")
def find_peaks(*args: object, **kwargs: object) -> tuple[np.ndarray[Any, Any], dict[str, AnyArray]]:
    """The peaks, plain whole numbers, and their properties; limits that select some have no derivative."""
    given = inspect.signature(signal.find_peaks).bind(*args, **kwargs)
    given.apply_defaults()
    x = floating(array(given.arguments["x"]))
    peaks, found = signal.find_peaks(*_values(given.args), **_values(given.kwargs))
    made = dict(found)
    if "peak_heights" in found:
        made["peak_heights"] = x[peaks]
    if "left_thresholds" in found:
        made["left_thresholds"], made["right_thresholds"] = x[peaks] - x[peaks - 1], x[peaks] - x[peaks + 1]
    if "prominences" in found:
        made["prominences"] = _prominences(x, peaks, found["left_bases"], found["right_bases"])
    if "widths" in found:
        names = ("widths", "width_heights", "left_ips", "right_ips")
        plain_ones = [found[name] for name in names]
        parts = _widths(x, peaks, given.arguments["rel_height"], made["prominences"], plain_ones)
        made.update(zip(names, parts, strict=True))
    return peaks, made
