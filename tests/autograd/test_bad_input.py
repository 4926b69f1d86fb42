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
    "batched gradients": (lambda x: grad(x.sum(), x, is_grads_batched=True), NotImplementedError, "vmap"),
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
        with pytest.raises(TypeError, match=type(bad).__name__):
            pb.add(t, bad)


def test_text_is_no_gradient(x):
    with pytest.raises(TypeError):
        x.grad = "text"
    with pytest.raises(TypeError):
        backward("text")
