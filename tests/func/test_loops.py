"""scan, fori_loop, while_loop and cond: values, derivatives and batches are those of Python's own loops."""

import gc
import sys
import tracemalloc
import weakref
from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import GradientError
from pullback.func import (
    checkpointed_loop,
    cond,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jet,
    jvp,
    linearize,
    scan,
    value_and_grad,
    vmap,
    while_loop,
)  # fmt: skip

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3))


def plain_scan(f, init, xs=None, length=None, reverse=False):
    carry, ys = init, []
    places = range(len(xs) if xs is not None else length)
    for k in reversed(places) if reverse else places:
        carry, y = f(carry, None if xs is None else xs[k])
        ys.append(y)
    return carry, np.stack(ys[::-1] if reverse else ys)


def recurrent(loop, reverse=False):
    def of(w, x):
        def step(c, x):
            c = np.tanh(w @ c + x)
            return c, np.sum(c)

        c, ys = loop(step, np.zeros(3) + 0 * x[0], x, reverse=reverse)
        return np.sum(c**2) + np.sum(np.cos(ys) * np.arange(5.0))

    return of


def nested(loop):
    def of(w, x):
        def row(c, row):
            d, ys = loop(lambda d, e: (np.sin(d * w[0, 0] + e), d * d), c, row)
            return d + np.mean(ys), np.sum(ys)

        return loop(row, w[1, 1], x)[0]

    return of


PROGRAMS = {"forwards": recurrent, "backwards": lambda loop: recurrent(loop, True), "nested": nested}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": grad,
    "grad of xs": lambda f: grad(f, argnums=1),
    "jvp": lambda f: lambda w, x: jvp(f, (w, x), (w, x))[1],
    "hessian": hessian,
    "reverse over forward": lambda f: grad(lambda w, x: jvp(f, (w, x), (w, x))[1]),
    "forward over reverse": lambda f: lambda w, x: jvp(grad(f), (w, x), (w, x))[1],
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_scan_is_the_plain_loop_alone_and_in_a_batch(program, transform):
    f, g = (TRANSFORMS[transform](PROGRAMS[program](loop)) for loop in (scan, plain_scan))
    expected = g(W, X)
    np.testing.assert_allclose(f(W, X), expected, rtol=1e-12, atol=1e-13)
    batch = vmap(f, (0, None))(np.stack([W, 0.5 * W]), X)
    np.testing.assert_allclose(batch, np.stack([expected, g(0.5 * W, X)]), rtol=1e-12, atol=1e-13)
    batch = vmap(f, (None, 1))(W, np.stack([X, -X], 1))
    np.testing.assert_allclose(batch, np.stack([expected, g(W, -X)]), rtol=1e-12, atol=1e-13)


def test_a_gradient_of_a_batch_and_tensors():
    f, g = recurrent(scan), recurrent(plain_scan)
    weights = np.stack([W, 0.5 * W])
    found = grad(lambda w: np.sum(vmap(f, (0, None))(w, X)))(weights)
    np.testing.assert_allclose(found, [grad(g)(w, X) for w in weights], rtol=1e-12)
    w = pb.tensor(W, requires_grad=True)

    def step(c, x):
        c = (w @ c + x).tanh()
        return c, c.sum()

    c, ys = scan(step, pb.zeros(3, dtype=pb.float64), pb.tensor(X))
    assert type(c) is pb.Tensor
    assert "loop" in repr(c)
    (c.square().sum() + (ys.cos() * pb.arange(5.0, dtype=pb.float64)).sum()).backward()
    np.testing.assert_allclose(w.grad.numpy(), grad(g)(W, X), rtol=1e-12)


def newton(loop):
    def root(a):
        def wants(x):
            return abs(x * x - a) > 1e-13 * a

        return loop(wants, lambda x: 0.5 * (x + a / x), a + 1)

    return root


def plain_while(test, body, x):
    while test(x):
        x = body(x)
    return x


OF_ONE = {
    "value": lambda f: f,
    "grad": grad,
    "second": lambda f: grad(grad(f)),
    "jvp": lambda f: lambda a: jvp(f, (a,), (1.0,))[1],
    "mixed": lambda f: jacfwd(grad(f)),
}


@pytest.mark.parametrize("transform", OF_ONE)
def test_a_while_loop_is_the_plain_one_where_samples_take_different_numbers_of_steps(transform):
    f, g = (OF_ONE[transform](newton(loop)) for loop in (while_loop, plain_while))
    points = np.array([2.0, 9.0, 1000.0, 0.01])
    expected = [g(a) for a in points]
    np.testing.assert_allclose([f(a) for a in points], expected, rtol=1e-13)
    np.testing.assert_allclose(vmap(f)(points), expected, rtol=1e-13)
    if transform == "value":
        np.testing.assert_allclose(grad(lambda a: np.sum(vmap(f)(a)))(points), [grad(g)(a) for a in points])


def test_samples_that_need_numbers_run_one_by_one_each_with_its_own_number_of_steps():
    def count_down(x):
        return while_loop(lambda x: x > 1, lambda x: x * (0.5 if x > 4 else 0.9), x)

    points = np.array([20.0, 3.0, 0.5])
    with pytest.warns(UserWarning, match="looks at numbers"):
        found = vmap(value_and_grad(count_down))(points)
    expected = [value_and_grad(lambda x: plain_while(lambda x: x > 1, lambda x: x * (0.5 if x > 4 else 0.9), x))(x)
                for x in points]  # fmt: skip
    np.testing.assert_allclose(np.transpose(found), expected)


def test_a_loop_that_counts():
    def power(x, slots=None, first=2):
        return fori_loop(first, 7, lambda i, y: y * x + i, 1.0, slots=slots)

    def plain(x):
        y = 1.0
        for i in range(2, 7):
            y = y * x + i
        return y

    for slots in (None, 1, 2, 9):
        assert grad(power)(1.3, slots) == pytest.approx(grad(plain)(1.3), rel=1e-14)
    np.testing.assert_allclose(jet(power, (1.3,), ([1.0, 0.0, 0.0],))[1], jet(plain, (1.3,), ([1.0, 0.0, 0.0],))[1])
    assert linearize(power, 1.3)[1](2.0) == pytest.approx(2 * grad(plain)(1.3))
    assert power(1.3, first=9) == 1.0
    assert vmap(lambda x: fori_loop(0, 0, lambda i, y: y, x))(np.ones(2)).tolist() == [1.0, 1.0]


def test_no_steps_and_masks_of_a_batch_in_cotangents():
    def never(x, w):
        return np.sum(while_loop(lambda q: np.sum(q) > 1e9, lambda q: q * w, x))

    np.testing.assert_array_equal(grad(never, argnums=1)(np.ones(3), np.ones(3)), np.zeros(3))

    def branch(x, length):
        y = cond(np.sum(x) > 0, lambda x: fori_loop(0, length, lambda i, c: np.tanh(c * x), x), lambda x: 0 * x, x)
        return np.sum(np.where(x > 0, y, 0.0))

    points = np.array([[1.0, -0.5, 2.0], [-1.0, -2.0, 0.5]])
    for length in (0, 2):
        found = vmap(grad(branch), (0, None))(points, length)
        np.testing.assert_allclose(found, [grad(branch)(x, length) for x in points])


def test_trees_and_nothing():
    carry, ys = scan(lambda c, x: ({"n": c["n"] + 1, "name": c["name"]}, (x["a"], None)), {"n": 0, "name": "count"},
                     {"a": np.arange(3.0)})  # fmt: skip
    assert carry == {"n": 3, "name": "count"}
    np.testing.assert_array_equal(ys[0], np.arange(3.0))
    assert ys[1] is None
    assert scan(lambda c, x: (c + 1, None), 0, length=4) == (4, None)
    carry, ys = scan(lambda c, x: (c, x + c), 1.0, np.zeros((0, 2), np.float32))
    assert (carry, ys.shape) == (1.0, (0, 2))
    assert scan(lambda c, x: (c, x > 1), 1.0, np.arange(3.0))[1].tolist() == [False, False, True]


def test_a_variable_of_a_python_loop_is_read_as_it_was():
    def total(a):
        return sum(fori_loop(0, 2, lambda i, y: y + n * a * a, 0.0) for n in range(3))  # noqa: B023

    assert grad(total)(3.0) == 2 * 3 * 6.0


def test_memory_holds_carries_and_no_graph_of_all_steps():
    def peak(loop):
        def f(x):
            def step(y):
                for _ in range(10):
                    y = np.sin(y)
                return y

            return np.sum(loop(step, x))

        tracemalloc.start()
        grad(f)(np.zeros(10_000))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    plain = peak(lambda step, x: [x := step(x) for _ in range(50)][-1])
    assert peak(lambda step, x: fori_loop(0, 50, lambda i, y: step(y), x)) < plain / 5


def test_forward_mode_keeps_nothing():
    def pushed(n):
        jvp(lambda x: fori_loop(0, 400, lambda i, c: np.sin(c), x), (np.ones(n),), (np.ones(n),))

    pushed(10)  # what is imported at first use
    tracemalloc.start()
    pushed(10_000)
    assert tracemalloc.get_traced_memory()[1] < 16e6  # all carries would be 32e6
    tracemalloc.stop()
    none = vmap(lambda x: scan(lambda c, u: (np.tanh(c * x + u), c[0]), x, np.zeros((0, 3)))[0])(np.ones((2, 3)))
    np.testing.assert_array_equal(none, np.ones((2, 3)))


def test_cond_runs_one_function_or_in_a_batch_both():
    seen = []

    def root(x):
        seen.append("root")
        return np.sqrt(x)

    def f(x):
        return cond(x > 0, root, lambda x: 0 * x, x)

    assert [f(4.0), f(-1.0)] == [2.0, 0.0]
    assert len(seen) == 1
    points = np.array([4.0, -1.0, 0.0])
    np.testing.assert_array_equal(vmap(f)(points), [2, 0, 0])
    np.testing.assert_array_equal(vmap(grad(f))(points), [0.25, 0, 0])
    np.testing.assert_array_equal(jacobian(vmap(f))(points), np.diag([0.25, 0, 0]))
    assert vmap(lambda x: cond(True, np.cos, np.sin, x))(np.zeros(2)).tolist() == [1, 1]
    with pytest.raises(GradientError, match=r"same structure and shapes, got .* with shapes \[\(\)\]"):
        vmap(lambda x: cond(x > 0, lambda x: x, lambda x: (x, x), x))(points)
    with pytest.raises(RuntimeError, match=r"one element, got shape \(3,\)"):
        cond(points > 0, np.sin, np.cos, points)


REFUSED = {
    "no pair": (lambda: scan(lambda c, x: c, 0.0, np.ones(2)), TypeError, "must return a pair"),
    "another shape": (lambda: scan(lambda c, x: (np.ones(2), x), 0.0, np.ones(2)), GradientError, "same shapes"),
    "another tree": (lambda: fori_loop(0, 2, lambda i, c: [c], 0.0), GradientError, r"returns TreeSpec"),
    "another kind": (lambda: fori_loop(0, 2, lambda i, c: c + 0.5, 0), GradientError, "kinds of numbers"),
    "a list": (lambda: scan(lambda c, x: (c, x), 0.0, [1.0, 2.0]), TypeError, "make it one array"),
    "two lengths": (lambda: scan(lambda c, x: (c, 0), 0, (np.ones(2), np.ones(3))), ValueError, r"equal, got \[2, 3\]"),
    "length": (lambda: scan(lambda c, x: (c, x), 0.0, np.ones(2), 3), ValueError, "length is 3"),
    "no length": (lambda: scan(lambda c, x: (c, x), 0.0), TypeError, "length must say"),
    "text": (lambda: scan(lambda c, x: (c, "y"), 0.0, np.ones(2)), TypeError, "y must be an array"),
    "another y": (lambda: scan(lambda c, x: (c + 1, c or 0.5), 0, length=3), GradientError, r"float64\(\); it"),
    "slots": (lambda: scan(lambda c, x: (c, x), 0.0, np.ones(2), slots=0), ValueError, "at least 1"),
    "bound": (lambda: fori_loop(0, 2.0, lambda i, c: c, 0.0), TypeError, "upper must be an int"),
    "function": (lambda: fori_loop(0, 2, 3, 0.0), TypeError, "body must be callable"),
    "test": (lambda: while_loop(3, abs, 0.0), TypeError, "test must be callable"),
    "too many": (lambda: while_loop(lambda x: True, abs, 0.0, max_steps=9), GradientError, "after max_steps=9"),
    "negative": (lambda: while_loop(lambda x: True, abs, 0.0, max_steps=-1), ValueError, "not be negative"),
    "branch": (lambda: cond(True, 1, abs, 0.0), TypeError, "true_function must be callable"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_loop_is_refused(what):
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=text):
        call()


# -- programs of steps, kept from call to call ------------------------------------------------------------------------
STEPS = 60  # more than run as they are
RATE = 0.5


class Model:
    def __init__(self, rate):
        self.rate = rate


def ways_of_reading(x, read):
    """One gradient for each kind of thing that a step reads, of what `read` is now."""
    array, listed, model = np.full(2, read), [read], Model(read)
    steps = (
        lambda i, y: y + 0.01 * np.sin(y * read),
        lambda i, y: y + 0.01 * np.sin(y * array),
        lambda i, y: y + 0.01 * np.sin(y * listed[0]),
        lambda i, y: y + 0.01 * np.sin(y * model.rate),
        lambda i, y, rate=read: y + 0.01 * np.sin(y * rate),
        lambda i, y: y + 0.01 * np.sin(y * RATE),
        partial(lambda rate, i, y: y + 0.01 * np.sin(y * rate), read),
    )
    return [pb.func.grad(lambda x, s=step: np.sum(pb.func.fori_loop(0, STEPS, s, x)))(x) for step in steps]


def test_a_kept_program_is_that_of_what_a_step_reads_now(monkeypatch):
    x = np.array([0.5, 1.0])
    found = {}
    for read in (0.5, 2.0, 0.5, 2.0):
        monkeypatch.setattr(sys.modules[__name__], "RATE", read)
        found.setdefault(read, []).append(ways_of_reading(x, read))
    with monkeypatch.context() as patch:
        patch.setenv("PULLBACK_COMPILE", "0")
        for read, (first, second) in found.items():
            patch.setattr(sys.modules[__name__], "RATE", read)
            expected = ways_of_reading(x, read)
            np.testing.assert_allclose(first, expected, rtol=1e-12)
            np.testing.assert_allclose(second, expected, rtol=1e-12)


def test_a_list_that_is_changed_between_calls_is_read_as_it_is():
    rates = [0.5]

    def loss(x):
        return np.sum(pb.func.fori_loop(0, STEPS, lambda i, y: y + 0.01 * np.sin(y * rates[0]), x))

    x = np.array([0.5, 1.0])
    before = pb.func.grad(loss)(x)
    rates[0] = 2.0
    for _ in range(2):
        np.testing.assert_allclose(pb.func.grad(loss)(x), derivative(loss, x), rtol=1e-6)
    rates[0] = 0.5
    np.testing.assert_allclose(pb.func.grad(loss)(x), before, rtol=1e-12)


def derivative(f, x, eps=1e-6):
    return np.array([(f(x + eps * e) - f(x - eps * e)) / (2 * eps) for e in np.eye(len(x))])


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop", "checkpointed_loop"])
def test_later_gradients_of_a_loop_run_the_program_of_the_first(loop, monkeypatch):
    import pullback.compiler.compiled as compiled

    def loss(x, rate):
        step = lambda y: y + 0.01 * np.sin(y * rate)  # noqa: E731 - a new one at each call
        if loop == "scan":
            return np.sum(pb.func.scan(lambda y, _: (step(y), None), x, length=STEPS)[0])
        if loop == "fori_loop":
            return np.sum(pb.func.fori_loop(0, STEPS, lambda i, y: step(y), x))
        if loop == "while_loop":
            return np.sum(pb.func.while_loop(lambda y: y[1] < STEPS, lambda y: (step(y[0]), y[1] + 1), (x, 0))[0])
        return np.sum(pb.func.checkpointed_loop(lambda y, k, r: y + 0.01 * np.sin(y * r), x, STEPS, rate))

    gradient = pb.func.grad(loss, argnums=(0, 1))
    x = np.array([0.5, 1.0])
    first = gradient(x, 2.0)
    traces = []
    traced = compiled.trace
    monkeypatch.setattr(compiled, "trace", lambda *args: traces.append(args) or traced(*args))
    for _ in range(3):
        for g, expected in zip(gradient(x, 2.0), first, strict=True):
            np.testing.assert_allclose(g, expected, rtol=1e-12)
    assert len(traces) <= 2  # audits
    by_rate = gradient(x, 3.0)[1]
    np.testing.assert_allclose(by_rate, (loss(x, 3.0 + 1e-6) - loss(x, 3.0 - 1e-6)) / 2e-6, rtol=1e-6)


def test_a_kept_program_keeps_nothing_of_the_call_that_made_it():
    class Kept:
        pass

    held = []

    def gradient(x):
        kept = Kept()
        held.append(weakref.ref(kept))
        kept.rate = x * 1.0
        loss = lambda x: np.sum(pb.func.fori_loop(0, STEPS, lambda i, y: y + 0.01 * np.sin(y * kept.rate), x))  # noqa: E731
        return pb.func.grad(loss)(x)

    for _ in range(2):
        gradient(np.array([0.5, 1.0]))
    gc.collect()
    assert [x() for x in held] == [None, None]


def _first_written(carry):
    """A step that writes into its own copy."""
    carry = carry.copy()
    carry[0] = np.sin(carry[0]) * carry[1]
    return carry


_WRITING_LOOPS = {
    "scan": lambda x: scan(lambda c, s: ((c := _first_written(c)), c * s), x, np.arange(3.0))[1],
    "fori_loop": lambda x: fori_loop(0, 3, lambda _, c: _first_written(c), x),
    "while_loop": lambda x: while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, _first_written(s[1])), (0, x))[1],
    "checkpointed_loop": lambda x: checkpointed_loop(lambda c, _: _first_written(c), x, 3, slots=2),
}


@pytest.mark.parametrize("name", _WRITING_LOOPS)
def test_a_step_may_write_into_its_own_copy_at_every_order(name):
    x, v = np.array([0.5, 0.7]), np.array([1.0, 0.3])
    gradient = grad(lambda x: np.sum(_WRITING_LOOPS[name](x) ** 2))

    def along(f):
        return lambda x, v: jvp(lambda x: f(x), (x,), (v,))[1]

    step = 1e-5
    second = (gradient(x + step * v) - gradient(x - step * v)) / (2 * step)
    hvp = along(gradient)
    np.testing.assert_allclose(hvp(x, v), second, rtol=1e-7)
    np.testing.assert_allclose(vmap(hvp)(np.stack([x, x]), np.stack([v, 2 * v])), [hvp(x, v), 2 * hvp(x, v)])
    third = (hvp(x + step * v, v) - hvp(x - step * v, v)) / (2 * step)
    np.testing.assert_allclose(along(lambda x: hvp(x, v))(x, v), third, rtol=1e-7)
    np.testing.assert_allclose(grad(lambda x: np.sum(hvp(x, v) * v))(x), third, rtol=1e-7)


def test_jets_of_loops_that_carry_text():
    def halved(x):
        return while_loop(lambda s: abs(s[0]) > 0.5, lambda s: (s[0] * np.cos(s[0]), s[1]), (x, "text"))[0]

    def curve(f):
        return lambda x: jet(f, (x,), ((2 * np.ones_like(x), x, x),))

    def plain(x):
        while abs(x) > 0.5:
            x = x * np.cos(x)
        return x

    rows = np.array([[0.3, 1.2], [0.9, 2.0]])
    value, series = vmap(curve(vmap(halved)))(rows)
    for i in np.ndindex(2, 2):
        expected = curve(plain)(rows[i])
        assert (value[i], *(s[i] for s in series)) == pytest.approx((expected[0], *expected[1]))
    x, y = fori_loop(0, 2, lambda _, s: (s[0] * 2, s[1]), (1.0, "text"))
    assert (x, y) == (4.0, "text")


_FREED_LOOPS = {
    "scan": lambda x: scan(lambda c, s: (np.sin(c) * x * s, c), x, X[:, 0])[0],
    "fori_loop": lambda x: fori_loop(0, 3, lambda _, c: np.sin(c) * x, x),
    "while_loop": lambda x: while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.sin(s[1]) * x), (0, x))[1],
    "checkpointed_loop": lambda x: checkpointed_loop(lambda c, _: np.sin(c) * x, x, 3),
}
_FREED_TRANSFORMS = {
    "grad": lambda f, x: grad(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "grad of jvp": lambda f, x: grad(lambda x: jvp(f, (x,), (np.ones(2),))[1])(x),
    "jvp of grad": lambda f, x: jvp(grad(f), (x,), (x,)),
    "vmap of grad": lambda f, x: vmap(grad(f))(np.stack([x, 2 * x])),
    "grad of vmap": lambda f, x: grad(lambda x: np.sum(vmap(f)(x)))(np.stack([x, 2 * x])),
}


@pytest.mark.parametrize("transform", _FREED_TRANSFORMS)
@pytest.mark.parametrize("loop", _FREED_LOOPS)
def test_a_loop_leaves_nothing_to_the_garbage_collector(loop, transform):
    def call():
        _FREED_TRANSFORMS[transform](lambda x: np.sum(_FREED_LOOPS[loop](x) ** 2), np.array([0.5, 0.7]))

    call()  # what is made once for all calls
    gc.disable()
    try:
        gc.collect()
        call()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert [type(x).__name__ for x in gc.garbage] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
