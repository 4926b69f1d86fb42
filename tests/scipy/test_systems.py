"""Objects of SciPy's own classes that hold tensors: systems, transforms; and plain ones, which stay what they are."""

import copy
import pickle

import numpy as np
import pytest
from scipy import signal as genuine

import pullback as pb
from pullback.core.errors import DetachingError
from pullback.interop.adopt.scipy.clones import _NUMBERS
from pullback.scipy import signal

T = np.linspace(0, 1, 5)
x = np.array([1.37, 0.71])
BEFORE = genuine.lti([1.0], [1.0, 0.4])  # made by code that has adopted nothing


def test_objects_of_scipys_own_meet_tensors_in_functions():
    def response(u):
        return signal.lsim(BEFORE, np.stack([u[0], u[1], u[0] * u[1]]), T[:3])[1]

    def response_of_ours(u):
        return signal.lsim(signal.lti([1.0], [1.0, 0.4]), np.stack([u[0], u[1], u[0] * u[1]]), T[:3])[1]

    found = pb.func.jacrev(response)(x)
    assert np.abs(found).max() > 0.01
    np.testing.assert_array_equal(found, pb.func.jacrev(response_of_ours)(x))


def test_an_object_that_holds_tensors_is_no_plain_one():
    """A gradient is at stake in a function that is given nothing but a system."""

    def total(p):
        return np.sum(signal.step(signal.lti([p[0]], [1.0, p[1]]), T=T)[1])

    expected = np.sum((1 - np.exp(-x[1] * T)) / x[1])  # d/dp0
    np.testing.assert_allclose(pb.func.grad(total)(x)[0], expected, rtol=1e-10)


def test_copies_keep_the_gradient():
    for copied in (copy.copy, copy.deepcopy, lambda s: s.to_ss()):
        found = pb.func.grad(lambda p, f=copied: np.sum(f(signal.StateSpace(-p[0], 1.0, p[1], 0.0)).A * p[1]))(x)
        np.testing.assert_allclose(found, [-x[1], -x[0]])


def test_a_genuine_object_refuses_tensors_with_an_error():
    with pytest.raises(DetachingError, match="lsim"):
        pb.func.grad(lambda p: np.sum(BEFORE.output(p, T[:2])[1]))(x)
    with pytest.raises(DetachingError):
        pb.func.grad(lambda p: np.sum(abs(genuine.CZT(2)(p))))(x)


def test_plain_objects_are_scipys():
    expected = type(genuine.lti([1.0, 2.0], [1.0, 0.4, 0.1]))
    with pb.adopt():
        system = signal.lti([1.0, 2.0], [1.0, 0.4, 0.1])
        assert isinstance(system, genuine.lti)
        assert isinstance(system, genuine.TransferFunction)
        assert isinstance(BEFORE, signal.lti)
        assert not isinstance(system, signal.dlti)
        again = pickle.loads(pickle.dumps(system))
        assert type(again) is expected
        for found, same in zip(system.bode(w=T[1:]), again.bode(w=T[1:]), strict=True):
            np.testing.assert_array_equal(found, same)
        assert repr(system) == repr(again)
        with pytest.raises(ValueError, match="2, 3 or 4 arguments"):
            signal.lti(1.0)
    assert type(genuine.lti([1.0], [1.0, 0.4, 0.1])) is expected


@pytest.mark.parametrize("name", ["float", "complex"])
def test_the_number_types_that_clones_see(name):
    """`float(x)` keeps a gradient; as a type, a dtype and a constructor it is the genuine one."""
    kind, clone = {"float": float, "complex": complex}[name], _NUMBERS[name]
    assert clone("1.5") == kind("1.5")
    assert clone() == kind()
    assert type(clone(2)) is kind
    assert isinstance(kind(2), clone)
    assert not isinstance("2", clone)
    assert clone == kind
    assert {kind: 1}[clone] == 1
    assert np.dtype(clone) == np.dtype(kind)
    assert np.zeros(2, clone).dtype == np.dtype(kind)
    assert np.asarray([1], dtype=clone).dtype == np.dtype(kind)
    assert np.ones(2).astype(clone).dtype == np.dtype(kind)
    assert pb.func.grad(lambda v: clone(v[0]).real * 3)(x)[0] == 3.0
    with pytest.raises(TypeError):
        pb.func.grad(lambda v: clone(v).real)(x)
    if name == "float":
        with pytest.raises(DetachingError):
            pb.func.grad(lambda v: clone(v[0] * 1j))(x)
