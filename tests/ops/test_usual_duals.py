"""Dual operators have quick ways for the usual case, which give what the general way gives, to the bit."""

from unittest import mock

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dual import DualArray, calls, kernels, usual
from pullback.arrays.dual.described import DualType
from pullback.autograd import forward_ad
from pullback.core.factory import from_numpy
from pullback.dispatch.operator import FOUND, OPERATORS
from pullback.testing.opinfo.calls import accepted, sampling
from tests.ops.test_forward_mode import called, random_like


def forget():
    """Let every operator find anew how it runs on duals."""
    FOUND.clear()
    for op in OPERATORS.values():
        op.calls.clear()


@pytest.fixture
def in_general():
    """What a function returns when nothing is usual."""

    def run(function):
        usual = mock.patch.object(kernels, "usual", lambda rule, name, general: general)
        with usual, mock.patch.object(DualType, "call", return_value=None):
            forget()
            try:
                return function()
            finally:
                forget()

    return run


def anything(x, number):
    """A random direction."""
    return random_like(x, number)


def signs(x, number):
    """A direction of which many sums are 0: these zeros are no structural ones."""
    return np.asarray(np.sign(random_like(x.real, number)), x.dtype)


def direction(draw, x, number):
    """A direction, with zeros that stand still in every second of them."""
    v = draw(x, number)
    return np.where(random_like(x.real, number + 1) > 0, 0, v).astype(v.dtype) if number % 2 else v


def told(results, inputs):
    """All that there is to tell of dual tensors, and of the inputs in whose memory they lie."""
    found = []
    for dual in (r._array for r in results):
        mask = dual.touched if isinstance(dual, DualArray) else None
        parts = (dual.primal, dual.tangent) if isinstance(dual, DualArray) else (dual,)
        numbers = [(p.dtype, p.shape, p.strides, p.tobytes()) for p in parts if p is not None]
        related = isinstance(dual, DualArray) and (dual.apart, dual.kin is None)
        shared = [
            np.may_share_memory(p, q) for x in inputs for q in (x.primal, x.tangent) for p in parts if p is not None
        ]
        found.append((numbers, related, None if mask is None else mask.tobytes(), shared))
    return found


def outcome(info, sample, draw):
    inputs = []

    def dual(number, x):
        order = "F" if number % 2 else "C"
        made = forward_ad.make_dual(from_numpy(x.copy(order)), from_numpy(direction(draw, x, number).copy(order)))
        inputs.append(made._array)
        return made

    try:
        with forward_ad.dual_level():
            return told(called(info, sample, dual), inputs)
    except NotImplementedError as error:
        return str(error)


@pytest.mark.check("tangent")
def test_the_usual_way_gives_what_the_general_one_gives(info, dtype, in_general):
    def outcomes():
        found = []
        for sample in accepted(info, dtype):
            for draw in (anything, signs):
                with sampling(info, sample, dtype):
                    found.append(outcome(info, sample, draw))
        return found

    assert outcomes() == in_general(outcomes)


def test_a_dual_tensor_where_a_number_belongs_is_refused_by_name():
    x = pb.ones(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.ones(()), pb.ones(()))
        for call in (lambda: x.sum(dual), lambda: pb.sum(x, dim=dual), lambda: pb.add(x, x, alpha=dual)):
            with pytest.raises(TypeError, match=r"sum\(|add\("):
                call()


def test_a_number_beside_a_dual_leaves_the_tangent_its_precision():
    x, v = np.float32([0.1, 0.7, 1.3]), np.float32([1.1, -0.3, 0.7])
    _, tangent = pb.func.jvp(lambda x: x * 0.1, (x,), (v,))
    np.testing.assert_array_equal(tangent, v * 0.1, strict=True)


def test_a_tangent_lies_in_memory_as_its_primal_does():
    columns = np.asfortranarray(np.ones((2, 3)))
    with forward_ad.dual_level():
        dual = (forward_ad.make_dual(from_numpy(columns), from_numpy(columns)) + np.ones((2, 3)))._array
        assert dual.tangent.strides == dual.primal.strides == (24, 8)


def test_a_single_number_that_stands_still_goes_on_standing_still():
    zero = np.array(0.0)
    with np.errstate(all="ignore"):  # softmax(log(0)) is NaN, which multiplies a tangent that nothing has touched
        _, tangent = pb.func.jvp(lambda x: pb.softmax((x * 2).log(), 0), (zero,), (zero,))
    assert tangent == 0


@pytest.mark.parametrize("constant_first", [False, True])
def test_a_list_of_duals_and_constants_is_taken_apart_by_its_own_kernel(constant_first, monkeypatch):
    def refused(*_):
        raise AssertionError("a list took the way of any arguments")

    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    single = np.ones((1, 2), np.float32)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.from_numpy(single), pb.from_numpy(np.float32([[5.0, 6.0]])))
        parts = [pb.from_numpy(x), dual, pb.from_numpy(y)] if constant_first else [dual, pb.from_numpy(x)]
        forget()
        monkeypatch.setattr(usual, "_taken", refused)
        monkeypatch.setattr(calls, "_unwrapped", refused)
        out = pb.cat(parts, 1)
        tangent = forward_ad.unpack_dual(out).tangent
    monkeypatch.undo()
    forget()
    expected = [[0.0, 0.0, 5.0, 6.0, 0.0, 0.0]] if constant_first else [[5.0, 6.0, 0.0, 0.0]]
    np.testing.assert_array_equal(tangent.numpy(), expected)
    np.testing.assert_array_equal(out._array.touched, tangent.numpy() != 0)
    assert tangent.dtype == out.dtype == np.float64
