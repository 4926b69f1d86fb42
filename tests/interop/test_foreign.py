"""Errors of other libraries about our tensors, as a transform shows them, and what errors say about `adopt()`."""

import contextlib
import math
import struct

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.sparse
import scipy.stats

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError

x = np.array([1.5, 0.5])
SPLINE = scipy.interpolate.splrep(np.arange(6.0), np.sin(np.arange(6.0)))


def refusal(call):
    """What is raised in reverse mode, and the same in forward mode."""
    with pytest.raises((DetachingError, UnsupportedError)) as caught:
        pb.func.grad(call)(x)
    with pytest.raises((DetachingError, UnsupportedError)) as forward:
        pb.func.jvp(call, (x,), (x,))
    assert type(forward.value) is type(caught.value)
    assert f'File "{__file__}", line {call.__code__.co_firstlineno}' in str(caught.value)
    return str(caught.value)


def store(x):
    z = np.ones(3)
    z[0] = x[0]
    return z.sum()


def add_in_place(x):
    z = np.ones(3)
    z[0] += x[0]
    return z.sum()


@pytest.mark.parametrize("call", [store, add_in_place])
def test_a_store_into_a_plain_array_is_refused_by_us(call):
    with pytest.raises(DetachingError, match=r"write a Tensor .* into a plain array") as caught:
        pb.func.grad(call)(x)
    assert "pullback.adopt()" in str(caught.value)
    assert f'File "{__file__}", line {call.__code__.co_firstlineno + 2}' in str(caught.value)
    assert "np.stack" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "name", "remedy"),
    [
        (lambda x: np.ndarray.sum(x), "np.ndarray.sum", "a derivative of its own by pullback.custom_vjp"),
        (lambda x: np.frombuffer(x).sum(), "np.frombuffer", "a derivative of its own by pullback.custom_vjp"),
        (
            lambda x: scipy.signal.lfilter(x, [1.0, -0.5], np.ones(10)).sum(),
            "scipy.signal.lfilter",
            "Write pullback.scipy.signal.lfilter(...), which takes Tensors",
        ),
        (
            lambda x: scipy.interpolate.splint(0.0, x[0], SPLINE),
            "scipy.interpolate.splint",
            "A spline is linear in its values",
        ),
    ],
)
def test_a_type_error_of_compiled_code_names_call_line_and_remedy(call, name, remedy):
    message = refusal(call)
    assert name in message.partition("\n")[0]
    assert remedy in message


ADOPTED = {
    "np.array": lambda x: np.array([x[0], 1.0]).sum(),
    "np.asarray": lambda x: np.asarray(x).sum(),
    "np.r_": lambda x: np.r_[x, 1.0].sum(),
    "np.sum": lambda x: np.sum([x[0], 1.0]),
    "np.vectorize": lambda x: np.vectorize(abs)(x).sum(),
    "math.sqrt": lambda x: math.sqrt(x[0]),
    "scipy.linalg.expm": lambda x: scipy.linalg.expm(np.diag(x)).sum(),
    "scipy.stats.norm.logpdf": lambda x: scipy.stats.norm.logpdf(x).sum(),
}


@pytest.mark.parametrize("name", ADOPTED)
def test_the_refusal_says_that_adopt_would_do_and_it_does(name):
    message = refusal(ADOPTED[name])
    assert name in message
    assert "call pullback.adopt() once" in message
    with pb.adopt():
        pb.func.grad(ADOPTED[name])(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: scipy.signal.remez(5, [0.0, 0.1, 0.2, 0.5], x).sum(),
        lambda x: struct.pack("d", x[0]),
        lambda x: scipy.linalg.lapack.dgesv(np.eye(2), x)[2].sum(),
        lambda x: float(x[0]) * x[0],
    ],
)
def test_it_does_not_say_so_where_it_would_not_do(call):
    assert "adopt()" not in refusal(call)
    with pb.adopt():
        assert "adopt()" not in refusal(call)


KINDS = {np.polynomial.Chebyshev}
PLAIN = np.polynomial.Legendre([1.0, 2.0])
CLASSES = {
    "scipy.interpolate.CubicSpline": (lambda x: scipy.interpolate.CubicSpline(x, x)(0.5), "np.eye(len(x)))(at) @ y"),
    "scipy.sparse.csr_matrix": (lambda x: scipy.sparse.csr_matrix(np.diag(x)).sum(), "A.toarray() @ x"),
    "np.polynomial.Polynomial": (lambda x: np.polynomial.Polynomial(x)(2.0), "np.polynomial.polynomial.polyval(x, c)"),
    "np.polynomial.Chebyshev": (lambda x: next(iter(KINDS))(x)(2.0), "chebval"),
    "np.polynomial.Laguerre": (lambda x: np.polynomial.Laguerre.fit(np.arange(2), x, 1)(2.0), "polyfit"),
    "np.polynomial.Legendre": (lambda x: PLAIN(x).sum(), "p.convert().coef"),
    "np.ma.array": (lambda x: np.ma.array(x, mask=[True, False]).sum(), "np.where(mask, 0.0, x)"),
}


WITH_RULES = {"scipy.interpolate.CubicSpline", "scipy.sparse.csr_matrix"}  # which work by adopt()


@pytest.mark.parametrize(
    ("name", "adopts"),
    [(name, adopts) for name in CLASSES for adopts in (False, True) if not adopts or name not in WITH_RULES],
)
def test_a_class_is_named_with_its_line_and_its_remedy(name, adopts):
    call, remedy = CLASSES[name]
    with pb.adopt() if adopts else contextlib.nullcontext():
        message = refusal(call)
    assert name in message
    assert f"line {call.__code__.co_firstlineno}" in message
    assert remedy in message


def test_the_remedy_for_splines_is_right():
    places, values, at = np.array([0.0, 1.0, 2.5, 3.0]), np.array([1.0, 3.0, 2.0, 0.0]), np.array([0.3, 1.7])
    spline = scipy.interpolate.CubicSpline
    gradient = pb.func.grad(lambda y: np.sum(spline(places, np.eye(4))(at) @ y))(values)
    assert np.allclose([spline(places, row)(at).sum() for row in np.eye(4)], gradient)


def users_own(x):
    raise ValueError("Array sizes that the user does not like")


def users_translation(x):
    try:
        np.asarray(x)
    except RuntimeError as error:
        raise ValueError("no plain numbers") from error


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (users_own, ValueError),
        (users_translation, ValueError),
        (lambda x: np.array([[1.0, 2.0], [3.0]]).sum(), ValueError),
        (lambda x: len(3), TypeError),
        (lambda x: x["name"], IndexError),
    ],
)
def test_other_errors_stay_as_they_are(call, kind):
    with pytest.raises(kind) as caught:
        pb.func.grad(call)(x)
    assert type(caught.value) is kind
    assert "our arrays" not in str(caught.value)


def test_jax_writes_say_what_numpy_writes():
    with pytest.raises(AttributeError, match=r"(?s)no attribute 'at'.*Write x = x\.copy\(\); x\[i\] = v") as caught:
        pb.func.grad(lambda x: x.at[0].set(1.0).sum())(x)
    assert f'File "{__file__}"' in str(caught.value)
