"""B-splines: what SciPy's classes compute in compiled code, by de Boor's recursion on our arrays.

The interval of the knots that a point is in is a whole number, constant between knots; on it the recursion is
differentiable in coefficients, knots and point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from scipy.interpolate import _bsplines, _dierckx

from pullback.core.numpy_types import AnyArray, ArrayLike, DTypeLike
from pullback.core.tensor import Tensor
from pullback.interop.adopt.rules import scipy_rule
from pullback.interop.adopt.scipy.clones import clone
from pullback.interop.operands import array, frozen, is_hidden, ops
from pullback.scipy.rules.interpolate.pieces import picked
from pullback.scipy.rules.interpolate.refusals import refused
from pullback.scipy.rules.linalg.equations import solve_banded, solveh_banded


def interval(t: AnyArray, k: int, points: AnyArray) -> AnyArray:
    """i with t[i] <= point < t[i + 1], the first or last such interval between the ends if outside."""
    return k + np.searchsorted(t[k + 1 : t.shape[0] - k - 1], points, "right")


@scipy_rule("scipy.interpolate._bsplines._as_float_array")
def as_float_array(x: ArrayLike, check_finite: bool = False) -> AnyArray:
    """SciPy's; many samples at once have no numbers to look at."""
    return clone(_bsplines._as_float_array)(x, check_finite and not is_hidden(x))


class _AsFloat(type):
    def __instancecheck__(cls, x: object) -> bool:
        return issubclass(type(x), float) or (isinstance(x, Tensor) and x.ndim == 0)


@scipy_rule("scipy.interpolate._bsplines.float", "scipy.interpolate._interpolate.float")
class Float(metaclass=_AsFloat):
    """`float`, as a type of arrays and as what makes a number of x, which stays as it is: it may have a gradient."""

    dtype = np.dtype(float)

    def __new__(cls, x: Any) -> Any:
        return x if isinstance(x, Tensor) else float(x)


@scipy_rule("scipy.interpolate._dierckx.find_interval")
def find_interval(t: AnyArray, k: int, xval: AnyArray, prev_l: int, extrapolate: bool) -> int:
    """The interval of the knots that the point is in; -1 if in none."""
    return _dierckx.find_interval(
        frozen(t, "searchsorted"), k, float(frozen(xval, "searchsorted")), prev_l, extrapolate
    )


def recursion(t: AnyArray, d: list[Any], k: int, points: AnyArray, i: AnyArray, nu: int) -> AnyArray:
    """The derivative of order nu of the spline with the coefficients d, those of i - k, ..., i, at each point."""
    knots, x = [picked(t, i - k + 1 + j)[:, None] for j in range(2 * k)], points[:, None]
    if nu > k:
        return 0 * (d[0] * x)
    for degree in range(k, k - nu, -1):  # d become those of the derivative, whose degree is one less
        d = [degree * (d[j + 1] - d[j]) / (knots[j + k] - knots[j + k - degree]) for j in range(degree)]
    left = k - nu
    knots = knots[nu : k + left]
    for level in range(left, 0, -1):
        lows, highs = knots[left - level : left], knots[left : left + level]
        d = [
            ((high - x) * below + (x - low) * above) / (high - low)
            for low, high, below, above in zip(lows, highs, d[:-1], d[1:], strict=True)
        ]
    return d[0] + 0 * x


def basis(t: AnyArray, k: int, points: AnyArray, i: AnyArray, nu: int = 0) -> AnyArray:
    """The k + 1 B-splines that are not zero between t[i] and t[i + 1], at the points: shape (r, k + 1)."""
    return recursion(t, list(np.eye(k + 1)), k, points, i, nu)


@scipy_rule("scipy.interpolate._dierckx.evaluate_spline")
def evaluate_spline(t: ArrayLike, c: ArrayLike, k: int, xp: ArrayLike, nu: int, extrapolate: bool) -> AnyArray:
    """The spline with knots t, coefficients c, of shape (n, m), and degree k, or its derivative, at the points."""
    if nu < 0:
        raise ValueError(f"Expected nu to be non-negative, got {nu}.")
    t, c, xp = map(array, (t, c, xp))
    i = interval(t, k, xp)
    found = recursion(t, [picked(c, i - k + j) for j in range(k + 1)], k, xp, i, nu)
    low, high = t[k], t[t.shape[0] - k - 1]
    unknown = np.isnan(xp) if extrapolate else ~((xp >= low) & (xp <= high))
    return np.where(unknown[:, None], np.nan, found)


@scipy_rule("scipy.interpolate._dierckx.evaluate_all_bspl")
def evaluate_all_bspl(t: AnyArray, k: int, xval: AnyArray, m: int, nu: int = 0) -> AnyArray:
    """The B-splines that are not zero in interval m, at one point."""
    return basis(array(t), k, array(xval).reshape(1), np.array([m]), nu)[0]


@scipy_rule("scipy.interpolate._dierckx._coloc")
def collocate(x: ArrayLike, t: ArrayLike, k: int, ab: AnyArray, offset: int = 0) -> None:
    """Write into `ab`, the banded storage of LAPACK transposed, the B-splines at x, in rows from `offset` on."""
    t, x = array(t), array(x)
    i = interval(t, k, x)
    columns = i[:, None] - k + np.arange(k + 1)
    rows = np.arange(x.shape[0])[:, None] + offset
    ab[columns, 2 * k + rows - columns] = basis(t, k, x, i)


@scipy_rule("scipy.interpolate._bsplines._compute_optimal_gcv_parameter")
def compute_optimal_gcv_parameter(*_: object) -> NoReturn:
    """make_smoothing_spline without `lam`."""
    raise refused(
        "make_smoothing_spline",
        "with lam=None the smoothing is searched for up to a tolerance: it has no derivative with respect to the data",
        "Give lam, which may be a tensor too",
    )


@scipy_rule("scipy.interpolate._bsplines.get_lapack_funcs")
def get_lapack_funcs(
    names: Sequence[str], arrays: ArrayLike = (), dtype: DTypeLike = None, ilp64: bool = False
) -> list[Callable[..., Any]]:
    """The solver that make_interp_spline asks for."""
    if tuple(names) != ("gbsv",):
        raise refused("make_interp_spline", f"LAPACK's {names} has no rule here", "Take another bc_type")
    return [_gbsv]


def _gbsv(below: int, above: int, ab: AnyArray, b: AnyArray, **_: object) -> tuple[None, None, AnyArray, int]:
    return None, None, solve_banded((below, above), ab[below:], b), 0


@scipy_rule("scipy.interpolate._dierckx.data_matrix")
def data_matrix(
    x: ArrayLike, t: ArrayLike, k: int, w: ArrayLike, extrapolate: bool = False,
) -> tuple[AnyArray, np.ndarray[Any, Any], int]:  # fmt: skip
    """The B-splines that are not zero at each point, times its weight; the first one's number; the number of all."""
    x, t = array(x), array(t)
    i = interval(t, k, x)
    return basis(t, k, x, i) * array(w)[:, None], np.asarray(i - k, dtype=np.int64), t.shape[0] - k - 1


def _normal_equations(x: AnyArray, t: AnyArray, k: int, w: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The lower half of the matrix of the least squares as a band; weighted B-splines at the points, and numbers."""
    rows, first, n = data_matrix(x, t, k, w)
    places = first[:, None] + np.arange(k + 1)
    band: AnyArray = np.zeros((k + 1, n))
    for below in range(k + 1):
        for j in range(k + 1 - below):
            band = _added(band, below, places[:, j], rows[:, j] * rows[:, j + below])
    return band, rows, places


def _added(band: AnyArray, row: int, places: AnyArray, values: AnyArray) -> AnyArray:
    return band + (np.arange(band.shape[0]) == row)[:, None] * _summed(places, values, band.shape[1])


def _summed(places: AnyArray, values: AnyArray, n: int) -> AnyArray:
    """The sums of the values of each place, along the first axis."""
    total = np.zeros((n, *values.shape[1:]), values.dtype)
    return ops.index_add(total, 0, places, values)


@scipy_rule("scipy.interpolate._dierckx._norm_eq_lsq")
def norm_eq_lsq(x: AnyArray, t: AnyArray, k: int, y: AnyArray, w: AnyArray, ab: AnyArray, rhs: AnyArray) -> None:
    """Write into `ab` the band of the least squares' matrix, transposed, and into `rhs` the other side."""
    band, rows, places = _normal_equations(array(x), array(t), k, array(w))
    ab[...] = band.T
    rhs[...] = _other_side(rows, places, array(y) * array(w)[:, None], band.shape[1])


def _other_side(rows: AnyArray, places: AnyArray, y: AnyArray, n: int) -> AnyArray:
    return _summed(places.ravel(), (rows[:, :, None] * y[:, None]).reshape(-1, y.shape[1]), n)


def least_squares(x: AnyArray, y: AnyArray, t: AnyArray, k: int, w: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The coefficients that minimise the sum of (w (spline - y))^2, and that sum; y has the shape (m, r)."""
    band, rows, places = _normal_equations(x, t, k, w)
    weighted, c = y * w[:, None], np.zeros((band.shape[1], y.shape[1]))
    for _ in range(2):  # again with what is left: the condition of the problem, not its square, is felt
        left = weighted - np.sum(rows[:, :, None] * c[places], axis=1)
        c = c + solveh_banded(band, _other_side(rows, places, left, band.shape[1]), lower=True)
    left = weighted - np.sum(rows[:, :, None] * c[places], axis=1)
    return c, np.sum(left**2)


@scipy_rule("scipy.interpolate._bsplines._lsq_solve_qr")
def lsq_solve_qr(
    x: AnyArray, y: AnyArray, t: AnyArray, k: int, w: AnyArray, periodic: bool = False,
) -> tuple[AnyArray | None, ...]:  # fmt: skip
    """The coefficients of make_lsq_spline, as the third of five."""
    if periodic:
        raise refused("make_splrep", "periodic least squares have no rule", "Give s=0")
    return None, None, least_squares(array(x), array(y), array(t), k, array(w))[0], None, None


@scipy_rule("scipy.interpolate._dierckx.evaluate_ndbspline")
def evaluate_ndbspline(
    xi: AnyArray, t: AnyArray, len_t: AnyArray, k: AnyArray, nu: AnyArray, extrapolate: bool, c1r: AnyArray,
    num_c_tr: int, strides_c1: AnyArray, indices_k1d: AnyArray,
) -> AnyArray:  # fmt: skip
    """The tensor product of B-splines, at points of shape (r, d); `num_c_tr` splines at once."""
    xi, t, c = array(xi), array(t), array(c1r)
    sizes = [int(n) - int(degree) - 1 for n, degree in zip(len_t, k, strict=True)]
    found = c.reshape(*_axes_of(c, sizes, int(num_c_tr)), -1)
    unknown, weights, places = np.any(np.isnan(xi), axis=1), [], []
    for axis, (size, degree, order) in enumerate(zip(sizes, map(int, k), map(int, nu), strict=True)):
        knots, points = t[axis, : size + degree + 1], xi[:, axis]
        i = interval(knots, degree, points)
        weights.append(basis(knots, degree, points, i, order))
        places.append(i[:, None] - degree + np.arange(degree + 1))
        if not extrapolate:
            unknown = unknown | (points < knots[degree]) | (points > knots[size])
    grid = np.ix_(*[np.arange(place.shape[1]) for place in places])
    found = found[tuple(place[:, j] for place, j in zip(places, grid, strict=True))]  # (r, k + 1, ..., r')
    for weight in weights:
        found = np.sum(found * weight.reshape(weight.shape + (1,) * (found.ndim - 2)), axis=1)
    return np.where(unknown[:, None], np.nan, found)


def _axes_of(c: AnyArray, sizes: list[int], trailing: int) -> list[int]:
    if c.shape[0] != np.prod(sizes) * trailing:
        raise refused("NdBSpline", "coefficients beyond the number of B-splines have no rule", "Leave them out")
    return sizes


@scipy_rule("scipy.interpolate._dierckx._coloc_nd")
def coloc_nd(*_: object) -> NoReturn:
    """NdBSpline.design_matrix."""
    raise refused("NdBSpline.design_matrix", "it has no rule", "Take the matrix of each axis, by BSpline.design_matrix")
