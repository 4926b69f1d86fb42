"""solve_ivp by an explicit method whose slope is a program: all steps run in machine code, as SciPy takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate._ivp.ivp import OdeResult

from pullback.core.tensor import ndarray
from pullback.func.implicit.linear_maps import Leaves
from pullback.func.loops.rounds import bare
from pullback.func.repeated import Loan, Repeated, Stream

METHODS = {"RK23": scipy.integrate.RK23, "RK45": scipy.integrate.RK45, "DOP853": scipy.integrate.DOP853}
_USES, _CALLS = 4, 6  # derivatives, after which the next ones make a program; calls that it takes to make one
_DONE = "The solver successfully reached the end of the integration interval."  # as SciPy says it


class Interpolation:
    """y at any time between the first and the last, by the interpolant of the method, as SciPy's `OdeSolution`."""

    def __init__(self, method: Any, ts: ndarray, ys: ndarray, slopes: ndarray) -> None:
        self.ts, self._ys = ts, ys
        self.t_min, self.t_max = min(ts[0], ts[-1]), max(ts[0], ts[-1])
        self._forward, self._lengths = ts[-1] >= ts[0], np.diff(ts)
        self._product = hasattr(method, "D")  # of DOP853; of the others it is a polynomial
        h = self._lengths[:, None]
        if self._product:
            moved, stages = np.diff(ys, axis=0), method.n_stages
            first = [moved, h * slopes[:, 0] - moved, 2 * moved - h * (slopes[:, stages] + slopes[:, 0])]
            self._parts = [*first, *(h[None] * np.tensordot(method.D, slopes, (1, 1)))]
        else:
            self._parts = [*(h[None] * np.tensordot(method.P.T, slopes, (1, 1)))]

    def __call__(self, t: Any) -> ndarray:
        """Of shape (numbers,) at a time, (numbers, times) at several."""
        t = np.asarray(t)
        at = t.reshape(-1)
        ordered, wanted = (self.ts, at) if self._forward else (-self.ts, -at)
        nr = np.clip(np.searchsorted(ordered, wanted) - 1, 0, len(self._lengths) - 1)
        x = ((at - self.ts[nr]) / self._lengths[nr])[:, None]
        total = np.zeros((len(at), self._ys.shape[1]))
        for place, part in enumerate(reversed(self._parts)):
            total += part[nr]
            total *= x if not self._product or place % 2 == 0 else 1 - x
        total += self._ys[nr]
        return total.T if t.ndim else total[0]


def solved(
    slope: Repeated, method: Any, span: tuple[float, float], y0: Any, args: Leaves, options: dict[str, Any]
) -> Any:
    """The result of solve_ivp with `dense_output`, where the slope(t, y, *args) is machine code, else None.

    None too where SciPy is to say what is wrong: the steps become too short, or a number is not finite.
    """
    found = _advanced(slope, method, (span[0], [span[1]]), y0, args, options)
    if found is None:
        return None
    solver, ((times, values, slopes),) = found
    ts, ys = np.append(span[0], times), np.concatenate([y0[None], values])
    return OdeResult(
        t=ts, y=ys.T, sol=Interpolation(method, ts, ys, slopes), t_events=None, y_events=None, nfev=solver.nfev, njev=0,
        nlu=0, status=0, message=_DONE, success=True,
    )  # fmt: skip


def stepped(slope: Repeated, method: Any, times: Sequence[float], y0: Any, args: Leaves, **options: Any) -> Any:
    """y at each of these times, which end a step; None as of `solved`."""
    found = _advanced(slope, method, (times[0], times[1:]), y0, args, options)
    return None if found is None else np.stack([y0, *(values[-1] for _, values, _ in found[1])])


def _advanced(
    slope: Repeated, method: Any, span: tuple[float, Sequence[float]], y0: Any, args: Leaves, options: dict[str, Any]
) -> Any:
    """(SciPy's solver, times, values and slopes of the steps to each end), or None."""
    given = [*map(bare, args)]
    code = slope.rounds([np.float64(span[0]), y0, *given], [0])
    if code is None or isinstance(code, str):
        return None
    solver = method(lambda t, y: slope(np.float64(t), y, *given), span[0], y0, span[1][-1], **options)
    found = code.solution(solver, [Stream(x) for x in args], span[1])
    if found is None or not all(np.isfinite(values).all() for _, values, _ in found):
        return None
    return solver, found


def warmed(slope: Repeated, loan: Loan | None, t: float, y0: Any, args: Leaves) -> bool:
    """True if a slope that only machine code calls is worth it, and has been called so often that there may be some."""
    if loan is None or (not loan.programs and not slope.at_once and not _USES < loan.uses <= 2 * _USES):
        return False
    slope.begin()
    for _ in range(_CALLS):
        if slope.rounds([np.float64(t), y0, *map(bare, args)], [0]) is not None:
            break
        slope(np.float64(t), y0, *map(bare, args))
    return True
