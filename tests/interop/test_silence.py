"""No call turns a Tensor that requires grad into plain numbers without a word."""

import array
import collections.abc
import contextlib
import io
import logging
import math
import operator
import struct
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage

import pullback as pb
from pullback.core.tensor import Tensor

# Functions that give whatever the memory holds, change NumPy's state, print, test or open files: not in the sweep.
NOT_CALLED = {
    "DataSource", "empty", "empty_like", "errstate", "fromfile", "fromregex", "genfromtxt", "get_bit_generator",
    "get_state", "info", "load", "loadtxt", "memmap", "printoptions", "save", "savetxt", "savez", "savez_compressed",
    "seed", "set_bit_generator", "set_printoptions", "set_state", "setbufsize", "seterr", "seterrcall", "show_config",
    "show_runtime", "test",
}  # fmt: skip
# What these return says nothing of the values, or only which of them are larger.
METADATA = {
    "array2string", "array_repr", "array_str", "can_cast", "common_type", "diag_indices_from", "einsum_path", "ix_",
    "min_scalar_type", "mintypecode", "ndim", "result_type", "shape", "size", "tril_indices_from", "triu_indices_from",
}  # fmt: skip
HOMES = {"": np, "linalg": np.linalg, "fft": np.fft, "emath": np.emath, "lib.stride_tricks": np.lib.stride_tricks,
         "char": np.char, "polynomial": np.polynomial, "polynomial.polynomial": np.polynomial.polynomial,
         "random": np.random}  # fmt: skip


@pytest.fixture(autouse=True)
def numpy_state():
    """The sweep draws from NumPy's global generator: later tests find it, and the error settings, as they were."""
    state, errors = np.random.get_state(), np.geterr()  # noqa: NPY002 - the legacy generator is what must be kept
    yield
    np.random.set_state(state)  # noqa: NPY002
    assert np.geterr() == errors


def functions(home):
    return sorted(
        name
        for name in dir(home)
        if callable(getattr(home, name)) and name not in NOT_CALLED and not name.startswith("_")
    )


def calls(matrix, vector, number):
    """Arguments to try: one and two, Tensors on either side, lists of them."""
    yield from ((matrix,), (vector,), (number,), ([number, number],), ([vector, vector],), ([[number], [1.0]],))
    yield from (
        (matrix, matrix),
        (vector, vector),
        (number, number),
        (vector, 1),
        (2.5, vector),
        (matrix, 0),
        (3, number),
    )
    yield from ((vector, [0, 1]), ([1.0, 2.0], vector), ([vector, vector], 0), (np.ones(2), vector), (2.0, number))
    yield from ((vector, vector, vector), (number, number, 3), (np.sum, vector), (np.sum, 0, matrix), ("f8", vector))


def numbers(result, depth=0):
    """The plain floating-point numbers in a result, and Tensors hidden in object arrays."""
    if isinstance(result, Tensor):  # an Array says that it is an ndarray
        return []
    if isinstance(result, (np.ndarray, np.generic)):
        if result.dtype == object:
            return [x for x in np.ravel(result) if isinstance(x, Tensor)]
        return np.ravel(result).tolist() if result.dtype.kind in "fc" else []
    if isinstance(result, (float, complex)):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)) or (isinstance(result, collections.abc.Iterator) and depth == 0):
        return [x for part in result for x in numbers(part, depth + 1)] if depth < 4 else []
    return []


def plain(function, args):
    """The plain numbers that a call gives; none if it raises. A warning is an error here, and so a word."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            return numbers(function(*args))
        except Exception:  # noqa: BLE001 - any error is a word
            return []


def leaks(function, args, others):
    """Whether a call gives plain numbers that depend on the values of its Tensors: `others` has other values."""
    found = plain(function, args)
    if not found:
        return False
    return any(isinstance(x, Tensor) for x in found) or repr(found) != repr(plain(function, others))


def sweep(home, matrix, vector, number):
    """The calls of a module's functions that leak."""
    first, second = calls(matrix, vector, number), calls(matrix * 1.25, vector * 1.25, number * 1.25)
    pairs = list(zip(first, second, strict=True))
    return [
        f"{name}{args}"
        for name in functions(home)
        if name not in METADATA
        for args, others in pairs
        if leaks(getattr(home, name), args, others)
    ]


@pytest.mark.parametrize("home", HOMES)
def test_no_function_of_numpy_leaks_plain_numbers(home):
    matrix = pb.tensor([[1.5, 0.5], [0.25, 2.5]], requires_grad=True)
    leaves = matrix, matrix[0].detach().requires_grad_(), pb.tensor(0.75, requires_grad=True)
    assert sweep(HOMES[home], *leaves) == []
    assert sweep(HOMES[home], *(leaf * 1.0 for leaf in leaves)) == []


@pytest.mark.parametrize("home", HOMES)
def test_no_function_of_numpy_leaks_inside_a_function_being_differentiated(home):
    found = []

    def f(matrix):
        found.extend(sweep(HOMES[home], matrix, matrix[0], matrix[0, 1]))
        return np.sum(matrix)

    pb.func.grad(f)(np.array([[1.5, 0.5], [0.25, 2.5]]))
    assert found == []


def test_no_function_of_numpy_ma_leaks_plain_numbers():
    vector = pb.tensor([1.5, 0.5], requires_grad=True)
    assert sweep(np.ma, vector[None] * vector[:, None], vector, pb.tensor(0.75, requires_grad=True)) == []
    with pytest.raises((TypeError, RuntimeError)):
        np.ma.array([1.0, 2.0]) * vector


def test_the_sweep_sees_a_leak():
    x, y = pb.tensor([1.0], requires_grad=True), pb.tensor([2.0], requires_grad=True)
    assert leaks(lambda t: t.detach().numpy(), (x,), (y,))
    assert leaks(lambda t: {"a": (1, [t.item()])}, (x,), (y,))
    assert leaks(_hidden, (x,), (y,))
    assert not leaks(lambda t: (t * 2, np.ones(2), t.shape), (x,), (y,))
    assert not leaks(np.asarray, (x,), (y,))


def _hidden(t):
    holder = np.empty(1, dtype=object)
    holder[0] = t
    return holder


# -- into plain arrays ----------------------------------------------------------------------------------------------

vector = pb.tensor([1.0, 2.0], requires_grad=True)
number = pb.tensor(3.0, requires_grad=True)
result = number * 2

RAISING = {
    "np.array(t)": lambda a: np.array(vector),
    "np.asarray(t)": lambda a: np.asarray(vector),
    "np.asarray of a result": lambda a: np.asarray(result),
    "np.array(t, dtype=object)": lambda a: np.array(vector, dtype=object),
    "np.array([t, t])": lambda a: np.array([vector, vector]),
    "np.array of numbers": lambda a: np.array([number, 1.0]),
    "np.array of nested numbers": lambda a: np.array([[number, 1.0], [2.0, 3.0]]),
    "np.asarray([t, t], dtype=object)": lambda a: np.asarray([number, number], dtype=object),
    "np.sum([t, t])": lambda a: np.sum([number, number]),
    "np.sin([t, t])": lambda a: np.sin([number, number]),
    "np.float32(t)": lambda a: np.float32(vector),
    "np.full": lambda a: np.full(3, number),
    "np.full_like": lambda a: np.full_like(a, number),
    "np.r_": lambda a: np.r_[vector, vector],
    "np.c_": lambda a: np.c_[vector, vector],
    "np.arange": lambda a: np.arange(number),
    "np.vectorize": lambda a: np.vectorize(abs)(vector),
    "np.frompyfunc": lambda a: np.frompyfunc(abs, 1, 1)(vector),
    "np.linalg.inv": lambda a: np.linalg.inv(vector[None]),
    "np.add.at": lambda a: np.add.at(a, [0], number),
    "np.put": lambda a: np.put(a, [0], number),
    "a.put": lambda a: a.put([0], number),
    "a.dot": lambda a: a[:2].dot(vector).item(3),
    "a.searchsorted": lambda a: a.searchsorted(vector),
    "np.random": lambda a: np.random.default_rng(0).normal(number, size=2),
    "scipy.linalg.solve": lambda a: scipy.linalg.solve(np.eye(2), vector),
    "scipy.linalg.expm": lambda a: scipy.linalg.expm(vector[None] * vector[:, None]),
    "scipy.ndimage": lambda a: scipy.ndimage.gaussian_filter(vector, 1.0),
    "memoryview": lambda a: memoryview(vector),
    "np.frombuffer": lambda a: np.frombuffer(vector),
    "np.from_dlpack": lambda a: np.from_dlpack(vector),
    "t.numpy()": lambda a: vector.numpy(),
    "a *= t": lambda a: operator.imul(a[:2], vector),
}


@pytest.mark.parametrize("call", RAISING.values(), ids=RAISING)
def test_what_would_make_an_array_raises(call):
    a = np.zeros(4)
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        call(a)
    assert (a == 0).all()


ASSIGNMENTS = (
    "a[...] = number", "a[:2] = vector", "a[0] = number", "a[0] = result", "a[0] = vector[:1]", "a[:2] = [number, 1.0]",
    "a[a == 0] = number", "a[[0, 1]] = vector", "a.flat[0] = number", "a.real = number", "a[0] += number",
    "a.astype(int)[0] = number", "a.astype(complex)[0] = number", "a.reshape(2, 2)[1, 1] = number",
    "np.zeros(2, dtype=[('x', float)])['x'] = vector", "array.array('d', [0.0])[0] = number",
    "memoryview(a)[0] = number",
)  # fmt: skip


@pytest.mark.parametrize("statement", ASSIGNMENTS)
def test_assignment_into_a_plain_array_raises(statement):
    a = np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an error, not a warning made one
        with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
            exec(statement, globals() | {"a": a})
    assert (a == 0).all()
    told = f"{caught.value} {caught.value.__cause__}"
    assert "requires grad" in told or ".flat" in statement  # where NumPy keeps the cause to itself


def test_assignment_says_what_to_do():
    with pytest.raises(ValueError, match="sequence") as caught:  # NumPy's own message, ours as its cause
        np.zeros(4)[0] = number
    assert "np.stack" in str(caught.value.__cause__)


# -- into Python numbers --------------------------------------------------------------------------------------------

CONVERTING = {
    "float": lambda t: float(t),
    "int": lambda t: int(t),
    "complex": lambda t: complex(t),
    "math.sin": lambda t: math.sin(t),
    "np.float64": lambda t: np.float64(t),
    "np.fromiter": lambda t: np.fromiter([t, t], float),
    "a.fill": lambda t: np.zeros(2).fill(t),
    "a.__setitem__": lambda t: operator.setitem(np.zeros(2), 0, t),
    "struct.pack": lambda t: struct.pack("d", t),
    "array.array": lambda t: array.array("d", [t]),
}


@pytest.mark.parametrize("call", CONVERTING.values(), ids=CONVERTING)
def test_conversion_to_a_number_warns_and_raises_inside_a_function_being_differentiated(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with contextlib.suppress(ValueError):  # NumPy's setitem takes the warning's place in no case
            call(number)
    assert any("requires grad" in str(w.message) for w in seen)
    assert seen[0].filename == __file__

    def f(x):
        call(x)
        return x

    for value in (pb.tensor(2.0), 2.0):
        if call is CONVERTING["int"] and isinstance(value, float):
            continue  # a whole number has no gradient by nature: NumPy's face gives it
        with pytest.raises((RuntimeError, ValueError, TypeError, struct.error)):
            pb.func.grad(f)(value)
    call(number.detach())


def test_what_takes_a_value_and_says_so_is_silent():
    assert number.item() == 3.0
    assert vector.tolist() == [1.0, 2.0]
    assert f"{number:.2f}" == "3.00"
    assert number > 2
    assert vector.detach().numpy().tolist() == [1.0, 2.0]


def _in_place(t):
    text = "%.2f"
    text %= t
    return text


TEXTS = {
    "f-string": lambda t: f"{t:.2f}",
    "%f": lambda t: "%.2f" % t,  # noqa: UP031 - it is what is tested
    "%d": lambda t: "%d" % t,  # noqa: UP031
    "a tuple": lambda t: "%.1e after %d" % (t, 4),  # noqa: UP031
    "bytes": lambda t: b"%.2f" % t,
    "in place": _in_place,
    "logging": lambda t: logging.LogRecord("", 0, "", 0, "%.2f", (t,), None).getMessage(),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_of_a_value_is_made_without_a_word_and_cuts_nothing(text):
    def f(x):
        loss = x**2
        seen.append(text(loss))
        return loss

    seen = []
    assert text(number) == text(3.0)
    assert pb.func.grad(f)(1.5) == 3.0
    assert pb.func.grad(f)(pb.tensor(1.5)).item() == 3.0
    assert pb.func.jvp(f, (1.5,), (1.0,)) == (2.25, 3.0)
    assert pb.func.hessian(f)(1.5) == 2.0
    assert seen == [text(2.25)] * len(seen)


def test_a_remainder_is_no_text():
    assert pb.func.grad(lambda x: 7.0 % x)(2.0) == -3.0
    with pytest.warns(UserWarning, match="requires grad"):
        float(number % 2)


def test_python_builtins_keep_tensors():
    assert all(isinstance(x, Tensor) and x.requires_grad for x in [*vector, sum(vector), max(vector), abs(vector)])
    assert [x.item() for x in sorted(vector, reverse=True)] == [2.0, 1.0]
    assert sum([vector, vector]).requires_grad


def test_an_object_array_made_on_purpose_keeps_the_tensors_themselves():
    holder = np.empty(2, dtype=object)
    holder[0] = number
    assert holder[0] is number


# -- without a gradient to lose -------------------------------------------------------------------------------------


def test_tensors_without_gradient_become_arrays():
    t = vector.detach()
    assert np.shares_memory(np.asarray(t), t)
    assert np.array(t) is not np.asarray(t)
    assert np.asarray(t, dtype="f4").dtype == np.float32
    np.testing.assert_allclose(t, [1.0, 2.0])
    np.testing.assert_array_equal(t, t)
    a = np.zeros(2)
    a[0] = t[1]
    a[1:] = t[:1]
    assert a.tolist() == [2.0, 1.0]
    assert float(t[0]) == math.sqrt(t[0]) == 1.0
    assert np.array([t, t]).shape == (2, 2)


def test_tensors_without_gradient_become_arrays_inside_a_function_being_differentiated():
    data = np.array([1.0, 2.0, 3.0])

    def f(x):
        order = np.asarray(np.argsort(x))
        assert type(order) is np.ndarray
        assert type(np.asarray(x.detach())) is np.ndarray
        assert float(x.detach()[0]) == 3.0
        return np.sum(x[order] * data[x > 1.5].sum())

    np.testing.assert_array_equal(pb.func.grad(f)(np.array([3.0, 1.0, 2.0])), np.full(3, 4.0))


def test_an_outer_gradient_is_not_lost_either():
    def outer(y):
        def inner(x):
            with pytest.raises(RuntimeError, match="requires grad"):
                np.asarray(x.detach() * y)
            with pytest.raises(RuntimeError, match=r"plain array|being differentiated"):
                float(x.detach() * y)
            return x * y

        return pb.func.grad(inner)(y) * y

    assert pb.func.grad(outer)(np.array(2.0)) == 4.0


def test_plain_testing_functions_refuse_what_requires_grad():
    with pytest.raises(RuntimeError, match="requires grad"):
        np.testing.assert_allclose(vector, [1.0, 2.0])


# -- DLPack ---------------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory_both_ways():
    t = pb.tensor([1.0, 2.0])
    a = np.from_dlpack(t)
    assert np.shares_memory(a, t.numpy())
    source = np.arange(3.0)
    made = pb.interop.from_dlpack(source)
    assert np.shares_memory(made.numpy(), source)
    assert not np.shares_memory(pb.interop.from_dlpack(source, copy=True).numpy(), source)
    assert t.__dlpack_device__() == (1, 0)


def test_dlpack_refuses_what_requires_grad():
    for call in (np.from_dlpack, pb.interop.from_dlpack, lambda t: t.__dlpack__()):
        with pytest.raises(RuntimeError, match=r"from_dlpack\(t\.detach\(\)\)"):
            call(vector)


@pytest.mark.parametrize("coefficients", [[0.0, 1.0, 2.0], [0.0, 0.0]])
def test_coefficients_that_poly1d_cuts_have_a_gradient(coefficients):
    with pytest.raises(pb.extend.UnsupportedError, match=r"np\.polyval"):
        pb.func.grad(lambda c: np.poly1d(c)(2.0))(np.array(coefficients))
    np.testing.assert_array_equal(pb.func.grad(lambda c: np.poly1d(c)(2.0))(np.array([1.0, 0.0, 2.0])), [4, 2, 1])
    np.testing.assert_array_equal(pb.func.grad(lambda c: np.trim_zeros(c).sum())(np.array([0.0, 1.0, 0.0])), [0, 1, 0])
