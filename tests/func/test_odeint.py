"""Derivatives of solutions of ODEs by the adjoint, the variational equation and the steps, against closed forms."""

import itertools
import re
import types
import warnings

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.core.errors import ConvergenceError, GradientError
from pullback.func import grad, jvp, odeint
from pullback.func.implicit import fixed_steps, trajectories

pytestmark = pytest.mark.filterwarnings("error")
T, Y0, K = np.array([0.2, 0.7, 1.5]), np.array([1.0, 0.3]), 2.0
TANGENTS = np.array([0.2, 0.3]), np.array([0.4, -0.3, 0.9]), 0.7


def spring(y, t, p):
    return np.stack([y[1], -p["k"] * y[0]])


def solved(y0, t, k, **options):
    return odeint(spring, y0, t, {"k": k, "n": 3, "name": "spring"}, **options)[:, 0]


def closed(y0, t, k, **options):
    s, w = t - t[0], np.sqrt(k)
    return y0[0] * np.cos(w * s) + y0[1] / w * np.sin(w * s)


def both(functional, options):
    """A functional of the solution that was found, and of the closed form."""
    return functional(lambda *args: solved(*args, **options)), functional(closed)


OPTIONS = [
    {"sensitivity": s, "method": m} for s in ("adjoint", "discrete") for m in ("DOP853", "RK45", "RK23")
] + [{"sensitivity": "adjoint", "method": m} for m in ("Radau", "LSODA")]  # fmt: skip
SIX = [o | {"rtol": 1e-6, "atol": 1e-8} if o["method"] in ("RK23", "Radau") else o for o in OPTIONS]


@pytest.mark.parametrize("options", SIX, ids=lambda o: f"{o['sensitivity']} {o['method']}")
def test_first_derivatives_by_start_times_and_parameters(options):
    close = {"rtol": 2e-4, "atol": 2e-4} if "rtol" in options else {"rtol": 1e-6, "atol": 1e-6}
    f, g = both(lambda f: lambda *args: np.sum(f(*args) ** 2), options)
    for i in range(3):
        np.testing.assert_allclose(grad(f, argnums=i)(Y0, T, K), grad(g, argnums=i)(Y0, T, K), **close)
    f, g = both(lambda f: f, options)
    np.testing.assert_allclose(jvp(f, (Y0, T, K), TANGENTS)[1], jvp(g, (Y0, T, K), TANGENTS)[1], **close)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_second_derivatives_in_every_nesting(sensitivity):
    def energy(f):
        return lambda *args: np.sum(f(*args) ** 3)

    def square(f):
        return lambda *args: sum(np.sum(g**2) for g in grad(energy(f), argnums=(0, 1, 2))(*args))

    def along(f):
        return lambda *args: jvp(energy(f), args, TANGENTS)[1]

    for functional in (square, along):
        f, g = both(functional, {"sensitivity": sensitivity})
        for i in range(3):
            found, expected = (grad(h, argnums=i)(Y0, T, K) for h in (f, g))
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
        found, expected = (jvp(h, (Y0, T, K), TANGENTS)[1] for h in (f, g))
        assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_the_third_derivative(sensitivity):
    f = lambda k: odeint(lambda y, t, k: -k * y, 2.0, np.array([0.0, 1.0]), k, sensitivity=sensitivity)[-1]  # noqa: E731
    assert grad(grad(grad(f)))(0.5) == pytest.approx(-2 * np.exp(-0.5), rel=1e-6)
    assert grad(lambda k: jvp(grad(f), (k,), (1.0,))[1])(0.5) == pytest.approx(-2 * np.exp(-0.5), rel=1e-6)


def test_tensors_with_backward():
    k = pb.tensor(K, requires_grad=True)
    y = odeint(spring, Y0, T, {"k": k})
    (first,) = pb.autograd.grad((y[:, 0] ** 2).sum(), k, create_graph=True)
    first.backward()
    expected = grad(grad(lambda k: np.sum(closed(Y0, T, k) ** 2)))(K)
    assert k.grad.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_gradcheck_of_start_times_and_parameters(sensitivity):
    y0, t, k = (pb.tensor(x, requires_grad=True) for x in (1.5, T[:2], 0.4))
    f = lambda y0, t, k: odeint(lambda y, t, k: -k * y * y, y0, t, k, sensitivity=sensitivity)  # noqa: E731
    assert pb.autograd.gradcheck(f, (y0, t, k), check_forward_ad=True, atol=1e-4)
    assert pb.autograd.gradgradcheck(lambda y0, k: f(y0, T[:2], k), (y0, k), atol=1e-4)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_single_precision_stays(sensitivity):
    f = lambda k: odeint(lambda y, t, k: -k * y, np.ones(2, np.float32), T, k, sensitivity=sensitivity)[-1].sum()  # noqa: E731
    gradient = grad(f)(np.float32(0.5))
    assert gradient.dtype == np.float32
    assert gradient == pytest.approx(-2 * 1.3 * np.exp(-0.65), rel=1e-4)


def fading(k, **options):
    """The integral of exp(-2 k t) from 0 to 1, beside exp(-k t), whose error grows by exp(k) on the way back."""
    f = lambda y, t, k: np.stack([-k * y[0], y[0] ** 2])  # noqa: E731
    return odeint(f, np.array([1.0, 0.0]), np.array([0.0, 1.0]), k, **options)[-1, 1]


def faded(k):
    return (1 - np.exp(-2 * k)) / (2 * k)


@pytest.mark.parametrize(("k", "method"), [(20.0, "DOP853"), (20.0, "RK45"), (200.0, "RK45"), (1000.0, "Radau")])
def test_the_adjoint_is_right_where_errors_grow_backward(k, method):
    loose = {"rtol": 1e-6, "atol": 1e-9} if method == "Radau" else {}
    assert grad(lambda k: fading(k, method=method, **loose))(k) == pytest.approx(grad(faded)(k), rel=1e-4)


@pytest.mark.slow
def test_a_derivative_of_the_adjoint_is_right_there_or_refused(monkeypatch):
    expected, loose = grad(grad(faded))(20.0), {"method": "RK45", "rtol": 1e-7, "atol": 1e-9}
    gradient = grad(lambda k: fading(k, **loose))
    assert grad(gradient)(20.0) == pytest.approx(expected, rel=1e-3)
    assert jvp(gradient, (20.0,), (1.0,))[1] == pytest.approx(expected, rel=1e-3)
    monkeypatch.setattr(trajectories, "_HALVINGS", 1)
    with pytest.raises(ConvergenceError, match=r"cannot be solved backward from t=1\.0 to 0\.5, .*stiff, or unstable"):
        grad(grad(lambda k: fading(k, **loose)))(100.0)


def lorenz(y, t, a):
    return np.stack([a[0] * (y[1] - y[0]), y[0] * (a[1] - y[2]) - y[1], y[0] * y[1] - a[2] * y[2]])


def test_values_are_scipys_and_gradients_those_of_differences_at_tight_tolerances():
    t, y0, a = np.linspace(0, 1, 5), np.array([1.0, 2.0, 20.0]), np.array([10.0, 28.0, 8 / 3])
    tight = {"rtol": 1e-12, "atol": 1e-12}

    def by_scipy(a):
        found = scipy.integrate.solve_ivp(lambda t, y: lorenz(y, t, a), (0, 1), y0, "DOP853", t, **tight)
        return found.y.T

    values = odeint(lorenz, y0, t, a, **tight)
    np.testing.assert_array_equal(values, by_scipy(a))
    gradient = grad(lambda a: np.sum(odeint(lorenz, y0, t, a, **tight) ** 2))(a)
    h, e = 1e-3, np.eye(3)
    loss = lambda a: np.sum(by_scipy(a) ** 2)  # noqa: E731
    expected = [
        (8 * (loss(a + h * d) - loss(a - h * d)) - loss(a + 2 * h * d) + loss(a - 2 * h * d)) / (12 * h) for d in e
    ]
    np.testing.assert_allclose(gradient, expected, rtol=1e-8)
    discrete = grad(lambda a: np.sum(odeint(lorenz, y0, t, a, sensitivity="discrete", **tight) ** 2))(a)
    np.testing.assert_allclose(discrete, expected, rtol=1e-8)


def test_discrete_is_the_derivative_of_the_steps_however_coarse(monkeypatch):
    y0, a, t = np.array([1.0, 2.0, 20.0]), np.array([10.0, 28.0, 8 / 3]), np.array([0.0, 0.15, 0.2])
    coarse = {"sensitivity": "discrete", "method": "RK23", "rtol": 0.1, "atol": 1.0}
    found, _ = trajectories.Integrator("", "RK23", 0.1, 1.0).run(
        lambda y, t, a: [lorenz(y[0], t, a[0])], [y0], t, [a], every_step=True
    )
    assert len(found.t) < 20

    # With the steps held, differences of what is computed.
    def loss(y0, times, a):
        steps = np.interp(found.t, t, fixed_steps.plain(times))  # the same fractions of the intervals
        steady = types.SimpleNamespace(t=steps, status=0)
        monkeypatch.setattr(scipy.integrate, "solve_ivp", lambda *args, **kwargs: steady)
        return np.sum(odeint(lorenz, y0, times, a, **coarse)[1:] ** 2)

    coarsely = loss(y0, t, a)
    monkeypatch.undo()
    exact = np.sum(odeint(lorenz, y0, t, a, rtol=1e-10)[1:] ** 2)
    assert abs(coarsely / exact - 1) > 1e-3  # coarse indeed
    for i, x in enumerate((y0, t, a)):
        direction = np.linspace(1, 2, x.size) / 10

        def moved(h, i=i, d=direction):
            return loss(*(z + h * d if j == i else z for j, z in enumerate((y0, t, a))))

        h = 1e-3
        expected = (8 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12 * h)
        assert grad(loss, argnums=i)(y0, t, a) @ direction == pytest.approx(expected, rel=1e-8)


def test_the_steps_of_ours_are_those_of_scipy():
    y0, a = np.array([1.0, 2.0, 20.0]), np.array([10.0, 28.0, 8 / 3])
    for method in fixed_steps.METHODS:
        found = scipy.integrate.solve_ivp(lambda t, y: lorenz(y, t, a), (0, 1), y0, method, rtol=1e-4)
        ours = odeint(lorenz, y0, found.t[[0, -1]], a, sensitivity="discrete", method=method, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(ours[-1], found.y[:, -1], rtol=1e-9)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_trees_complex_numbers_and_times_that_decrease(sensitivity):
    def f(y, t, rate):
        return {"z": rate * y["z"], "area": [abs(y["z"]) ** 2]}

    def loss(rate, z0):
        y = odeint(f, {"z": z0, "area": [0.0]}, np.array([1.0, 0.5, 0.0]), rate, sensitivity=sensitivity)
        return y["area"][0][-1] + y["z"][1].imag

    def closed(rate, z0):  # |z|^2 = |z0|^2 exp(2 Re(rate) s), integrated over s from 0 to -1
        return abs(z0) ** 2 * (np.exp(-2 * rate.real) - 1) / (2 * rate.real) + (z0 * np.exp(-0.5 * rate)).imag

    rate, z0 = 0.3 - 2j, 1.0 + 0.5j
    assert loss(rate, z0) == pytest.approx(closed(rate, z0), abs=3e-8)
    for i in range(2):
        assert grad(loss, argnums=i)(rate, z0) == pytest.approx(grad(closed, argnums=i)(rate, z0), rel=1e-6)
    found, expected = (jvp(h, (rate, z0), (1j, 2.0 + 0j))[1] for h in (loss, closed))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sensitivity", ["adjoint", "discrete"])
def test_a_slope_that_depends_on_time(sensitivity):
    slope = lambda y, t, a: a * np.cos(a * t) * y  # noqa: E731
    loss = lambda a, t: odeint(slope, 1.0, t, a, sensitivity=sensitivity)[-1]  # noqa: E731
    closed = lambda a, t: np.exp(np.sin(a * t[-1]) - np.sin(a * t[0]))  # noqa: E731
    for i, j in itertools.product(range(2), repeat=2):
        found, expected = (
            grad(lambda *x, h=h, i=i: np.sum(grad(h, argnums=i)(*x)), argnums=j)(1.3, T) for h in (loss, closed)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_one_time_is_the_start():
    for sensitivity in ("adjoint", "discrete"):
        f = lambda y0: odeint(lambda y, t: -y, y0, np.array([2.0]), sensitivity=sensitivity)  # noqa: B023, E731
        np.testing.assert_array_equal(f(Y0), Y0[None])
        np.testing.assert_array_equal(grad(lambda y0: f(y0)[0, 1])(Y0), [0, 1])  # noqa: B023


def test_what_f_captures_is_refused_by_the_adjoint_and_followed_by_the_steps():
    t = np.array([0.0, 1.0])

    def captured(sensitivity):
        return lambda k: odeint(lambda y, t: -k * y, 2.0, t, sensitivity=sensitivity)[-1]

    for transform in (lambda f: grad(f)(0.5), lambda f: jvp(f, (0.5,), (1.0,))[1]):
        with pytest.raises(GradientError, match=r"odeint\(<lambda>\): the slope f uses a variable that is being"):
            transform(captured("adjoint"))
        assert transform(captured("discrete")) == pytest.approx(-2 * np.exp(-0.5), rel=1e-7)


def test_refusals():
    with pytest.raises(ConvergenceError, match=r"odeint\(<lambda>\): RK45 stopped between t=0.0 and 2.0"):
        odeint(lambda y, t: y**2, 1.0, np.array([0.0, 2.0]), method="RK45")
    for t in (np.zeros((2, 2)), np.array(1.0), np.array([])):
        with pytest.raises(ValueError, match="an array of times of one dimension"):
            odeint(lambda y, t: y, 1.0, t)
    for t in ([0.0, 1.0, 1.0], [0.0, 1.0, 0.5], [0.0, np.nan]):
        with pytest.raises(ValueError, match="strictly"):
            odeint(lambda y, t: y, 1.0, np.array(t))
    with pytest.raises(GradientError, match=re.escape("with arrays of shapes [(2,)], got [()]")):
        odeint(lambda y, t: y.sum(), Y0, T)
    with pytest.raises(TypeError, match="y0 must be floating point"):
        odeint(lambda y, t: y, np.array([1, 2]), T)
    with pytest.raises(ValueError, match="method must be one of"):
        odeint(spring, Y0, T, {"k": K}, method="euler")
    with pytest.raises(ValueError, match="sensitivity must be"):
        odeint(spring, Y0, T, {"k": K}, sensitivity="forward")
    with pytest.raises(ValueError, match="takes an explicit method"):
        odeint(spring, Y0, T, {"k": K}, sensitivity="discrete", method="BDF")
    with pytest.raises(TypeError, match=r"func\.odeint: f must be callable"):
        odeint(1.0, Y0, T)


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_a_slope_reads_the_variable_of_a_loop_as_it_was_at_the_call(method):
    t = np.array([0.0, 1.0])

    def total(b, bound):
        s = 0.0
        for i in range(3):
            late = lambda y, t, b: -b * (1.0 + i) * y  # noqa: B023, E731
            slope = (lambda y, t, b, i=i: -b * (1.0 + i) * y) if bound else late
            s = s + odeint(slope, 1.0, t, b, method=method)[-1]
        return s

    expected = -sum((1 + i) * np.exp(-(1 + i)) for i in range(3))
    assert grad(lambda b: total(b, True))(1.0) == pytest.approx(expected, rel=1e-5)
    assert grad(lambda b: total(b, False))(1.0) == pytest.approx(expected, rel=1e-5)


def test_a_slope_reads_an_array_as_it_was_at_the_call():
    rate = np.array(1.0)
    find = lambda b: odeint(lambda y, t, b: b * rate * t * (1 - t), 0.0, np.linspace(0, 1, 9), b)[-1]  # noqa: E731
    b = pb.tensor(2.0, requires_grad=True, dtype=pb.float64)
    y = find(b)
    rate[...] = 3.0
    y.backward()
    assert b.grad.item() == pytest.approx(1 / 6)


def test_a_slope_that_changes_inside_alone_is_refused():
    rates = iter(np.linspace(1.0, 2.0, 10000))  # y' is the same at both ends, whatever the rate is

    def slope(y, t, b):
        return b * next(rates) * t * (1 - t)

    with pytest.raises(GradientError, match="another result in backward"):
        grad(lambda b: odeint(slope, 0.0, np.linspace(0, 1, 3), b, rtol=0.1, atol=0.1)[-1])(2.0)


def test_complex_slopes_of_a_real_state_are_refused():
    t = np.array([0.0, 1.0])
    for slope in (lambda y, t: 1j * y, lambda y, t: 1j * y if t > 0.5 else y):
        for sensitivity in ("adjoint", "discrete"):
            with pytest.raises(TypeError, match=r"is real .* imaginary part would be lost"):
                odeint(slope, 1.0, t, sensitivity=sensitivity)
    np.testing.assert_allclose(odeint(lambda y, t: 1j * y, 1.0 + 0j, t)[-1], np.exp(1j), rtol=1e-7)


def test_a_variable_that_f_captures_for_later_times_is_named():
    def f(k):
        return odeint(lambda y, t: (k if t > 0.5 else 1.0) * y, 1.0, np.array([0.0, 1.0]))[-1]

    with pytest.raises(GradientError, match="the slope f uses a variable that is being differentiated"):
        grad(f)(2.0)


def test_the_samples_of_a_batch_go_back_along_their_own_solutions():
    def last(y0, b):
        return odeint(lambda y, t, b: -b * y**2, y0, np.array([0.0, 0.4, 1.0]), b)[-1]  # y0 / (1 + b y0)

    y0, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = pb.func.vmap(grad(last, argnums=(0, 1)))(y0, b)
        outside = grad(lambda y0, b: pb.func.vmap(last)(y0, b).sum(), argnums=(0, 1))(y0, b)
    for found in (inside, outside):
        np.testing.assert_allclose(found[0], 1 / (1 + b * y0) ** 2, rtol=1e-7)
        np.testing.assert_allclose(found[1], -(y0**2) / (1 + b * y0) ** 2, rtol=1e-7)


@pytest.mark.slow
def test_the_work_of_going_backward_is_bounded_where_the_problem_is_stiff(monkeypatch):
    def last(k):
        return odeint(lambda y, t, k: -k * (y - np.cos(t)), 0.3, np.array([0.0, 2.0]), k, method="Radau")[-1]

    monkeypatch.setattr(trajectories, "_WORK", (1000, 1))
    with pytest.raises(ConvergenceError, match=r"very many evaluations of f\): the problem is stiff.*jvp of jvp"):
        grad(grad(last))(100.0)
    second = jvp(lambda k: jvp(last, (k,), (1.0,))[1], (100.0,), (1.0,))[1]  # the remedy that is named
    # y = (k^2 cos t + k sin t) / (k^2 + 1), but for what has faded
    y = lambda k: (k**2 * np.cos(2) + k * np.sin(2)) / (k**2 + 1)  # noqa: E731
    assert second == pytest.approx(y(101.0) - 2 * y(100.0) + y(99.0), rel=1e-2)


@pytest.mark.parametrize("how", ["adjoint", "discrete", "discrete, captured"])
def test_every_derivative_under_vmap_is_that_of_each_sample(how):
    t, rates = np.array([0.0, 1.0]), np.array([0.5, 2.0])
    sensitivity, _, captured = how.partition(", ")

    def last(k):
        y = 1.0
        for i in (1.0,) if sensitivity == "adjoint" else (1.0, 2.0):
            f, args = (lambda y, t: -i * k * t * y, ()) if captured else (lambda y, t, k: -i * k * t * y, (k,))  # noqa: B023
            y = odeint(f, y, t, *args, sensitivity=sensitivity, rtol=1e-2, method="RK23")[-1]
        return y

    moved = lambda f: lambda k: jvp(f, (k,), (1.0,))[1]  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in (last, grad(last), moved(last), grad(grad(last)), moved(grad(last)), grad(moved(last))):
            expected = [function(k) for k in rates]
            np.testing.assert_allclose(pb.func.vmap(function)(rates), expected, rtol=1e-12)
        through = grad(lambda rates: pb.func.vmap(last)(rates).sum())(rates)
        np.testing.assert_allclose(through, [grad(last)(k) for k in rates], rtol=1e-12)


@pytest.mark.parametrize("cache", [list, lambda: np.full(1, np.nan)])
def test_a_slope_with_a_cache_is_differentiated_by_its_steps(cache):
    def last(k):
        known = cache()

        def slope(y, t, rate):
            if isinstance(known, list) and not known:
                known.append(k * k)
            elif not isinstance(known, list) and np.isnan(known[0]):
                known[0] = k * k
            return -rate * known[0] * y

        return odeint(slope, 1.0, np.array([0.0, 1.0]), k, sensitivity="discrete")[-1]

    rates = np.array([0.5, 1.2])
    with pb.adopt(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "vmap")
        for function in (lambda k: [grad(last)(x) for x in k], pb.func.vmap(grad(last))):
            np.testing.assert_allclose(function(rates), -3 * rates**2 * np.exp(-(rates**3)), rtol=1e-7)


def test_a_slope_that_needs_adopt_is_differentiated_by_the_same_equations_as_others():
    calls = []

    def by_array(y, t, rate):
        calls.append(t)
        return np.array([-rate * y[0] * y[1], rate * y[0] * y[1] - 0.1 * y[1]])

    def by_stack(y, t, rate):
        calls.append(t)
        return np.stack([-rate * y[0] * y[1], rate * y[0] * y[1] - 0.1 * y[1]])

    t, y0 = np.linspace(0.0, 20.0, 20), np.array([0.99, 0.01])
    found = []
    for f in (by_stack, by_array):
        calls.clear()
        gradient = pb.func.grad(lambda rate, f=f: np.sum(pb.func.odeint(f, y0, t, rate)[:, 1] ** 2))(0.5)
        found.append((gradient, len(calls)))
    (one, few), (other, more) = found
    np.testing.assert_allclose(one, other, rtol=1e-6)
    assert more < 1.5 * few  # and not those of an adjoint equation for each interval


def test_later_gradients_of_a_solution_run_the_program_of_the_first(monkeypatch):
    import pullback.compiler.compiled as compiled

    def loss(rate, y0):
        slope = lambda y, t: -rate * y + 0.1 * np.sin(t) * np.ones(40)  # noqa: E731 - too many for one matrix
        return np.sum(pb.func.odeint(slope, y0, np.linspace(0.0, 3.0, 4))[-1] ** 2)

    y0, traces = np.linspace(0.5, 1.0, 40), []
    gradient = pb.func.grad(loss, argnums=1)
    first, traced = gradient(0.5, y0), compiled.trace
    monkeypatch.setattr(compiled, "trace", lambda *args: traces.append(args) or traced(*args))
    for _ in range(3):
        np.testing.assert_allclose(gradient(0.5, y0), first, rtol=1e-9)
    assert len(traces) <= 2  # audits
    eps = 1e-6
    direction = np.cos(np.arange(40.0))
    difference = (loss(0.7, y0 + eps * direction) - loss(0.7, y0 - eps * direction)) / (2 * eps)
    np.testing.assert_allclose(gradient(0.7, y0) @ direction, difference, rtol=1e-5)
