"""What functions leave behind for the caller of a solver is never a plain number that has lost its gradient."""

from __future__ import annotations

import contextvars
import threading
from functools import partial

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import pullback as pb
import pullback.scipy
from pullback.core.errors import GradientError, IndependentResultWarning
from pullback.func import checkpointed_loop, custom_root, grad, jvp, odeint, vmap
from pullback.func.implicit import functions, trajectories
from pullback.func.loops import run
from pullback.scipy import integrate, optimize
from pullback.scipy.sparse import linalg

KEPT, OUT = 0.0, np.zeros(2)


class Model:
    """What a callback may belong to; it keeps what it has computed last."""

    flux = None

    def __init__(self, p):
        self.p, self.calls = p, 0

    def rate(self, x):
        self.calls += 1
        self.flux = self.p * x
        return self.flux - 1


class Kept:
    pass


def root_of(function):
    return optimize.brentq(function, 0.0, 10.0)


def in_a_dict(p):
    kept = {}

    def function(x):
        kept["flux"] = p * x
        return kept["flux"] - 1

    return root_of(function) + kept["flux"]


def in_a_list(p):
    kept = []

    def function(x):
        kept.append(p * x)
        return kept[-1] - 1

    return root_of(function) + sum(kept)


def in_a_variable(p):
    kept = 0.0

    def function(x):
        nonlocal kept
        kept = p * x
        return kept - 1

    return root_of(function) + kept


def in_a_global(p):
    def function(x):
        global KEPT
        KEPT = p * x
        return KEPT - 1

    return root_of(function) + KEPT


def in_an_attribute(p):
    model = Model(p)
    found = root_of(model.rate)
    assert model.calls > 1
    return found + model.flux


def in_an_attribute_of_the_function(p):
    def function(x):
        function.flux = p * x
        return function.flux - 1

    return root_of(function) + function.flux


def in_an_array(p):
    kept = np.zeros(2)

    def function(x):
        kept[1] = p * x
        return p * x - 1

    with pb.adopt():
        return root_of(function) + kept[1]


def deep_inside(p):
    kept = Kept()

    def function(x):
        kept.last = Kept()
        kept.last.found = {"flux": (1, [p * x])}
        return p * x - 1

    return root_of(function) + kept.last.found["flux"][1][0]


def in_an_array_of_objects(p):
    kept = np.empty(2, object)

    def function(x):
        kept[1] = p * x
        return p * x - 1

    return root_of(function) + kept[1]


def in_an_argument(p):
    def function(x, p, kept):
        kept["flux"] = p * x
        return kept["flux"] - 1

    kept = {}
    return optimize.brentq(function, 0.0, 10.0, args=(p, kept)) + kept["flux"]


def by_a_solver(p):
    kept = {}

    def solver(x0, p):
        kept["flux"] = 1 / p
        return 1 / p

    return custom_root(solver, lambda x, p: p * x - 1)(None, p) + kept["flux"]


def by_a_callback(p):
    kept = []
    found = optimize.minimize(lambda x: np.sum((x - p) ** 2), [0.0], callback=lambda x: kept.append(np.array(x)))
    return found.x[0] + kept[-1][0]


def by_an_integrand(p):
    kept = {}

    def function(x):
        kept["flux"] = p * x
        return kept["flux"]

    return integrate.quad(function, 0, 1)[0] + kept["flux"]


def by_a_slope(p):
    kept = {}

    def slope(t, y):
        kept["flux"] = p * y[0]
        return -p * y

    return integrate.solve_ivp(slope, (0, 1), [1.0]).y[0, -1] + kept["flux"]


def by_a_slope_of_ours(p):
    kept = {}

    def slope(y, t, p):
        kept["flux"] = p * y
        return -p * y

    return odeint(slope, 1.0, np.array([0.0, 1.0]), p)[-1] + kept["flux"]


def by_a_product(p):
    kept = {}

    def product(v):
        kept["flux"] = v
        return 2 * v

    operator = LinearOperator((2, 2), product, product, dtype=float)
    return np.sum(linalg.gmres(operator, p * np.array([1.0, 2.0]))[0] + kept["flux"])


def by_a_step(p):
    kept = {}

    def step(x, k, p):
        kept["flux"] = p * x
        return x * p

    return checkpointed_loop(step, 1.0, 3, p) + kept["flux"]


def by_an_earlier_call_with_the_same_cache(p):
    cache = {}

    def function(x):
        if "factor" not in cache:
            cache["factor"] = np.exp(p)
        return cache["factor"] * x

    return integrate.quad(function, 0, 1)[0] + integrate.quad(function, 0, 1)[0]


def root_with(array, *more, **options):
    def function(x, p, out=array):
        out[1] = p * p * x
        return p * x - 1

    return lambda p: optimize.brentq(function, 0.0, 10.0, args=(p, *more), **options)


def read_of_a_default(p):
    out = np.zeros(2)
    return root_with(out)(p) + out[1]


def read_of_an_argument(p):
    out = np.zeros(2)
    return root_with(None, out)(p) + out[1]


def read_of_a_global(p):
    return root_with(OUT)(p) + OUT[1]


def read_of_a_view(p):
    out = np.zeros((2, 2))
    return root_with(out[1])(p) + out[1, 1]


def read_of_a_partial(p):
    out, found = np.zeros(2), 0.0
    solve = partial(lambda out, x: (out.__setitem__(0, p * p * x), p * x - 1)[1], out)
    for _ in range(2):
        found = found + out[0]
        found = found + optimize.brentq(solve, 0.0, 10.0)
    return found


def read_of_what_a_view_shares(p):
    out = np.zeros(2)
    view = out[:1]

    def function(x):
        view[0] = p * p * x
        return p * x - 1

    return root_of(function) + out[0]


def read_of_a_variable_of_the_same_name(p):
    def solved(out):
        def function(x):
            out[0] = p * p * x
            return p * x - 1

        return root_of(function)

    out = np.zeros(2)
    return solved(out) + out[0]


READS = [x for name, x in list(globals().items()) if name.startswith("read_")]


@pytest.mark.parametrize("function", READS)
def test_a_variable_that_is_read_after_functions_wrote_into_its_array_is_warned_of(function):
    said = "has written numbers into '(out|OUT)', which is read afterwards"
    with pytest.warns(IndependentResultWarning, match=said):
        grad(function)(2.0)


def test_a_large_array_into_which_functions_wrote_is_refused():
    def f(p):
        out = np.zeros(70_000)
        return root_with(out)(p) + out[1]

    with pytest.raises(GradientError, match="too large"):
        grad(f)(2.0)


def test_a_work_array_that_nobody_reads_is_not_warned_of():
    def f(p):
        out = np.zeros(2)
        found = root_with(out)(p)
        out[:] = 0.0
        return found

    assert grad(f)(2.0) == pytest.approx(-0.25)


WAYS = [x for name, x in list(globals().items()) if name.startswith(("in_a", "by_a", "deep_"))]


@pytest.mark.parametrize("function", WAYS)
def test_what_is_left_behind_has_its_value_and_no_derivative(function):
    said = r"the function has left values behind in .*(kept|'last'|flux|KEPT|\[|cache).*Compute them from"
    with pytest.raises(GradientError, match=said):
        grad(function)(2.0)
    values = []
    grad(lambda p: (values.append(pb.func.stop_gradient(function(p))), p)[1])(2.0)
    assert float(values[0]) == pytest.approx(function(2.0))
    if function not in (in_an_array, by_an_earlier_call_with_the_same_cache):  # the latter warns before
        with pytest.raises(GradientError, match=said):
            jvp(function, (2.0,), (1.0,))


CONTEXT, LOCAL = contextvars.ContextVar("flux"), threading.local()


def kept_in_a_context(p):
    return root_of(lambda x: (CONTEXT.set(p * x), p * x - 1)[1]) + CONTEXT.get()


def kept_in_a_thread(p):
    return root_of(lambda x: (setattr(LOCAL, "flux", p * x), p * x - 1)[1]) + LOCAL.flux


def kept_in_a_generator(p):
    def last():
        value = 0.0
        while True:
            given = yield value
            value = value if given is None else given

    kept = last()
    next(kept)
    return root_of(lambda x: (kept.send(p * x), p * x - 1)[1]) + next(kept)


@pytest.mark.parametrize("function", [x for name, x in list(globals().items()) if name.startswith("kept_in_")])
@pytest.mark.parametrize("transform", [grad, pb.func.jacfwd])
def test_what_is_kept_where_nobody_can_copy_it_is_refused(transform, function):
    with pytest.raises(GradientError, match=r"of type (ContextVar|_local|generator), .* has changed since the call"):
        transform(function)(2.0)


def test_what_is_left_behind_for_nobody_is_in_nobodys_way():
    def f(p):
        kept, counted, said = {}, [0], []

        def function(x):
            counted[0] += 1
            said.append("called")
            kept["flux"] = p * x
            return p * x - 1

        found = root_of(function)
        assert counted[0] == len(said) > 1
        assert type(counted[0]) is int
        return found + 0 * kept["flux"]

    assert grad(f)(2.0) == pytest.approx(-0.25)
    assert grad(grad(f))(2.0) == pytest.approx(0.25)


@pytest.mark.parametrize("function", [in_a_dict, by_a_slope_of_ours, by_a_step, in_an_attribute])
def test_what_the_samples_of_a_batch_leave_behind_is_nan(function, monkeypatch):
    for rule in (functions._implicit, trajectories._trajectory, run._looped_by_rule):
        monkeypatch.setattr(rule._rule, "has_looped", True)  # said: others wait for the warning, which comes once
    assert np.isnan(vmap(function)(np.array([1.0, 2.0]))).all()


def test_a_cache_that_two_solvers_share_is_named_in_forward_mode_too():
    def of(p):
        kept = {}

        def line(x):
            if "slope" not in kept:
                kept["slope"] = p * p
            return kept["slope"] * x

        return integrate.quad(line, 0.0, 1.0)[0] + optimize.brentq(lambda x: line(x) - 1, 0.0, 5.0)

    with pytest.raises(GradientError, match="left values behind in kept\\['slope'\\]"):
        jvp(of, (1.2,), (1.0,))


@pytest.mark.filterwarnings("ignore:vmap", "ignore:The occurrence of roundoff")
@pytest.mark.parametrize("transform", [grad, pb.func.jacfwd])
@pytest.mark.parametrize("first", ["quad", "brentq"])
def test_a_cache_that_two_solvers_share_is_named_for_a_batch_too(transform, first):
    def of(p):
        kept = {}

        def line(x):
            if "slope" not in kept:
                kept["slope"] = p * p
            return kept["slope"] * x

        solvers = {
            "quad": lambda: integrate.quad(line, 0.0, 1.0)[0],
            "brentq": lambda: optimize.brentq(lambda x: line(x) - 1, 0.0, 9.0),
        }
        found = solvers.pop(first)()
        return found + solvers.popitem()[1]()

    with pytest.raises(GradientError, match="left values behind in kept\\['slope'\\]"):
        vmap(transform(of))(np.array([1.2, 1.3]))


def test_a_log_of_earlier_calls_is_none_of_the_next_ones_arguments():
    log = []

    def f(p):
        def function(x):
            log.append(p * x)
            return p * x - 1

        return optimize.brentq(function, 0.0, 10.0)

    for p in (0.5, 0.5, 0.25, 0.5):
        np.testing.assert_allclose(grad(f)(np.array(p)), -1 / p**2)
        np.testing.assert_allclose(jvp(f, (np.array(p),), (np.array(1.0),))[1], -1 / p**2)
