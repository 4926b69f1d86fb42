"""A step length that satisfies the strong Wolfe conditions, chosen as in PyTorch's LBFGS.

Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 3.5 (bracketing) and 3.6 (zoom), with steps by the
cubic that has both ends' values and slopes (eq. 3.59). Constants and safeguards are those of Schmidt's minFunc, which
PyTorch has too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pullback.core.tensor import ndarray

ENOUGH_DECREASE, ENOUGH_CURVATURE = 1e-4, 0.9


class Trial(NamedTuple):
    """A point on the line: the step to it, the loss there, the gradient, and its slope along the direction."""

    t: float
    loss: float
    grad: ndarray
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Trial], start: Trial, t: float, length: float, tolerance: float, most: int
) -> tuple[Trial, int]:
    """A trial that lowers the loss enough and has lost enough of the slope, and how many evaluations it took.

    `start` is the trial at step 0, `t` the first step, `length` the largest entry of the direction, `tolerance` the
    change of a parameter below which the search ends, and `most` how many steps may follow the first.
    """

    def rises(trial: Trial) -> bool:
        return trial.loss > start.loss + ENOUGH_DECREASE * trial.t * start.slope

    def is_flat(trial: Trial) -> bool:
        return abs(trial.slope) <= -ENOUGH_CURVATURE * start.slope

    last, trial, steps = start, evaluate(t), 0
    while steps < most:  # until two trials have a good one between them
        if rises(trial) or (steps > 1 and trial.loss >= last.loss):
            break
        if is_flat(trial):
            return trial, steps + 1
        if trial.slope >= 0:
            break
        t = _cubic_step(last, trial, trial.t + 0.01 * (trial.t - last.t), trial.t * 10)
        last, trial, steps = trial, evaluate(t), steps + 1
    else:
        last = start

    low, high = (last, trial) if last.loss <= trial.loss else (trial, last)
    close = False  # whether the last step came close to an end
    while steps < most and abs(high.t - low.t) * length >= tolerance:
        left, right = sorted((low.t, high.t))
        t, margin = _cubic_step(low, high, left, right), 0.1 * (right - left)
        was_close, close = close, min(right - t, t - left) < margin
        if close and (was_close or t >= right or t <= left):
            t, close = (right - margin if right - t < t - left else left + margin), False
        trial, steps = evaluate(t), steps + 1
        if rises(trial) or trial.loss >= low.loss:
            low, high = (low, trial) if low.loss <= trial.loss else (trial, low)
        elif is_flat(trial):
            low = trial
            break
        else:
            low, high = trial, low if trial.slope * (high.t - low.t) >= 0 else high
    return low, steps + 1


def _cubic_step(a: Trial, b: Trial, least: float, most: float) -> float:
    """Where the cubic through both values and slopes is least, between two bounds."""
    if a.t > b.t:
        a, b = b, a
    d = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d * d - a.slope * b.slope
    if square < 0:
        return (least + most) / 2
    root = square**0.5
    return float(min(max(b.t - (b.t - a.t) * ((b.slope + root - d) / (b.slope - a.slope + 2 * root)), least), most))
