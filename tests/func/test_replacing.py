"""A function with custom rules in the place of the function of NumPy or SciPy that it wraps."""

import math
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.func import grad, hessian, jvp, vmap

X = np.array([1.0, 2.0])


def marked(function):
    """With the gradient 100 everywhere, by which it is known."""
    return pb.custom_vjp(function, lambda cotangent, result, x: 100 * cotangent)


REPLACED = {
    "a ufunc": (np.sin, lambda x: np.sum(np.sin(x))),
    "a ufunc of SciPy": (scipy.special.erf, lambda x: np.sum(scipy.special.erf(x))),
    "a function": (np.sinc, lambda x: np.sum(np.sinc(x))),
    "linear algebra": (np.linalg.inv, lambda x: np.sum(np.linalg.inv(np.diag(x)))),
    "pullback.scipy": (scipy.linalg.expm, lambda x: np.sum(pb.scipy.linalg.expm(np.diag(x)))),
}


@pytest.mark.parametrize(("function", "program"), REPLACED.values(), ids=REPLACED)
def test_its_rule_holds_inside_of_the_block_alone(function, program):
    before, t = grad(program)(X), pb.tensor(X)
    with marked(function).replacing():
        assert grad(program)(X).tolist() == [100, 100]
        assert grad(program)(t).tolist() == [100, 100]
        assert jvp(program, (X,), (np.ones(2),))[1] == 200
        assert hessian(program)(X).tolist() == [[0, 0], [0, 0]]
    assert grad(program)(X).tolist() == before.tolist()
    assert grad(program)(t).tolist() == before.tolist()


def test_scipys_own_names_are_replaced_after_adopt():
    with pb.adopt(), marked(scipy.linalg.expm).replacing():
        assert grad(lambda x: np.sum(scipy.linalg.expm(np.diag(x))))(X).tolist() == [100, 100]


@pytest.mark.filterwarnings("ignore:vmap")
def test_vmap_and_blocks_in_blocks():
    half = pb.custom_vjp(np.sin, lambda cotangent, result, x: cotangent / 2)
    with marked(np.sin).replacing(), marked(np.cos).replacing():
        assert vmap(grad(np.sin))(X).tolist() == [100, 100]
        with half.replacing():
            assert grad(lambda x: np.sin(x) + np.cos(x))(1.0) == 100.5
        with pytest.raises(ZeroDivisionError), half.replacing():
            _ = 1 / 0
        assert grad(np.sin)(1.0) == 100
    assert grad(np.sin)(1.0) == math.cos(1.0)
    assert grad(np.cos)(1.0) == -math.sin(1.0)


def test_the_rule_itself_may_call_the_function():
    doubled = pb.custom_vjp(np.exp, lambda cotangent, result, x: cotangent * np.exp(x) * 2)
    with doubled.replacing():
        assert grad(np.exp)(0.0) == 2
        assert grad(grad(np.exp))(0.0) == 4


def test_other_threads_see_nothing_of_it():
    found = []
    with marked(np.sin).replacing():
        thread = threading.Thread(target=lambda: found.append(grad(np.sin)(0.0)))
        thread.start()
        thread.join()
        assert grad(np.sin)(0.0) == 100
    assert found == [1.0]


@pytest.mark.parametrize(
    ("function", "error", "why"),
    [
        (np.add, UnsupportedError, r"np\.add cannot be replaced: operators or methods"),
        (np.abs, UnsupportedError, r"np\.absolute cannot be replaced: operators or methods"),
        (np.sum, UnsupportedError, r"np\.sum cannot be replaced: a method of arrays"),
        (np.array, UnsupportedError, r"np\.array cannot be replaced: adopt\(\) gives it"),
        (scipy.linalg.qr_insert, UnsupportedError, r"scipy\.linalg\.qr_insert cannot be replaced: pullback has no"),
        (math.sin, TypeError, "'sin' is none"),
        (marked, TypeError, "'marked' is none"),
    ],
)
def test_what_would_be_replaced_in_part_is_refused(function, error, why):
    with pytest.raises(error, match=why), marked(function).replacing():
        pass
