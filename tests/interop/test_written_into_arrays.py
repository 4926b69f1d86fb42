"""A Tensor that requires grad is written into an ndarray: the error has the line, and what to write."""

import operator
import re
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError


def row(s, t):
    s[1] = t


def rows(s, t):
    s[:2] = 2 * t


def added(s, t):
    s[1] += t


def out(s, t):
    np.multiply(t, t, out=s[0])


def copied(s, t):
    np.copyto(s[0], t)


INTO = "Write into a Tensor (np.zeros(n, like=t), np.array(a, like=t)), or join a list by np.stack."
ADVICE = {
    row: INTO,
    rows: INTO,
    added: f"{INTO} Or write it out of place",
    out: f"{INTO} Or write it out of place",
    copied: INTO,
}


@pytest.mark.parametrize("write", ADVICE)
def test_the_line_and_the_remedy_are_named(write):
    s, t = np.zeros((3, 2)), pb.tensor([1.0, 2.0], requires_grad=True)
    place = rf'(?s:.*)File ".*test_written_into_arrays\.py", line \d+, in {write.__name__}(?s:.*)'
    with pytest.raises(DetachingError, match=place + re.escape(ADVICE[write])):
        write(s, t)
    assert not s.any()


def test_the_error_says_it_once():
    def f(x):
        out = np.zeros(2)
        out[0] = x[0]
        return out.sum()

    with pytest.raises(DetachingError, match="would write a Tensor") as raised:
        pb.func.grad(f)(np.ones(2))
    assert not [note for note in raised.value.__notes__ if "would write" in note]


def test_ufunc_at_on_a_plain_array_says_what_a_store_says():
    def f(x):
        out = np.zeros(3)
        np.add.at(out, [0, 2, 2], x)
        return out.sum()

    with pytest.raises(DetachingError, match=r"(?s)np\.add\.at would write .*, in f\n.*pullback\.adopt\(\)"):
        pb.func.grad(f)(np.ones(3))


def real_part(a, x):
    a.real = x.reshape(2, 2)


def flat(a, x):
    a.flat = x


def element(a, x):
    a[0, 1] = x[0] * x[1]


def indexed(a, x):
    a[np.ix_([0, 1], [1])] += x[0] * np.ones((2, 1))
    a[[0, 1], [0, 0]] -= x[:2]
    a[np.eye(2, dtype=bool)] *= x[2:]


def in_place(a, x):
    part = a[0]
    part += x[:2]
    part *= x[2:]


# Into the array a, of shape (2, 2).
WRITES = {
    "a[i, j] =": element,
    "a[indices] +=": indexed,
    "part +=": in_place,
    "a.flat[i] =": lambda a, x: operator.setitem(a.flat, slice(0, 3, 2), x[:2]),
    "a.flat =": flat,
    "a.real =": real_part,
    "a.fill": lambda a, x: a.fill(x[0]),
    "a.put": lambda a, x: a.put([0, 3], x[1:3]),
    "a.__setitem__": lambda a, x: a.__setitem__((0, 1), x[0]),
    "operator.setitem": lambda a, x: operator.setitem(a, (0, 1), x[0]),
    "out=": lambda a, x: np.multiply(x[:2], x[2:], out=a[1]),
    "sum(out=)": lambda a, x: np.sum(np.outer(x, x).reshape(2, 8), axis=1, out=a[0]),
    "matmul(out=)": lambda a, x: np.matmul(x.reshape(2, 2), x.reshape(2, 2), out=a),
    "add.at": lambda a, x: np.add.at(a, ([0, 0], [1, 1]), x[:2]),
    "copyto": lambda a, x: np.copyto(a, x[:2], where=np.array([True, False])),
    "put": lambda a, x: np.put(a, [0, 3], x[:2]),
    "place": lambda a, x: np.place(a, np.eye(2, dtype=bool), x),
    "putmask": lambda a, x: np.putmask(a, np.eye(2, dtype=bool), x),
    "fill_diagonal": lambda a, x: np.fill_diagonal(a, x[1:3]),
    "put_along_axis": lambda a, x: np.put_along_axis(a, np.array([[1], [0]]), x[:2].reshape(2, 1), 1),
}
POINT = np.array([0.7, 1.3, 0.9, 1.6])


def of_buffer(write, make):
    """The function that lets `write` write into what `make` makes."""

    def f(x):
        a = make(x)
        a[...] = np.array([[1.0, 2.0], [3.0, 4.0]])
        write(a, x)
        return np.sum(np.array([[0.3, 0.5], [0.7, 1.1]]) * a**2).real

    return f


def differences(f):
    steps = 1e-6 * np.eye(4)
    return [(f(POINT + step) - f(POINT - step)) / 2e-6 for step in steps]


@pytest.mark.parametrize("name", WRITES)
def test_the_first_advice_is_adopt_and_each_advice_works(name):
    dtype = complex if name == "a.real =" else float

    def plain(x):
        return np.zeros((2, 2), dtype)

    def like(x):
        return np.zeros((2, 2), dtype, like=x) if isinstance(x, pb.Tensor) else plain(x)

    def copied(x):
        return np.array(plain(x), like=x) if isinstance(x, pb.Tensor) else plain(x)

    with pytest.raises(DetachingError) as raised:
        pb.func.grad(of_buffer(WRITES[name], plain))(POINT)
    said = str(raised.value).splitlines()
    assert [line for line in said if line.startswith("Call pullback.adopt() once, at the top of the program: arrays")]
    expected = differences(of_buffer(WRITES[name], plain))
    for make in (like, copied):
        np.testing.assert_allclose(pb.func.grad(of_buffer(WRITES[name], make))(POINT), expected, rtol=1e-6, atol=1e-8)
    with pb.adopt():
        np.testing.assert_allclose(pb.func.grad(of_buffer(WRITES[name], plain))(POINT), expected, rtol=1e-6, atol=1e-8)


def test_with_adopt_an_array_from_elsewhere_is_to_be_copied():
    kept = np.zeros(2)

    def f(x):
        kept[0] = x[0]
        return kept.sum()

    def copying(x):
        own = np.array(kept)
        own[0] = x[0]
        return own.sum()

    with pb.adopt():
        with pytest.raises(DetachingError, match=r"write into a copy that is made there: a = np\.array\(a\)") as raised:
            pb.func.grad(f)(np.ones(2))
        assert "adopt()" not in str(raised.value)
        assert pb.func.grad(copying)(np.ones(2)).tolist() == [1.0, 0.0]


def test_the_first_conversion_of_a_process_sees_the_line_that_asks_for_it():
    program = (
        "import numpy as np, pullback as pb\nfrom pullback.core.errors import DetachingError\n"
        "def f(x):\n"
        "    y = np.empty((2, 2))\n"
        "    y[0] = np.log(x[:2])\n"
        "    return y.sum()\n"
        "try:\n"
        "    pb.func.grad(f)(np.ones(4))\n"
        "except DetachingError as error:\n"
        "    assert 'would write a Tensor' in str(error), error\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        lambda f: lambda x, s: pb.func.value_and_grad(f)(x, s)[0],
        lambda f: lambda x, s: pb.func.jvp(lambda x: f(x, s), (x,), (x,))[0],
        lambda f: lambda x, s: pb.vmap(lambda x: f(x, s))(x[None])[0],
    ],
)
def test_what_is_written_into_an_array_without_dimensions_is_written_again_and_again(transform):
    def f(x, s):
        rows = np.zeros((3, 2))
        rows[...] = s
        for row in rows:
            s += row.sum()
        return (x * s).sum()

    s = np.array(0.5)
    assert transform(f)(np.ones(2), s) == 7.0
    assert s == 3.5


def test_a_constant_that_is_written_over_afterwards_was_another_in_a_cross_product():
    def f(x, y):
        product = np.cross(y, x)
        a, b = np.broadcast_arrays(y, x)
        other = a * b
        y[...] = 1.0
        return (product**2).sum() + (other**2).sum()

    x, y = np.array([1.0, 2.0, 3.0]), np.arange(9.0).reshape(3, 3)
    for derivative in (pb.func.grad(f), pb.func.hessian(f)):
        expected = derivative(x, given := y.copy())
        assert (given == 1.0).all()
        np.testing.assert_allclose(expected, derivative_of_what_was(derivative, x, y))


def derivative_of_what_was(derivative, x, y):
    cross = np.array([[0.0, -y[k, 2], y[k, 1], y[k, 2], 0.0, -y[k, 0], -y[k, 1], y[k, 0], 0.0] for k in range(3)])
    curvature = 2 * sum(m.reshape(3, 3).T @ m.reshape(3, 3) for m in cross) + 2 * np.diag((y**2).sum(0))
    return curvature if np.ndim(derivative(x, y.copy())) == 2 else curvature @ x
