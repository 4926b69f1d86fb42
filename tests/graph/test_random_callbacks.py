"""Callbacks at random: ways to hold what is differentiated, ways to change it, and functions that take a callback."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from pullback.core.errors import GradientError
from pullback.func import checkpointed_loop, custom_root, grad
from pullback.scipy import integrate, optimize

SCOPE = {"k": 0.0, "n": 0.0}


class Held:
    """Holds a parameter and a number, and computes with them."""

    shared = 1.0

    def __init__(self, k, n):
        self.k, self.n = k, n

    def term(self, x):
        return self.k * self.n * x


def by_closure(k, n):
    held = [n]
    return lambda x: k * held[0] * x, lambda to: held.__setitem__(0, to)


def by_variable(k, n):
    def term(x):
        return k * n * x

    def change(to):
        nonlocal n
        n = to

    return term, change


def by_attribute(k, n):
    held = Held(k, n)
    return held.term, lambda to: setattr(held, "n", to)


def by_class(k, n):
    class Own(Held):
        shared = n

        def term(self, x):
            return self.k * self.shared * x

    return Own(k, n).term, lambda to: setattr(Own, "shared", to)


def by_default(k, n):
    def term(x, held=[k, n]):  # noqa: B006
        return held[0] * held[1] * x

    return term, lambda to: term.__defaults__[0].__setitem__(1, to)


def by_partial(k, n):
    held = {"n": n}
    return functools.partial(lambda held, x: k * held["n"] * x, held), lambda to: held.update(n=to)


def by_global(k, n):
    SCOPE["n"] = n
    return lambda x: k * SCOPE["n"] * x, lambda to: SCOPE.update(n=to)


def by_array(k, n):
    held = np.array([0.0, n])
    return lambda x: k * held[1] * x, lambda to: held.__setitem__(1, to)


def by_work_array(k, n):
    out, held = np.zeros(2), [n]

    def term(x):
        out[0] = k * x
        out[1] = out[0] * held[0]
        return 1.0 * out[1]

    return term, lambda to: held.__setitem__(0, to)


def by_cache(k, n):
    cache, held = {}, [n]

    def term(x):
        if "k" not in cache:
            cache["k"] = 1.0 * k
        return cache["k"] * held[0] * x

    return term, lambda to: held.__setitem__(0, to)


def by_generator_of_functions(k, n):
    held, made = [n], functools.lru_cache(lambda: k * 1.0)
    return lambda x: made() * held[0] * x, lambda to: held.__setitem__(0, to)


WAYS = [x for name, x in list(globals().items()) if name.startswith("by_")]

# Each gives a number that moves with the term's factor, whatever way it is held.
SOLVERS = {
    "quad": lambda term: integrate.quad(lambda t: np.exp(term(t)), 0.0, 1.0)[0],
    "quad_vec": lambda term: integrate.quad_vec(lambda t: np.sin(term(t)), 0.0, 1.0)[0],
    "brentq": lambda term: optimize.brentq(lambda x: term(x) - 1.0, 0.0, 9.0),
    "fixed_point": lambda term: optimize.fixed_point(lambda x: np.cos(0.5 * term(x)), 0.5),
    "minimize": lambda term: optimize.minimize(lambda x: (x[0] - 1.0) ** 2 + term(x[0] ** 2), [0.5], tol=1e-9).x[0],
    "solve_ivp": lambda term: integrate.solve_ivp(
        lambda t, y: -term(y[0]) * np.ones(1), (0, 1), [1.0], rtol=1e-5, atol=1e-6
    ).y[0, -1],
}
CHANGES = ("nothing", "after", "between")  # when the number that a callback reads is changed


@pytest.mark.parametrize("solver", SOLVERS)
def test_callbacks_have_the_gradient_of_central_differences(solver):
    random = np.random.default_rng(len(solver))
    cases = list(itertools.product(WAYS, CHANGES))
    for nr in random.permutation(len(cases))[:6]:
        way, change = cases[nr]

        def f(k, way=way, change=change):
            term, put = way(k, 0.7)
            found = SOLVERS[solver](term)
            if change == "between":
                term, put = way(k * found, 0.4)
                put(0.5)
                found = found + SOLVERS[solver](term)
            if change != "nothing":
                put(3.0)
            return found

        expected = (f(1.2 + 1e-5) - f(1.2 - 1e-5)) / 2e-5
        assert grad(f)(1.2) == pytest.approx(expected, rel=1e-3, abs=1e-6), (way.__name__, change)


def test_a_callback_used_by_two_calls_is_right_or_refused_by_name():
    for way in WAYS:

        def f(k, way=way):
            term, put = way(k, 0.7)
            first = SOLVERS["quad"](term)
            put(0.4)
            return first + SOLVERS["brentq"](term)

        expected = (f(1.2 + 1e-5) - f(1.2 - 1e-5)) / 2e-5
        if way is by_cache:
            with pytest.raises(GradientError, match=r"left values behind in cache\['k'\]"):
                grad(f)(1.2)
        else:
            assert grad(f)(1.2) == pytest.approx(expected, rel=2e-4), way.__name__


def test_a_loop_and_a_condition_are_right_too():
    for way in WAYS:
        if way in (by_cache, by_generator_of_functions):  # of which nothing is an argument
            continue

        def steps(k, way=way):
            return checkpointed_loop(lambda x, i, k: x + 0.1 * way(k, 0.7)[0](x), 1.0, 4, k)

        def root(k, way=way):
            return custom_root(lambda x0, k: 1 / (0.7 * k), lambda x, k: way(k, 0.7)[0](x) - 1.0)(None, k)

        for f in (steps, root):
            expected = (f(1.2 + 1e-5) - f(1.2 - 1e-5)) / 2e-5
            assert grad(f)(1.2) == pytest.approx(expected, rel=1e-5), way.__name__
