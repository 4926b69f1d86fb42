"""scipy.interpolate on our tensors: what hard tests asked, beyond the calls that are tried for every function."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import interpolate

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError
from tests.scipy.calls.interpolate import INNER, K, P, Q, S, T, Z, sampled, scattered, spread, values
from tests.scipy.test_calls import differences, weighed

x = np.array([0.7, 1.3, 0.4, 1.1])
v = np.array([0.3, 0.8, 1.5, 2.0])
GENUINE = {name: getattr(interpolate, name) for name in interpolate.__all__}


@pytest.fixture(autouse=True, scope="module")
def adopting():
    with pb.adopt():
        yield


def test_polynomials_have_the_derivatives_of_polynomials():
    """A cubic is its own spline: all derivatives by the point are known to the last bits."""
    cubic = np.poly1d([0.3, -1.0, 0.5, 2.0])
    data = cubic(K)

    def makes():
        yield interpolate.CubicSpline(K, data)
        yield interpolate.make_interp_spline(K, data)
        yield interpolate.InterpolatedUnivariateSpline(K, data)
        yield interpolate.KroghInterpolator(K, data)
        yield interpolate.BarycentricInterpolator(K, data, rng=0)
        yield lambda p: interpolate.splev(p, interpolate.splrep(K, data))
        yield lambda p: interpolate.interp1d(K, data, "cubic")(p)
        yield lambda p: interpolate.RectBivariateSpline(K, K, np.outer(data, data)).ev(p, K[2]) / data[2]
        yield interpolate.PPoly.from_spline(interpolate.splrep(K, data))
        yield interpolate.BPoly.from_power_basis(interpolate.CubicSpline(K, data))
        yield interpolate.make_lsq_spline(K, data, np.repeat(K[[0, -1]], 4))

    for spline in makes():
        f = lambda p: np.sum(spline(np.stack([p, p]))) / 2  # noqa: E731, B023
        for order in range(4):
            np.testing.assert_allclose(f(1.3), cubic.deriv(order)(1.3), rtol=1e-9, atol=1e-10)
            f = pb.func.grad(f)


def test_the_derivative_by_a_value_is_the_spline_of_a_unit_vector():
    for make in (
        lambda y: interpolate.CubicSpline(K, y, bc_type="natural"),
        lambda y: interpolate.make_interp_spline(K, y, k=5),
        lambda y: interpolate.UnivariateSpline(K, y, s=0, k=4),
        lambda y: interpolate.make_smoothing_spline(K, y, lam=0.1),
        lambda y: interpolate.KroghInterpolator(K, y),
        lambda y: interpolate.RBFInterpolator(K[:, None], y),
    ):
        at = P[:, None] if "RBF" in type(make(S)).__name__ else P
        exact = np.stack([make(row)(at) for row in np.eye(6)], 1)
        for jacobian in (pb.func.jacrev, pb.func.jacfwd):
            np.testing.assert_allclose(jacobian(lambda y: make(y)(at))(S), exact, rtol=1e-9, atol=1e-11)  # noqa: B023


def test_a_thin_plate_has_no_curvature_at_its_nodes():
    """It is infinite there; a number would be wrong."""
    nodes = np.cos(np.arange(16.0)).reshape(8, 2)
    for f in (
        lambda q: interpolate.RBFInterpolator(nodes, np.arange(8.0), kernel="thin_plate_spline")(q[None])[0],
        lambda q: interpolate.Rbf(*nodes.T, np.arange(8.0), function="thin_plate")(*q)[()],
    ):
        at = nodes[2]
        slope = [(f(at + h) - f(at - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(pb.func.grad(f)(at), slope, rtol=1e-4)
        assert np.isnan(pb.func.hessian(f)(at)).all()
        assert np.isfinite(pb.func.hessian(f)(at + 0.1)).all()
    of_nodes = pb.func.hessian(lambda p: interpolate.RBFInterpolator(p, np.arange(8.0))(at[None] + 0.1)[0])(nodes)
    assert np.isfinite(of_nodes).all()


def test_points_that_are_nodes_have_all_derivatives():
    """Where SciPy copies the value of a node, the slope is that of the polynomial nevertheless."""
    cubic = np.poly1d([0.3, -1.0, 0.5, 2.0])
    for make in (
        lambda x, y: interpolate.BarycentricInterpolator(x, y, rng=0),
        lambda x, y: interpolate.KroghInterpolator(x, y),
        lambda x, y: interpolate.FloaterHormannInterpolator(x, y),
        lambda x, y: interpolate.lagrange(x, y),
    ):
        f = make(K, cubic(K))
        for order in range(4):
            np.testing.assert_allclose(f(K[2]), cubic.deriv(order)(K[2]), rtol=1e-9, atol=1e-9)
            f = pb.func.grad(f)
        slopes = pb.func.jacrev(lambda x: make(x, cubic(K))(K[2:4]))(K)  # a node moves: the value goes along it  # noqa: B023
        np.testing.assert_allclose(slopes, -np.eye(6)[2:4] * cubic.deriv()(K[2:4, None]), atol=1e-9)
        np.testing.assert_allclose(pb.func.jacrev(lambda y: make(K, y)(K[2:4]))(S), np.eye(6)[2:4], atol=1e-12)  # noqa: B023
        np.testing.assert_array_equal(np.isnan(make(K, S)(np.array([np.nan, 1.0]))), [True, False])


@pytest.mark.parametrize("kernel", ["gaussian", "multiquadric", "quintic"])
def test_second_derivatives_at_the_nodes_of_radial_functions(kernel):
    points, h = scattered(v), 1e-4
    for made in (
        interpolate.Rbf(*points.T, Z, function=kernel),
        lambda *q: interpolate.RBFInterpolator(points, Z, kernel=kernel, epsilon=1.0)(np.stack(q, -1)[None])[0],
    ):
        slope = pb.func.grad(lambda q: made(q[0], q[1]))  # noqa: B023
        columns = [(slope(points[3] + h * e) - slope(points[3] - h * e)) / (2 * h) for e in np.eye(2)]
        curvature = pb.func.hessian(lambda q: made(q[0], q[1]))(points[3])  # noqa: B023
        np.testing.assert_allclose(curvature, columns, rtol=1e-4)


def test_coefficients_that_are_zero_have_their_gradients():
    exact = np.prod([(0.7 - K[j]) / (K[0] - K[j]) for j in range(1, 6)])
    np.testing.assert_allclose(pb.func.grad(lambda y: interpolate.lagrange(K, y)(0.7))(np.zeros(6))[0], exact)
    gradient = pb.func.grad(lambda a: interpolate.pade(a, 1)[0](0.3))(np.array([1.0, 1.0, 0.0]))
    expected = differences(lambda a: interpolate.pade(a, 1)[0](0.3), np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_results_are_the_same_bits_as_scipys_where_nothing_is_differentiated():
    def inside(p):
        plain = interpolate.CubicSpline(K, S)(P)
        assert type(plain) is np_ndarray
        assert np.array_equal(plain, GENUINE["CubicSpline"](K, S)(P))
        return p * plain.sum()

    pb.func.grad(inside)(1.0)


np_ndarray = type(np.zeros(1))

POSITIONS = {
    "interp1d fill": lambda x: interpolate.interp1d(K, S, bounds_error=False, fill_value=x[0])(P * 3),
    "interp1d two fills": lambda x: interpolate.interp1d(K, S, bounds_error=False, fill_value=(x[0], x[1]))(P * 3),
    "grid fill": lambda x: interpolate.RegularGridInterpolator((K,), S, bounds_error=False, fill_value=x[0])(
        P[:, None] * 3
    ),
    "interpn fill": lambda x: interpolate.interpn((K,), S, P[:, None] * 3, bounds_error=False, fill_value=x[0]),
    "triangles fill": lambda x: interpolate.CloughTocher2DInterpolator(scattered(v), Z, fill_value=x[0])(P, P),
    "griddata fill": lambda x: interpolate.griddata(scattered(v), Z, (P, P), fill_value=x[0]),
    "griddata points": lambda x: interpolate.griddata(scattered(x), Z, INNER),
    "nearest points": lambda x: interpolate.griddata(scattered(x), spread(x), INNER, "nearest"),
    "weights that do not matter": lambda x: interpolate.UnivariateSpline(K, values(x), w=values(x) + 2, s=0)(P),
    "made of plain data: smooth": lambda x: interpolate.SmoothBivariateSpline(*scattered(v).T, Z, kx=2, ky=2).ev(x, v),
    "made of plain data: least squares": lambda x: interpolate.LSQBivariateSpline(
        *scattered(v).T, Z, [], [], kx=1, ky=1
    )(x, v, grid=False),
    "made of plain data: sphere": lambda x: interpolate.RectSphereBivariateSpline(
        K[1:5] / 2, K[1:] / 2, np.outer(S[1:5], S[1:])
    ).ev(x, v),
    "made of plain data: AAA": lambda x: interpolate.AAA(Q, np.exp(Q))(x),
    "made of plain data: tck": lambda x: interpolate.bisplev(
        x[0], 0.3, interpolate.bisplrep(*scattered(v).T, Z, kx=2, ky=2)
    ),
    "periodic integral": lambda x: interpolate.BSpline(T, x, 3).integrate(0.2, x[0] * 3, extrapolate="periodic"),
    "integral that is cut": lambda x: interpolate.BSpline(T, v, 3).integrate(x[0], 3.6, extrapolate=False),
    "coefficients put in": lambda x: put(interpolate.BSpline(T, np.sin(x), 3), x)(P),
    "values put in": lambda x: given(interpolate.BarycentricInterpolator(K, values(x)), values(x) ** 2)(v),
    "a knot inserted": lambda x: interpolate.BSpline(T, v, 3).insert_knot(x[0] / 4 + 3).c,
    "knots inserted": lambda x: interpolate.BSpline(T, x, 3).insert_knot(3.5)(P),
    "repeated points": lambda x: interpolate.KroghInterpolator(np.array([x[2], x[2], x[0], 2.7]), v)(v),
    "lists": lambda x: interpolate.CubicSpline(list(K), list(values(x)))([0.3, x[0]]),
    "conditions of any order": lambda x: interpolate.CubicSpline(K, S, bc_type=((1, x[0]), (2, x[1])))(x),
    "axis from the end": lambda x: interpolate.PchipInterpolator(K, np.stack([values(x), S]), axis=-1)(v),
    "an object through a function": lambda x: interpolate.splev(v, interpolate.splder(interpolate.BSpline(T, x, 3))),
    "empty": lambda x: interpolate.CubicSpline(K, values(x))(np.zeros((0, 3))).sum() + x.sum(),
}


def put(spline, c):
    spline.c = c
    return spline


def given(interpolator, y):
    interpolator.set_yi(y)
    return interpolator


@pytest.mark.parametrize("name", POSITIONS)
def test_a_tensor_in_this_position_has_its_gradient(name):
    f = weighed(POSITIONS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of few knots
        expected = differences(f, x)
        np.testing.assert_allclose(pb.func.grad(f)(x), expected, rtol=1e-5, atol=1e-6 * max(1, np.abs(expected).max()))


REFUSED = {
    "smoothing factor": lambda x: interpolate.UnivariateSpline(Q, np.cos(Q), s=x[0])(P),
    "smoothing": lambda x: interpolate.UnivariateSpline(Q, sampled(x), s=0.3)(P),
    "smoothing, by default": lambda x: interpolate.UnivariateSpline(Q, sampled(x))(P),
    "splrep": lambda x: interpolate.splrep(Q, sampled(x), s=0.3)[1],
    "splrep, weighted": lambda x: interpolate.splrep(Q, sampled(x), w=np.ones(12))[1],
    "splprep": lambda x: interpolate.splprep([Q, sampled(x)])[0][1],
    "make_splrep": lambda x: interpolate.make_splrep(Q, sampled(x), s=0.3)(P),
    "make_splprep": lambda x: interpolate.make_splprep([Q, sampled(x)], s=x[0])[0](v),
    "generate_knots": lambda x: list(interpolate.generate_knots(Q, sampled(x), s=0.1))[-1],
    "set_smoothing_factor": lambda x: smoothed(interpolate.UnivariateSpline(Q, sampled(x), s=0))(P),
    "lam=None": lambda x: interpolate.make_smoothing_spline(Q, sampled(x))(P),
    "surface": lambda x: interpolate.RectBivariateSpline(K, K, np.outer(S, values(x)), s=1.0)(v, v),
    "surface of points": lambda x: interpolate.SmoothBivariateSpline(*scattered(v).T, spread(x), kx=2, ky=2)(v, v),
    "AAA": lambda x: interpolate.AAA(Q, sampled(x))(P),
    "design matrix": lambda x: interpolate.NdBSpline.design_matrix(np.stack([x, x], 1) + 3, (T, T), 3) @ np.ones(16),
    "into plain memory": lambda x: put(interpolate.BSpline(T, v, 3), x)(P),
    "into plain memory, too": lambda x: given(interpolate.BarycentricInterpolator(K, S), values(x))(v),
    "captured": lambda x: interpolate.approximate_taylor_polynomial(lambda t: x[0] * np.sin(t), 0.2, 3, 1.0)(0.3),
    "captured by a kernel": lambda x: interpolate.Rbf(*scattered(v).T, Z, function=lambda r: np.exp(-r * x[0]))(P, P),
}


def smoothed(spline):
    spline.set_smoothing_factor(0.5)
    return spline


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused_with_its_line(name):
    call = REFUSED[name]
    for transform in (
        lambda f: pb.func.grad(weighed(f))(x),
        lambda f: pb.func.jvp(weighed(f), (x,), (x,)),
    ):
        with pytest.raises((UnsupportedError, DetachingError)) as caught:
            transform(call)
        assert "scipy.interpolate" in str(caught.value)
        assert call.__code__.co_filename.rpartition("/")[2] in str(caught.value)


WRONG = [
    lambda s, x: s.CubicSpline(x, x)(0.5),  # x falls
    lambda s, x: s.CubicSpline(K, x),
    lambda s, x: s.CubicSpline(K, values(x), bc_type="periodic"),
    lambda s, x: s.CubicSpline(K, values(x), bc_type="no such"),
    lambda s, x: s.CubicSpline(K, values(x) * np.nan),
    lambda s, x: s.PchipInterpolator(x[:1], x[:1]),
    lambda s, x: s.Akima1DInterpolator(K, values(x), method="no such"),
    lambda s, x: s.make_interp_spline(K, x),
    lambda s, x: s.make_interp_spline(K, values(x), k=-1),
    lambda s, x: s.make_lsq_spline(Q, sampled(x), T),
    lambda s, x: s.make_smoothing_spline(K, values(x), lam=-1.0),
    lambda s, x: s.BSpline(T, x[:2], 3),
    lambda s, x: s.BSpline(T, x, -1),
    lambda s, x: s.BSpline.design_matrix(x - 9, T, 3),
    lambda s, x: s.PPoly(x, K),
    lambda s, x: s.PPoly(np.outer(x, x), K[:5])(x, -1),
    lambda s, x: s.splrep(K, x),
    lambda s, x: s.splrep(K, values(x), k=7),
    lambda s, x: s.splev(x + 99, s.splrep(K, values(x)), ext=2),
    lambda s, x: s.splev(x, s.splrep(K, values(x)), der=5),
    lambda s, x: s.spalde(x[0] - 99, s.splrep(K, S)),
    lambda s, x: s.sproot((T, x, 2)),
    lambda s, x: s.splder((T, np.append(x, np.zeros(4)), 3), 9),
    lambda s, x: s.InterpolatedUnivariateSpline(K[::-1], values(x)),
    lambda s, x: s.LSQUnivariateSpline(K, values(x), [9.0]),
    lambda s, x: s.UnivariateSpline(K, x, s=0),
    lambda s, x: s.interp1d(K, values(x))(99.0 * x),
    lambda s, x: s.interp1d(K, values(x), "no such"),
    lambda s, x: s.interp1d(K, x),
    lambda s, x: s.RegularGridInterpolator((K, K), np.outer(S, values(x)))((99 * x, x)),
    lambda s, x: s.RegularGridInterpolator((K, K), x),
    lambda s, x: s.RegularGridInterpolator((K[:3], K), np.outer(x[:3], S), "quintic"),
    lambda s, x: s.interpn((K, K), np.outer(S, values(x)), np.outer(x, x[:3])),
    lambda s, x: s.griddata(scattered(x), spread(x)[:4], INNER),
    lambda s, x: s.griddata(scattered(x), spread(x), INNER, "no such"),
    lambda s, x: s.LinearNDInterpolator(scattered(x), spread(x))(x, x, x),
    lambda s, x: s.RBFInterpolator(scattered(x)[:2], Z[:2]),
    lambda s, x: s.RBFInterpolator(scattered(x), x),
    lambda s, x: s.RBFInterpolator(scattered(x)[[0, 0, 1, 2]], Z[:4], kernel="gaussian", epsilon=1.0),
    lambda s, x: s.RBFInterpolator(scattered(x), Z, kernel="gaussian"),
    lambda s, x: s.KroghInterpolator(K, x),
    lambda s, x: s.FloaterHormannInterpolator(K, values(x), d=-1),
    lambda s, x: s.RectBivariateSpline(K, K[::-1], np.outer(S, values(x))),
    lambda s, x: s.RectBivariateSpline(K, K, np.outer(S, values(x)))(x[::-1], x),
    lambda s, x: s.pade(x, 5),
]


@pytest.mark.parametrize("i", range(len(WRONG)))
def test_what_scipy_refuses_is_refused_with_its_error(i):
    genuine = type("scipy", (), {name: staticmethod(f) for name, f in GENUINE.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            WRONG[i](genuine, x)
        with pytest.raises(theirs.type) as ours:
            pb.func.grad(lambda x: np.sum(weighed(lambda x: WRONG[i](interpolate, x))(x)))(x)
    first = str(theirs.value).split("\n")[0].split(", but got")[0].split("got t=")[0].split("w/ x")[0]
    assert first[:60] in str(ours.value)


def test_vmap_maps_or_refuses():
    """Values and points by samples; what asks for numbers is refused, never computed for one sample alone."""
    batch = np.stack([S, S**2, np.cos(S)])
    calls = {
        "values": lambda y: interpolate.CubicSpline(K, y)(P),
        "knots given": lambda y: interpolate.BSpline(T, y[:4], 3)(P),
        "a fit": lambda y: interpolate.make_interp_spline(K, y)(P),
        "points": lambda y: interpolate.CubicSpline(K, S)(y),
        "linear": lambda y: interpolate.interp1d(K, y)(P[:4]),
        "radial": lambda y: interpolate.RBFInterpolator(K[:, None], y)(P[:, None]),
        "grid": lambda y: interpolate.RegularGridInterpolator((K,), y)(P[:4, None]),
        "tck": lambda y: interpolate.splev(P, interpolate.splrep(K, y)),
        "pchip": lambda y: interpolate.PchipInterpolator(K, y)(P),
        "triangles": lambda y: interpolate.LinearNDInterpolator(scattered(v)[:6], y)(INNER),
    }
    mapped = 0
    for call in calls.values():
        rows = [np.asarray(call(row)) for row in batch]
        try:
            found = pb.func.vmap(call)(batch)
        except RuntimeError:
            continue
        mapped += 1
        np.testing.assert_allclose(found, rows, rtol=1e-10, atol=1e-12)
    assert mapped >= 7


def test_gradients_of_samples_are_those_of_each():
    batch = np.stack([S, S**2, np.cos(S)])
    f = lambda y: np.sum(interpolate.CubicSpline(K, y)(P) ** 2)  # noqa: E731
    each = pb.func.jacrev(lambda b: np.stack([f(r) for r in b]))(batch)[range(3), range(3)]
    np.testing.assert_allclose([pb.func.grad(f)(row) for row in batch], each)


def test_tensors_of_pytorchs_face_go_through():
    y = pb.tensor(S, requires_grad=True)
    interpolate.CubicSpline(K, y)(P).sum().backward()
    exact = pb.func.grad(lambda y: interpolate.CubicSpline(K, y)(P).sum())(S)
    np.testing.assert_allclose(y.grad.numpy(), exact)
    at = pb.tensor(P[:3], requires_grad=True)
    interpolate.CubicSpline(K, S)(at).sum().backward()
    np.testing.assert_allclose(at.grad.numpy(), interpolate.CubicSpline(K, S)(P[:3], 1))


def test_an_object_of_tensors_is_an_instance_of_scipys_class():
    kinds = []

    def f(y):
        spline = interpolate.CubicSpline(K, y)
        kinds.append([isinstance(spline, k) for k in (interpolate.CubicSpline, interpolate.PPoly, interpolate.BSpline)])
        kinds.append([isinstance(spline.derivative(), interpolate.PPoly), isinstance(1.0, interpolate.PPoly)])
        return spline(0.3)

    pb.func.grad(f)(S)
    assert kinds == [[True, True, False], [True, False]]


def test_a_subclass_of_scipys_class_takes_tensors_as_points():
    class Doubled(interpolate.CubicSpline):
        def __call__(self, x, nu=0):
            return 2 * super().__call__(x, nu)

    spline = Doubled(K, S)
    np.testing.assert_allclose(pb.func.grad(spline)(0.3), 2 * GENUINE["CubicSpline"](K, S)(0.3, 1))


def test_objects_of_plain_data_stay_as_they_are():
    spline = interpolate.CubicSpline(K, S)
    before = pickle.dumps(spline)
    assert type(spline) is GENUINE["CubicSpline"]
    pb.func.grad(lambda p: spline(p) * spline.integrate(0, p))(0.3)
    assert pickle.dumps(spline) == before
    nearest = interpolate.NearestNDInterpolator(scattered(v), Z)
    fields = set(vars(nearest))
    pb.func.grad(lambda p: nearest(p, 0.9) + p)(1.0)
    assert set(vars(nearest)) == fields


def test_a_spline_of_long_data_costs_no_square_of_memory():
    n = 2000
    long = np.linspace(0, 10, n)
    gradient = pb.func.grad(
        lambda y: interpolate.CubicSpline(long, y)(5.0123) + interpolate.make_interp_spline(long, y)(5.0123)
    )
    found = gradient(np.sin(long))
    near = np.argsort(np.abs(long - 5.0123))[:40]
    assert abs(found.sum() - 2) < 1e-9, "a constant is its own spline"
    assert np.abs(np.delete(found, near)).max() < 1e-6


def test_objects_of_plain_data_take_tensors_without_adopt():
    program = """
import numpy as np
import scipy.interpolate
import pullback as pb
from pullback.scipy import interpolate
K = np.arange(5.0)
spline = interpolate.CubicSpline(K, np.sin(K))
slope = pb.func.grad(spline)(1.3)
assert slope == pb.func.grad(scipy.interpolate.CubicSpline(K, np.sin(K)))(1.3)
assert abs(slope - spline(1.3, 1)) < 1e-14
assert abs(pb.func.grad(lambda y: interpolate.make_interp_spline(K, y)(1.3))(np.sin(K)).sum() - 1) < 1e-14
with pb.adopt():
    pass
assert slope == pb.func.grad(spline)(1.3)
assert type(spline) is scipy.interpolate.CubicSpline
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
