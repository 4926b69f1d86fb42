"""The slope of a function of one number at 0, from its values: how accurate, and whether there is one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_FACTOR = 4.0  # from step to step
_APART = 0.02  # of a slope: by how much another one is another
_ALIKE_WIDE = 0.1  # of what sets two slopes apart: how far differences may spread that show one of them
_SIDES = np.array([1.0, 0.77, 0.53, 0.31])  # of a large step: where it is looked
_ALIKE = 0.15  # how far the logarithms of ratios may spread that belong to one power of the step


_FEWEST = 0.25  # of what sets two slopes apart on the way to the sides: how high a jump may be of several
_HALVINGS = 36


@dataclass(frozen=True)
class Slope:
    """The slope that differences give.

    Attributes
    ----------
    value, error : float
        The slope, and how far it may be off; nan where there is none.
    kind : str
        "smooth"; "kink": other slopes on the two sides; "steep": the slope grows without bound; "jump"; "edge": the
        function has no values on one side; "undefined": it has none nearby; "noisy": no step gives a digit.
    left, right : float
        The slopes on the two sides, of a kink.
    bend : float
        By how much these differ at a step of middle size.
    """

    value: float
    error: float
    kind: str
    left: float = math.nan
    right: float = math.nan
    bend: float = math.nan


def slope_of(g: Callable[[float], float], scale: float, accuracy: float) -> Slope:
    """The slope of `g` at 0; `scale` is the size of a step that is not small, `accuracy` that of the values."""
    middle = g(0.0)
    count = 11 if accuracy < 1e-12 else 6
    first = 1e-2 if accuracy < 1e-12 else 1e-1
    steps = [scale * first * _FACTOR**-k for k in range(count)]
    values = [(h, g(h), g(-h)) for h in steps]
    whole = [(h, a, b) for h, a, b in values if math.isfinite(a) and math.isfinite(b)]
    if len(whole) < 4 or not math.isfinite(middle):
        sides = [any(math.isfinite(v[i]) for v in values[-4:]) for i in (1, 2)]
        return Slope(math.nan, math.nan, "edge" if any(sides) and math.isfinite(middle) else "undefined")
    central = [(a - b) / (2 * h) for h, a, b in whole]
    gaps = [(a + b - 2 * middle) / h for h, a, b in whole]
    size = max(max(abs(a), abs(b)) for _, a, b in whole)
    floor = [64 * accuracy * size / h for h, _, _ in whole]
    value, error = _extrapolated(central, [f / 32 for f in floor])
    if (power := _power(central, floor)) is not None and power > 0.2:
        return Slope(value, math.inf, "jump" if power > 0.85 else "steep")
    if (power := _power(gaps, floor)) is not None and power > -0.15:
        i = _last_above(gaps, floor)
        kind = "jump" if power > 0.85 else "steep" if power > 0.2 else "kink"
        if kind != "kink" or abs(gaps[i]) > 1e-6 * max(abs(central[i]), 1e-300):
            return Slope(value, math.inf, kind, central[i] - gaps[i] / 2, central[i] + gaps[i] / 2)
    error = max(error, floor[0])
    largest = max(abs(value), abs(central[0]), floor[0])
    kind = "noisy" if error > 0.05 * largest and error > 100 * min(floor) else "smooth"
    return Slope(value, error, kind, bend=abs(gaps[len(gaps) // 2 - 1]))


def slope_of_steps(g: Callable[[float], float], scale: float, slope: float, accuracy: float) -> float | None:
    """The slope of `g` at large steps, if it is another than `slope`, and `g` follows its argument by many small jumps.

    So it is with what a bisection finds, or a search on a grid. Between the jumps any difference says `slope`.
    """
    before = math.nan
    for h in (scale * 0.1 * 10 ** (-k / 2) for k in range(9)):
        places = h * np.concatenate([_SIDES, -_SIDES])
        values = np.array([g(t) for t in places])
        found = float(places @ values / (places @ places))  # of the straight line that fits best
        apart, spread, before = abs(found - slope), abs(found - before), found
        if not apart > _APART * max(abs(found), abs(slope)) or not spread < _ALIKE_WIDE * apart:
            continue
        if not np.ptp(values - found * places) < _FEWEST * apart * h:
            continue
        jump, width = _largest_jump(g, slope, -h, h)
        if jump > 10 * apart * width and jump > 64 * accuracy * max(abs(g(h)), abs(g(-h))):
            return found
    return None


def _largest_jump(g: Callable[[float], float], slope: float, low: float, high: float) -> tuple[float, float]:
    """(by how much `g` leaves a straight line between two places, how near these are), halved where it does most."""
    ends = g(low), g(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        value = g(middle)
        left, right = (abs(b - a - slope * (middle - low)) for a, b in ((ends[0], value), (value, ends[1])))
        low, high, ends = (low, middle, (ends[0], value)) if left > right else (middle, high, (value, ends[1]))
    return abs(ends[1] - ends[0] - slope * (high - low)), high - low


def _extrapolated(central: list[float], rounding: list[float]) -> tuple[float, float]:
    """Richardson's extrapolation of central differences, and by how much its best two entries differ (Ridders).

    Entries that rounding has made alike are no better than rounding.
    """
    best, error = central[0], math.inf
    before: list[float] = []
    for d, least in zip(central, rounding, strict=True):
        row = [d]
        for j, old in enumerate(before[:4], start=1):
            weight = _FACTOR ** (2 * j)
            row.append((weight * row[-1] - old) / (weight - 1))
            off = max(abs(row[-1] - row[-2]), abs(row[-1] - old), least)
            if off < error:
                best, error = row[-1], off
        before = row
    return best, error


def _power(series: list[float], floor: list[float]) -> float | None:
    """p where the series goes as h**-p at its smallest steps above rounding, if it goes by a power at all there."""
    end = _last_above(series, floor)
    if end < 3:
        return None
    tail = series[end - 3 : end + 1]
    if len({np.sign(x) for x in tail}) > 1 or not all(map(math.isfinite, tail)):
        return None
    ratios = [math.log(abs(b / a), _FACTOR) for a, b in pairwise(tail)]
    return float(np.mean(ratios)) if max(ratios) - min(ratios) < _ALIKE else None


def _last_above(series: list[float], floor: list[float]) -> int:
    above = [i for i, (x, f) in enumerate(zip(series, floor, strict=True)) if abs(x) > 8 * f]
    return above[-1] if above else -1
