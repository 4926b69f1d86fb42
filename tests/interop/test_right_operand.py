"""The operand on the right is asked: operators beside objects of other classes, as NumPy and PyTorch have them."""

import operator
from array import array as numbers
from collections import deque
from fractions import Fraction

import numpy as np
import pytest

import pullback as pb

ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "divmod": divmod,
}  # fmt: skip
COMPARED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul")


class Quantity:
    """Answers whatever it is asked with the name of the question."""


for _name in [f"__r{name}__" for name in ARITHMETIC] + [f"__{name}__" for name in COMPARED]:
    setattr(Quantity, _name, lambda self, other, name=_name: name)


class Opaque(Quantity):
    __array_ufunc__ = None


class First(Quantity):
    __array_priority__ = 1e6

    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


class Stranger:
    """Answers nothing."""


def array(f):
    """What f gives for an Array, and for a Scalar."""
    found = []
    pb.func.grad(lambda x: (found.append(f(x * 1.0)), found.append(f(x[0] * 1.0)), x.sum())[-1])(np.ones(2))
    return found


def everywhere(f):
    return [f(pb.ones(2)), f(pb.tensor(1.0, requires_grad=True)), *array(f)]


@pytest.mark.parametrize("kind", [Quantity, Opaque, First])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_asks_the_right_operand(name, kind):
    if name in ("and", "or", "xor", "lshift", "rshift") and kind is Quantity:
        assert ARITHMETIC[name](pb.ones(2), kind()) == f"__r{name}__"  # NumPy's arrays ask for each element
    else:
        assert everywhere(lambda x: ARITHMETIC[name](x, kind())) == [f"__r{name}__"] * 4


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_cannot_be_written_in_place_asks_the_right_operand(name):
    assert everywhere(lambda x: getattr(operator, name)(x, Quantity())) == [f"__r{name[1:]}__"] * 4


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_ask_the_right_operand(name):
    assert everywhere(lambda x: getattr(operator, name)(x, Opaque())) == [f"__{COMPARED[name]}__"] * 4
    assert getattr(operator, name)(pb.ones(2), Quantity()) == f"__{COMPARED[name]}__"


def test_nothing_else_is_equal_to_a_tensor():
    for x in (object(), Stranger(), None, "a", {}):
        assert (pb.ones(2) == x) is False
        assert (pb.ones(2) != x) is True
    for compared in array(lambda x: x == Stranger()):
        assert not np.any(compared)


def test_numbers_are_compared_in_every_sample_of_a_batch():
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert pb.func.vmap(lambda row: row[0] != 0)(x).tolist() == [False, True]
    assert pb.func.vmap(lambda row: row == 0)(x).tolist() == (x == 0).tolist()


@pytest.mark.parametrize("name", [*ARITHMETIC, "lt", "le", "gt", "ge", *IN_PLACE])
def test_where_nobody_answers_our_error_says_what_the_operand_must_be(name):
    operate = ARITHMETIC.get(name) or getattr(operator, name)
    with pytest.raises(TypeError, match=r"argument '(other|exponent|mat2|tensor2)' must be a Tensor, an ndarray"):
        operate(pb.ones(2), Stranger())


def test_lists_and_texts_keep_our_error():
    with pytest.raises(TypeError, match=r"Make a tensor of it first"):
        pb.ones(2) * [1.0, 2.0]
    with pytest.raises(TypeError, match=r"argument 'other' must be a Tensor.*got str"):
        pb.ones(2) % "a"


class Length(float):
    """A number with a name."""


class Asked:
    """Has no operators, but says what ufuncs give."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__


def test_a_number_of_a_users_class_is_a_number():
    half = Length(0.5)
    for t in (pb.ones(2, requires_grad=True), pb.tensor(1.0, requires_grad=True)):
        found = [half * t, t * half, t - half, half**t, pb.add(t, half), t < half]
        expected = [0.5, 0.5, 0.5, 0.5, 1.5, False]
        assert [np.ravel(x.detach().numpy())[0].item() for x in found] == expected
    assert [
        float(pb.func.stop_gradient(x)) for x in array(lambda x: divmod(x, half)[0].sum() + divmod(half, x)[1].sum())
    ] == [5.0, 2.5]
    assert np.array_equal(pb.func.grad(lambda x: np.sum(half * x))(np.ones(2)), [0.5, 0.5])


def test_a_number_of_a_users_class_is_written_in_place():
    def loss(x):
        y = seen = x * 1
        y *= Length(3.0)
        return seen.sum()

    assert np.array_equal(pb.func.grad(loss)(np.ones(2)), [3.0, 3.0])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod"])
def test_who_says_what_ufuncs_give_is_asked_for_operators_too(name):
    f = ARITHMETIC[name]
    expected = f(np.ones(2), Asked())
    assert array(lambda x: f(x, Asked())) + array(lambda x: f(Asked(), x)) == [expected] * 4


@pytest.mark.parametrize("f", [np.add, np.multiply, np.maximum, np.divide, lambda x, y: divmod(x, y)[0]])
def test_ufuncs_take_fractions(f):
    for x in array(lambda x: f(x, Fraction(1, 4))):
        assert (np.asarray(pb.func.stop_gradient(x)) == f(1.0, 0.25)).all()


def test_a_float64_compares_with_float32_as_in_numpy():
    seen = []
    x = np.array([0.1], np.float32)
    pb.func.grad(lambda y: (seen.append(y > np.float64(0.1)), y.sum())[1])(x)
    assert bool(seen[0][0]) is bool((x > np.float64(0.1))[0]) is True


@pytest.mark.parametrize(
    "beside", [range(1, 4), deque([1.0, 2.0, 3.0]), memoryview(np.arange(1.0, 4.0)), numbers("d", [1.0, 2.0, 3.0])]
)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "matmul"])
def test_what_numpy_makes_an_array_of_is_an_operand(name, beside):
    operation, x = ARITHMETIC[name], np.array([0.5, 2.0, 3.5])

    def total(x):
        y = x * 1.0
        y += beside
        return np.sum(operation(x, beside)) + np.sum(operation(beside, y))

    value, gradient = pb.func.value_and_grad(total)(x)
    assert value == pytest.approx(total(x))
    np.testing.assert_allclose(
        gradient, [(total(x + step) - total(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)], rtol=1e-5
    )


def test_a_number_times_what_repeats_is_refused_as_by_numpy():
    for beside in (deque([1.0]), numbers("d", [1.0]), [1.0]):
        with pytest.raises(TypeError):
            np.float64(2.0) * beside
        with pytest.raises(TypeError):
            pb.func.grad(lambda x, beside=beside: np.sum(x[0] * beside))(np.ones(2))
    assert np.array_equal(pb.func.grad(lambda x: np.sum(x[0] * range(4)))(np.ones(2)), [6.0, 0.0])
