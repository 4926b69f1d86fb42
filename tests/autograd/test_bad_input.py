"""Bad input: a clear error, never a wrong number, and nothing lost of the graph or of .grad."""

import numpy as np
import pytest

import pullback as pb

grad, backward = pb.autograd.grad, pb.autograd.backward


@pytest.fixture
def x():
    made = pb.tensor([1.0, 2.0], requires_grad=True)
    made.grad = pb.tensor([100.0, 200.0])
    return made


CASES = {
    "vector without cotangent": (lambda x: (x * 2).backward(), RuntimeError, r"scalar outputs.*shape \(2,\)"),
    "vector without grad_outputs": (lambda x: grad(x * 2, x), RuntimeError, r"scalar outputs.*\(2,\).*grad_outputs"),
    "empty vector without cotangent": (lambda x: x[:0].backward(), RuntimeError, r"scalar outputs.*\(0,\)"),
    "cotangent of another shape": (lambda x: (x * 2).backward(pb.ones(3)), RuntimeError, r"Mismatch.*\(3,\).*\(2,\)"),
    "cotangent that would broadcast": (lambda x: (x * 2).backward(pb.ones(1)), RuntimeError, r"Mismatch.*\(1,\)"),
    "number for a vector": (lambda x: (x * 2).backward(1.0), RuntimeError, r"Mismatch in shape.*\(\).*\(2,\)"),
    "complex cotangent of a real output": (lambda x: (x * 2).backward(pb.tensor([1j, 1j])), RuntimeError, "complex128"),
    "text as cotangent": (lambda x: (x * 2).backward("ones"), TypeError, "grad_tensors.*str"),
    "text among cotangents": (lambda x: grad(x * 2, x, ["ones"]), TypeError, r"grad_outputs\[0\].*str"),
    "objects as cotangent": (lambda x: (x * 2).backward(np.array([None, None])), (TypeError, RuntimeError), "object"),
    "too many cotangents": (lambda x: backward(x.sum(), [None, None]), RuntimeError, "1 tensors and 2 gradients"),
    "too few cotangents": (lambda x: backward([x.sum(), x.sum()], [None]), RuntimeError, "2 tensors and 1 gradients"),
    "root without grad": (lambda x: pb.ones(1).backward(), RuntimeError, "element 0 of tensors does not require grad"),
    "second root without grad": (
        lambda x: backward([x.sum(), pb.tensor(1.0)]), RuntimeError, "element 1 of tensors does not require grad"
    ),
    "second root without grad but with cotangent": (
        lambda x: backward([x.sum(), pb.tensor(1.0)], [None, pb.tensor(1.0)]),
        RuntimeError,
        "element 1 of tensors does not require grad",
    ),
    "integer root": (lambda x: (x > 0).sum().backward(), RuntimeError, "does not require grad"),
    "no roots": (lambda x: backward([]), RuntimeError, "empty"),
    "no outputs": (lambda x: grad([], x), RuntimeError, "empty"),
    "no inputs": (lambda x: grad(x.sum(), []), RuntimeError, "inputs.*empty"),
    "no inputs of backward": (lambda x: x.sum().backward(inputs=[]), RuntimeError, "inputs.*empty"),
    "input without grad": (lambda x: grad(x.sum(), pb.ones(2)), RuntimeError, r"does not require grad \(inputs\[0\]\)"),
    "input of backward without grad": (
        lambda x: x.sum().backward(inputs=[x, pb.ones(2)]), RuntimeError, r"does not require grad \(inputs\[1\]\)"
    ),
    "unused input": (lambda x: grad(x.sum(), pb.ones(1, requires_grad=True)), RuntimeError, "not have been used"),
    "array as output": (lambda x: grad(np.ones(2), x), TypeError, "ndarray"),
    "array as input": (lambda x: grad(x.sum(), np.ones(2)), TypeError, "ndarray"),
    "number among outputs": (lambda x: backward([x.sum(), 3.0]), TypeError, r"tensors\[1\] must be a Tensor, got f"),
    "number among inputs": (lambda x: grad(x.sum(), [x, 3.0]), TypeError, r"inputs\[1\] must be a Tensor, got float"),
    "batched gradients": (lambda x: grad(x.sum(), x, is_grads_batched=True), RuntimeError, "is None"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), CASES.values(), ids=CASES)
def test_bad_arguments_are_refused_and_nothing_is_lost(call, error, match, x):
    with pytest.raises(error, match=match):
        call(x)
    assert x.grad.tolist() == [100, 200]
    assert pb.is_grad_enabled()
    x.exp().sum().backward()
    assert np.allclose(x.grad.numpy(), [100 + np.e, 200 + np.e**2])


BAD_ROOTS = {
    "no cotangent": lambda y, x: y.backward(),
    "wrong shape": lambda y, x: y.backward(pb.ones(3)),
    "wrong kind": lambda y, x: y.backward(pb.tensor([1j, 1j])),
    "input without grad": lambda y, x: grad(y, [x, pb.ones(2)], pb.ones(2)),
    "no inputs": lambda y, x: grad(y, [], pb.ones(2)),
    "second root": lambda y, x: backward([y, pb.tensor(1.0)], [pb.ones(2), None]),
}


@pytest.mark.parametrize("call", BAD_ROOTS.values(), ids=BAD_ROOTS)
def test_a_refused_call_does_not_release_the_graph(call, x):
    y = x.exp()
    with pytest.raises(RuntimeError):
        call(y, x)
    y.backward(pb.ones(2))
    assert np.allclose(x.grad.numpy(), [100 + np.e, 200 + np.e**2])


def test_a_modified_saved_tensor_leaves_grad_alone(x):
    w = pb.tensor([3.0, 4.0], requires_grad=True)
    y = x * 1
    z = y.exp() * w
    y.exp_()
    total = (z + (y * 0).detach()).sum()
    z2 = (y.sin() * w).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="SinBackward0 saved 'self'"):
        (total + z2).backward()
    assert x.grad.tolist() == [100, 200]
    assert w.grad is None


def test_second_time_leaves_grad_alone(x):
    w = pb.tensor([3.0, 4.0], requires_grad=True)
    y = (x.exp() * w).sum()
    y.backward()
    kept = x.grad.tolist(), w.grad.tolist()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        (y + w.sum()).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == kept


def test_shapes_that_do_not_fit_name_the_operator(x):
    for call in (
        lambda: x + pb.ones(3),
        lambda: pb.matmul(x, pb.ones(3)),
        lambda: x.reshape(3),
        lambda: pb.cat([x, pb.ones(1, 2)]),
    ):
        with pytest.raises(RuntimeError, match=r"\(2,\)|\b2\b"):
            call()


def test_arguments_that_are_no_tensors_are_named():
    t = pb.ones(2)
    for bad in ([1.0, 2.0], "text", None, object()):
        with pytest.raises(TypeError, match=type(bad).__name__.removesuffix("Type")):
            pb.add(t, bad)


def test_text_is_no_gradient(x):
    with pytest.raises(TypeError):
        x.grad = "text"
    with pytest.raises(TypeError):
        backward("text")


def refused(call, error, match):
    """The call raises that error, and x keeps its values, its version and its gradient."""
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    x.grad = pb.tensor([100.0, 200.0])
    with pytest.raises(error, match=match):
        call(x)
    assert (x.tolist(), x.grad.tolist(), x._version) == ([1, 2], [100, 200], 0)


F = pb.nn.functional
SHAPES = {
    "add": (lambda x: x + pb.ones(3), RuntimeError, r"add.*\(2,\).*\(3,\)"),
    "matmul": (lambda x: pb.matmul(pb.ones(2, 3), pb.ones(2, 3)), RuntimeError, r"matmul.*\(2, 3\)"),
    "bmm": (lambda x: pb.bmm(pb.ones(2, 3), pb.ones(2, 3)), RuntimeError, r"bmm.*3 dimensions.*\(2, 3\)"),
    "einsum": (lambda x: pb.einsum("ij,jk", pb.ones(2, 3), pb.ones(2, 3)), RuntimeError, "'j' has sizes 3 and 2"),
    "linear": (lambda x: F.linear(pb.ones(2, 3), pb.ones(4, 5)), RuntimeError, r"\(2, 3\).*\(4, 5\)"),
    "mse_loss": (lambda x: F.mse_loss(x, pb.ones(3)), RuntimeError, r"mse_loss.*\(2,\).*\(3,\)"),
    "stack": (lambda x: pb.stack([x, pb.ones(3)]), RuntimeError, r"stack.*same shape"),
    "view": (lambda x: x.view(3), RuntimeError, "view.*size 2"),
    "expand": (lambda x: x.expand(3), RuntimeError, r"expand.*\(2,\).*\(3,\)"),
    "negative size": (lambda x: pb.zeros(-1), RuntimeError, "negative"),
    "dimension": (lambda x: x.sum(3), IndexError, r"sum.*expected to be in range of \[-1, 0\], but got 3"),
    "dimension twice": (lambda x: pb.ones(2, 2).sum((0, 0)), RuntimeError, "sum.*duplicate"),
    "index": (lambda x: x[5], IndexError, "5 is out of bounds"),
    "mask": (lambda x: x[pb.tensor([True, False, True])], IndexError, "boolean index.*2.*3"),
    "class": (lambda x: F.cross_entropy(pb.ones(2, 3), pb.tensor([0, 7])), IndexError, "7"),
    "in place": (lambda x: (x * 1).add_(pb.ones(3, 2)), RuntimeError, r"add.*\(2,\).*\(3, 2\)"),
    "in place grows": (lambda x: (x[:1] * 1).add_(x), RuntimeError, r"\(1,\).*\(2,\).*cannot change the shape"),
    "copy_": (lambda x: (x * 1).copy_(pb.ones(3)), RuntimeError, r"\(3,\).*\(2,\)"),
    "fill_": (lambda x: (x * 1).fill_(x), RuntimeError, r"0-d.*\(2,\)"),
    "ragged list": (lambda x: pb.tensor([[1, 2], [3]]), ValueError, "its parts differ in length"),
}  # fmt: skip
DTYPES = {
    "object": (lambda x: pb.tensor([object()]), TypeError, "dtype object"),
    "text": (lambda x: pb.tensor("text"), TypeError, "dtype <U4"),
    "objects beside a tensor": (lambda x: x * np.array([1, 2], dtype=object), TypeError, "'other'.*dtype object"),
    "objects before a tensor": (lambda x: np.array([1, 2], dtype=object) * x, TypeError, "dtype object"),
    "objects into a tensor": (lambda x: (x * 1).add_(np.array([1, 2], dtype=object)), TypeError, "dtype object"),
    "texts beside a tensor": (lambda x: x + np.array(["a", "b"]), TypeError, "'other'.*dtype <U1"),
    "times beside a tensor": (lambda x: pb.mul(np.array([1, 2], "m8[s]"), x), TypeError, "'input'.*dtype timedelta64"),
    "texts in a list": (lambda x: pb.cat([x, np.array(["a"])]), TypeError, "'tensors'.*dtype <U1"),
    "zeros of objects": (lambda x: pb.zeros(2, dtype=object), TypeError, r"zeros\(\).*dtype object"),
    "sum as objects": (lambda x: x.sum(dtype=object), TypeError, r"sum\(\).*dtype object"),
    "no dtype": (lambda x: x.to("float33"), TypeError, "'float33' is not a dtype"),
    "float index": (lambda x: x[pb.tensor([0.0])], IndexError, "integer or bool.*float64"),
    "number as index": (lambda x: x[0.5], IndexError, "integers, slices"),
    "float classes": (lambda x: F.nll_loss(pb.ones(2, 3), pb.ones(2)), RuntimeError, "integer.*float64"),
    "bits of floats": (lambda x: x & 1, TypeError, "bitwise_and.*float64"),
    "fraction into integers": (lambda x: pb.tensor([1]).add_(0.5), RuntimeError, "float64.*int64"),
    "complex into reals": (lambda x: (x * 1).fill_(1j), RuntimeError, "complex.*float64"),
    "condition": (lambda x: pb.where(x, x, x), RuntimeError, "boolean.*float64"),
}  # fmt: skip
DEVICES = {
    "tensor": lambda x: pb.tensor([1.0], device="cuda"),
    "asarray": lambda x: pb.asarray([1.0], device="cuda:0"),
    "zeros": lambda x: pb.zeros(2, device="cuda"),
    "rand": lambda x: pb.rand(2, device="mps"),
    "zeros_like": lambda x: pb.zeros_like(x, device="cuda"),
    "new_zeros": lambda x: x.new_zeros(2, device="cuda"),
    "to": lambda x: x.to("cuda"),
    "to device=": lambda x: x.to(device="cuda:1"),
}
WHOLE = {
    "tensor": lambda: pb.tensor([1, 2], requires_grad=True),
    "of bools": lambda: pb.tensor([True], requires_grad=True),
    "zeros": lambda: pb.zeros(2, dtype=pb.int64, requires_grad=True),
    "zeros_like": lambda: pb.zeros_like(pb.tensor([1]), requires_grad=True),
    "arange": lambda: pb.arange(3, requires_grad=True),
    "requires_grad_": lambda: pb.tensor([1, 2]).requires_grad_(),
    "requires_grad =": lambda: setattr(pb.tensor([1, 2]), "requires_grad", True),
}


@pytest.mark.parametrize(("call", "error", "match"), SHAPES.values(), ids=SHAPES)
def test_wrong_shapes(call, error, match):
    refused(call, error, match)


@pytest.mark.parametrize(("call", "error", "match"), DTYPES.values(), ids=DTYPES)
def test_wrong_dtypes(call, error, match):
    refused(call, error, match)


@pytest.mark.parametrize("call", DEVICES.values(), ids=DEVICES)
def test_devices_that_are_not_there(call):
    refused(call, RuntimeError, "device '(cuda|mps).*only 'cpu'")


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_whole_numbers_cannot_require_grad(make):
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        make()


def test_plain_functions_refuse_what_has_no_gradient():
    for x in (3, np.arange(3), True, "text"):
        with pytest.raises(TypeError, match="cannot differentiate with respect to"):
            pb.func.grad(lambda z: np.sum(z * 2))(x)
    with pytest.raises(RuntimeError, match=r"real scalar.*\(3,\)"):
        pb.func.grad(lambda z: z * 2)(np.ones(3))
