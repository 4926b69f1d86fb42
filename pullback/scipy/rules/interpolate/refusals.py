"""The error for what has no derivative."""

from __future__ import annotations

from pullback.core.errors import UnsupportedError
from pullback.explain.call_site import call_site

SMOOTHING = (
    "FITPACK finds the knots and the smoothing factor of a smoothing spline (s > 0) by a search, which ends when it "
    "is near enough. So the spline has no derivative with respect to the data"
)


def refused(name: str, why: str, remedy: str) -> UnsupportedError:
    """It says that scipy.interpolate.`name` has no derivative and why, the line that called it, and what to write."""
    return UnsupportedError(f"scipy.interpolate.{name}: {why}.{call_site().where()}{remedy}.")
