"""scipy.integrate where it is hard: what functions capture, units, jumps, moving times, events, refusals."""

import functools
import warnings

import numpy as np
import pytest
from scipy import integrate, linalg
from scipy.stats import qmc

import pullback as pb
from pullback.core.errors import ConvergenceError, DetachingError, GradientError, UnsupportedError
from pullback.func import grad, hessian, jvp
from pullback.func.implicit import trajectories
from pullback.scipy.rules.integrate.calls import Call

pytestmark = pytest.mark.filterwarnings("error")
CLOSE = {"rtol": 1e-10, "atol": 1e-12}
held_globally = None


@pytest.fixture(scope="module", autouse=True)
def _adopting():
    with pb.adopt():
        yield


def decay(s, a):
    return np.exp(-a * s)


def exact(a):  # the integral of decay from 0 to 1
    return (1 - np.exp(-a)) / a


def slope_of_exact(a):
    return (np.exp(-a) * (a + 1) - 1) / a**2


class Model:
    def __init__(self, a):
        self.parts = {"a": [a]}

    def method(self, s):
        return decay(s, self.parts["a"][0])

    __call__ = method


def nested(a):
    def inner(s):
        return decay(s, a)

    return lambda s: inner(s)


def recursive(a):
    def f(s, depth=2):
        return f(s, depth - 1) if depth else decay(s, a)

    return f


HOLDERS = {
    "closure": lambda a: lambda s: decay(s, a),
    "default": lambda a: lambda s, a=a: decay(s, a),
    "keyword default": lambda a: functools.partial(lambda s, *, b=a: decay(s, b)),
    "partial": lambda a: functools.partial(lambda a, s: decay(s, a), a),
    "method": lambda a: Model(a).method,
    "callable object": Model,
    "nested": nested,
    "recursive": recursive,
    "of two": lambda a: lambda s, b=[a, 2 * a]: decay(s, b[1] - b[0]),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_parameter_is_found_wherever_a_function_holds_it(holder):
    f = lambda a: integrate.quad(holder(a), 0, 1)[0]  # noqa: E731
    assert grad(f)(1.3) == pytest.approx(slope_of_exact(1.3), rel=1e-12)
    assert jvp(f, (1.3,), (2.0,))[1] == pytest.approx(2 * slope_of_exact(1.3), rel=1e-12)

    def end(a):
        g = holder(a)
        return integrate.solve_ivp(lambda t, y: [g(1.0) * y[0]], (0, 1), [1.0], **CLOSE).y[0, -1]

    assert grad(end)(1.3) == pytest.approx(-np.exp(np.exp(-1.3) - 1.3), rel=1e-8)


def test_a_global_variable_is_refused_by_name_and_line():
    def f(a):
        global held_globally
        held_globally = a
        return integrate.quad(lambda s: decay(s, held_globally), 0, 1)[0]

    with pytest.raises(DetachingError, match=r"(?s)scipy.integrate.quad would make .*not in a global variable"):
        grad(f)(1.3)


def test_tensors_and_backward():
    a = pb.tensor(1.3, requires_grad=True, dtype=pb.float64)
    integrate.quad(lambda s: (-a * s).exp(), 0, 1)[0].backward()  # PyTorch's methods
    assert a.grad.item() == pytest.approx(slope_of_exact(1.3), rel=1e-12)
    y = integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], **CLOSE).y[0, -1]
    (g,) = pb.autograd.grad(y, a, create_graph=True)
    assert g.item() == pytest.approx(-np.exp(-1.3), rel=1e-8)
    assert pb.autograd.grad(g, a)[0].item() == pytest.approx(np.exp(-1.3), rel=1e-7)


def test_what_a_function_writes_outside_is_seen():
    calls = 0

    def f(a):
        def g(s):
            nonlocal calls
            calls += 1
            return decay(s, a)

        return integrate.quad(g, 0, 1)[0]

    grad(f)(1.3)
    assert calls >= 42  # of the integral, and of its derivative


def test_algorithms_never_see_what_is_differentiated():
    """Their tests would compare our arrays, and the derivative be that of the steps."""
    seen = set()

    def f(a):
        def g(t, y):
            seen.add((isinstance(t, float), type(y)))
            return -a * y

        return integrate.solve_ivp(g, (0, 1), [1.0], t_eval=[1.0]).y[0, 0]

    f(1.0)
    plain = set(seen)
    jvp(f, (1.3,), (1.0,))
    assert plain == {(True, np.ndarray)}
    assert (True, np.ndarray) in seen


@pytest.mark.parametrize("size", [1e-13, 1.0, 1e9])
def test_units_of_the_loss_and_of_parameters_cost_no_digits(size):
    """The tolerances of SciPy are absolute too."""
    f = lambda a: size * integrate.quad(lambda s: decay(s, a[0]) * (1e9 * a[1]), 0, 1)[0]  # noqa: E731
    found = grad(f)(np.array([1.3, 1e-9])) / size
    np.testing.assert_allclose(found, [slope_of_exact(1.3), 1e9 * exact(1.3)], rtol=1e-9)
    f = lambda a: size * integrate.quad(lambda s: decay(s, a / 1e9), 0, 1)[0]  # noqa: E731
    assert grad(f)(1.3e9) == pytest.approx(size * slope_of_exact(1.3) / 1e9, rel=1e-9)
    assert jvp(f, (1.3e9,), (1e3,))[1] == pytest.approx(size * slope_of_exact(1.3) / 1e6, rel=1e-9)
    tight = {"rtol": 1e-7}
    f = lambda k: size * integrate.solve_ivp(lambda t, y: -k * 1e-9 * y, (0, 1), [1.0], **tight).y[0, -1]  # noqa: E731
    expected = -size * np.exp(-1.3) / 1e9
    assert grad(f)(1.3e9) == pytest.approx(expected, rel=2e-6)
    assert jvp(f, (1.3e9,), (1.0,))[1] == pytest.approx(expected, rel=2e-6)


def test_a_jump_that_moves_is_given_as_a_point():
    def f(c):
        return integrate.quad(lambda s: np.where(s < c, 2 * s, 7.0), 0, 1, points=[c])[0]

    assert grad(f)(0.3) == pytest.approx(0.6 - 7, rel=1e-12)
    assert grad(grad(f))(0.3) == pytest.approx(2, rel=1e-9)
    back = lambda c: integrate.quad(lambda s: np.where(s < c, 2 * s, 7.0), 1, 0, points=[c, 5.0])[0]  # noqa: E731
    assert grad(back)(0.3) == pytest.approx(7 - 0.6, rel=1e-12)
    both = lambda c: integrate.quad_vec(lambda s: np.where(s < c, 2 * s, 7.0), 0, 1, points=[c])[0]  # noqa: E731
    assert grad(both)(0.3) == pytest.approx(0.6 - 7, rel=1e-12)


def test_infinite_ends_and_what_they_leave():
    f = lambda a, b: integrate.quad(decay, b, np.inf, args=(a,))[0]  # noqa: E731
    assert grad(f, argnums=(0, 1))(1.3, 0.2) == pytest.approx(
        (-np.exp(-0.26) * (0.2 / 1.3 + 1 / 1.3**2), -np.exp(-0.26)), rel=1e-9
    )
    whole = lambda a, b: integrate.quad(lambda s: np.exp(-a * s**2), -b, b)[0]  # noqa: E731
    assert grad(whole)(1.3, np.inf) == pytest.approx(-np.sqrt(np.pi) / 2 * 1.3**-1.5, rel=1e-9)


def test_further_arguments_come_as_each_function_has_them():
    """Some unpack any sequence, others take what is no tuple for one argument."""
    k = np.array([1.3, 0.4])
    ivp = lambda f, args: integrate.solve_ivp(f, (0, 1), [1.0], args=args, **CLOSE).y[0, -1]  # noqa: E731
    two = lambda t, y, a, b: -a * b * y  # noqa: E731
    expected = -0.52 * np.exp(-0.52) * np.array([1 / 1.3, 1 / 0.4])
    np.testing.assert_allclose(grad(lambda k: ivp(two, k))(k), expected, rtol=1e-8)
    np.testing.assert_allclose(grad(lambda k: ivp(two, [k[0], k[1]]))(k), expected, rtol=1e-8)
    np.testing.assert_allclose(grad(lambda k: ivp(lambda t, y, p: -p[0] * p[1] * y, (k,)))(k), expected, rtol=1e-8)
    one = lambda t, y, p: -p * y  # noqa: E731
    assert grad(lambda k: ivp(one, [k]))(1.3) == pytest.approx(-np.exp(-1.3), rel=1e-8)
    area = lambda k: integrate.quad(lambda s, p: p[0] * np.exp(-p[1] * s), 0, 1, args=k)[0]  # noqa: E731
    np.testing.assert_allclose(grad(area)(k), [exact(0.4), 1.3 * slope_of_exact(0.4)], rtol=1e-10)
    bulk = lambda k: integrate.cubature(lambda s, a, b: a * np.exp(-b * s[:, 0]), [0], [1], args=[k[0], k[1]]).estimate  # noqa: E731
    np.testing.assert_allclose(grad(bulk)(k), [exact(0.4), 1.3 * slope_of_exact(0.4)], rtol=1e-10)


def test_a_jacobian_that_the_call_gives_serves_the_solver():
    def end(k, y0):
        jac = lambda t, y: np.array([[-k]])  # noqa: E731
        return integrate.solve_ivp(lambda t, y: -k * y, (0, 1), y0, "BDF", jac=jac, rtol=1e-8, atol=1e-10).y[0, -1]

    k, y0 = pb.tensor(1.3, requires_grad=True, dtype=pb.float64), pb.tensor([2.0], requires_grad=True, dtype=pb.float64)
    end(k, y0).backward()
    assert (k.grad.item(), y0.grad.item()) == pytest.approx((-2 * np.exp(-1.3), np.exp(-1.3)), rel=1e-5)


def test_full_output_and_the_error_are_constants():
    value, error, info = pb.func.vjp(lambda a: integrate.quad(decay, 0, 1, (a,), full_output=True), 1.3)[0]
    assert (value, error) == pytest.approx(integrate.quad(decay, 0, 1, (1.3,)), rel=1e-14)
    assert info["neval"] == 21


A = np.array([[-1.0, 0.3], [0.2, -0.4]])


@pytest.mark.parametrize("method", ["DOP853", "Radau", "BDF"])
def test_linear_systems_have_derivatives_of_the_exponential(method):
    tolerances = {"rtol": 1e-8, "atol": 1e-10} if method == "DOP853" else {"rtol": 1e-6, "atol": 1e-8}
    D = np.array([[0.1, -0.2], [0.3, 0.4]])

    def end(s, y0):
        return integrate.solve_ivp(lambda t, y: (A + s * D) @ y, (0, 2), y0, method, [2.0], **tolerances).y[:, 0].sum()

    y0 = np.array([1.0, -2.0])
    rel = 1e-6 if method == "DOP853" else 1e-4
    np.testing.assert_allclose(grad(end, argnums=1)(0.0, y0), linalg.expm(2 * A).sum(0), rtol=rel)
    by_s = lambda s: linalg.expm(2 * (A + s * D)) @ y0  # noqa: E731
    h = 1e-3
    assert grad(end)(0.0, y0) == pytest.approx(((by_s(h) - by_s(-h)) / (2 * h)).sum(), rel=10 * rel)
    second = ((by_s(h) - 2 * by_s(0) + by_s(-h)) / h**2).sum()
    assert grad(grad(end))(0.0, y0) == pytest.approx(second, rel=100 * rel)


@pytest.mark.slow
def test_predator_and_prey_against_differences_of_close_solutions():
    def populations(k, **options):
        return integrate.odeint(
            lambda y, t: [k[0] * y[0] - k[1] * y[0] * y[1], k[2] * y[0] * y[1] - k[3] * y[1]],
            [10.0, 5.0], np.linspace(0, 5, 6), **options,
        )  # fmt: skip

    k = np.array([1.1, 0.4, 0.1, 0.4])
    loss = lambda k, **options: np.sum(populations(k, **options) ** 2)  # noqa: E731
    exact = []
    for e in np.eye(4):
        at = [loss(k + s * 1e-3 * e, rtol=1e-13, atol=1e-13) for s in (-2, -1, 1, 2)]
        exact.append((8 * (at[2] - at[1]) - (at[3] - at[0])) / 12e-3)
    np.testing.assert_allclose(grad(loss)(k), exact, rtol=1e-6)
    second = hessian(loss)(k)
    np.testing.assert_allclose(second, second.T, rtol=1e-4, atol=1)
    at = [grad(loss)(k + h * np.eye(4)[1])[1] for h in (-1e-3, 1e-3)]
    assert second[1, 1] == pytest.approx((at[1] - at[0]) / 2e-3, rel=1e-3)


def test_times_that_coincide_still_move():
    """y = exp(-k t): by t, at the time of the start, once and twice."""
    f = lambda t: integrate.solve_ivp(lambda t, y: -1.3 * y, (0, 1), [1.0], t_eval=[t, 0.5], **CLOSE).y[0, 0]  # noqa: E731
    with pytest.raises(ValueError, match="properly sorted"):
        f(0.7)
    assert grad(f)(0.0) == pytest.approx(-1.3, rel=1e-9)
    assert grad(grad(f))(0.0) == pytest.approx(1.3**2, rel=1e-7)
    g = lambda t: integrate.odeint(lambda y, t: -1.3 * y, 1.0, np.stack([t, 1.0, 1.0 + 0 * t])).sum()  # noqa: E731
    assert grad(g)(0.2) == pytest.approx(2 * 1.3 * np.exp(-1.3 * 0.8), rel=1e-6)


def test_both_ends_of_the_span_move_and_the_steps_between_do_not():
    def f(ends):
        return integrate.solve_ivp(lambda t, y: [t * y[0]], ends, [1.0], **CLOSE)

    ends = np.array([0.5, 1.4])
    last = np.exp((1.4**2 - 0.5**2) / 2)
    np.testing.assert_allclose(grad(lambda e: f(e).y[0, -1])(ends), [-0.5 * last, 1.4 * last], rtol=1e-8)
    np.testing.assert_allclose(grad(lambda e: f(e).t[-1])(ends), [0, 1])
    middle = f(ends).t[3]
    expected = -0.5 * np.exp((middle**2 - 0.25) / 2)
    np.testing.assert_allclose(grad(lambda e: f(e).y[0, 3])(ends), [expected, 0], rtol=1e-8, atol=1e-12)


def falling(t, y, g):
    return [y[1], -g]


def ground(t, y, g):
    return y[0]


ground.terminal = True
ground.direction = -1


def test_the_time_of_an_event_and_what_happens_there():
    def landed(h, g):
        return integrate.solve_ivp(falling, (0, 9), [h, 0.0], events=ground, args=(g,), **CLOSE)

    time = lambda h, g: landed(h, g).t_events[0][0]  # noqa: E731
    h, g = 2.0, 9.81
    t = np.sqrt(2 * h / g)
    assert time(h, g) == pytest.approx(t, rel=1e-9)
    assert grad(time, argnums=(0, 1))(h, g) == pytest.approx((t / (2 * h), -t / (2 * g)), rel=1e-7)
    assert grad(grad(time))(h, g) == pytest.approx(-t / (4 * h**2), rel=1e-6)
    speed = lambda h, g: landed(h, g).y[1, -1]  # noqa: E731
    assert grad(speed, argnums=(0, 1))(h, g) == pytest.approx((-np.sqrt(g / (2 * h)), -np.sqrt(h / (2 * g))), rel=1e-7)
    assert grad(lambda h: landed(h, g).y_events[0][0, 1])(h) == pytest.approx(-np.sqrt(g / (2 * h)), rel=1e-7)
    assert grad(lambda h: landed(h, g).t[-1])(h) == pytest.approx(t / (2 * h), rel=1e-7)


def test_an_event_that_only_its_function_moves():
    def crossing(c):
        event = lambda t, y: y[0] - c  # noqa: E731
        return integrate.solve_ivp(lambda t, y: -y, (0, 9), [1.0], events=[event], **CLOSE).t_events[0][0]

    assert grad(crossing)(0.3) == pytest.approx(-1 / 0.3, rel=1e-7)


def test_the_solution_at_any_time():
    def f(k, t):
        return integrate.solve_ivp(lambda t, y: -k * y, (1, 0), [1.0], dense_output=True, **CLOSE).sol(t)

    t = np.array([0.2, 0.9, 0.5])  # in no order, on a way backward
    y = np.exp(-1.3 * (t - 1))
    np.testing.assert_allclose(jvp(f, (1.3, t), (1.0, np.array([1.0, 2.0, 0.0])))[1],
                               [y * (1 - t) - 1.3 * y * [1, 2, 0]], rtol=1e-7)  # fmt: skip
    assert grad(lambda k: f(k, 0.5)[0])(1.3) == pytest.approx(0.5 * np.exp(0.65), rel=1e-8)
    with pytest.raises(GradientError, match=r"derivatives only from 0.0 to 1.0, got times outside"):
        grad(lambda k: f(k, 1.5)[0])(1.3)


def test_a_boundary_value_problem_in_closed_form():
    """u'' = k u, u(0) = 0, u(1) = c: u = c sinh(sqrt(k) x) / sinh(sqrt(k))."""
    x = np.linspace(0, 1, 20)

    def middle(k, c):
        found = integrate.solve_bvp(
            lambda x, u: np.stack([u[1], k * u[0]]),
            lambda a, b: np.array([a[0], b[0] - c]),
            x,
            np.zeros((2, 20)),
            tol=1e-7,
        )
        return found.sol(0.5)[0]

    exact = lambda k, c: c * np.sinh(np.sqrt(k) / 2) / np.sinh(np.sqrt(k))  # noqa: E731
    assert middle(2.0, 3.0) == pytest.approx(exact(2.0, 3.0), rel=1e-6)
    for found, expected in zip(
        grad(middle, argnums=(0, 1))(2.0, 3.0), grad(exact, argnums=(0, 1))(2.0, 3.0), strict=True
    ):
        assert found == pytest.approx(expected, rel=1e-5)


def test_vmap_runs_one_sample_after_the_other(monkeypatch):
    monkeypatch.setattr(trajectories._trajectory._rule, "has_looped", False)  # as before a process's first such call
    k = np.array([0.5, 1.0, 2.0])
    times = [0.5, 1.0]
    last = lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], t_eval=times, **CLOSE).y[0, -1]  # noqa: E731
    area = lambda a: integrate.quad(decay, 0, 1, (a,))[0]  # noqa: E731
    with pytest.warns(UserWarning, match="one sample after the other"):
        np.testing.assert_allclose(pb.func.vmap(grad(last))(k), -np.exp(-k), rtol=1e-8)
    np.testing.assert_allclose(pb.func.vmap(area)(k), exact(k), rtol=1e-12)
    np.testing.assert_allclose(pb.func.vmap(grad(area))(k), slope_of_exact(k), rtol=1e-10)
    free = lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]).y[0, -1]  # noqa: E731
    with pytest.raises(GradientError, match=r"under vmap each sample has steps.*Give the times in t_eval"):
        pb.func.vmap(free)(k)


def spring(t, y):
    return [y[1], -y[0]]


REFUSED = {
    "rtol": lambda k: integrate.solve_ivp(spring, (0, 1), [1.0, k], rtol=1e-5 * k).y,
    "x": lambda k: integrate.solve_bvp(lambda x, y: y, lambda a, b: a, np.linspace(0, 1, 5) * k, np.zeros((1, 5))).y,
    "singular term S": lambda k: integrate.solve_bvp(
        lambda x, y: k * y, lambda a, b: a, np.linspace(0, 1, 5), np.zeros((1, 5)), S=np.ones((1, 1))).y,
    "wvar": lambda k: integrate.quad(decay, 0, 1, (1.0,), weight="alg", wvar=(k, 0.5)),
    "an end of the interval": lambda k: integrate.quad(decay, 0, k, (1.0,), weight="alg-loga", wvar=(0.0, 0.5)),
    "wvar is": lambda k: integrate.quad(decay, 0, np.inf, (1.0,), weight="cos", wvar=k),
    "epsabs": lambda k: integrate.quad(decay, 0, 1, (k,), epsabs=1e-9 * k),
    "log": lambda k: integrate.tanhsinh(lambda s: -k * s, 0, 1, log=True),
    "Then both must be finite": lambda k: integrate.cubature(lambda s: np.exp(-s[:, 0]), [k], [np.inf]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_without_derivative_is_named(name):
    for transform in (grad, lambda f: lambda k: jvp(f, (k,), (1.0,))):
        with pytest.raises(RuntimeError, match=name):
            transform(lambda k: np.sum(REFUSED[name](k)))(1.3)


STEPPERS = {
    "ode": lambda k: integrate.ode(lambda t, y: -k * y).set_initial_value([1.0], 0).integrate(1.0),
    "complex_ode": lambda k: integrate.complex_ode(lambda t, y: -k * y).set_initial_value([1.0], 0).integrate(1.0),
    "nsum": lambda k: integrate.nsum(lambda s: np.exp(-k * s), 0, np.inf).sum,
    "newton_cotes": lambda k: integrate.newton_cotes(np.stack([0.0, k, 2.0]))[0],
    "RK45": lambda k: integrate.RK45(lambda t, y: -k * y, 0, [1.0], 2.0).y,
    "BDF": lambda k: integrate.BDF(lambda t, y: -y, 0, np.stack([k]), 2.0).y,
}


@pytest.mark.parametrize("name", STEPPERS)
def test_what_has_no_derivative_is_refused_by_name(name):
    with pytest.raises((UnsupportedError, DetachingError), match=rf"scipy.integrate.{name} (has no rule|would)"):
        grad(lambda k: np.sum(STEPPERS[name](k)))(1.3)


def test_a_solution_that_was_not_found_has_no_derivative():
    blows_up = lambda k: integrate.solve_ivp(lambda t, y: k * y**2, (0, 9), [1.0]).y[0, -1]  # noqa: E731
    with pytest.raises(ConvergenceError, match="no solution was found that has a derivative"):
        grad(blows_up)(1.0)


def test_constants_go_to_scipy_as_they_are():
    a = pb.tensor(1.3)
    assert type(integrate.quad(lambda s: s**2, 0, 1)[0]) is float
    found = grad(lambda x: x * integrate.quad(decay, 0, 1, (1.3,))[0])(2.0)
    assert found == pytest.approx(exact(1.3), rel=1e-14)
    assert type(integrate.quad(lambda s: float(a) * s, 0, 1)[0]) is float


def test_a_callback_that_captures_an_array_gets_it_with_numpys_methods():
    def f(a):
        return integrate.quad(lambda t: t * a.std(ddof=1), 0, 1)[0]

    x = np.array([1.0, 3.0])
    assert np.allclose(pb.func.grad(f)(x), pb.func.grad(lambda a: a.std(ddof=1) / 2)(x))


def test_second_derivatives_of_an_integral_under_vmap_are_those_of_each_sample():
    value = lambda k: integrate.quad(lambda t: np.exp(k * t), 0, 1)[0]  # noqa: E731
    k = np.array([0.5, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pb.func.vmap(pb.func.grad(pb.func.grad(value)))(k)
    np.testing.assert_allclose(found, [pb.func.grad(pb.func.grad(value))(x) for x in k], rtol=1e-13)


def test_a_batch_of_integrals_runs_its_integrand_once_at_a_place(monkeypatch):
    places, integrand = [], Call.integrand
    monkeypatch.setattr(Call, "integrand", lambda call, x, leaves: places.append(x) or integrand(call, x, leaves))

    def value(k):
        return integrate.quad(lambda t: np.exp(-t * np.sum(k**2)) * np.sum(k * np.sin(t)), 0, 1)[0]

    def slopes(k, directions):
        places.clear()
        found = pb.func.vmap(lambda v: jvp(grad(value), (k,), (v,))[1])(directions)
        return found, len(places)

    k = np.array([0.5, 0.7])
    one, of_one = slopes(k, np.eye(2)[:1])
    both, of_two = slopes(k, np.eye(2))
    _, of_nine = slopes(k, np.repeat(np.eye(2), 9, axis=0))
    assert of_one == of_two == of_nine
    np.testing.assert_allclose(both, hessian(value)(k), rtol=1e-13)
    np.testing.assert_allclose(one, both[:1], rtol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(
    "integral",
    [
        lambda k: integrate.quad(lambda t: np.exp(k * t) * t, 0, 1)[0],
        lambda k: integrate.quad(lambda t: np.exp(t), 0, k)[0],
        lambda k: integrate.quad(lambda t: np.exp(k * t) if k > 1 else k**3 * t, 0, 1)[0],
        lambda k: integrate.quad_vec(lambda t: np.exp(k * t) * np.array([1.0, 1e-9]), 0, 1)[0][1],
        lambda k: integrate.dblquad(lambda y, x: np.cos(k * x * y), 0, 1, 0, 1, epsabs=1e-3, epsrel=1e-3)[0],
        lambda k: integrate.cubature(lambda x: np.exp(k * x[:, 0]), [0.0], [1.0]).estimate,
        lambda k: integrate.tanhsinh(lambda x: np.exp(k * x), 0.0, 1.0, rtol=1e-4).integral,
    ],
)
def test_integrals_of_a_batch_are_those_of_a_loop(integral, order):
    function = integral
    for _ in range(order):
        function = grad(function)
    k = np.array([0.5, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what has to run on one sample after the other
        found = pb.func.vmap(function)(k)
    np.testing.assert_allclose(found, [function(x) for x in k], rtol=1e-12)


def test_many_samples_of_plain_integrals_are_those_of_a_loop():
    area = lambda k: integrate.quad(lambda t: np.exp(k * t), 0, 1)[0]  # noqa: E731
    k = np.linspace(0.5, 2, 40)
    np.testing.assert_allclose(pb.func.vmap(area)(k), [area(x) for x in k], rtol=1e-13)


def test_a_table_of_narrow_pieces_has_its_whole_gradient():
    nodes = np.linspace(0, 1, 16)

    def of_table(values):
        return integrate.quad(lambda t: np.interp(t, nodes, values), 0, 1, limit=400, epsabs=1e-5, epsrel=1e-5)[0]

    with pb.adopt():
        found = pb.func.grad(of_table)(np.exp(nodes))
    trapezoids = np.full(16, 1 / 15) * np.r_[0.5, np.ones(14), 0.5]
    np.testing.assert_allclose(found, trapezoids, rtol=1e-4)


@pytest.mark.parametrize("needs_numbers", [False, True])
def test_a_gradient_by_many_numbers_runs_the_integrand_at_many_points_at_once(needs_numbers):
    nodes, calls = np.linspace(0, 1, 5), [0]

    def of_table(values):
        def table(t):
            calls[0] += 1
            if needs_numbers and t < 0:
                return 0.0
            return np.interp(t, nodes, values) ** 2

        return integrate.quad(table, 0, 1, epsabs=1e-3, epsrel=1e-3)[0]

    values = np.exp(nodes)
    found = grad(of_table)(values)
    hats = np.diff(nodes)[0] / 3 * np.array([[2 * values[0] + values[1]], [values[-2] + 2 * values[-1]]])
    np.testing.assert_allclose(found[[0, -1]], hats.ravel(), rtol=1e-3)
    assert (calls[0] < 200) != needs_numbers


@pytest.mark.parametrize("place", ["end", "point", "outside"])
def test_an_integral_over_pieces_takes_a_batch_of_limits(place):
    warnings.filterwarnings("ignore", "vmap")  # said once, so that it depends on other tests

    def f(b):
        ends = {"end": (b, 0.2), "point": (1.0, b), "outside": (0.1, b)}[place]
        return integrate.quad(lambda x: np.abs(x - ends[1]) * b, 0.0, ends[0], points=[ends[1]])[0]

    batch = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(pb.func.vmap(f)(batch), [f(b) for b in batch], rtol=1e-12)
    slopes = [(f(b + 1e-5) - f(b - 1e-5)) / 2e-5 for b in batch]
    np.testing.assert_allclose(pb.func.vmap(grad(f))(batch), slopes, rtol=1e-7)


@pytest.mark.parametrize("moves", ["integrand", "limits"])
def test_a_mean_over_quasi_random_points_takes_a_batch(moves):
    def f(b):
        points = qmc.Halton(d=2, rng=1)
        factor, end = (b, 1.0) if moves == "integrand" else (1.0, b)
        return integrate.qmc_quad(
            lambda x: np.sum(x, 0) ** 2 * factor, [0.0, 0.0], np.array([1.0, 2.0]) * end, n_points=64, n_estimates=2,
            qrng=points,
        ).integral  # fmt: skip

    batch = np.array([0.3, 0.5, 0.7])
    np.testing.assert_allclose(pb.func.vmap(f)(batch), [f(b) for b in batch], rtol=1e-6)  # SciPy sums in pieces
    slopes = [(f(b + 1e-4) - f(b - 1e-4)) / 2e-4 for b in batch]
    np.testing.assert_allclose(pb.func.vmap(grad(f))(batch), slopes, rtol=1e-6)


def test_of_samples_with_places_of_their_own_and_by_random_points():
    a = np.array([0.5, 2.0])
    found = pb.vmap(lambda a: integrate.qmc_quad(lambda x: np.exp(-a * x), 0.0, 1.0).integral)(pb.tensor(a))
    np.testing.assert_allclose(found, -np.expm1(-a) / a, rtol=1e-2)
    places = pb.tensor([0.1, 0.6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs on one sample after the other, which is said once
        found = pb.vmap(lambda c: integrate.quad(lambda x: np.abs(x - c), 0.0, 1.0, points=[c])[0])(places)
    np.testing.assert_allclose(found, (places**2 + (1 - places) ** 2) / 2)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8])
def test_simpsons_rule_of_single_precision_has_scipys_digits(n):
    """SciPy widens the steps of the last interval to double precision, and so the result."""
    x = np.cumsum(np.linspace(0.1, 0.3, n)).astype(np.float32)
    for f in (
        lambda z: integrate.simpson(np.cos(x), x=z),
        lambda z: integrate.simpson(np.outer([1, 2], z), x=z, axis=1),
        lambda z: integrate.simpson(np.outer(z, [1, 2]), x=np.outer(z, [3, 1]), axis=0),
    ):
        found, pull = pb.func.vjp(f, x)
        assert np.asarray(found).dtype == f(x).dtype
        np.testing.assert_allclose(found, f(x), rtol=1e-15 if n % 2 == 0 else 1e-6)
        assert pull(np.ones_like(found))[0].dtype == np.float32
