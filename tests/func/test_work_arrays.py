"""Functions given to solvers may write into arrays, as people write equations for SciPy: no `adopt()` is needed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pullback as pb
import pullback.scipy
from pullback.func import checkpointed_loop, custom_root, grad, jvp, odeint
from pullback.scipy import integrate, optimize

OUT = np.zeros(2)


def slope_with(out):
    def slope(t, y, p):
        found = out()
        found[0] = y[1]
        found[1] = -p * y[0]
        return found

    return slope


def made_outside():
    out = np.empty(2)
    return lambda: out


KINDS = {
    "made outside": made_outside,
    "made inside": lambda: lambda: np.zeros(2),
    "a global": lambda: lambda: OUT,
}


def by_solve_ivp(p, kind):
    slope, how = slope_with(KINDS[kind]()), {"t_eval": [0.0, 0.5, 1.0], "rtol": 1e-6, "atol": 1e-8}
    first, second = (integrate.solve_ivp(lambda t, y: slope(t, y, p), (0, 1), [1.0, 0.0], **how).y for _ in range(2))
    return first[0, -1] + second[0, 1]


def by_odeint(p, kind):
    return integrate.odeint(slope_with(KINDS[kind]()), [1.0, 0.0], [0.0, 1.0], (p,), tfirst=True)[-1, 0]


def by_odeint_of_ours(p, kind):
    slope = slope_with(KINDS[kind]())
    return odeint(lambda y, t, p: slope(t, y, p), np.array([1.0, 0.0]), np.array([0.0, 1.0]), p)[-1, 0]


def by_steps(p, kind):
    slope = slope_with(KINDS[kind]())
    return checkpointed_loop(lambda y, k, p: y + 0.1 * slope(0.0, y, p), np.array([1.0, 0.0]), 5, p)[0]


def by_root(p, kind):
    out = KINDS[kind]()

    def function(x):
        found = out()
        found[0] = x[0] - p
        found[1] = x[1] ** 2 - p * x[0]
        return found

    return optimize.root(function, [1.0, 1.0], tol=1e-12).x[1]


def by_condition(p, kind):
    slope = slope_with(KINDS[kind]())
    solver = lambda x0, p: np.array([1 / p, 1.0])  # noqa: E731
    return custom_root(solver, lambda x, p: slope(0.0, x, p) - np.array([1.0, -1.0]))(None, p)[0]


def by_integral(p, kind):
    out = KINDS[kind]()

    def function(t):
        found = out()
        found[0] = p * t
        found[1] = np.exp(found[0])
        return found[1]

    return integrate.quad(function, 0.0, 1.0)[0]


CASES = [
    (x, kind)
    for name, x in list(globals().items())
    for kind in KINDS
    if name.startswith("by_") and (kind == "made inside" or name != "by_root")  # SciPy compares what root's gives
]


@pytest.mark.parametrize(("function", "kind"), CASES)
def test_what_a_function_writes_into_an_array_is_differentiated(function, kind):
    expected = pytest.approx((function(1.5 + 1e-5, kind) - function(1.5 - 1e-5, kind)) / 2e-5, rel=1e-4)
    assert grad(function)(1.5, kind) == expected
    if kind == "a global":  # it holds already what it will hold in the end
        assert grad(function)(1.5, kind) == expected
    if kind == "made outside":
        with pb.adopt():
            assert grad(function)(1.5, kind) == expected
    assert jvp(lambda p: function(p, kind), (1.5,), (1.0,))[1] == expected


def slope(t, y, p, out, said):
    out[0] = -p * y[0]
    said["calls"] += 1
    return out


def gap(x, p, out, said):
    said["calls"] += 1
    out[0] = p * x
    return out[0] - 1


def bowl(x, p, out, said):
    said["calls"] += 1
    out[0] = np.sum((x - p) ** 2)
    return out[0]


GIVEN = [
    lambda more: integrate.solve_ivp(slope, (0, 1), [1.0], args=more, rtol=1e-9, atol=1e-9).y[0, -1],
    lambda more: integrate.odeint(slope, [1.0], [0.0, 1.0], args=more, tfirst=True)[-1, 0],
    lambda more: integrate.quad(gap, 0, 1, args=more)[0],
    lambda more: optimize.brentq(gap, 0.0, 10.0, args=more),
    lambda more: optimize.minimize(bowl, [0.0], args=more).x[0],
]


@pytest.mark.parametrize("find", GIVEN)
def test_a_function_may_write_into_its_further_arguments_as_without_derivatives(find):
    def f(p, said):
        said["out"] = np.zeros(1)
        return find((p, said["out"], said))

    expected, said = (f(2.0 + 1e-4, {"calls": 0}) - f(2.0 - 1e-4, {"calls": 0})) / 2e-4, {"calls": 0}
    assert grad(f)(2.0, said) == pytest.approx(expected, rel=1e-3)
    assert said["calls"] > 1
    assert said["out"][0] != 0
    assert jvp(lambda p: f(p, said), (2.0,), (1.0,))[1] == pytest.approx(expected, rel=1e-3)


def test_np_array_of_several_numbers_needs_no_adopt_in_a_function_given_to_a_solver():
    def f(p):
        return optimize.root(lambda x: np.array([x[0] - p, x[1] ** 2 - 3 * p]), [1.0, 1.0], tol=1e-12).x[1]

    assert grad(f)(2.0) == pytest.approx(3 / 2 / 6**0.5)
    assert type(np.zeros(1)) is np.ndarray


def test_a_model_may_return_a_list():
    x, y = np.arange(4.0), np.array([1.0, 2.0, 3.0, 5.0])

    def f(s):
        return optimize.curve_fit(lambda x, a, b: [a * v + b for v in x], x, s * y, [1.0, 1.0])[0][0]

    assert grad(f)(1.0) == pytest.approx(1.3)


def test_tanhsinh_takes_a_parameter_on_which_nothing_depends():
    def f(p):
        return integrate.tanhsinh(lambda x: x**2 + 0.0 * p, 0.0, 1.0).integral * p

    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(1 / 3)
    assert grad(f)(2.0) == pytest.approx(1 / 3)


def in_another_thread():
    """What NumPy and SciPy give there, and the types of it."""
    made = np.zeros(3)
    made[1] = 2.0
    found = [
        made, np.array([1.0, 2.0]), np.ones(2), np.full(2, 1.0), np.arange(3.0), np.asarray([1, 2]),
        np.zeros_like(made), np.sin(made), np.sum(made), np.add.reduce([1.0, 2.0]),
        np.vectorize(float)([1, 2]), np.r_[1.0, made],
        optimize.brentq(lambda x: x - 1, 0.0, 3.0), optimize.root(lambda x: np.array([x[0] - 1]), [0.0]).x,
    ]  # fmt: skip
    return [(type(x), np.copy(x).tolist()) for x in found], isinstance(made, np.ndarray)


def test_a_rule_that_runs_again_with_adopt_disturbs_no_other_thread():
    begun, seen = threading.Event(), []

    def other():
        begun.wait(10)
        seen.append(in_another_thread())

    def function(x, p):
        out = np.zeros(2)
        if type(out) is not np.ndarray and not begun.is_set():  # adopt() is in force
            begun.set()
            thread.join()
        out[0] = x[0] - p
        out[1] = x[1] ** 2 - p * x[0]
        return out

    thread = threading.Thread(target=other)
    thread.start()
    found = grad(lambda p: optimize.root(function, [1.0, 1.0], args=(p,), tol=1e-12).x[1])(2.0)
    assert found == pytest.approx(1.0)
    assert seen == [in_another_thread()]


def with_a_cache(solve, cached):
    """The solution of an equation, whose factor exp(p) a function computes once; `cached` makes its cache."""

    def f(p):
        known = cached(p)

        def factor():
            if np.isnan(known[0]):
                known[0] = np.exp(known[1] if len(known) > 1 else p)
            return known[0]

        return solve(factor)

    return f


SOLVERS = {
    "brentq": (lambda factor: optimize.brentq(lambda x: factor() * x - 1, 0.0, 10.0), lambda p: -np.exp(-p)),
    "root": (lambda factor: optimize.root(lambda x: factor() * x - 1, [0.1]).x[0], lambda p: -np.exp(-p)),
    "quad": (lambda factor: integrate.quad(lambda x: factor() * x, 0.0, 1.0)[0], lambda p: np.exp(p) / 2),
    "odeint": (lambda factor: integrate.odeint(lambda y, t: -factor() * y, 1.0, [0.0, 1.0])[-1, 0], None),
}


@pytest.mark.filterwarnings("ignore:vmap")
@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("name", ["brentq", "root", "quad"])
def test_under_vmap_a_cache_in_an_array_that_records_hides_no_derivative(name, count):
    solve, slope = SOLVERS[name]
    f, batch = with_a_cache(solve, lambda p: np.full(1, np.nan)), np.linspace(0.5, 1.0, count)
    with pb.adopt():
        for function in (pb.func.vmap(grad(f)), pb.func.vmap(jvp_of(f)), grad(lambda p: pb.func.vmap(f)(p).sum())):
            np.testing.assert_allclose(function(batch), slope(batch), rtol=1e-6)


def jvp_of(f):
    return lambda p: jvp(f, (p,), (1.0,))[1]


def beside_the_parameter(p):
    known = np.full(2, np.nan)
    known[1] = p
    return known


@pytest.mark.filterwarnings("ignore:vmap")
@pytest.mark.parametrize("transform", [grad, jvp_of, lambda f: lambda p: pb.func.vmap(grad(f))(np.array([p, 2 * p]))])
@pytest.mark.parametrize("name", ["brentq", "quad", "odeint"])
def test_a_function_may_not_write_into_what_is_differentiated_already(name, transform):
    f = with_a_cache(SOLVERS[name][0], beside_the_parameter)
    with pb.adopt(), pytest.raises(ValueError, match="read-only"):
        transform(f)(0.7)
