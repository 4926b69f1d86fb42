"""Bounds of parameters, given as SciPy's or as trees built like the parameters, as two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds

from pullback.core.errors import GradientError
from pullback.core.numpy_types import ArrayLike
from pullback.core.pytree import tree_flatten, tree_unflatten
from pullback.core.tensor import ndarray
from pullback.optimize.parameters import Parameters


class _Pair:
    """The bounds of a leaf, or of all leaves of a part."""

    __slots__ = ("limits",)

    def __init__(self, limits: Any) -> None:
        self.limits = limits


def pair_of_trees(parameters: Parameters, bounds: Any) -> Bounds | None:
    """SciPy's `(lower, upper)` of least_squares and curve_fit; of trees too, and what `tree_of_pairs` takes."""
    if isinstance(bounds, (Bounds, dict)):
        return tree_of_pairs(parameters, bounds)
    if bounds is None:
        return None
    if len(bounds) != 2:
        raise ValueError(f"{parameters.name}: bounds must be (lower, upper), got {len(bounds)} entries.")
    return _scaled(parameters, *bounds)


def tree_of_pairs(parameters: Parameters, bounds: Any) -> Bounds | None:
    """SciPy's bounds of minimize, `Bounds` or a pair for each parameter; or a tree with a pair for each leaf."""
    if bounds is None:
        return None
    if isinstance(bounds, Bounds):
        # A tree is held by SciPy's class as the one object of an array.
        lower, upper = (_unpacked(x) for x in (bounds.lb, bounds.ub))
        return _scaled(parameters, lower, upper, bounds.keep_feasible)
    if parameters.bare:
        pairs = list(bounds)
        if len(pairs) != parameters.size or any(np.size(pair) != 2 for pair in pairs):
            raise ValueError(
                f"{parameters.name}: bounds must be a pair (lower, upper) for each of the {parameters.size} parameters."
            )
        lower, upper = ([pair[side] for pair in pairs] for side in (0, 1))
        return _scaled(
            parameters,
            [-np.inf if x is None else x for x in lower],
            [np.inf if x is None else x for x in upper],
        )
    found, spec = tree_flatten(bounds, is_leaf=_is_pair)
    if not all(map(_is_pair, found)):
        raise ValueError(
            f"{parameters.name}: bounds must be a tree like x0 with a pair (lower, upper) in the place of each array, "
            "None for no bound."
        )
    lower, upper = np.full(parameters.size, -np.inf), np.full(parameters.size, np.inf)
    tree = tree_unflatten([_Pair(x) for x in found], spec)
    for place, pair, path in parameters.places(tree, "bounds", (_Pair,)):
        for limits, given in zip((lower, upper), pair.limits, strict=True):
            if given is not None:
                _put(parameters, limits, place, given, path)
    return _scaled(parameters, lower, upper)


def _put(parameters: Parameters, limits: ndarray, place: ndarray, given: object, path: str) -> None:
    try:
        limits[place] = np.asarray(given, np.float64)
    except ValueError:
        raise ValueError(
            f"{parameters.name}: {path} must hold numbers or arrays of the shape {place.shape}, got {given!r}."
        ) from None


def _scaled(parameters: Parameters, lower: object, upper: object, keep_feasible: ArrayLike = False) -> Bounds:
    low = parameters.spread(lower, "the lower bounds", -np.inf)
    high = parameters.spread(upper, "the upper bounds", np.inf)
    if (low > high).any():
        at = int(np.argmax(low > high))
        raise ValueError(
            f"{parameters.name}: the lower bound {low[at]:g} of parameter {at} is above its upper bound {high[at]:g}."
        )
    if parameters.scale is not None:
        low, high = low / parameters.scale, high / parameters.scale
    return Bounds(low, high, keep_feasible)


def _unpacked(limits: Any) -> Any:
    return limits[0] if limits.dtype == object and limits.size == 1 else limits


def _is_pair(x: object) -> bool:
    if not isinstance(x, (tuple, list)) or len(x) != 2 or hasattr(x, "_fields"):
        return False
    return all(y is None or issubclass(type(y), (int, float, np.generic, np.ndarray)) for y in x)


def held(parameters: Parameters, bounds: Bounds | None, z: ndarray) -> ndarray:
    """Which parameters are at a bound, as far as numbers tell."""
    if bounds is None:
        return np.zeros(parameters.size, bool)
    near = 1e-8 * np.maximum(1, np.abs(z))
    return np.asarray((z - bounds.lb <= near) | (bounds.ub - z <= near))


def refuse_held(parameters: Parameters, bounds: Bounds | None, z: ndarray) -> None:
    """Refuse to differentiate a solution that a bound holds."""
    count = int(held(parameters, bounds, z).sum())
    if count:
        raise GradientError(
            f"{parameters.name}: args are being differentiated, and {count} parameters are at a bound, where the "
            "gradient is not zero. Give the conditions of optimality to pullback.func.custom_root."
        )
