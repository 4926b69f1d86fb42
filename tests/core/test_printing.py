"""repr: PyTorch's frame around NumPy's numbers."""

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pb.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (lambda: pb.tensor(3), "tensor(3)"),
        (lambda: pb.tensor(3.0), "tensor(3.)"),
        (lambda: pb.tensor([True, False]), "tensor([ True, False])"),
        (lambda: pb.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: pb.tensor([1.0], dtype=pb.float32), "tensor([1.], dtype=float32)"),
        (lambda: pb.tensor([1], dtype=pb.int32), "tensor([1], dtype=int32)"),
        (lambda: pb.tensor([]), "tensor([])"),
        (lambda: pb.tensor([], dtype=pb.int64), "tensor([], dtype=int64)"),
        (lambda: pb.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: pb.zeros(2, 0, dtype=pb.float32), "tensor([], size=(2, 0), dtype=float32)"),
        (lambda: pb.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
        (lambda: pb.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (
            lambda: pb.tensor([1.0], dtype=pb.float32, requires_grad=True),
            "tensor([1.], dtype=float32, requires_grad=True)",
        ),
        (lambda: pb.tensor([1.0], requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
        (lambda: pb.tensor([0.0], requires_grad=True).sin(), "tensor([0.], grad_fn=<SinBackward0>)"),
        (lambda: (pb.tensor([1.0], requires_grad=True) * 2).detach(), "tensor([2.])"),
    ],
)
def test_repr(make, text):
    assert repr(make()) == text
    assert str(make()) == text


def test_large_tensors_are_abbreviated():
    assert "..." in repr(pb.zeros(10_000))


def test_numbers_print_as_numpy_is_told_to():
    with np.printoptions(precision=2):
        assert repr(pb.tensor([1 / 3])) == "tensor([0.33])"


def test_custom_functions_print_their_name():
    class Twice(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert repr(Twice.apply(pb.tensor([1.0], requires_grad=True))) == "tensor([2.], grad_fn=<TwiceBackward>)"


def test_a_view_whose_base_was_modified_prints_its_new_function():
    y = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    v = y[0:1]
    y.mul_(3)
    assert repr(v) == "tensor([3.], grad_fn=<AsStridedBackward0>)"
    assert repr(y) == "tensor([3., 6.], grad_fn=<MulBackward0>)"


def test_format_of_one_number_and_of_many():
    assert f"{pb.tensor(3.14159):.2f}" == "3.14"
    assert f"{pb.tensor(7):>3d}" == "  7"
    assert f"{pb.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match=r"shape \(2,\)"):
        f"{pb.ones(2):.2f}"


def test_nodes_and_nested_levels_print():
    y = pb.tensor([1.0], requires_grad=True) * 2
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")
    assert "shape=(1,)" in repr(y.grad_fn.input_metadata[0])
    seen = []

    def inner(z):
        seen.append(repr(z))
        return z * z

    def outer(x):
        seen.append(repr(x * 2))
        return pb.func.grad(inner)(x)

    pb.func.grad(outer)(pb.tensor(1.0))
    assert seen == [
        "GradTrackingTensor(lvl=1, value=tensor(2.))",
        "GradTrackingTensor(lvl=2, value=GradTrackingTensor(lvl=1, value=tensor(1.)))",
    ]
