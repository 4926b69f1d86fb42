"""Calls that NumPy would let pass with a meaning that nobody had in mind: refused, by name."""

import io

import numpy as np
import pytest

import pullback as pb
import pullback.nn.functional as F
from pullback.dispatch.operator import OPERATORS
from pullback.dispatch.pipeline import dispatch
from pullback.dispatch.steps import may_be_none
from pullback.explain.calls import declared
from pullback.ops.late import load_all

load_all()  # operators of late areas are tried too
NAMES = sorted(OPERATORS)  # in the order of loading, which depends on what ran before, two workers would disagree
X = np.array([3.0, 1.0, 2.0])


def t():
    return pb.tensor(X, requires_grad=True)


@pytest.mark.parametrize("op", [OPERATORS[name] for name in NAMES], ids=NAMES)
def test_what_may_be_none_is_what_the_signature_says(op):
    for argument in declared(op.signature):
        if argument.base == "Tensor":
            optional = argument.optional or argument.optional_items
            assert may_be_none(op, argument.name) is optional


@pytest.mark.parametrize("op", [OPERATORS[name] for name in NAMES], ids=NAMES)
def test_a_required_tensor_is_not_none(op):
    arguments = declared(op.signature)
    tensors = [a for a in arguments if a.base == "Tensor" and not a.is_list]
    required = [a.name for a in tensors if not a.optional]
    if len(tensors) != sum(a.base == "Tensor" for a in arguments):
        pytest.skip("takes a list of Tensors")
    for missing in required:
        values = [None if a.name == missing or a.base != "Tensor" else t() for a in arguments]
        with pytest.raises(TypeError, match=rf"argument '{missing}' must be a Tensor, an ndarray or a number"):
            dispatch(op, values)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pb.addmm(t(), pb.ones(3), pb.ones(3, 3)), RuntimeError, r"addmm\(.*\): mat1 must have 2 dimensions"),
        (lambda: pb.addmm(t(), pb.ones(3, 3), pb.ones(3)), RuntimeError, r"addmm\(.*\): mat2 must have 2 dimensions"),
        (lambda: pb.baddbmm(t(), t(), t()), RuntimeError, r"baddbmm\(.*\): batch1 must have 3 dimensions"),
        (lambda: pb.addbmm(t(), t(), t()), RuntimeError, r"addbmm\(.*\): batch1 must have 3 dimensions"),
        (lambda: pb.addmv(t(), pb.ones(2), pb.ones(2)), RuntimeError, r"addmv\(.*\): mat must have 2 dimensions"),
        (lambda: pb.addr(t(), pb.ones(2), pb.ones(2, 2)), RuntimeError, r"addr\(.*\): vec2 must have 1 dimensions"),
        (lambda: pb.mm(pb.ones(3), t()), RuntimeError, r"mm\(.*\): .*input must have 2 dimensions"),
        (lambda: pb.linalg.cholesky(pb.ones(3)), RuntimeError, "cholesky: input must have at least 2 dimensions"),
        (lambda: pb.linalg.matrix_norm(pb.ones(3)), RuntimeError, "two dimensions of input, got"),
        (lambda: F.interpolate(pb.ones(2, 2)), NotImplementedError, "input must have 3 or 4 or 5 dimensions"),
        (
            lambda: pb.arange(5, bogus=1),
            TypeError,
            "it takes 'device', 'dtype', 'end', 'out', 'requires_grad', 'start', 'step'\\.\n",
        ),
        (
            lambda: pb.std(t(), bogus=1),
            TypeError,
            "'axis', 'correction', 'dim', 'input', 'keepdim', 'keepdims', 'out', 'unbiased'\\.\n",
        ),
        (lambda: pb.arange(5, axis=1), TypeError, "unexpected keyword argument 'axis'"),
        (lambda: pb.where(t() > 2, t(), None), TypeError, r"where\(\): argument 'other'"),
        (lambda: pb.logical_or(t(), None), TypeError, r"logical_or\(\): argument 'other'"),
        (lambda: pb.fill(t(), None), TypeError, r"fill\(\): argument 'value'"),
        (lambda: t().masked_fill(t() > 2, None), TypeError, r"masked_fill\(\): argument 'value'"),
        (lambda: pb.special.hermite_polynomial_h(t(), None), TypeError, "argument 'n'"),
        (lambda: pb.stack([t(), None]), TypeError, r"stack\(\): argument 'tensors'"),
        (lambda: pb.softmax(t(), 0, t()), TypeError, r"softmax\(.*dtype must be a dtype"),
        (lambda: pb.log_softmax(t(), 0, t()), TypeError, r"log_softmax\(.*dtype must be a dtype"),
        (lambda: t().view(-5), ValueError, r"view\(.*invalid shape dimension -5"),
        (lambda: t().view(3, -2), ValueError, r"view\(.*invalid shape dimension -2"),
        (lambda: pb.reshape(t(), -2), ValueError, r"reshape\(.*invalid shape dimension -2"),
        (lambda: np.reshape(t(), (1, -3)), ValueError, r"invalid shape dimension -3"),
        (lambda: pb.constant_pad_nd(t()[None], (1, 1, 2)), ValueError, r"constant_pad_nd\(.*two numbers for each"),
        (lambda: pb.fft.fft(t(), n=-1), ValueError, r"fft\.fft\(.*number of data points \(-1\)"),
        (lambda: np.fft.irfft(t(), -1), ValueError, r"np\.fft\.irfft\(.*number of data points \(-1\)"),
        (lambda: pb.func.grad(lambda a: a.sum(), argnums=(0, 0))(X), ValueError, "names an argument twice"),
        (lambda: pb.func.grad(lambda a: a.sum(), argnums=(0, -1))(X), ValueError, "names an argument twice"),
        (lambda: pb.func.grad(lambda a: a.sum(), argnums=True), TypeError, r"func\.grad: argnums must be"),
        (lambda: pb.func.grad(None), TypeError, r"func\.grad: the function .* must be callable, got NoneType"),
        (lambda: pb.func.value_and_grad(X), TypeError, r"func\.value_and_grad: the function .* callable, got ndarray"),
        (lambda: pb.utils.checkpoint.checkpoint(np.sin, t(), use_reentrant="a"), TypeError, "use_reentrant must be"),
        (lambda: pb.utils.checkpoint.checkpoint(5, t()), TypeError, r"checkpoint\(\): the first argument must be"),
        (lambda: pb.manual_seed("a"), TypeError, r"manual_seed\(\): seed must be an int, got 'a'"),
        (lambda: pb.tensor_split(t(), pb.tensor([1.5])), TypeError, r"tensor_split\(.*whole positions"),
        (lambda: pb.tensor_split(t(), 1.5), TypeError, r"tensor_split\(.*must be an int, got 1\.5"),
        (lambda: pb.hsplit(t(), [[1, 2], [3]]), TypeError, r"hsplit\(.*whole positions"),
        (lambda: pb.ops.load(None), TypeError, r"ops\.load\(\): path must be"),
    ],
)
def test_a_call_without_meaning_is_refused_by_name(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(("function", "name"), [(pb.special.gammaincinv, "special.gammaincinv"), (pb.igamma, "igamma")])
def test_a_missing_derivative_is_named_as_it_was_called(function, name):
    x = pb.tensor(1.0, requires_grad=True)
    with pytest.raises(NotImplementedError, match=f"derivative for '{name}' with respect to 'input'"):
        function(x, pb.tensor(0.5)).backward()


def test_sizes_that_numpy_works_out_are_right():
    assert t().view(-1, 1).shape == (3, 1)
    assert pb.reshape(t(), [1, -1]).shape == (1, 3)
    assert pb.fft.fftn(t(), (-1,)).shape == (3,)


PAIRS = {
    "max": r"np\.max\(x, axis=\.\.\.\) or x\.amax",
    "min": r"np\.min\(x, axis=\.\.\.\) or x\.amin",
    "median": r"np\.median",
    "sort": r"np\.sort",
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_tuple_of_results_taken_for_one_says_what_to_write(name):
    advice = rf"{name} gave a tuple \(values, indices\), as in PyTorch: take \.values of it, or write {PAIRS[name]}"
    found = getattr(t()[None], name)(axis=1)
    with pytest.raises(AttributeError, match=advice):
        found.sum()
    with pytest.raises(TypeError, match=rf"the named tuple {name}\. {advice}"):
        t()[None] - found
    assert not hasattr(found, "no_such_name")
    assert type(found)(*found).values is found.values


def test_divmod_is_both_results():
    x = t()
    for found, wanted in ((divmod(x, 0.75), divmod(X, 0.75)), (divmod(5.0, x), divmod(5.0, X))):
        assert all(np.array_equal(f.detach(), w) for f, w in zip(found, wanted, strict=True))


def test_round_says_what_to_write():
    with pytest.raises(TypeError, match=r"write pullback\.round\(x, decimals=1\)"):
        round(t(), 1)


def test_an_unknown_keyword_of_backward_is_one_of_backward():
    with pytest.raises(TypeError, match=r"(?<!_)backward\(\) got an unexpected keyword argument 'retain'"):
        t().sum().backward(retain=True)


@pytest.mark.parametrize("dtype", [pb.float32, np.float32, np.dtype("float32"), "float32", float])
@pytest.mark.parametrize(
    "f", [pb.softmax, pb.log_softmax, pb.nn.functional.softmin], ids=["softmax", "log_softmax", "softmin"]
)
def test_every_way_to_write_a_dtype(f, dtype):
    y = f(t(), 0, dtype=dtype)
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y.detach().numpy(), f(t(), 0).detach().numpy(), rtol=1e-6)


def _write(x, index, value):
    x[index] = value


def _in_grad(f):
    return lambda: pb.func.grad(lambda x: x * (f(x) is not None))(2.0)


ADVISED = {
    "write_of_two": (lambda: _write(pb.ones(3), 0, pb.ones(2)), r"several elements does not fit in the place of one"),
    "range": (_in_grad(range), r"'numpy\.float64' object cannot be interpreted as an integer\. Write int\(x\)"),
    "list": (_in_grad(lambda x: [1, 2, 3][x]), r"cannot be interpreted as an integer\. Write int\(x\)"),
    "save": (lambda: np.save(io.BytesIO(), t()), r"np\.save writes plain numbers into a file, and would lose"),
    "linear": (lambda: pb.nn.functional.linear(pb.ones(3, 2), pb.ones(1, 2), pb.ones(2)), r"bias must have shape"),
    "or": (lambda: t() | pb.ones(3), r"bitwise_or\b.*x\.astype\(int\), or x != 0"),
    "and": (lambda: t() & 1, r"bitwise_and\b.*x\.astype\(int\), or x != 0"),
    "invert": (lambda: ~t(), r"bitwise_not\b.*x\.astype\(int\), or x != 0"),
    "shift": (lambda: t() << 1, r"bitwise_left_shift\b.*x\.astype\(int\), or x != 0"),
    "where": (lambda: np.sum(t(), where="a"), r"where must be an array of truth values, got str: write x > 0"),
}


@pytest.mark.parametrize("name", ADVISED)
def test_a_wrong_call_says_what_is_wrong_and_what_to_write(name):
    call, said = ADVISED[name]
    with pytest.raises((RuntimeError, TypeError), match=said):
        call()


@pytest.mark.parametrize("name", ["sort", "argsort", "partition", "argpartition"])
def test_a_kind_of_sorting_that_there_is_not(name):
    places = (1,) if "partition" in name else ()

    def f(x):
        return getattr(np, name)(x, *places, kind="foo")

    for call in (lambda: f(t()), lambda: pb.func.grad(lambda x: f(x)[0])(X)):
        with pytest.raises(ValueError, match=r"kind must be .*got 'foo'"):
            call()
