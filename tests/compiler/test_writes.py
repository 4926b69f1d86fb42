"""Writes into arguments reach the caller's arrays, at the traces too; a trace that fails has written nothing."""

import numpy as np
import pytest

import pullback as pb


def test_writes_into_ndarrays_reach_the_caller():
    def f(x, y):
        x[0] = 5.0
        x *= 2
        y += x.sum()
        return x.sum() + y.sum()

    made = pb.compile(f)
    for i in range(5):
        given = np.arange(3.0) + i, np.ones(2) * i
        expected = [x.copy() for x in given]
        assert made(*given) == f(*expected)
        for a, b in zip(given, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_writes_into_tensors_reach_the_caller():
    def f(x):
        x[0] = 5.0
        x.mul_(2)
        return x.sum()

    made = pb.compile(f)
    for i in range(5):
        given, expected = (pb.tensor(np.arange(3.0) + i) for _ in range(2))
        assert made(given) == f(expected)
        assert (given == expected).all()


@pytest.mark.parametrize("make", [np.array, pb.tensor])
def test_a_trace_that_fails_has_written_nothing(make):
    def f(x):
        x += 1
        pb.func.sparse_hessian(lambda y: (y**4).sum())(np.ones(2) * x[0])
        x *= 2
        return x.sum()

    given = make([1.0, 2.0])
    with pytest.warns(pb.compiler.CompileWarning, match="sparse matrix"):
        assert pb.compile(f)(given) == 10.0
    np.testing.assert_array_equal(np.asarray(given), [4.0, 6.0])


def test_one_array_is_written_into_two_places_and_returned():
    def f(p, q, x):
        y = x * 2
        p.copy_(y)
        q.copy_(y)
        return y

    made = pb.compile(f)
    for i in range(5):
        p, q, x = pb.zeros(3), pb.zeros(3), pb.arange(3.0) + i
        y = made(p, q, x)
        y.add_(1)
        p.mul_(3)
        for found, factor, term in ((y, 2, 1), (p, 6, 0), (q, 2, 0)):
            np.testing.assert_array_equal(found.numpy(), factor * x.numpy() + term)
    assert "copy" not in made.explain().text


LAYOUTS = {
    "C": np.array,
    "F": np.asfortranarray,
    "steps": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: x.T.copy().T,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", [np.asarray, pb.from_numpy])
def test_what_is_written_into_lies_in_memory_as_before(layout, make):
    def f(x, y):
        x[x > 2] = 0.5
        x.reshape(-1)[1:] = -0.5  # of a copy, or of a view
        y *= 1.5
        y.reshape(-1)[:2] = x[0, :2]
        return x.T.reshape(-1) * 1, y.reshape(-1) * 1

    made = pb.compile(f)
    for i in range(6):
        given, expected = (
            [make(LAYOUTS[layout](np.arange(9.0).reshape(3, 3) + i)), make(LAYOUTS[layout](np.ones((3, 3)) * i))]
            for _ in range(2)
        )
        for a, b in zip((*made(*given), *given), (*f(*expected), *expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_as_strided_of_a_part_of_a_memory_is_left_to_eager_mode():
    def f(x):
        windows = x.as_strided((2, 2), (1, 1))
        x.add_(1)
        return windows * 1

    made = pb.compile(f)
    for i in range(6):
        given, expected = (pb.from_numpy((np.arange(6.0) + i)[::2]) for _ in range(2))
        np.testing.assert_array_equal(made(given), f(expected))
        np.testing.assert_array_equal(given, expected)


def test_as_strided_begins_where_the_argument_lies_in_its_memory():
    def f(x):
        return x.as_strided((2, 2), (1, 1)) * 1

    made = pb.compile(f)
    for begin in (0, 0, 0, 2, 3, 2, 0, 1, 2):
        x = pb.from_numpy(np.arange(8.0)[begin : begin + 3])
        np.testing.assert_array_equal(made(x), f(x))
    for _ in range(3):
        x = pb.arange(3.0)
        np.testing.assert_array_equal(made(x), f(x))
    assert any(variants.programs for variants in made._by_signature.values())


def test_a_part_of_one_argument_is_written_into_another_before_the_first_is_written():
    def f(x, s):
        s.copy_(x[0])
        x.mul_(3)
        return x * s

    made = pb.compile(f)
    for k in range(6):
        (x, s), (y, t) = ((pb.arange(3.0) + k, pb.tensor(0.0)) for _ in range(2))
        np.testing.assert_array_equal(made(x, s), f(y, t))
        np.testing.assert_array_equal(x, y)
        assert s.item() == t.item() == k
