"""Functions that run again in backward read what they read at the call."""

from __future__ import annotations

import array
import contextlib
import functools
import gc
import itertools
import types
import warnings
import weakref
from collections import deque

import numpy as np
import pytest
import scipy.sparse.linalg

import pullback as pb
import pullback.scipy
from pullback.core.errors import GradientError, SavedTensorModifiedError
from pullback.func import custom_root, grad, jvp, linearize
from pullback.graph.captured import Captured
from pullback.scipy import integrate, optimize, sparse
from pullback.scipy.sparse.linalg import splu
from pullback.utils.checkpoint import checkpoint

FACTOR = 1.0
SETTINGS = types.ModuleType("settings")
SETTINGS.__file__ = __file__


def integral(function):
    """The integral of a function from 0 to 1: here k is differentiated, in the closure of the function."""
    return integrate.quad(function, 0.0, 1.0)[0]


class Model:
    """What a callback may be, or belong to."""

    def __init__(self, k, factor):
        self.k, self.factor, self.calls = k, factor, 0

    def rate(self, t):
        self.calls += 1
        return self.k * self.factor * t

    def __call__(self, t):
        return self.rate(t)


class Slotted:
    __slots__ = ("factor",)


def changed_global(k):
    global FACTOR
    FACTOR = 1.0
    y = integral(lambda t: k * FACTOR * t)
    FACTOR = 7.0
    return y


def changed_global_of_a_function(k):
    global FACTOR
    FACTOR = 1.0
    y = integral(lambda t: k * by_factor(t))
    FACTOR = 7.0
    return y


def by_factor(t):
    return FACTOR * t


def changed_global_of_a_decorated_function(k):
    global FACTOR
    FACTOR = 1.0
    y = integral(lambda t: k * by_entering(t))
    FACTOR = 7.0
    return y


@contextlib.contextmanager
def factor_for_a_while():  # a function of the library's, which bears the name of this one
    yield FACTOR


def by_entering(t):
    with factor_for_a_while() as factor:
        return factor * t


def changed_module(k):
    SETTINGS.factor = 1.0
    y = integral(lambda t: k * SETTINGS.factor * t)
    SETTINGS.factor = 7.0
    return y


def changed_variable(k):
    factor = 1.0
    y = integral(lambda t: k * factor * t)
    factor = 7.0
    return y


def changed_variable_of_a_nested_function(k):
    factor = 1.0

    def inner(t):
        return factor * t

    y = integral(lambda t: k * inner(t))
    factor = 7.0
    return y


def rebound_to_the_result(k):
    k = integral(lambda t: k * t)
    return k


def changed_attribute(k):
    model = Model(k, 1.0)
    y = integral(model.rate)
    model.factor = 7.0
    return y


def changed_attribute_of_a_callable(k):
    model = Model(k, 1.0)
    y = integral(model)
    model.k = model.factor = 7.0
    return y


def changed_slot(k):
    held = Slotted()
    held.factor = 1.0
    y = integral(lambda t: k * held.factor * t)
    held.factor = 7.0
    return y


def changed_array(k):
    factor = np.ones(3)
    y = integral(lambda t: k * factor[1] * t)
    factor[:] = 7.0
    return y


def changed_memory_of_two_arrays(k):
    whole = np.ones((2, 3), order="F")
    part = whole[:, 1]

    def function(t):
        whole[0, 1] = t  # seen in the part
        return k * part[0]

    y = integral(function)
    whole[...] = 7.0
    return y


def changed_list(k):
    factors = [3.0, 1.0]
    y = integral(lambda t: k * factors[1] * t)
    factors[:] = [7.0]
    return y


def changed_dict(k):
    factors = {"a": [1.0]}
    y = integral(lambda t: k * factors["a"][0] * t)
    factors["a"].insert(0, 7.0)
    return y


def changed_default(k):
    def function(t, factor=[1.0]):  # noqa: B006
        return k * factor[0] * t

    y = integral(function)
    function.__defaults__[0][0] = 7.0
    function.__defaults__ = (7.0,)
    return y


def changed_partial(k):
    factors = [1.0]
    y = integral(functools.partial(lambda factors, t: k * factors[0] * t, factors))
    factors[0] = 7.0
    return y


def changed_array_of_a_method(k):
    factor = np.array([0.5, 0.5])
    dot = factor.dot
    y = integral(lambda t: k * dot([t, t]))
    factor[:] = 7.0
    return y


def changed_tensor(k):
    factor = pb.ones(2)
    y = integral(lambda t: k * factor.sum().item() / 2 * t)
    factor.mul_(7)
    return y


CHANGES = [x for name, x in list(globals().items()) if name.startswith(("changed_", "rebound_"))]


@pytest.mark.parametrize("function", CHANGES)
def test_an_integral_reads_what_it_captured_at_the_call(function):
    assert function(2.0) == pytest.approx(1.0)
    assert grad(function)(2.0) == pytest.approx(0.5)
    assert jvp(function, (2.0,), (1.0,))[1] == pytest.approx(0.5)
    square = lambda k: function(k) ** 2  # noqa: E731
    assert grad(grad(square))(2.0) == pytest.approx(0.5)
    value, push = linearize(function, 2.0)
    assert (value, push(4.0)) == (pytest.approx(1.0), pytest.approx(2.0))


def by_iteration(k, i):
    operator = scipy.sparse.linalg.LinearOperator((2, 2), matvec=lambda v: v * i(), rmatvec=lambda v: v * i())
    return np.sum(pullback.scipy.sparse.linalg.bicgstab(operator, k * np.ones(2))[0])


def by_event(k, i):
    def event(t, y):
        return y[0] - 0.1 * i()

    event.terminal = True
    return integrate.solve_ivp(lambda t, y: -k * y * i(), (0, 9), [1.0], events=event).t[-1]


IN_LOOPS = {
    "quad_vec": lambda k, i: integrate.quad_vec(lambda t: np.exp(k * t * i()), 0, 1)[0],
    "nquad": lambda k, i: integrate.nquad(lambda y, x: k * x * y * i(), [[0, 1], [0, 1]])[0],
    "tanhsinh": lambda k, i: integrate.tanhsinh(lambda t: k * t * i(), 0, 1).integral,
    "cubature": lambda k, i: integrate.cubature(lambda t: k * t[:, 0] * i(), [0.0], [1.0]).estimate,
    "solve_ivp": lambda k, i: integrate.solve_ivp(lambda t, y: -k * y * i(), (0, 1), [1.0]).y[0, -1],
    "event": by_event,
    "brentq": lambda k, i: optimize.brentq(lambda x: x**2 - k * i(), 0.0, 9.0),
    "minimize": lambda k, i: optimize.minimize(lambda x: np.sum((x - k * i()) ** 2), [0.0]).x[0],
    "bicgstab": by_iteration,
    "matrix_function": lambda k, i: pb.linalg.matrix_function(k * np.eye(2), lambda w: w ** i()).sum(),
}


@pytest.mark.parametrize("name", IN_LOOPS)
def test_the_variable_of_a_loop_is_what_it_was_at_the_call(name):
    def total(k, kept):
        found = 0.0
        for i in range(1, 3):
            found = found + IN_LOOPS[name](k, (lambda i=i: i) if kept else lambda: i)  # noqa: B023
        return found

    assert grad(total)(1.3, False) == pytest.approx(grad(total)(1.3, True), rel=1e-12)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_reads_what_it_captured_at_the_call(use_reentrant):
    x, total = pb.tensor([1.0, 2.0], requires_grad=True), 0.0
    for i in range(1, 4):
        total = total + checkpoint(lambda x: (x**2 * i).sum(), x, use_reentrant=use_reentrant)  # noqa: B023
    total.backward()
    assert x.grad.tolist() == [12.0, 24.0]


def test_what_a_function_changes_by_itself_is_shared():
    calls, seen, work = itertools.count(), [], np.zeros(100_000)

    def condition(x, k):
        next(calls)
        seen.append(1)
        work[:2] = 3.0, 4.0
        return x * work[0] - k * work[1]

    y = pb.tensor(3.0, requires_grad=True)
    x = custom_root(lambda x0, k: k * 4 / 3, condition)(None, y)
    seen.clear()
    work[:] = 0.0
    x.backward()
    assert y.grad.item() == pytest.approx(4 / 3)
    assert len(seen) > 0


def test_a_large_array_that_has_changed_is_refused():
    def f(k, changes):
        factor = np.ones(100_000)
        y = integral(lambda t: k * factor[5] * t)
        factor[5] += changes
        return y

    assert grad(f)(2.0, 0.0) == pytest.approx(0.5)
    with pytest.raises(GradientError, match=r"quad: an array of shape \(100000,\).*Pass it as an arg"):
        grad(f)(2.0, 1.0)


def test_an_object_that_cannot_be_copied_and_has_changed_is_refused():
    class Single(Slotted):
        def __copy__(self):
            raise TypeError("there is one of me")

    def f(k, changes):
        held = Single()
        held.factor = 1.0
        y = integral(lambda t: k * held.factor * t)
        held.factor += changes
        return y

    assert grad(f)(2.0, 0.0) == pytest.approx(0.5)
    with pytest.raises(GradientError, match=r"an object of type Single, or what it holds, has changed"):
        grad(f)(2.0, 1.0)


class Alone:
    """Cannot be copied; what it reads of the module is not FACTOR."""

    def __copy__(self):
        raise TypeError("there is one of me")

    def rate(self, t):
        return np.multiply(t, LEVEL)


LEVEL = 1.0


def test_an_object_is_not_copied_for_a_global_that_it_does_not_read():
    def f(k):
        global FACTOR
        FACTOR, alone = 1.0, Alone()
        y = integral(lambda t: k * FACTOR * alone.rate(t))
        FACTOR = 7.0
        return y

    assert grad(f)(2.0) == pytest.approx(0.5)

    def changing(k):
        global LEVEL
        LEVEL, alone = 1.0, Alone()
        y = integral(lambda t: k * alone.rate(t))
        LEVEL = 7.0
        return y

    with pytest.raises(GradientError, match="an object of type Alone, or what it holds, has changed"):
        grad(changing)(2.0)


class Settings:
    factor, calls, other, of_class = 1.0, 0, 0, 1.0

    @property
    def slope(self):
        return self.factor * by_factor(1.0)

    @classmethod
    def by_class(cls):
        return cls.of_class

    @staticmethod
    def by_global():
        return FACTOR


class Derived(Settings):
    def __init__(self, k):
        self.k = k

    def __mul__(self, t):
        Settings.calls += 1
        assert isinstance(self, Derived)
        return self.k * self.slope * self.by_class() * self.by_global() * t


@pytest.mark.parametrize("name", ["FACTOR", "factor", "of_class", "other"])
def test_a_class_is_what_it_was_at_the_call(name):
    def f(k):
        global FACTOR
        FACTOR = Settings.factor = Settings.of_class = 1.0
        settings = Derived(k)
        y = integral(lambda t: settings * t)
        calls = Settings.calls
        if name == "FACTOR":
            FACTOR = 7.0
        else:
            setattr(Settings, name, 7.0)
        assert Settings.calls == calls > 1
        return y

    assert grad(f)(2.0) == pytest.approx(0.5)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(0.5)
    assert grad(grad(lambda k: f(k) ** 2))(2.0) == pytest.approx(0.5)


def test_a_class_whose_changed_method_super_reaches_is_refused():
    class Base:
        def rate(self, t):
            return FACTOR * t

    class Own(Base):
        def rate(self, t):
            return super().rate(t)

    def f(k, factor):
        global FACTOR
        FACTOR, own = 1.0, Own()
        y = integral(lambda t: k * own.rate(t))
        FACTOR = factor
        return y

    assert grad(f)(2.0, 1.0) == pytest.approx(0.5)
    with pytest.raises(GradientError, match=r"'rate' of the class .*Base has changed since the call"):
        grad(f)(2.0, 7.0)


def in_a_class(k):
    class Held:
        factor = k

    return integral(lambda t: Held.factor * t)


def in_the_class_of_an_object(k):
    class Held:
        factor = k

        def rate(self, t):
            return self.factor * t

    return integral(Held().rate)


def in_a_cached_function(k):
    @functools.lru_cache(maxsize=8)
    def factor(i):
        return k * i

    return integral(lambda t: factor(1) * t)


def in_a_static_method(k):
    class Held:
        @staticmethod
        def rate(t):
            return k * t

    return integral(Held.rate)


def beside_other_things(k):
    held = [k, range(3), deque([1.0]), memoryview(b"abc"), array.array("d", [1.0]), iter([1]), np.random.default_rng(0)]
    held.append(held)
    return integral(lambda t: held[-1][0] * t)


HELD = [in_a_class, in_the_class_of_an_object, in_a_cached_function, in_a_static_method, beside_other_things]


@pytest.mark.parametrize("function", HELD)
def test_what_is_differentiated_is_found_where_functions_hold_it(function):
    assert function(2.0) == pytest.approx(1.0)
    assert grad(function)(2.0) == pytest.approx(0.5)
    assert jvp(function, (2.0,), (1.0,))[1] == pytest.approx(0.5)


def test_a_tensor_that_is_differentiated_and_has_changed_is_refused_by_a_checkpoint():
    x, w = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    y = checkpoint(lambda x: (x * w).sum(), x)
    y.backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    y = checkpoint(lambda x: (x * w).sum(), x)
    with pb.no_grad():
        w.add_(1.0)
    with pytest.raises(SavedTensorModifiedError):
        y.backward()


def test_calls_share_the_copy_of_an_array_that_stays_the_same():
    array = np.arange(1000.0)
    captured = [Captured("f", lambda: array) for _ in range(3)]
    for each in captured:
        each.keep()
    assert len({id(each._contents[0][0].before) for each in captured}) == 1
    copy = weakref.ref(captured[0]._contents[0][0].before)
    captured.clear()
    del each
    gc.collect()
    assert copy() is None


def test_functions_that_call_each_other_are_copied_once():
    factor = 1.0

    def even(n):
        return factor if n == 0 else odd(n - 1)

    def odd(n):
        return 0.0 if n == 0 else even(n - 1)

    captured = Captured("f", even, odd)
    captured.keep()
    captured.settle()
    assert captured.renew() == (even, odd)
    factor = 2.0
    one, other = captured.renew()
    assert (one(4), other(3), even(4)) == (1.0, 1.0, 2.0)
    assert [cell.cell_contents for cell in one.__closure__] == [1.0, other]
    assert [cell.cell_contents for cell in other.__closure__] == [one]


def test_a_cache_that_the_function_fills_keeps_no_gradient_back():
    def once(k):
        factor = None

        def function(t):
            nonlocal factor
            if factor is None:
                factor = np.exp(k)
            return factor * t

        return integral(function)

    def for_each(k):
        memo = {}

        def function(t):
            if t not in memo:
                memo[t] = np.exp(-k * t)
            return memo[t]

        return integral(function)

    for f, slope in ((once, np.e / 2), (for_each, 2 / np.e - 1)):
        assert grad(f)(1.0) == pytest.approx(slope)
        assert pb.func.jvp(f, (1.0,), (1.0,))[1] == pytest.approx(slope)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that samples run one after the other
            assert pb.func.vmap(f)(np.array([1.0, 2.0])) == pytest.approx([f(1.0), f(2.0)])


def test_the_solution_of_a_solver_keeps_its_gradient_inside_another_one():
    def half(k):
        found = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], dense_output=True)
        return optimize.brentq(lambda t: found.sol(t)[0] - 0.5, 0.0, 1.0)

    slope = -np.log(2) / 1.2**2
    assert grad(half)(1.2) == pytest.approx(slope, rel=1e-2)
    assert jvp(half, (1.2,), (1.0,))[1] == pytest.approx(slope, rel=1e-2)


def sparse_matrix(k):
    return sparse.csc_array((np.stack([2 + k, k, k / k, 3 * k / k]), ([0, 1, 0, 1], [0, 0, 1, 1])), shape=(2, 2))


def held_as_sparse_matrix(k):
    A = sparse_matrix(k)
    return lambda t: (A @ np.stack([t, 1 + t]))[1]


def held_as_factors(k):
    factors = splu(sparse_matrix(k))
    return lambda t: factors.solve(np.stack([t, 1 + t]))[0]


@pytest.mark.parametrize("made", [held_as_sparse_matrix, held_as_factors])
def test_sparse_matrices_keep_their_gradient_inside_a_solver(made):
    def of(k):
        return integral(made(k))

    slope = (of(1.2 + 1e-5) - of(1.2 - 1e-5)) / 2e-5
    assert grad(of)(1.2) == pytest.approx(slope, rel=1e-6)
    assert jvp(of, (1.2,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)


def test_nothing_keeps_what_functions_held():
    def run():
        model = Model(1.0, 2.0)
        k = pb.tensor(1.0, requires_grad=True)

        def rate(t):
            return model.rate(t)

        integral(lambda t: k * rate(t)).backward()
        return weakref.ref(model)

    held = run()
    gc.collect()
    assert held() is None
