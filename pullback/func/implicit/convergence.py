"""Refuses what a solver returned if it does not fulfil its condition: it has no derivative to be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import numbers_of
from pullback.core.errors import ConvergenceError, GradientError
from pullback.core.tensor import Tensor

_OF_ARRAY, _OF_ALL = 1e-2, 1e-5  # what of the largest number is the size of one that is 0, or small beside it
_NEAR = 1e-8  # a root at 0 has no size of its own


def found_by(name: str, found: Any) -> Any:
    """The solution in what a solver returned: SciPy's results have it as `x`, and say whether they have succeeded."""
    if isinstance(found, tuple) and len(found) == 2 and _is_of_scalar(found[1]):  # of brentq(full_output=True)
        found = found[1]
    elif isinstance(found, tuple) and len(found) == 4 and isinstance(found[1], dict) and "fvec" in found[1]:
        x, _, number, message = found  # of fsolve(full_output=True), for which 1 is success
        found = {"x": x, "success": number == 1, "message": message}
    if _is_of_scalar(found):  # of root_scalar
        found = {"x": found.root, "success": found.converged, "message": found.flag}
    if not (isinstance(found, dict) and "x" in found and "success" in found):
        return found
    if not found["success"]:
        raise ConvergenceError(f"{name}: the solver did not converge: {found.get('message', 'it gives no reason')}")
    return found["x"]


def _is_of_scalar(found: Any) -> bool:
    return all(hasattr(found, key) for key in ("root", "converged", "flag"))


def check_residual(name: str, what: str, residual: list[Any], scale: Callable[[], list[Any]], tol: float) -> None:
    """Refuse a solution at which the residual is neither small nor small beside what it is the difference of."""
    left = _largest(residual)
    if left <= tol or left <= tol * _largest(scale()):  # nan is refused
        return
    raise ConvergenceError(
        f"{name}: what the solver returned is not a solution: {what} is {left:.3g} there, where it should be 0 "
        f"(tol={tol:g}). Let the solver run longer or start it nearer; if that is small for this condition, pass a "
        "larger tol."
    )


def check_unchanged(name: str, what: str, found: list[Any], before: list[Any], scale: Any = None) -> None:
    """Refuse a function that gives other numbers for the same arguments in backward than it gave in forward.

    `scale()` gives, where it has one, of what size the terms are whose difference a result is.
    """
    for i, (y, z) in enumerate(zip(found, before, strict=True)):
        a, b = (np.asarray(numbers_of(x) if isinstance(x, Tensor) else x) for x in (y, z))
        if np.array_equal(a, b, equal_nan=True):
            continue
        near = np.finfo(b.dtype).eps ** 0.5
        left, size = float(np.abs(a - b).max(initial=0)), float(np.abs(b).max(initial=0))
        if left <= near * size or (scale is not None and left <= near * _largest([scale()[i]])):
            continue
        raise GradientError(
            f"{name}: {what} gives another result in backward than in forward for the same arguments (it differs by "
            f"{left:.3g}), so the derivative would be that of another function. It must depend only on its arguments "
            "and on what it captured at the call: pass what changes while it runs (random numbers, what an iterator "
            "or a file gives) as an argument."
        )


def check_step(name: str, step: list[Any], x: list[Any], tol: float) -> None:
    """Refuse a solution from which a step of Newton's method goes far: only its unit makes the condition small."""
    for u, y in zip(step, x, strict=True):
        length, size = np.ravel(np.abs(u)), np.ravel(np.abs(y))
        allowed = np.maximum(tol * (size + _OF_ARRAY * _largest([y]) + _OF_ALL * _largest(x)), _NEAR)
        if not (length <= allowed).all():
            worst = int(np.argmax(np.where(length <= allowed, -1, length / allowed)))  # nan before all
            raise ConvergenceError(
                f"{name}: what the solver returned is not a solution: a step of Newton's method would move a number of "
                f"size {size[worst]:.3g} by {length[worst]:.3g} (the largest number has size {_largest(x):.3g}, and "
                f"tol={tol:g}). Let the solver run longer or start it nearer; if that is near "
                "enough, pass a larger tol."
            )


def _largest(leaves: list[Any]) -> float:
    return float(np.max([np.max(np.abs(x)) for x in leaves if np.size(x)], initial=0.0))  # nan if one is
