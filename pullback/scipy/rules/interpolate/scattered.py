"""Interpolation between scattered points, on the triangles that Qhull makes of them, or from the nearest one.

Which simplex a point is in, and of which points it is made, are whole numbers, constant between jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.calls import plain
from pullback.interop.holders import Holder
from pullback.interop.operands import array, frozen, ops
from pullback.scipy.rules.interpolate.grids import ndim_coords_from_arrays
from pullback.scipy.rules.interpolate.radial import Tree

if TYPE_CHECKING:
    from scipy.spatial import Delaunay

    from pullback.core.tensor import Tensor


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    return frozen(tensor, "griddata")[()]


class Scattered(Holder):
    """SciPy's interpolator of plain points and values, and the same points and values with their gradients."""

    kind: type  # SciPy's class

    def __init__(self, points: AnyArray, values: AnyArray, *args: object, **kwargs: Any) -> None:
        self.genuine = self.kind(*plain((points, values, *args), _values), **plain(kwargs, _values))
        given = points.points if isinstance(points, scipy.spatial.Delaunay) else points
        self._start(ndim_coords_from_arrays(given).astype(float), array(values))
        if kwargs.get("fill_value") is not None:
            self.fill_value = kwargs["fill_value"]

    def _start(self, points: AnyArray, values: AnyArray) -> None:
        self.offset: AnyArray | float = 0.0
        self.scale: AnyArray | float = 1.0
        self.fill_value = getattr(self.genuine, "fill_value", np.nan)
        if self.genuine.scale is not None:
            self.offset = np.mean(points, axis=0)
            width = np.max(points, axis=0) - np.min(points, axis=0)
            self.scale = np.where(width > 0, width, 1.0)
        self.points = (points - self.offset) / self.scale
        self.values = values

    @classmethod
    def of_plain(cls, genuine: Any) -> Scattered:
        """Of an interpolator of SciPy's."""
        made = object.__new__(cls)
        made.genuine = genuine
        made._start(genuine.points, np.reshape(genuine.values, (len(genuine.values), *genuine.values_shape)))
        made.points, made.offset, made.scale = genuine.points, 0.0, 1.0
        if genuine.scale is not None:
            made.offset, made.scale = genuine.offset, genuine.scale
        return made

    def held(self) -> tuple[Any, ...]:
        """Points and values."""
        return self.points, self.values

    def plain(self) -> Any:
        """SciPy's."""
        return self.genuine

    def _points_of(self, given: tuple[Any, ...]) -> AnyArray:
        xi = ndim_coords_from_arrays(given, self.genuine.points.shape[1])
        if xi.shape[-1] != self.genuine.points.shape[1]:
            raise ValueError("number of dimensions in xi does not match x")
        return (xi.astype(float) - self.offset) / self.scale

    def __call__(self, *args: object, **options: Any) -> AnyArray:
        """The values at points."""
        xi = self._points_of(args)
        at = xi.reshape(-1, xi.shape[-1])
        values = self.values.reshape(self.values.shape[0], -1)
        found = self._at(at, values, **options)
        return found.reshape(xi.shape[:-1] + self.values.shape[1:])

    def _at(self, at: AnyArray, values: AnyArray, **options: Any) -> AnyArray:
        raise NotImplementedError


class OnTriangles(Scattered):
    """Holds what is computed from the corners of the simplex that a point is in."""

    def _at(self, at: AnyArray, values: AnyArray, **options: Any) -> AnyArray:
        tri = self.genuine.tri
        here = frozen(at, "find_simplex")
        simplex = tri.find_simplex(here, tol=100 * np.finfo(float).eps)
        outside = (simplex < 0) | np.isnan(here).any(axis=1)
        corners = tri.simplices[simplex]
        inner = np.where(outside[:, None], frozen(self.points, "mean")[corners].mean(axis=1), at)
        parts = barycentric(self.points[corners], inner)
        found = self._between(simplex, corners, parts, values)
        return np.where(outside[:, None], self.fill_value, found)

    def _between(self, simplex: AnyArray, corners: AnyArray, parts: AnyArray, values: AnyArray) -> AnyArray:
        raise NotImplementedError


def barycentric(corners: AnyArray, at: AnyArray) -> AnyArray:
    """The weights of the d + 1 corners, of shape (r, d + 1, d), that give each point."""
    edges = corners[:, :-1] - corners[:, -1:]
    parts = np.linalg.solve(np.swapaxes(edges, 1, 2), (at - corners[:, -1])[..., None])[..., 0]
    return np.concatenate([parts, 1 - np.sum(parts, axis=1, keepdims=True)], axis=1)


@scipy_rule("scipy.interpolate.LinearNDInterpolator", "scipy.interpolate._ndgriddata.LinearNDInterpolator")
class LinearNDInterpolator(OnTriangles):
    """Linear on each simplex."""

    kind = scipy.interpolate.LinearNDInterpolator

    def _between(self, simplex: AnyArray, corners: AnyArray, parts: AnyArray, values: AnyArray) -> AnyArray:
        return np.sum(parts[..., None] * values[corners], axis=1)


@scipy_rule("scipy.interpolate.NearestNDInterpolator")
class NearestNDInterpolator(Scattered):
    """The value of the nearest point."""

    kind = scipy.interpolate.NearestNDInterpolator

    @classmethod
    def of_plain(cls, genuine: Any) -> Scattered:
        """Of an interpolator of SciPy's."""
        genuine.values_shape = genuine.values.shape[1:]
        return super().of_plain(genuine)

    def _at(self, at: AnyArray, values: AnyArray, **options: Any) -> AnyArray:
        distances, i = Tree(self.genuine.tree).query(at, **options)
        near = np.isfinite(distances)
        return np.where(near[:, None], values[np.where(near, i, 0)], np.nan)


@scipy_rule("scipy.interpolate.CloughTocher2DInterpolator", "scipy.interpolate._ndgriddata.CloughTocher2DInterpolator")
class CloughTocher2DInterpolator(OnTriangles):
    """Cubic on the three parts of each triangle, with slopes at the points that make the curvature least.

    SciPy finds these slopes, which solve linear equations, to some tolerance. They are taken as they are, and have the
    derivatives of the exact ones.
    """

    kind = scipy.interpolate.CloughTocher2DInterpolator

    def _start(self, points: AnyArray, values: AnyArray) -> None:
        super()._start(points, values)
        flat = values.reshape(values.shape[0], -1)
        self.slopes = array(np.asarray(self.genuine.grad))  # (n, r, 2)
        if at_stake((values, points)):
            exact = _slopes(self.genuine.tri, (points - self.offset) / self.scale, flat)
            self.slopes = self.slopes + (exact - frozen(exact, "slopes"))

    def _between(self, simplex: AnyArray, corners: AnyArray, parts: AnyArray, values: AnyArray) -> AnyArray:
        f, slopes, where = values[corners], self.slopes[corners], self.points[corners]

        def toward(i: int, j: int) -> AnyArray:
            edge = where[:, j] - where[:, i]
            return f[:, i] + np.sum(slopes[:, i] * edge[:, None], axis=2) / 3

        # Coefficients of Bernstein's: near[i][j] next to corner i on the edge to j; within[i] next to it inside.
        near = [[toward(i, j) if i != j else f[:, i] for j in range(3)] for i in range(3)]
        within = [sum(near[i]) / 3 for i in range(3)]
        across = [self._across(i, simplex, near, within) for i in range(3)]  # of the edge opposite corner i
        inner = [(within[i] + sum(across[j] for j in range(3) if j != i)) / 3 for i in range(3)]
        middle = sum(inner) / 3
        least = np.min(parts, axis=1)[:, None]
        b, b4 = [parts[:, i : i + 1] - least for i in range(3)], 3 * least
        total = b4**3 * middle
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            total = total + b[i] ** 3 * f[:, i] + 3 * b[i] ** 2 * (b[j] * near[i][j] + b[k] * near[i][k])
            total = total + 3 * b4 * b[i] * (b[i] * within[i] + b4 * inner[i]) + 6 * b4 * b[j] * b[k] * across[i]
        return total

    def _across(self, i: int, simplex: AnyArray, near: Sequence[Any], within: Sequence[Any]) -> AnyArray:
        """Return what makes the slope along the line to the neighbour's centre linear on the edge opposite corner i."""
        j, k = (i + 1) % 3, (i + 2) % 3
        tri = self.genuine.tri
        other = tri.neighbors[simplex, i]
        centre = np.mean(self.points[tri.simplices[other]], axis=1)
        c = barycentric(self.points[tri.simplices[simplex]], centre)
        edge = other < 0
        denominator = np.where(edge, 1.0, 2 - 3 * c[:, k] - 3 * c[:, j])
        g = np.where(edge, -0.5, (2 * c[:, k] + c[:, j] - 1) / denominator)[:, None]
        fj, fk, jk, kj = near[j][j], near[k][k], near[j][k], near[k][j]
        return (g * (-fj + 3 * jk - 3 * kj + fk) + (-fj + 2 * jk - kj + within[k] + within[j])) / 2


def _slopes(tri: Delaunay, points: AnyArray, values: AnyArray) -> AnyArray:
    """The slopes (n, r, 2) that minimise the curvature along all edges.

    Along an edge E, of length L, from point p to q the least of the sum of squares asks, at each p:
    sum over q of [4 E E^T y_p + 2 E E^T y_q] / L^3 = sum over q of 6 (f_q - f_p) E / L^3.
    """
    starts, q = tri.vertex_neighbor_vertices
    n, p = tri.npoints, np.repeat(np.arange(tri.npoints), np.diff(starts))
    edge = points[q] - points[p]
    weights = np.sum(edge**2, axis=1) ** -1.5
    blocks = (edge[:, :, None] * edge[:, None] * weights[:, None, None]).ravel()
    at, next_to = (2 * ends[:, None] + np.arange(2) for ends in (p, q))
    rows, own = np.repeat(at, 2, axis=1).ravel(), np.tile(at, 2).ravel()
    places = (np.tile(rows, 2), np.concatenate([own, np.tile(next_to, 2).ravel()]))
    entries = np.concatenate([4 * blocks, 2 * blocks])
    matrix = RULES["scipy.sparse.coo_array"]((entries, places), shape=(2 * n, 2 * n)).tocsc()
    pull = 6 * (values[q] - values[p])[:, None] * (edge * weights[:, None])[..., None]
    right = ops.index_add(np.zeros((2 * n, values.shape[1]), values.dtype), 0, at.ravel(), pull.reshape(at.size, -1))
    return np.swapaxes(RULES["scipy.sparse.linalg.spsolve"](matrix, right).reshape(n, 2, -1), 1, 2)
