"""Calls of scipy.interpolate."""

import numpy as np
from scipy import interpolate, spatial
from scipy.sparse.linalg import spsolve

from tests.scipy.calls import at, v, x

K = np.array([0.0, 0.9, 1.7, 2.5, 3.1, 4.2])
S = np.sin(1.3 * K) + 0.2 * K
P = np.array([0.3, 1.1, 2.0, 2.8, 3.6, 4.9, -0.4])


def knots(x):
    """Increasing breakpoints of a vector."""
    return np.cumsum(0.3 + np.concatenate([x, x[:2]]))


def values(x):
    """As many values."""
    return np.concatenate([x, x[:2] ** 2])


def each(make):
    """What an interpolator does, made of the package, x and y: by y, x and points."""
    return [
        lambda x: make(interpolate, K, values(x))(P),
        lambda x: make(interpolate, knots(x), S)(P[:5]),
        lambda x: make(interpolate, K, S)(x),
        lambda x: make(interpolate, K, values(x))(x[0]),
        lambda x: make(interpolate, K, np.stack([values(x), S], 1))(x.reshape(2, 2)),
    ]


def piecewise(make):
    """And those of piecewise polynomials."""
    return [
        *each(make),
        lambda x: make(interpolate, K, np.stack([values(x), S]), axis=1)(x),
        lambda x: make(interpolate, knots(x), S)(x, 1),
        lambda x: make(interpolate, K, values(x))(P[:4], nu=2, extrapolate=False),
        lambda x: make(interpolate, knots(x), S).derivative()(x),
        lambda x: make(interpolate, knots(x), S).antiderivative(2)(x),
        lambda x: make(interpolate, knots(x), S).integrate(x[0], x[1]),
        lambda x: make(interpolate, knots(x), S).integrate(x[0], 0.2),
    ]


def cubic(bc_type):
    """A spline with these conditions at its ends."""
    return lambda s, x, y, **kw: s.CubicSpline(x, y, bc_type=bc_type, **kw)


T = np.arange(8.0)  # knots
Q = np.linspace(0.0, 4.2, 12)
TK = np.array([0.0, 0.0, 0.0, 0.0, 1.3, 2.9, 4.2, 4.2, 4.2, 4.2])
TCK = (TK, np.array([0.3, 1.2, -0.4, 0.9, 0.1, 0.7, 0.0, 0.0, 0.0, 0.0]), 3)
INNER = np.array([[0.9, 0.8], [1.2, 1.0], [0.6, 1.1], [1.5, 0.5]])
Z = np.sin(np.arange(9.0))


def integrals(knots):
    """SciPy leaves the last four numbers that it gives with them unset."""
    total, parts = interpolate.splint(0.2, 8.0, (knots, np.append(v, np.zeros(4)), 3), full_output=1)
    return total, parts[:4]


def sampled(x):
    """Values at Q."""
    return np.sin(np.outer(Q, [1.0, 1.3, 0.4, 0.9]) + x).sum(1)


def cube(x):
    """Coefficients of piecewise polynomials of two variables, degrees 1 and 2."""
    return np.multiply.outer(np.multiply.outer(x[:2], v[:3]), np.outer(x[2:], v[:3]))


def scattered(x):
    """Nine points of the plane."""
    grid = np.stack(np.meshgrid([0.1, 1.0, 2.2], [0.0, 0.9, 1.8], indexing="ij"), -1).reshape(9, 2)
    return grid + 0.1 * np.sin(np.outer(np.arange(9.0), x[:2]) + x[2:])


def spread(x):
    """As many values."""
    return np.cos(np.outer(np.arange(9.0), [0.3, 0.7, 1.1, 0.2]) + x).sum(1)


def fitted(make):
    """Knots and coefficients by y and x, and what is done with them."""
    return [
        lambda x: interpolate.splev(P, make(interpolate, K, values(x))),
        lambda x: interpolate.splev(P, make(interpolate, knots(x), S)),
        lambda x: make(interpolate, knots(x), values(x)),
    ]


def univariate(make):
    """The methods of a UnivariateSpline."""
    return [
        lambda x: make(interpolate, K, values(x))(P),
        lambda x: make(interpolate, knots(x), S)(P),
        lambda x: make(interpolate, K, S)(x),
        lambda x: make(interpolate, K, S)(x, nu=2),
        lambda x: make(interpolate, K, S)(x[0]),
        lambda x: make(interpolate, knots(x), S, k=2)(x.reshape(2, 2), nu=1, ext=1),
        lambda x: make(interpolate, K, values(x)).integral(0.1, x[0]),
        lambda x: make(interpolate, K, S).integral(x[0], 0.3),
        lambda x: make(interpolate, K, values(x)).derivatives(x[0]),
        lambda x: make(interpolate, K, values(x)).derivative()(x),
        lambda x: make(interpolate, K, values(x)).antiderivative(2)(x),
        lambda x: [make(interpolate, K, values(x)).get_coeffs(), make(interpolate, knots(x), S).get_knots()],
    ]


def gridded(make):
    """Interpolation on a grid by values, points and the grid."""
    return [
        lambda x: make(interpolate, (K, K), np.outer(S, values(x)), np.stack([v, v[::-1]], 1)),
        lambda x: make(interpolate, (K, K), np.outer(S, S), np.stack([x, v[::-1]], 1)),
        lambda x: make(interpolate, (knots(x), K), np.outer(S, S), np.stack([v + 1.5, v[::-1]], 1)),
    ]


def on_triangles(make):
    """Interpolation between scattered points by values and points of evaluation."""
    return [
        lambda x: make(interpolate, scattered(v), spread(x))(INNER),
        lambda x: make(interpolate, scattered(v), np.stack([spread(x), Z], 1) * (1 + 0.2j))(*INNER.T),
        lambda x: make(interpolate, scattered(v), Z)(INNER + 0.03 * x[:2]),
        lambda x: make(interpolate, scattered(v), spread(x))(x[0] * 0.5, 0.9),
        lambda x: make(interpolate, scattered(v), Z.reshape(9, 1))(0.4 + 0.2 * x, [0.9]),
    ]


def at_points(griddata, method, x):
    """By the points of evaluation."""
    return griddata(scattered(v), Z, INNER + 0.03 * x[:2], method, rescale=True)


CALLS = {
    "scipy.interpolate.CubicSpline": [
        *piecewise(lambda s, x, y, **kw: s.CubicSpline(x, y, **kw)),
        *each(cubic("natural")),
        *each(cubic("clamped")),
        *(lambda x, e=e: interpolate.CubicSpline(knots(x), S, bc_type=((e, x[0]), (3 - e, x[1])))(x) for e in (1, 2)),
        lambda x: interpolate.CubicSpline(knots(x), np.append(x, [0.3, x[0]]), bc_type="periodic")(P),
        lambda x: interpolate.CubicSpline(np.cumsum(x), np.append(x[:3], x[0]), bc_type="periodic").integrate(x[0], 9),
        lambda x: interpolate.CubicSpline(np.cumsum(x)[:3], x[:3])(x),
        lambda x: interpolate.CubicSpline(np.cumsum(x)[:3], [x[3], 2.0, x[3]], bc_type="periodic")(v),
        lambda x: interpolate.CubicSpline(np.cumsum(x)[:2], x[:2])(x),
    ],
    "scipy.interpolate.PchipInterpolator": piecewise(lambda s, x, y, **kw: s.PchipInterpolator(x, y, **kw)),
    "scipy.interpolate.Akima1DInterpolator": [
        *piecewise(lambda s, x, y, **kw: s.Akima1DInterpolator(x, y, extrapolate=True, **kw)),
        lambda x: interpolate.Akima1DInterpolator(knots(x), S, method="makima")(knots(x)[:3] + 0.1),
    ],
    "scipy.interpolate.CubicHermiteSpline": piecewise(
        lambda s, x, y, **kw: s.CubicHermiteSpline(x, y, np.cos(y), **kw)
    ),
    "scipy.interpolate.PPoly": [
        lambda x: interpolate.PPoly(np.stack([[1.0, 1.0], [-x[0], 0.2], [0.1, -x[1]]]), [0.0, 1.0, 2.0]).roots(),
        lambda x: interpolate.CubicSpline(knots(x), S - 0.3).roots(),
        lambda x: interpolate.CubicSpline(K, S).solve(x[0] / 2),
        lambda x: interpolate.CubicSpline(K, values(x)).solve(x[0], extrapolate=False),
        lambda x: interpolate.PPoly(np.stack([[1.0, 1.0]]) * x[0] * [1, -1], np.append(0.0, np.cumsum(x[:2]))).roots(),
        lambda x: interpolate.PPoly(cube(x)[0] - 0.5, K[:3]).roots()[1],
        lambda x: interpolate.PPoly(np.outer(x, v[:3]), K[:4])(P),
        lambda x: interpolate.PPoly(np.outer(v, x), np.append(-1.0, np.cumsum(x)))(x, 1),
        lambda x: interpolate.PPoly(np.outer(x, v[:3]), K[:4], extrapolate="periodic")(P * x[0]),
        lambda x: interpolate.PPoly(np.outer(x, v[:3]), K[3::-1])(x + 0.1),
        lambda x: interpolate.PPoly(np.outer(x, v[:3]) * (1 + 0.3j), K[:4])(P),
        lambda x: interpolate.PPoly(np.outer(v, x), np.append(-1.0, np.cumsum(x))).integrate(x[0], x[2]),
    ],
    "scipy.interpolate.BSpline": [
        lambda x: interpolate.BSpline(np.arange(8.0), x, 3)(P),
        lambda x: interpolate.BSpline(np.cumsum(np.append(x, x)), v, 3)(x + 2),
        lambda x: interpolate.BSpline(np.cumsum(np.append(x, x)), v, 3)(x + 2, 2),
        lambda x: interpolate.BSpline(np.cumsum(np.append(x, x)), v, 3).derivative()(x),
        lambda x: interpolate.BSpline(np.cumsum(np.append(x, x)), v, 3).antiderivative()(x),
        lambda x: interpolate.BSpline(np.arange(7.0), np.outer(x, v), 2, extrapolate="periodic")(7 * x),
        lambda x: interpolate.BSpline(np.arange(8.0), x * (1 + 0.2j), 3)(P),
    ],
    "scipy.interpolate.make_interp_spline": [
        *each(lambda s, x, y, **kw: s.make_interp_spline(x, y, **kw)),
        *each(lambda s, x, y: s.make_interp_spline(x, y, k=1)),
        *each(lambda s, x, y: s.make_interp_spline(x, y, k=2)),
        *each(lambda s, x, y: s.make_interp_spline(x, y, k=5)),
        *each(lambda s, x, y: s.make_interp_spline(x, y, bc_type="natural")),
        lambda x: interpolate.make_interp_spline(K, values(x), bc_type=([(1, x[0])], [(2, 0.3)]))(x),
    ],
    "scipy.interpolate.BarycentricInterpolator": [
        *each(lambda s, x, y: s.BarycentricInterpolator(x, y, rng=0)),
        lambda x: interpolate.BarycentricInterpolator(K, values(x), rng=0).derivative(x, 2),
        lambda x: interpolate.BarycentricInterpolator(knots(x), S, rng=0).derivatives(x, 3),
    ],
    "scipy.interpolate.KroghInterpolator": [
        *each(lambda s, x, y, **kw: s.KroghInterpolator(x, y, **kw)),
        lambda x: interpolate.KroghInterpolator(K, values(x)).derivative(x, 2),
    ],
    "scipy.interpolate.interp1d": [
        *each(lambda s, x, y: s.interp1d(x, y, axis=0, fill_value="extrapolate")),
        *each(lambda s, x, y: s.interp1d(x, y, axis=0, bounds_error=False, fill_value=0.5)),
        *each(lambda s, x, y: s.interp1d(x, y, "cubic", axis=0, fill_value="extrapolate")),
        *each(lambda s, x, y: s.interp1d(x, y, "quadratic", axis=0, fill_value="extrapolate")),
        *(
            lambda x, kind=kind: interpolate.interp1d(K, values(x), kind)(P[:4])
            for kind in ("nearest", "nearest-up", "previous", "next", "zero", "slinear")
        ),
    ],
    "scipy.interpolate.pchip_interpolate": each(lambda s, x, y: lambda p: s.pchip_interpolate(x, y, p)),
    "scipy.interpolate.krogh_interpolate": each(lambda s, x, y: lambda p: s.krogh_interpolate(x, y, p)),
    "scipy.interpolate.barycentric_interpolate": each(
        lambda s, x, y: lambda p: s.barycentric_interpolate(x, y, p, rng=0)
    ),
    "scipy.interpolate.BPoly": [
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4])(P),
        lambda x: interpolate.BPoly(np.outer(v, x), np.append(-1.0, np.cumsum(x)))(x),
        lambda x: interpolate.BPoly(np.outer(v, x), np.append(-1.0, np.cumsum(x)))(x, 2),
        lambda x: interpolate.BPoly(np.outer(v, x), np.append(-1.0, np.cumsum(x)))(x, 4),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4], extrapolate="periodic")(P * x[0]),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4], extrapolate=False)(P[:3]),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]) * (1 + 0.3j), K[:4])(P),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4]).derivative()(x),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4]).antiderivative()(x),
        lambda x: interpolate.BPoly(np.outer(x, v[:3]), K[:4]).integrate(0.1, x[0]),
        lambda x: interpolate.BPoly(np.outer(v, v), K[:5])(x),
    ],
    "scipy.interpolate.BPoly.from_derivatives": [
        lambda x: interpolate.BPoly.from_derivatives(K[:2], x.reshape(2, 2))(v),
        lambda x: interpolate.BPoly.from_derivatives(np.cumsum(x), [[1.0, x[0]], [2.0], [0.5], [x[1]]])(v),
    ],
    "scipy.interpolate.BPoly.from_power_basis": [
        lambda x: interpolate.BPoly.from_power_basis(interpolate.PPoly(np.outer(x, v[:3]), K[:4]))(P),
        lambda x: interpolate.BPoly.from_power_basis(interpolate.CubicSpline(K, values(x)))(P),
    ],
    "scipy.interpolate.BPoly.construct_fast": [
        lambda x: interpolate.BPoly.construct_fast(np.outer(x, v[:3]), K[:4])(P),
    ],
    "scipy.interpolate.PPoly.construct_fast": [
        lambda x: interpolate.PPoly.construct_fast(np.outer(x, v[:3]), K[:4])(P),
    ],
    "scipy.interpolate.PPoly.from_bernstein_basis": [
        lambda x: interpolate.PPoly.from_bernstein_basis(interpolate.BPoly(np.outer(x, v[:3]), K[:4]))(P),
    ],
    "scipy.interpolate.PPoly.from_spline": [
        lambda x: interpolate.PPoly.from_spline(interpolate.BSpline(np.arange(8.0), x, 3))(v + 3),
        lambda x: interpolate.PPoly.from_spline((np.cumsum(np.append(x, x)), v, 3))(v + 3),
    ],
    "scipy.interpolate.NdPPoly": [
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4]))(np.stack([v, v[::-1]], 1)),
        lambda x: interpolate.NdPPoly(cube(v), (K[:3], np.append(0.0, np.cumsum(x[:3]))))(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4]))(np.stack([x, v[::-1]], 1), nu=(1, 1)),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4]), extrapolate=False)(np.stack([x, x], 1)[:2], nu=(0, 2)),
        lambda x: interpolate.NdPPoly(cube(x) * (1 + 0.5j), (K[:3], K[:4]))(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4])).derivative((1, 0))(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4])).antiderivative((0, 1))(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4])).integrate_1d(0.2, x[0], 0)(x),
        lambda x: interpolate.NdPPoly(cube(x), (K[:3], K[:4])).integrate(((0.2, 1.5), (0.3, x[0]))),
        lambda x: interpolate.NdPPoly(cube(v), (K[:3], K[:4]))(np.stack([x, v[::-1]], 1)),
    ],
    "scipy.interpolate.NdBSpline": [
        lambda x: interpolate.NdBSpline((T, T), np.outer(x, v), 3)(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdBSpline((T, T), np.outer(v, x), 3)(np.stack([v, x], 1), nu=(1, 2)),
        lambda x: interpolate.NdBSpline((np.cumsum(np.append(x, v)), T), np.outer(x, v), 3)(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdBSpline((T, T), np.outer(x, v) * (1 + 0.5j), 3)(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdBSpline((T, T), np.outer(v, v), 3)(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdBSpline((T, T), np.outer(x, v), 3).derivative((1, 0))(np.stack([x, v[::-1]], 1)),
        lambda x: interpolate.NdBSpline((T, T), np.outer(x, v), 3, extrapolate=False)(
            np.stack([x / 4 + 3, v / 4 + 3], 1)
        ),
    ],
    "scipy.interpolate.BSpline.basis_element": [
        lambda x: interpolate.BSpline.basis_element(np.cumsum(x))(v),
        lambda x: interpolate.BSpline.basis_element(np.cumsum(x), extrapolate=False)(x[0] + x[1] + [0.1, 0.3]),
    ],
    "scipy.interpolate.BSpline.construct_fast": [
        lambda x: interpolate.BSpline.construct_fast(T, x, 3)(P),
    ],
    "scipy.interpolate.BSpline.design_matrix": [
        lambda x: interpolate.BSpline.design_matrix(3 + x / 4, T, 3) @ v,
        lambda x: interpolate.BSpline.design_matrix(v + 2, np.cumsum(np.append(x, x)), 3, extrapolate=True) @ v,
        lambda x: interpolate.BSpline.design_matrix(4.7 * x, T, 3, extrapolate="periodic").toarray(),
    ],
    "scipy.interpolate.BSpline.from_power_basis": [
        lambda x: interpolate.BSpline.from_power_basis(interpolate.CubicSpline(K, values(x)))(P),
        lambda x: interpolate.BSpline.from_power_basis(
            interpolate.CubicSpline(knots(x), S, bc_type="natural"), bc_type="natural"
        )(P),
    ],
    "scipy.interpolate.make_lsq_spline": [
        lambda x: interpolate.make_lsq_spline(Q, sampled(x), TK)(P),
        lambda x: interpolate.make_lsq_spline(Q, sampled(x), TK, method="norm-eq")(P),
        lambda x: interpolate.make_lsq_spline(Q, sampled(x), TK, w=1 + sampled(x) ** 2)(P),
        lambda x: interpolate.make_lsq_spline(Q, sampled(x), TK, w=1 + sampled(x) ** 2, method="norm-eq")(x),
        lambda x: interpolate.make_lsq_spline(
            Q + 0.01 * sampled(x), np.cos(Q), TK + 0.1 * np.append(np.append([-1] * 4, x[:2]), [1.0] * 4)
        )(P),
        lambda x: interpolate.make_lsq_spline(Q, np.stack([sampled(x), np.cos(Q)]), TK, axis=1)(P),
        lambda x: interpolate.make_lsq_spline(Q, sampled(x) * (1 + 0.5j), TK)(P),
        lambda x: interpolate.make_lsq_spline(Q, sampled(x), TK[[0, 0, 4, 5, 6, 6]], k=1)(P),
    ],
    "scipy.interpolate.make_smoothing_spline": [
        lambda x: interpolate.make_smoothing_spline(K, values(x), lam=0.3)(P),
        lambda x: interpolate.make_smoothing_spline(knots(x), S, lam=x[0])(P[:5]),
        lambda x: interpolate.make_smoothing_spline(K, S, w=values(x) + 1, lam=0.2)(x),
        lambda x: interpolate.make_smoothing_spline(K, np.stack([values(x), S]), lam=0.2, axis=1)(x),
    ],
    "scipy.interpolate.FloaterHormannInterpolator": [
        *each(lambda s, x, y: s.FloaterHormannInterpolator(x, y)),
        *each(lambda s, x, y: s.FloaterHormannInterpolator(x, y, d=1)),
        lambda x: interpolate.FloaterHormannInterpolator(K, np.stack([values(x), S]), axis=1)(x),
    ],
    "scipy.interpolate.splrep": [
        *fitted(lambda s, x, y, **kw: s.splrep(x, y, s=0, **kw)),
        *fitted(lambda s, x, y, **kw: s.splrep(x, y, k=2, **kw)),
        *fitted(lambda s, x, y, **kw: s.splrep(x, y, k=5, **kw)),
        *fitted(lambda s, x, y, **kw: s.splrep(x, y, k=1, **kw)),
        lambda x: interpolate.splev(P, interpolate.splrep(K, values(x), xb=-x[0], xe=4 + x[1])),
        lambda x: interpolate.splev(P, interpolate.splrep(knots(x), S, t=knots(x)[2:3])),
        lambda x: interpolate.splev(x, interpolate.splrep(Q, sampled(x), w=1 + sampled(x) ** 2, t=[1.3, 2.9])),
        lambda x: interpolate.splev(x, interpolate.splrep(K, values(x), per=True)),
        lambda x: interpolate.splev(x, interpolate.splrep(K, values(x), full_output=True)[0]),
    ],
    "scipy.interpolate.splev": [
        lambda x: interpolate.splev(x, TCK),
        lambda x: interpolate.splev(x, TCK, der=1),
        lambda x: interpolate.splev(3 * x - 2, TCK, der=3),
        lambda x: interpolate.splev(3 * x - 2, TCK, ext=1),
        lambda x: interpolate.splev(3 * x - 2, TCK, der=1, ext=1),
        lambda x: interpolate.splev(3 * x - 2, TCK, ext=3),
        lambda x: interpolate.splev(x.reshape(2, 2), TCK, ext=2),
        lambda x: interpolate.splev(x[0], TCK),
        lambda x: interpolate.splev(x, (T, [v, x], 3)),
        lambda x: interpolate.splev(x, interpolate.BSpline(T, x, 3)),
        lambda x: interpolate.splev(x, interpolate.BSpline(T, v, 3)),
    ],
    "scipy.interpolate.splint": [
        lambda x: interpolate.splint(x[3], x[0], TCK),
        lambda x: interpolate.splint(x[0], x[3], TCK),
        lambda x: interpolate.splint(-1.0, x[3], TCK),
        lambda x: interpolate.splint(3.1, 3.8, (T, np.append(x, np.zeros(4)), 3)),
        lambda x: integrals(np.cumsum(np.append(x, x))),
        lambda x: interpolate.splint(3.1, 3.5 + x[3] / 4, interpolate.BSpline(T, x, 3)),
    ],
    "scipy.interpolate.splder": [
        lambda x: interpolate.splev(P, interpolate.splder((np.cumsum(np.append(x, x)), np.append(x, np.zeros(4)), 3))),
        lambda x: interpolate.splder(interpolate.BSpline(T, x, 3), 2)(P),
        lambda x: interpolate.splder((T, np.append(x, np.zeros(4)), 3), -1),
    ],
    "scipy.interpolate.splantider": [
        lambda x: interpolate.splantider((np.cumsum(np.append(x, x)), np.append(x, np.zeros(4)), 3)),
        lambda x: interpolate.splantider(interpolate.BSpline(T, x, 3), 2)(P),
    ],
    "scipy.interpolate.spalde": [
        lambda x: interpolate.spalde(x, TCK),
        lambda x: interpolate.spalde(x[0], TCK),
        lambda x: interpolate.spalde(3.4, (T, np.append(x, np.zeros(4)), 3)),
    ],
    "scipy.interpolate.sproot": [
        lambda x: interpolate.sproot(interpolate.splrep(K, values(x) - 1)),
        lambda x: interpolate.sproot(interpolate.splrep(knots(x), S - 0.4)),
    ],
    "scipy.interpolate.insert": [
        lambda x: interpolate.splev(P, interpolate.insert(x[0], TCK)),
        lambda x: interpolate.insert(3.5, (np.arange(9.0), np.append(np.append(x, x[0]), np.zeros(4)), 3), m=2),
        lambda x: interpolate.splev(P, interpolate.insert(x[0], interpolate.splrep(K, values(x)))),
    ],
    "scipy.interpolate.UnivariateSpline": [
        *univariate(lambda s, x, y, **kw: s.UnivariateSpline(x, y, s=0, **kw)),
        lambda x: interpolate.UnivariateSpline(K, S, k=3)(x),
    ],
    "scipy.interpolate.InterpolatedUnivariateSpline": [
        *univariate(lambda s, x, y, **kw: s.InterpolatedUnivariateSpline(x, y, **kw)),
        lambda x: interpolate.InterpolatedUnivariateSpline(K, values(x), bbox=[-x[0], None])(x),
        lambda x: interpolate.InterpolatedUnivariateSpline(K, values(x), k=1, ext=3)(3 * x - 2),
        lambda x: interpolate.InterpolatedUnivariateSpline(K, values(x), k=2, ext="zeros")(3 * x - 2),
        lambda x: interpolate.InterpolatedUnivariateSpline(K, values(x) - 1).roots(),
    ],
    "scipy.interpolate.LSQUnivariateSpline": [
        *univariate(lambda s, x, y, **kw: s.LSQUnivariateSpline(x, y, [x[2]], **kw)),
        lambda x: interpolate.LSQUnivariateSpline(Q, sampled(x), [1.3, 2.9], w=1 + sampled(x) ** 2)(x),
        lambda x: interpolate.LSQUnivariateSpline(Q, sampled(x), [1.3, 2.9]).get_residual(),
    ],
    "scipy.interpolate.RegularGridInterpolator": [
        call
        for method in ("linear", "slinear", "pchip", "cubic_legacy")
        for call in gridded(lambda s, p, y, xi, m=method: s.RegularGridInterpolator(p, y, method=m)(xi))
    ]
    + [
        call
        for method in ("slinear", "cubic", "quintic")
        for call in gridded(lambda s, p, y, xi, m=method: s.RegularGridInterpolator(p, y, m, solver=spsolve)(xi))
    ]
    + [
        at(x, call, 2e-3)  # SciPy's own accuracy
        for call in gridded(lambda s, p, y, xi: s.RegularGridInterpolator(p, y, "cubic")(xi))
    ]
    + [
        gridded(lambda s, p, y, xi: s.RegularGridInterpolator(p, y, method="nearest")(xi))[0],
        lambda x: interpolate.RegularGridInterpolator((K, K), np.outer(S, S), "cubic")(np.stack([x, v], 1), nu=(1, 0)),
        lambda x: interpolate.RegularGridInterpolator((K, K), np.outer(S, values(x)), bounds_error=False)(
            np.stack([3 * x, v], 1)[:1]
        ),
        lambda x: interpolate.RegularGridInterpolator(
            (K, K), np.outer(S, values(x)), bounds_error=False, fill_value=None
        )(np.stack([3 * x, v], 1)),
        lambda x: interpolate.RegularGridInterpolator(
            (K, K), np.outer(S, values(x)), bounds_error=False, fill_value=0.3
        )(np.stack([3 * x, v], 1)),
        lambda x: interpolate.RegularGridInterpolator((K,), values(x))(x[:, None]),
        lambda x: interpolate.RegularGridInterpolator((K, K[::-1]), np.outer(S, values(x)))(np.stack([x, v], 1)),
        lambda x: interpolate.RegularGridInterpolator((K, K), np.outer(S, values(x)) * (1 + 0.3j))(np.stack([x, v], 1)),
        lambda x: interpolate.RegularGridInterpolator((K, K), np.outer(S, values(x))[..., None] * v)((x, v)),
        lambda x: interpolate.RegularGridInterpolator((K, K, K), S[:, None, None] * np.outer(S, values(x)))((x, v, v)),
    ],
    "scipy.interpolate.interpn": [
        call
        for method in ("linear", "pchip", "splinef2d")
        for call in gridded(lambda s, p, y, xi, m=method: s.interpn(p, y, xi, method=m))
    ]
    + [
        at(x, gridded(lambda s, p, y, xi: s.interpn(p, y, xi, method="cubic"))[0], 2e-3),
        gridded(lambda s, p, y, xi: s.interpn(p, y, xi, method="nearest"))[0],
        lambda x: interpolate.interpn((K, K), np.outer(S, values(x)), np.stack([3 * x, v], 1), "splinef2d", False, 0.2),
        lambda x: interpolate.interpn(
            (K, K), np.outer(S, values(x)), np.stack([3 * x, v], 1), bounds_error=False, fill_value=None
        ),
    ],
    "scipy.interpolate.RBFInterpolator": [
        *(
            lambda x, kernel=kernel: interpolate.RBFInterpolator(scattered(x), Z, kernel=kernel, epsilon=1.5)(
                scattered(v)[:3] + 0.1
            )
            for kernel in (
                "linear",
                "thin_plate_spline",
                "cubic",
                "quintic",
                "multiquadric",
                "inverse_multiquadric",
                "inverse_quadratic",
                "gaussian",
            )
        ),
        lambda x: interpolate.RBFInterpolator(scattered(v), spread(x))(scattered(v)[:3] + 0.1),
        lambda x: interpolate.RBFInterpolator(scattered(v), spread(x), smoothing=x[0], degree=2)(scattered(x)[:3]),
        lambda x: interpolate.RBFInterpolator(scattered(v), spread(x), kernel="gaussian", epsilon=x[0], degree=-1)(
            scattered(x)
        ),
        lambda x: interpolate.RBFInterpolator(scattered(v), spread(x), smoothing=spread(x))(scattered(v)[:3]),
        lambda x: interpolate.RBFInterpolator(scattered(v), spread(x) * (1 + 0.2j))(scattered(x)),
        lambda x: interpolate.RBFInterpolator(scattered(v), np.stack([spread(x), Z], 1), neighbors=5)(
            scattered(v)[:3] + 0.02 * x[:2]
        ),
        lambda x: interpolate.RBFInterpolator(scattered(v), Z, neighbors=5)(scattered(v)[:3] + 0.02 * x[:2]),
        lambda x: interpolate.RBFInterpolator(scattered(v), Z)(scattered(v)[:3] + 0.02 * x[:2]),
    ],
    "scipy.interpolate.Rbf": [
        *(
            lambda x, f=f: interpolate.Rbf(*scattered(v).T, spread(x), function=f)(*scattered(v).T + 0.1)
            for f in ("multiquadric", "inverse", "gaussian", "linear", "cubic", "quintic", "thin_plate")
        ),
        lambda x: interpolate.Rbf(*scattered(x).T, Z, epsilon=x[0], smooth=x[1])(*scattered(v).T + 0.1),
        lambda x: interpolate.Rbf(*scattered(x).T, Z)(*scattered(v).T + 0.1),
        lambda x: interpolate.Rbf(*scattered(v).T, Z, function="gaussian")(*(scattered(x) + 0.05).T),
        lambda x: interpolate.Rbf(*scattered(v).T, np.stack([spread(x), Z], 1), mode="N-D")(*(scattered(v) + 0.05).T),
        lambda x: interpolate.Rbf(*scattered(v).T, Z, function=lambda r: np.exp(-r))(*(scattered(x) + 0.05).T),
    ],
    "scipy.interpolate.approximate_taylor_polynomial": [
        lambda x: interpolate.approximate_taylor_polynomial(np.sin, x[0], 4, x[1])(x[2]),
    ],
    "scipy.interpolate.lagrange": [
        lambda x: interpolate.lagrange(v, x)(0.7),
        lambda x: interpolate.lagrange(x, v)(x[0] + 0.1),
        lambda x: interpolate.lagrange(v, x).coef,
    ],
    "scipy.interpolate.pade": [
        lambda x: interpolate.pade(x, 1)[0](0.3) / interpolate.pade(x, 1)[1](x[0]),
        lambda x: interpolate.pade(x, 2)[1].coef,
        lambda x: interpolate.pade(x, 1, 1)[0].coef,
    ],
    "scipy.interpolate.RectBivariateSpline": [
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(values(x), S))(1.2, 0.4 + x[0]),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, values(x)))(v, P[:4]),
        lambda x: interpolate.RectBivariateSpline(knots(x), K, np.outer(S, S))(v + 1, v),
        lambda x: interpolate.RectBivariateSpline(K, knots(x), np.outer(S, S), kx=2, ky=4)(v, v + 1, dx=1),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, S)).ev(2 * x, v),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, S))(np.sort(x), v, dx=1, dy=1),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, S))(x, v, dx=2, grid=False),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, values(x))).integral(0.1, x[0], -1.0, x[1]),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, S)).integral(0.1, x[0], -1.0, x[1]),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, values(x))).partial_derivative(1, 2)(v, v),
        lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, values(x)), bbox=[-1, None, None, 5])(v, v),
    ],
    "scipy.interpolate.bisplev": [
        lambda x: interpolate.bisplev(v, v, (TK, T, np.outer(np.arange(6.0), x).ravel(), 3, 3)),
        lambda x: interpolate.bisplev(np.sort(x), [3.2, 3.5], (TK, T, np.outer(np.arange(6.0), v).ravel(), 3, 3), dx=1),
        lambda x: interpolate.bisplev(x[0], 3.2, (TK, T, np.outer(np.arange(6.0), v).ravel(), 3, 3)),
    ],
    "scipy.interpolate.LinearNDInterpolator": [
        *on_triangles(lambda s, p, y: s.LinearNDInterpolator(p, y)),
        *on_triangles(lambda s, p, y: s.LinearNDInterpolator(p, y, rescale=True, fill_value=0.7)),
        lambda x: interpolate.LinearNDInterpolator(scattered(x), Z)(INNER),
        lambda x: interpolate.LinearNDInterpolator(scattered(x), Z, fill_value=x[0])(P, P),
        lambda x: interpolate.LinearNDInterpolator(scattered(x) * [1.0, 7.0], Z, rescale=True)([1.1, 1.3], [5.0, 6.0]),
        lambda x: interpolate.LinearNDInterpolator(spatial.Delaunay(scattered(v)), spread(x))([[1.1, 0.95]]),
    ],
    "scipy.interpolate.NearestNDInterpolator": [
        *on_triangles(lambda s, p, y: s.NearestNDInterpolator(p, y))[:2],
        lambda x: interpolate.NearestNDInterpolator(scattered(v), spread(x), rescale=True)(P[:4], v),
    ],
    "scipy.interpolate.CloughTocher2DInterpolator": [
        *on_triangles(lambda s, p, y: s.CloughTocher2DInterpolator(p, y, tol=1e-13)),
        *on_triangles(lambda s, p, y: s.CloughTocher2DInterpolator(p, y, tol=1e-13, rescale=True, fill_value=0.7)),
        at(x, on_triangles(lambda s, p, y: s.CloughTocher2DInterpolator(p, y))[0], 1e-4),
        lambda x: interpolate.CloughTocher2DInterpolator(scattered(x), Z, tol=1e-13)(INNER),
        lambda x: interpolate.CloughTocher2DInterpolator(scattered(x), spread(x), tol=1e-13, rescale=True)(INNER),
    ],
    "scipy.interpolate.griddata": [
        lambda x: interpolate.griddata(scattered(v), spread(x), INNER),
        lambda x: interpolate.griddata(scattered(v), spread(x), (P[1:3, None], v[1:3]), "nearest"),
        lambda x: interpolate.griddata(scattered(x), Z, (1.1, 0.9)),
        lambda x: at_points(interpolate.griddata, "linear", x),
        lambda x: at_points(interpolate.griddata, "cubic", x),
        lambda x: interpolate.griddata(K[::-1], values(x), v, "cubic"),
        lambda x: interpolate.griddata(knots(x)[::-1], S, v + 1.5, "linear"),
        lambda x: interpolate.griddata((K,), values(x), (v,), "nearest"),
    ],
    "scipy.interpolate.splprep": [
        lambda x: interpolate.splprep([S, values(x)], s=0),
        lambda x: interpolate.splev(v / 10, interpolate.splprep([S, values(x), K], s=0, k=2)[0]),
        lambda x: interpolate.splprep([S, values(x)], u=knots(x), s=0, k=5)[0][1],
        lambda x: interpolate.splprep([S, values(x)], u=K, ub=-x[0], ue=5, s=0)[0],
        lambda x: interpolate.splev(v / 10, interpolate.splprep([S, values(x)], s=0, per=True, full_output=1)[0][0]),
    ],
    "scipy.interpolate.make_splrep": [
        lambda x: interpolate.make_splrep(K, values(x), s=0)(P),
        lambda x: interpolate.make_splrep(knots(x), S, k=2)(P),
    ],
    "scipy.interpolate.make_splprep": [
        lambda x: interpolate.make_splprep([S, values(x)])[0](v / 10),
        lambda x: interpolate.make_splprep([S, values(x)], s=0)[1],
    ],
}
