"""Functions of NumPy give Arrays for Arrays, and Scalars where NumPy gives numbers; Tensors for Tensors."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_face import ARRAYS, SCALAR_FACES
from pullback.core.tensor import Tensor
from tests.interop.numpy_calls import CONSTANT, SMOOTH, leaves, m
from tests.interop.test_functions import cases
from tests.interop.test_ufuncs import METHODS, UFUNCS, arguments, matrix

# Where NumPy's function gives a number, but of some arguments an array of no dimension; and attributes of Scalars.
EITHER = {SMOOTH["einsum"][3], SMOOTH["quantile"][28], SMOOTH["sum"][5], SMOOTH["vdot"][1]}


def faces(function, *given):
    """What a function gives to Arrays, inside a function being differentiated."""
    found = []

    def total(*xs):
        found.append(function(*xs))
        return sum(np.sum(x) for x in xs)

    pb.func.grad(total)(*given)
    return leaves(found[0])


def like(a, b):
    """Whether `a` is to an Array what `b` is to an ndarray."""
    if type(b) is np.ndarray:
        return type(a) in ARRAYS - SCALAR_FACES or type(a) is np.ndarray
    if isinstance(b, np.generic):
        return type(a) in SCALAR_FACES or type(a) is type(b)
    return type(a) is type(b)


@pytest.mark.parametrize("f", cases(SMOOTH) + cases(CONSTANT))
def test_functions_give_arrays_and_scalars_where_numpy_gives_arrays_and_numbers(f):
    if f in EITHER:
        return
    ours, numpys = faces(f, m.copy()), leaves(f(m.copy()))
    assert [(type(a), type(b)) for a, b in zip(ours, numpys, strict=True) if not like(a, b)] == []


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if not u.signature], ids=lambda u: u.__name__)
def test_ufuncs_of_scalars_give_scalars(ufunc):
    given = arguments(ufunc, float)
    try:
        wanted = leaves(ufunc(*(x[0] for x in given)))
    except TypeError:
        pytest.skip("not for floating point")
    assert all(like(a, b) for a, b in zip(faces(lambda *xs: ufunc(*(x[0] for x in xs)), *given), wanted, strict=True))


@pytest.mark.parametrize("f", METHODS.values(), ids=METHODS)
def test_methods_of_ufuncs_give_arrays_and_scalars(f):
    ours, numpys = faces(f, matrix.copy()), leaves(f(matrix.copy()))
    assert [(type(a), type(b)) for a, b in zip(ours, numpys, strict=True) if not like(a, b)] == []


@pytest.mark.parametrize("f", [np.sum, np.median, np.argsort, np.nanargmin, np.unique, lambda x: np.histogram(x, 2)])
def test_tensors_stay_tensors(f):
    assert all(type(r) is Tensor for r in leaves(f(pb.tensor(m, requires_grad=True))))


def test_a_number_does_not_change_with_the_array_that_it_came_from():
    def f(x):
        y = x * 1
        first = np.unstack(y)[0] if hasattr(np, "unstack") else np.take(y, 0)
        y[0] = 7.0
        return first * 2

    assert pb.func.value_and_grad(f)(np.array([3.0, 4.0]))[0] == 6.0
    assert pb.func.grad(f)(np.array([3.0, 4.0])).tolist() == [2.0, 0.0]


def test_an_out_stays_what_it_was():
    def f(x):
        out = np.zeros_like(x[0:1]).reshape(())
        assert np.sum(x, out=out) is out
        assert type(out) in ARRAYS - SCALAR_FACES
        return out * 1

    assert pb.func.grad(f)(np.ones(2)).tolist() == [1.0, 1.0]
