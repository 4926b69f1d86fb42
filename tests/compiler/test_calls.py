"""Functions with rules of their own, and solvers, inside of compiled functions: steps that run as they are."""

import threading
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

import pullback as pb
from pullback.arrays.traced.calls import PlainCall

POINTS = [1.0, 1.5, 2.5, 0.7, 3.0]
VECTORS = [np.array(x) for x in ([1.0, 2.0], [1.5, 1.0], [0.3, 0.5], [2.0, 2.5], [0.9, 1.1])]


@pb.custom_vjp
def erfcx(x):
    return scipy.special.erfcx(x)


erfcx.defvjp(lambda cotangent, y, x: cotangent * (2 * x * y - 2 / np.sqrt(np.pi)))


@pb.custom_vjp
def by_residuals(x):
    return scipy.special.erfcx(x)


class Slope:  # a residual that is no array
    def __init__(self, x, y):
        self.slope = 2 * x * y - 2 / np.sqrt(np.pi)


by_residuals.defvjp(
    lambda x: (scipy.special.erfcx(x), Slope(x, scipy.special.erfcx(x))), lambda slope, c: c * slope.slope
)


@pb.custom_jvp
def by_tangents(x):
    return scipy.special.erfcx(x)


by_tangents.defjvp(lambda tangents, y, x: tangents[0] * (2 * x * y - 2 / np.sqrt(np.pi)))


@pb.func.custom_root(lambda x, a: x**3 - a)
def cube_root(x0, a):
    return scipy.optimize.brentq(lambda x: x**3 - a, 0.0, 10.0)


def agrees(f, points, compiled=True):
    """Compare a function with its program at points of which it has seen two; returns the Compiled."""
    made = pb.compile(f)
    with pb.adopt(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "vmap", UserWarning)
        for x in [*points, *points]:
            found, expected = made(x), f(x)
            for a, b in zip(pb.utils.pytree.tree_leaves(found), pb.utils.pytree.tree_leaves(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert len(variants.programs) >= compiled
    return variants


def of_vectors(f):
    return pytest.param(f, VECTORS, id=f.__name__)


def of_numbers(f):
    return pytest.param(f, [np.array(x) for x in POINTS], id=f.__name__)


def custom(x):
    return (erfcx(x) * x).sum()


def residuals(x):
    return (by_residuals(x) * x).sum()


def tangents(x):
    return (by_tangents(x) * x).sum()


def custom_in_vmap(x):
    return pb.func.vmap(lambda y: erfcx(y) * y)(x).sum()


def custom_in_hessian(x):
    return pb.func.hessian(custom)(x).sum()


def custom_capturing(x):
    k = x.sum()
    square = pb.custom_vjp(lambda y: k * scipy.special.erfcx(y), lambda c, r, y: c * 6 * y)
    return square(pb.func.stop_gradient(x)).sum()


def integral(k):
    return scipy.integrate.quad(lambda t: np.exp(-k * t), 0, 1)[0]


def estimated_error(k):
    value, error = scipy.integrate.quad(lambda t: np.exp(-k * t) * np.abs(t - 0.3) ** 0.5, 0, 1)
    return value + 1e6 * error


def integrals_in_a_loop(k):
    s = 0.0
    for i in range(3):
        s = s + scipy.integrate.quad(lambda t, i=i, s=s: np.exp(-k * t) * t**i * s + k, 0, 1)[0]
    return s


def nested_integrals(p):
    return scipy.integrate.dblquad(lambda y, x: np.exp(-p[0] * x * y), 0, p[1], 0, 1)[0]


def gradient_of_integral(k):
    return pb.func.grad(integral)(k) * k


def root(k):
    return scipy.optimize.brentq(lambda t: t**3 - k, 0.0, 10.0)


def implicit_root(k):
    return cube_root(None, k)


def minimum(p):
    found = scipy.optimize.minimize(lambda x: ((x - p) ** 2).sum() + (x**4).sum(), np.zeros(2))
    if not found.success:
        return p.sum()
    return found.x[0] + 2 * found.x[1] + found.fun + found.nit


def minimum_from_there(p):
    def objective(x, p):
        return ((x - p) ** 2).sum() + (x**4).sum()

    return scipy.optimize.minimize(objective, p * 0.5, args=(p,), bounds=[(0, 0.4), (None, None)]).x.sum()


def fit(p):
    return scipy.optimize.least_squares(lambda x: np.concatenate([x - p, x**3]), np.zeros(2)).x @ np.array([1.0, 2.0])


def ode(k):
    return pb.func.odeint(lambda y, t, k: -k * y + np.sin(t), k, np.array([0.0, 1.0]), k)[-1]


def initial_value_problem(k):
    found = scipy.integrate.solve_ivp(lambda t, y: -k * y, (0, 1), np.array([1.0, 2.0]), t_eval=[0, 0.5, 1.0])
    return found.y[:, -1].sum()


def loop(x):
    return pb.func.checkpointed_loop(lambda s, k, x: np.sin(s) * x + k, x, 4, x).sum()


def scanned(x):
    carry, squares = pb.func.scan(lambda c, t: (np.sin(c) * t + x * c, c * t), x * 2, np.linspace(0.0, 1.0, 4))
    return carry.sum() + squares.sum()


FUNCTIONS = [
    *map(of_vectors, (custom, residuals, tangents, custom_in_vmap, custom_in_hessian, minimum, minimum_from_there)),
    *map(of_numbers, (integral, estimated_error, integrals_in_a_loop, gradient_of_integral, root, implicit_root, ode)),
    *map(of_vectors, (fit, loop, scanned, nested_integrals)),
    of_numbers(initial_value_problem),
]


@pytest.mark.parametrize(("f", "points"), FUNCTIONS)
def test_a_rule_and_its_vjp_are_steps(f, points):
    variants = agrees(pb.func.value_and_grad(f), points)
    assert any(type(step.what) is PlainCall for step in variants.programs[0].plan.steps)


@pytest.mark.parametrize(("f", "points"), [*FUNCTIONS[:6], *FUNCTIONS[7:9], *FUNCTIONS[10:]])
def test_without_a_gradient_it_is_a_step_too(f, points):
    agrees(f, points)


def test_what_a_function_captures_is_read_at_each_run():
    agrees(custom_capturing, VECTORS)


def test_a_captured_variable_is_given_to_a_solver_whose_derivative_is_not_wanted():
    def solved(k):
        return pb.func.odeint(lambda y, t: -k * y, 2.0, np.array([0.0, 1.0]))[-1]

    agrees(solved, [np.array(x) for x in POINTS])


def test_results_of_other_shapes_are_another_program():
    @pb.custom_vjp
    def positive(x):
        return x[x > 0]

    agrees(lambda x: positive(x).sum(), [np.array([1.0, -1.0]), np.array([2.0, -1.0]), np.array([1.0, 2.0])], 2)


def test_what_a_rule_keeps_for_its_vjp_stays_as_it_was():
    """A program writes into its own memory again where it needs an array no more."""

    @pb.custom_vjp
    def sine(x):
        return np.sin(x)

    sine.defvjp(lambda x: (np.sin(x), lambda c, x=x: c * np.cos(x)), lambda slope, c: slope(c))
    agrees(
        pb.func.value_and_grad(lambda x: (sine(x * 2) * np.exp(x)).sum()), [np.linspace(k, 1.0, 5000) for k in range(5)]
    )


def test_a_workspace_is_seen_and_said():
    space = np.zeros(2)

    @pb.custom_vjp
    def filled(x):
        space[:] = np.sin(x)
        return space

    filled.defvjp(lambda cotangent, y, x: cotangent * np.cos(x))
    f = pb.func.value_and_grad(lambda x: (filled(x) + filled(2 * x)).sum())
    made = pb.compile(f)

    def compare():
        for x in [*VECTORS, *VECTORS]:
            np.testing.assert_allclose(made(x)[1], f(x)[1], rtol=1e-12)

    with pytest.warns(pb.compiler.CompileWarning, match="`space` .* has been written into"):
        compare()


def test_another_array_that_is_read_only_sometimes_is_not_taken_from_the_trace():
    def f(x):
        a, b = x * 2, x * 3
        chosen = pb.custom_vjp(lambda y: y + (a if y[0] < 5 else b))
        return chosen(x)

    agrees(f, [np.array([1.0]), np.array([2.0]), np.array([7.0]), np.array([8.0]), np.array([9.0])], 2)


def test_a_write_into_an_array_around_is_refused():
    def f(x):
        a = x * 2

        def write(y):
            a[0] = y[0]
            return y

        return pb.custom_vjp(write)(x) + a

    made = pb.compile(f)
    with pytest.warns(pb.compiler.CompileWarning, match="writes .* into an array of the function around"):
        found = made(np.ones(2))
    np.testing.assert_array_equal(found, [2.0, 3.0])


def test_a_sparse_hessian_is_no_array():
    made = pb.compile(lambda x: pb.func.sparse_hessian(lambda x: (x**4).sum())(x).sum())
    with pytest.warns(pb.compiler.CompileWarning, match="sparse matrix, which no program can hold"):
        assert made(np.ones(2)) == 24.0


def test_an_error_of_the_trace_is_not_that_of_the_call():
    made = pb.compile(pb.func.grad(lambda k: scipy.integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0]).y[0, -1]))
    with pb.adopt(), pytest.warns(pb.compiler.CompileWarning, match="Give the times in t_eval"):
        assert made(np.array(0.5)) == pytest.approx(-np.exp(-0.5), rel=1e-3)


def test_an_error_of_the_call_comes_as_it_is():
    @pb.custom_vjp
    def refused(x):
        if x.sum() > 4:
            raise ValueError("too much")
        return x

    made = pb.compile(lambda x: refused(x) * 2)
    for x in (1.0, 2.0, 1.0):
        made(np.full(2, x))
    with pytest.raises(ValueError, match="too much"):
        made(np.full(2, 3.0))


def test_what_solvers_keep_for_backward_does_not_grow_with_the_runs():
    made = pb.compile(pb.func.grad(minimum))
    with pb.adopt():
        for x in VECTORS:
            made(x)
        (variants,) = made._by_signature.values()
        steps = variants.programs[0].plan.steps
        kept = {x for step in steps if type(step.what) is PlainCall for x in step.what.leaves if x is not None}
        call, system = sorted(kept, key=lambda x: type(x).__name__)
        assert len(system.left.found) == 1
        assert len(call.aux) == 1


def test_two_threads_run_one_program():
    f = pb.func.value_and_grad(integrals_in_a_loop)
    made = pb.compile(f)
    points = np.linspace(0.5, 2.0, 8)
    with pb.adopt():
        expected = [f(np.array(k)) for k in points]
        for k in points[:3]:
            made(np.array(k))
        found = {}

        def run(i):
            found[i] = made(np.array(points[i]))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for i in range(8):
        np.testing.assert_allclose(found[i], expected[i])
