"""SciPy's solve_ivp on leaves: how it is to run, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from scipy.optimize import OptimizeResult

from pullback.core.errors import ConvergenceError, GradientError
from pullback.func.implicit.flat import Layout
from pullback.func.implicit.functions import without_capture
from pullback.func.implicit.linear_maps import Leaves

Slope = Callable[[Leaves, Any, Leaves], Leaves]  # dy/dt = slope(y, t, args)
_GROWTH = 1e3  # of errors on the way back


class Integrator(NamedTuple):
    """How SciPy's solve_ivp is to run."""

    name: str
    method: str
    rtol: float
    atol: Any  # a number, or one for each real number of y
    left: list[int] | None = None  # how often slopes may still be evaluated

    def run(self, slope: Slope, y0: Leaves, t: Any, args: Leaves, every_step: bool = False, **options: Any) -> Any:
        """(what solve_ivp has found on plain arrays at times t or after every step, the layout of y in it)."""
        layout = Layout(y0, f"{self.name}: y0")
        first = [without_capture(d, self.name, "slope f") for d in slope(y0, t[0], args)]
        if [np.shape(d) for d in first] != layout.shapes:
            raise GradientError(
                f"{self.name}: f must give dy/dt like y, with arrays of shapes {layout.shapes}, got "
                f"{[np.shape(d) for d in first]}."
            )

        def flat(at: float, y: Any) -> Any:
            if self.left is not None:
                self.left[0] -= 1
                if self.left[0] < 0:
                    raise ConvergenceError(f"{why}: the slope was evaluated too often.")
            found = slope(layout.unravel(y), at, args)
            return layout.ravel([without_capture(d, self.name, "slope f") for d in found])

        ends, options = (float(t[0]), float(t[-1])), {"rtol": self.rtol, "atol": self.atol, **options}
        start = layout.ravel(y0)
        if ends[0] == ends[1]:
            resting = np.repeat(start[:, None], len(t), 1)
            return OptimizeResult(y=resting, t=t, sol=lambda _: start, nfev=0), layout
        once = np.append(True, np.diff(t) != 0)  # SciPy wants each time once
        why = f"{self.name}: {self.method} stopped between t={ends[0]} and {ends[1]}"
        try:
            found = scipy.integrate.solve_ivp(
                flat, ends, start, self.method, None if every_step else np.asarray(t)[once], **options
            )
        except ValueError as error:
            if "infs or NaNs" not in str(error):  # what linear algebra says in the implicit methods
                raise
            raise ConvergenceError(f"{why}: the solution or its slope has become infinite or nan.") from error
        if found.status != 0:
            raise ConvergenceError(f"{why}: {found.message}")
        if not every_step:
            found.y = found.y[:, np.cumsum(once) - 1]
        return found, layout

    def near(self, found: Leaves, expected: Leaves, beside: Leaves) -> bool:
        """True if y at a time is what it is known to be, to what the tolerances and some growth of errors leave."""
        size = max((float(np.abs(y).max()) for y in (*expected, *beside) if np.size(y)), default=0.0)
        allowed = _GROWTH * (np.max(self.atol) + self.rtol * size)
        return all(np.abs(a - b).max(initial=0) <= allowed for a, b in zip(found, expected, strict=True))
