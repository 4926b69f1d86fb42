"""Element writes in the usual case give what the general way gives: values, both derivatives, errors, versions."""

import numpy as np
import pytest

import pullback as pb
from pullback.core import modes
from pullback.core.errors import InplaceError, SavedTensorModifiedError
from pullback.core.observers import Observer

X, V = np.array([0.5, 1.5, 0.0, 2.0]), np.array([1.0, -2.0, 0.5, 3.0])


def in_general(f):
    """The same function where an observer looks on, so that every operator takes the general way."""

    def seen(x):
        before = modes.set_modes(modes.current().with_observer(Observer()))
        try:
            return f(x)
        finally:
            modes.restore(before)

    return seen


WRITES = {
    "an element": lambda x, y: y.__setitem__(1, x[0] * x[3]),
    "from the end": lambda x, y: y.__setitem__(-1, x[1] ** 2),
    "a number": lambda x, y: y.__setitem__(0, 3.0),
    "NumPy's number": lambda x, y: y.__setitem__(np.int64(2), np.float32(0.5)),
    "a slice": lambda x, y: y.__setitem__(slice(1, 3), x[:2] * 2),
    "one number in a slice": lambda x, y: y.__setitem__(slice(None, None, 2), x[1]),
    "all": lambda x, y: y.__setitem__(..., x[::-1]),
    "with a new axis": lambda x, y: y.__setitem__((None, slice(0, 2)), x[2:]),
    "a plain array": lambda x, y: y.__setitem__(slice(0, 2), np.array([1.0, 0.0])),
    "itself": lambda x, y: y.__setitem__(slice(1, None), y[:-1]),
    "one of its elements": lambda x, y: y.__setitem__(0, y[3]),
    "a true value": lambda x, y: y.__setitem__(0, True),
    "a constant that is an Array": lambda x, y: y.__setitem__(0, np.sign(x)[1]),
    "through a view": lambda x, y: y[1:].__setitem__(1, x[0]),
    "a view was taken before": lambda x, y: (view := y[2:], y.__setitem__(3, x[1] * 5), y.__setitem__(0, view.sum())),
    "in place": lambda x, y: y.__setitem__(2, y[2] - 0.3 * y[1]),
    "a list": lambda x, y: y.__setitem__(slice(0, 2), [1.0, 2.0]),
}
BUFFERS = {
    "zeros_like": np.zeros_like,
    "a copy": lambda x: x.copy(),
    "a result": lambda x: np.sin(x) * x,
    "saved before": lambda x: (y := x * 2.0, np.sum(y * y))[0],
}


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("write", WRITES)
def test_they_agree_with_the_general_way(write, buffer):
    def f(x):
        y = BUFFERS[buffer](x)
        s = np.sum(y**3)
        WRITES[write](x, y)
        return s + x[0] + np.sum(np.sqrt(np.abs(y)) * np.array([1.0, 10.0, 100.0, 1000.0]) * y)

    plain, general = f, in_general(f)
    value, gradient = pb.func.value_and_grad(plain)(X)
    expected_value, expected = pb.func.value_and_grad(general)(X)
    assert value == expected_value == f(X)
    np.testing.assert_array_equal(gradient, expected)
    np.testing.assert_allclose(pb.func.jvp(plain, (X,), (V,)), pb.func.jvp(general, (X,), (V,)), rtol=1e-14)

    def pushed(f):
        return lambda x: pb.func.jvp(f, (x,), (V,))[1]

    for transform in (pb.func.grad, pushed):
        found, wanted = (transform(pushed(g))(X + 0.1) for g in (plain, general))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 4.0])
def test_what_nothing_has_touched_has_no_infinite_slope(constant):
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1]
        y[2] = constant
        roots = np.sqrt(y)  # of 0 where nothing moves
        y[0] = 0.0
        y[1] = x[0]
        return np.sum(roots) + np.sum(np.sqrt(y))

    expected = [0.5 / np.sqrt(0.5), 0.5 / np.sqrt(1.5), 0.0, 0.0]
    np.testing.assert_allclose(pb.func.grad(f)(X), expected)
    np.testing.assert_allclose(pb.func.jvp(f, (X,), (V,))[1], V @ expected)


def test_a_mask_that_two_arrays_have_is_not_written_into():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        z = y.copy()
        y[1] = x[1]
        z[2] = x[3]
        return np.sum(np.sqrt(y)) + np.sum(np.sqrt(z))

    expected = [1 / np.sqrt(0.5), 0.5 / np.sqrt(1.5), 0.0, 0.5 / np.sqrt(2.0)]
    np.testing.assert_allclose(pb.func.jvp(f, (X,), (V,))[1], V @ expected)


def test_a_computed_zero_keeps_its_infinite_slope():
    def f(x):
        y = np.ones_like(x)
        y[0] = x[2] * 1.0  # 0, and it moves
        return np.sum(np.sqrt(y))

    with np.errstate(divide="ignore"):
        assert pb.func.jvp(f, (X,), (V,))[1] == np.inf
        assert pb.func.grad(f)(X)[2] == np.inf


WRONG = {
    "out of bounds": (lambda x, y: y.__setitem__(7, x[0]), IndexError),
    "another shape": (lambda x, y: y.__setitem__(slice(0, 3), x[:2]), (ValueError, RuntimeError)),
    "several into one": (lambda x, y: y.__setitem__(0, x[:2]), (ValueError, RuntimeError)),
    "complex": (lambda x, y: y.__setitem__(0, x[0] * 1j), (TypeError, RuntimeError)),
    "a complex number": (lambda x, y: y.__setitem__(0, 1j), (TypeError, RuntimeError)),
    "too many indices": (lambda x, y: y.__setitem__((0, 0), x[0]), IndexError),
    "read-only": (lambda x, y: np.broadcast_to(y, (2, 4)).__setitem__((0, 0), x[0]), (ValueError, InplaceError)),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_the_same_words(case):
    write, kind = WRONG[case]

    def f(x):
        y = x * 1.0
        write(x, y)
        return np.sum(y)

    for run in (pb.func.grad, lambda f: lambda x: pb.func.jvp(f, (x,), (V,))):
        said = []
        for g in (f, in_general(f)):
            with pytest.raises(kind) as caught:
                run(g)(X)
            said.append((type(caught.value), str(caught.value)))
        assert said[0] == said[1]


def test_tensors_are_written_into_by_the_rules_of_pytorch():
    x = pb.tensor(X, requires_grad=True)
    with pytest.raises(InplaceError, match="leaf"):
        x[0] = 1.0
    y = x.exp()
    y[1] = x[0] * 2
    with pytest.raises(SavedTensorModifiedError, match="__setitem__"):
        y.sum().backward()
    with pb.no_grad():
        x[0] = 7.0
    assert x.tolist() == [7.0, 1.5, 0.0, 2.0]
    assert x._version == 1
    y = x * 2
    view = y[2:]
    y[3] = x[0] ** 2
    view.sum().backward()
    assert x.grad.tolist() == [14.0, 0.0, 2.0, 0.0]


def test_what_retains_its_gradient_does_so_for_its_new_function():
    x = pb.tensor(X, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y[0] = x[1]
    (y * y).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), 2 * y.detach().numpy())


def overwriting(x):
    y = x * 2.0
    for i in range(3):
        y[i] = y[i + 1] * x[i]
    y[:2] *= 0.5
    return y


def test_nothing_is_kept_of_what_is_overwritten_where_nothing_was_recorded():
    seen = []

    def f(x):
        y = overwriting(x)
        seen.append(bool(y._counter.journal))
        return np.sum(y * y)

    _, tangent = pb.func.jvp(f, (X,), (V,))
    np.testing.assert_allclose(tangent, pb.func.grad(f)(X) @ V)
    pb.func.grad(lambda x: pb.func.jvp(f, (x,), (V,))[1])(X)
    pb.func.jvp(pb.func.grad(f), (X,), (V,))
    assert seen == [False, True, False, True]
