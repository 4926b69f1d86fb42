"""Radial basis functions: the systems that SciPy builds in compiled code.

Kernels are functions of squared distances, which have all derivatives where two points are one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from pullback.core.numpy_types import AnyArray, ArrayLike, Numeric
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import array, frozen
from pullback.scipy.rules.interpolate.splines import Float

if TYPE_CHECKING:
    from scipy.interpolate import Rbf
    from scipy.spatial import cKDTree


def _root(square: AnyArray) -> AnyArray:
    """Its square root, and 0 with the slope 0 at 0."""
    return np.where(square == 0, 0, np.sqrt(np.where(square == 0, 1, square)))


KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda square: -_root(square),
    "thin_plate_spline": lambda square: square * np.log(np.where(square == 0, 1, square)) / 2,
    "cubic": lambda square: square * _root(square),
    "quintic": lambda square: -(square**2) * _root(square),
    "multiquadric": lambda square: -np.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1 / np.sqrt(square + 1),
    "inverse_quadratic": lambda square: 1 / (square + 1),
    "gaussian": lambda square: np.exp(-square),
}


def _squares(x: AnyArray, y: AnyArray, epsilon: Numeric) -> AnyArray:
    return np.sum(((x[:, None] - y[None]) * epsilon) ** 2, axis=-1)


def _of_thin_plates(kernel: str, square: AnyArray) -> AnyArray | float:
    """0, but of thin plates at a node it has no second derivative: theirs is infinite there."""
    return np.where(square == 0, square**1.5, 0) if kernel.startswith("thin_plate") else 0.0


def _monomials(x: AnyArray, powers: AnyArray) -> AnyArray:
    total = np.ones((x.shape[0], powers.shape[0]))
    for axis, exponents in enumerate(powers.T):  # a power of 0 has no slope
        column = [np.ones(x.shape[0])]
        for _ in range(int(exponents.max(initial=0))):
            column.append(column[-1] * x[:, axis])
        total = total * np.stack([column[e] for e in exponents], axis=1) if len(exponents) else total
    return total


@scipy_rule("scipy.interpolate._rbfinterp_np._pythran_build_system")
def build_system(
    y: ArrayLike, d: ArrayLike, smoothing: ArrayLike, kernel: str, epsilon: Numeric, powers: AnyArray
) -> tuple[AnyArray, ...]:
    """Matrix and right-hand side for the coefficients; shift and scale of the monomials."""
    y, d, count = array(y), array(d), powers.shape[0]
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(scale == 0, 1, scale)
    monomials = _monomials((y - shift) / scale, powers)
    kernels = KERNELS[kernel](_squares(y, y, epsilon)) + np.eye(y.shape[0]) * array(smoothing)
    below = np.concatenate([monomials.T, np.zeros((count, count))], axis=1)
    matrix = np.concatenate([np.concatenate([kernels, monomials], axis=1), below])
    return matrix, np.concatenate([d, np.zeros((count, d.shape[1]))]), shift, scale


@scipy_rule("scipy.interpolate._rbfinterp_np._pythran_build_evaluation_coefficients")
def build_evaluation_coefficients(
    x: ArrayLike, y: ArrayLike, kernel: str, epsilon: Numeric, powers: AnyArray, shift: AnyArray, scale: AnyArray
) -> AnyArray:  # fmt: skip
    """Return what the coefficients are multiplied with at the points x."""
    x = array(x)
    squares = _squares(x, array(y), epsilon)
    kernels = KERNELS[kernel](squares) + _of_thin_plates(kernel, squares)
    return np.concatenate([kernels, _monomials((x - shift) / scale, powers)], axis=1)


@scipy_rule("scipy.interpolate._rbfinterp_np._pythran_polynomial_matrix")
def polynomial_matrix(x: ArrayLike, powers: AnyArray) -> AnyArray:
    """The monomials, for an error."""
    return frozen(_monomials(array(x), powers), "matrix_rank")


@scipy_rule("scipy.interpolate._rbfinterp_np.dgesv")
def dgesv(a: AnyArray, b: AnyArray, **_: object) -> tuple[None, None, AnyArray, int]:
    """The solution, and whether there is none."""
    try:
        return None, None, np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        return None, None, b, 1


scipy_rule("scipy.interpolate._rbfinterp.float")(Float)

OF_RBF: dict[str, Callable[[Any], Any]] = {  # of squared distances in units of epsilon, or as they are
    "multiquadric": lambda square: np.sqrt(square + 1),
    "inverse_multiquadric": lambda square: 1 / np.sqrt(square + 1),
    "gaussian": lambda square: np.exp(-square),
    "linear": _root,
    "cubic": lambda square: square * _root(square),
    "quintic": lambda square: square**2 * _root(square),
    "thin_plate": lambda square: square * np.log(np.where(square == 0, 1, square)) / 2,
}


@scipy_rule("scipy.interpolate._rbf.Rbf.__call__")
def call_rbf(self: Rbf, *args: ArrayLike) -> AnyArray:
    """The values of an Rbf; by squares of distances, so that second derivatives are right at its nodes too."""
    if self.norm != "euclidean" or self.function not in OF_RBF or len({np.shape(x) for x in args}) != 1:
        method = vars(scipy.interpolate.Rbf)["__call__"]
        return clone(getattr(method, "genuine", method))(self, *args)
    x = np.stack([array(x).ravel() for x in args], axis=-1)
    square = np.sum((x[:, None] - array(self.xi).T) ** 2, axis=-1)
    if self.function in ("multiquadric", "inverse_multiquadric", "gaussian"):
        square = square / self.epsilon**2
    found = (OF_RBF[self.function](square) + _of_thin_plates(self.function, square)) @ self.nodes
    return found.reshape(np.shape(args[0]) + np.shape(self.nodes)[1:])


@scipy_rule("scipy.interpolate._rbfinterp.KDTree", "scipy.interpolate._ndgriddata.cKDTree")
class Tree:
    """Finds neighbours, whose numbers are constant between jumps."""

    def __init__(self, points: cKDTree, **options: object) -> None:
        is_tree = isinstance(points, scipy.spatial.cKDTree)
        self.genuine = points if is_tree else scipy.spatial.KDTree(frozen(points, "KDTree"), **options)

    def query(self, x: AnyArray, *args: object, **kwargs: object) -> tuple[AnyArray, AnyArray]:
        """Distances, plain numbers, and indices."""
        return self.genuine.query(frozen(x, "query"), *args, **kwargs)
