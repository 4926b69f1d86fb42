"""ufuncs on Tensors: called, reduced, with keywords, beside ndarrays, numbers and lists."""

import numpy as np
import pytest
import scipy.special

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.core.tensor import Tensor
from pullback.interop.ufuncs import SCIPY, find_ufunc

a = np.array([0.55, -1.45, 2.3])
b = np.array([2.0, 0.8, 3.0])
UFUNCS = sorted({u for u in vars(np).values() if isinstance(u, np.ufunc)}, key=lambda u: u.__name__)


# Where the operator follows PyTorch instead of NumPy.
DIFFERENT = {
    ("conjugate", "bool"): "bool stays bool, where NumPy has int8",
    ("logaddexp", "complex128"): "NumPy has no complex logaddexp",
    ("reciprocal", "bool"): "integers give floating point",
    ("sign", "bool"): "NumPy has no sign of bool",
    ("ldexp", "float64"): "an exponent may be fractional, and is differentiable",
    ("ldexp", "complex128"): "complex numbers may be scaled too",
    ("ldexp", "float32"): "an exponent may be fractional, and is differentiable",
    ("ldexp", "bool"): "bool gives float64, where NumPy has float16",
    ("rint", "complex128"): "rounding is refused to complex numbers",
} | {
    (name, "complex128"): "complex numbers have no order"
    for name in ("maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal")
}


def arguments(ufunc, dtype):
    """Plain arguments of a ufunc, inside its domain."""
    if ufunc.signature:
        square = np.arange(1.0, 10.0).reshape(3, 3).astype(dtype)
        return {"matvec": (square, b.astype(dtype)), "vecmat": (b.astype(dtype), square)}.get(
            ufunc.__name__, (b.astype(dtype), a.astype(dtype))
        )
    inside = {"arccosh": b + 1, "arcsin": b / 4, "arccos": b / 4, "arctanh": b / 4, "log": b, "log2": b, "log10": b,
              "log1p": b, "sqrt": b, "power": b, "float_power": b}  # fmt: skip
    first = inside.get(ufunc.__name__, a)
    return (first.astype(dtype), b.astype(dtype))[: ufunc.nin]


def test_every_ufunc_has_a_rule():
    assert [u.__name__ for u in UFUNCS if find_ufunc(u) is None] == []


def _results(given):
    return given if isinstance(given, tuple) else (given,)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "bool"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_values_are_those_of_numpy(ufunc, dtype):
    if (ufunc.__name__, dtype) in DIFFERENT:
        pytest.skip(f"as PyTorch: {DIFFERENT[ufunc.__name__, dtype]}")
    plain = arguments(ufunc, dtype if dtype != "complex128" else "float64")
    if dtype == "complex128":
        plain = tuple(x * (0.8 + 0.6j) for x in plain)
    try:
        with np.errstate(all="ignore"):
            expected = ufunc(*plain)
            if dtype == "bool" and ufunc is not np.spacing and any(r.dtype == np.float16 for r in _results(expected)):
                expected = ufunc(*(x.astype(float) for x in plain))  # NumPy's half precision has lost the digits
    except TypeError:
        with pytest.raises((TypeError, RuntimeError)):
            ufunc(*map(pb.tensor, plain))
        return
    with np.errstate(all="ignore"):
        found = ufunc(*map(pb.tensor, plain))
    for ours, numpys in zip(_results(found), _results(expected), strict=True):
        assert isinstance(ours, Tensor)
        assert ours.dtype == numpys.dtype
        np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-15)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_gradients_are_those_of_differences(ufunc):
    plain = arguments(ufunc, float)
    try:
        first = ufunc(*plain)
    except TypeError:
        pytest.skip("not for floating point")
    kind = (first[0] if isinstance(first, tuple) else first).dtype.kind
    if kind != "f":
        assert not any(r.requires_grad for r in (ufunc(*(pb.tensor(x, requires_grad=True) for x in plain)),))
        return

    def total(*args):
        result = ufunc(*args)
        return sum((r * r).sum() for r in (result if isinstance(result, tuple) else (result,)))

    leaves = [pb.tensor(x, requires_grad=True) for x in plain]
    if (made := total(*leaves)).requires_grad:
        made.backward()
    for position, leaf in enumerate(leaves):
        slopes = np.empty_like(plain[position])
        for i in np.ndindex(slopes.shape):
            shifted = []
            for step in (1e-6, -1e-6):
                args = [x.copy() for x in plain]
                args[position][i] += step
                shifted.append(total(*args))
            slopes[i] = (shifted[0] - shifted[1]) / 2e-6
        np.testing.assert_allclose(leaf.grad if leaf.grad is not None else 0, slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(SCIPY))
def test_scipys_ufuncs_answer_where_an_operator_exists(name):
    x = pb.tensor([0.3, 0.6], requires_grad=True)
    ufunc = getattr(scipy.special, name, None) or getattr(scipy.special._ufuncs, name)
    parameters = (2, 3)[: ufunc.nin - 1]  # orders and shapes, of which many functions have no derivative
    expected = ufunc(*parameters, np.array([0.3, 0.6]))
    try:
        found = ufunc(*parameters, x)
    except UnsupportedError as error:
        assert f"scipy.special.{name}" in str(error)  # noqa: PT017 - operators may come later
        return
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-12)
    assert found.requires_grad


def test_a_ufunc_of_another_library_is_not_recognised_by_its_name():
    other = np.frompyfunc(lambda x: x + 1, 1, 1)
    with pytest.raises(UnsupportedError, match="vectorized"):
        other(pb.tensor(a))


# -- beside plain arrays and numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: b * x, lambda x: x * b, lambda x: b - x, lambda x: b / x, lambda x: b**x, lambda x: b @ x,
        lambda x: np.float64(2) * x, lambda x: np.float64(2) / x, lambda x: x - np.float32(2),
        lambda x: np.array(2.0) * x, lambda x: b[:, None] * x, lambda x: np.multiply(x, [1.0, 2.0, 3.0]),
        lambda x: np.maximum(x, 0), lambda x: np.maximum(0.0, x), lambda x: np.add(2, x), lambda x: np.bool_(True) * x,
        lambda x: sum([x, x, b]), lambda x: np.hypot(x, 1), lambda x: np.arctan2(1.0, x),
        lambda x: np.add([1.0, x[0], x[1]], x), lambda x: x.sum() * b, lambda x: b.sum() * x,
    ],
)  # fmt: skip
def test_plain_arrays_numbers_and_lists_may_stand_on_either_side(f):
    x = pb.tensor(b, requires_grad=True)
    found, expected = f(x), f(b)
    assert isinstance(found, Tensor)
    assert found.requires_grad
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.detach().numpy(), expected)


@pytest.mark.parametrize("f", [lambda x: b > x, lambda x: b == x, lambda x: np.float64(1) != x, lambda x: np.isnan(x)])
def test_comparisons_give_bool_tensors(f):
    found = f(pb.tensor(a, requires_grad=True))
    assert found.dtype == bool
    np.testing.assert_array_equal(found, f(a))


def test_dtype_of_numbers_is_weak_and_that_of_arrays_is_not():
    x = pb.tensor(np.ones(2, "f4"))
    assert np.multiply(x, 2.0).dtype == np.float32
    assert np.multiply(2.0, x).dtype == np.float32
    assert np.multiply(x, np.float64(2.0)).dtype == np.float64
    assert (np.ones(2) * x).dtype == np.float64


@pytest.mark.parametrize(
    "other", [np.array([1, None, 2], dtype=object), np.array(["a", "b", "c"]), np.array([1, 2, 3], "M8[D]")]
)
def test_arrays_of_anything_but_numbers_are_refused(other):
    x = pb.tensor(a, requires_grad=True)
    with pytest.raises((TypeError, RuntimeError)):
        np.multiply(x, other)
    with pytest.raises((TypeError, RuntimeError)):
        other * x


def test_masked_arrays_and_matrices_are_refused_by_name():
    x = pb.tensor(a, requires_grad=True)
    with pytest.raises(TypeError, match="MaskedArray"):
        np.multiply(x, np.ma.array(b, mask=[True, False, False]))
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(b)
    with pytest.raises(TypeError, match="matrix"):
        np.multiply(matrix, x)


def test_another_librarys_array_gets_its_turn():
    class Theirs:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method

        def __array_function__(self, function, types, args, kwargs):
            return function.__name__

    x = pb.tensor(a, requires_grad=True)
    assert np.multiply(x, Theirs()) == ("multiply", "__call__")
    assert np.concatenate([x, Theirs()]) == "concatenate"


# -- keywords -------------------------------------------------------------------------------------------------------


def test_in_place_on_an_ndarray_is_refused_where_a_gradient_would_be_lost():
    plain = b.copy()
    x, _another_name = pb.tensor(a, requires_grad=True), plain
    with pytest.raises(RuntimeError, match=r"np\.multiply would write a result that requires grad into an ndarray"):
        plain *= x
    with pytest.raises(RuntimeError, match=r"np\.add would write"):
        np.add(plain, x, out=plain)
    np.testing.assert_array_equal(plain, b)
    plain *= x.detach()
    np.testing.assert_array_equal(plain, a * b)
    with pb.no_grad():
        plain -= x
    np.testing.assert_array_equal(plain, a * b - a)


def test_out_a_tensor_is_an_in_place_write_that_is_recorded():
    x = pb.tensor(a, requires_grad=True)
    y = x * 1
    assert np.multiply(y, b, out=y) is y
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, b)
    z = pb.zeros(3)
    np.sin(x, out=z)
    assert z.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        np.multiply(x, 2, out=x)
    whole, part = pb.zeros(3), pb.zeros(3)
    assert np.divmod(x, 1.0, out=(whole, part)) == (whole, part) or whole.requires_grad
    np.testing.assert_array_equal(whole.detach(), a // 1)


def test_dtype_and_casting():
    x = pb.tensor(a, requires_grad=True)
    found = np.sin(x, dtype=np.float32)
    assert found.dtype == np.float32
    found.sum().backward()
    assert x.grad.dtype == np.float64
    with pytest.raises(TypeError, match=r"np\.sin: cannot cast from float64 to float32 according to the rule 'safe'"):
        np.sin(x, dtype=np.float32, casting="safe")
    with pytest.raises(UnsupportedError, match=r"np\.less: argument 'dtype'"):
        np.less(x, 2, dtype=float)


def test_keywords_without_rule_are_named():
    with pytest.raises(UnsupportedError, match=r"np\.sin: argument 'signature'"):
        np.sin(pb.tensor(a, requires_grad=True), signature="d->d")


# -- methods --------------------------------------------------------------------------------------------------------


def at(ufunc, x, index, *b):
    """What `ufunc.at` makes of a copy of x."""
    target = x * 1.0 if np.ndim(x) else (np.copy(x) if isinstance(x, Tensor) else np.array(x))
    ufunc.at(target, index, *b)
    return target


METHODS = {
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "add.reduce, first axis": np.add.reduce,
    "add.reduce, all": lambda x: np.add.reduce(x, axis=None, initial=3.0, keepdims=True),
    "add.reduce, where": lambda x: np.add.reduce(x, where=np.array([[True], [False]])),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=(0, 1)),
    "maximum.reduce": np.maximum.reduce,
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=-1),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=None),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1),
    "multiply.accumulate": np.multiply.accumulate,
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, 1),
    "minimum.accumulate": np.minimum.accumulate,
    "logaddexp.accumulate": np.logaddexp.accumulate,
    "hypot.reduce": lambda x: np.hypot.reduce(x, axis=(0, 1)),
    "hypot.reduce, where": lambda x: np.hypot.reduce(x, 1, where=matrix > 0),
    "subtract.reduce": lambda x: np.subtract.reduce(x, axis=-1, keepdims=True),
    "fmod.reduce": lambda x: np.fmod.reduce(x + 9, axis=1, dtype=float),
    "logaddexp2.reduce": lambda x: np.logaddexp2.reduce(x, None),
    "logaddexp.reduce, initial": lambda x: np.logaddexp.reduce(x, 1, initial=x[0, 0], where=matrix > 0),
    "fmax.reduce": lambda x: np.fmax.reduce(x, 1, where=matrix > 0, initial=0.4),
    "divide.accumulate": lambda x: np.divide.accumulate(x, 1),
    "subtract.accumulate": np.subtract.accumulate,
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "add.reduceat, empty": lambda x: np.add.reduceat(x, np.arange(0), axis=1).sum() + np.add.reduceat(x, [1])[0],
    "multiply.reduceat": lambda x: np.multiply.reduceat(x, [1, 0], 1),
    "hypot.reduceat": lambda x: np.hypot.reduceat(x, [0, 1]),
    "arctan2.outer": lambda x: np.arctan2.outer(x, x[0]),
    "add.at": lambda x: at(np.add, x, [0, 0, 1], x[::-1][[0, 1, 0]]),
    "add.at, a number": lambda x: at(np.add, x, (1, slice(0, 2)), 2.0),
    "multiply.at": lambda x: at(np.multiply, x, ([0, 0, 0], [1, 1, 2]), x[1]),
    "divide.at": lambda x: at(np.divide, x, matrix > 0, x[0, 0]),
    "square.at": lambda x: at(np.square, x, ([0, 0, 1], slice(1, None))),
    "add.at, no dimension": lambda x: at(np.add, x[0, 0], (), x[1, 1]),
    "vecdot, axis": lambda x: np.vecdot(x, x[:, :1] * np.ones(3), axis=0),
    "vecdot, keepdims": lambda x: np.vecdot(x, x * x, keepdims=True),
    "matmul, axes": lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (1, 0)]),
    "log, where and out": lambda x: np.log(x, where=matrix > 0, out=x * 2),
    "multiply, where and out": lambda x: np.multiply(x, x[0], where=[True, False, True], out=x[::-1] * 1.0),
    "add, of whole numbers, where and out": lambda x: np.add(1, [1, 2, 3], where=matrix > 0, out=x * 2.0),
    "divmod, where and out": lambda x: np.divmod(x, 0.35, where=matrix > 0, out=(x * 2, x * 3))[1],
    "sin, order": lambda x: np.sin(x, order="F"),
    "add, dtype": lambda x: np.add(x, [1, 2, 3], dtype="f8", casting="unsafe"),
    "multiply.outer": lambda x: np.multiply.outer(x, x[0]),
    "subtract.outer": lambda x: np.subtract.outer([1.0, 2.0], x),
}
matrix = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.mark.parametrize("f", METHODS.values(), ids=METHODS)
def test_methods_of_ufuncs(f):
    x = pb.tensor(matrix, requires_grad=True)
    found, expected = f(x), f(matrix)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-14)
    assert found.shape == expected.shape
    (found * found).sum().backward()
    slopes = np.empty_like(matrix)
    for i in np.ndindex(matrix.shape):
        step = np.zeros_like(matrix)
        step[i] = 1e-6
        slopes[i] = ((f(matrix + step) ** 2).sum() - (f(matrix - step) ** 2).sum()) / 2e-6
    np.testing.assert_allclose(x.grad, slopes, rtol=1e-6, atol=1e-7)


def test_logical_reductions():
    x = pb.tensor(matrix)
    assert np.logical_and.reduce(x > 0).tolist() == [True, False, False]
    assert np.logical_or.reduce(x > 0, axis=None).item() is True


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: np.add.at(np.zeros(3), [0, 0, 1], x), r"np\.add\.at would write .* into a plain array"),
        (lambda x: np.add.at(x, [0], 1.0), r"np\.add\.at\(.*leaf Variable"),
        (lambda x: np.add.at(x * 1, [3], 1.0), r"np\.add\.at\(.*out of bounds"),
        (lambda x: np.add.reduceat(x, [3]), r"np\.add\.reduceat: index 3 out-of-bounds in \[0, 3\)"),
        (lambda x: np.add.reduceat(x, x), r"requires grad"),
        (lambda x: np.subtract.reduce(x[None], axis=(0, 1)), r"subtract.*not reorderable"),
        (lambda x: np.subtract.reduce(x[:0]), r"np\.subtract\.reduce has no identity"),
        (lambda x: np.fmax.reduce(x, where=a > 0), r"np\.fmax\.reduce has no identity"),
        (lambda x: np.sin(x, order="Z"), r"np\.sin: order must be"),
        (lambda x: np.sin(x, where=[1, 0, 1]), r"np\.sin"),
    ],
)
def test_what_cannot_be_done_says_so(call, said):
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError), match=said):
        call(pb.tensor(a, requires_grad=True))


def test_where_computes_on_no_other_element():
    x = pb.tensor([1.0, 0.0, 4.0], requires_grad=True)
    with np.errstate(all="raise"):
        found = np.log(x, where=x > 0)
        found.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.25]
    assert found.tolist() == [0.0, 0.0, np.log(4.0)]  # 0 where NumPy leaves memory as it was


def test_a_number_is_no_place_to_write_a_result():
    def f(x):
        total = x.sum()
        return np.multiply(total, 2.0, out=total)

    for transform in (lambda f: f, pb.func.grad, pb.compile):
        with pytest.raises(TypeError):
            transform(f)(np.ones(3))
