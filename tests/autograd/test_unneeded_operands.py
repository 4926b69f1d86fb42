"""An operand that no gradient needs is not saved: it may be written into before backward."""

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional
NUMBERS = np.random.default_rng(0)


def constant(*shape):
    return pb.tensor(NUMBERS.standard_normal(shape))


A, B, a, T = constant(3, 3), constant(3, 3), constant(3), constant(3, 3, 3)
STEPS = {
    "matrix @ h": lambda h: A @ h,
    "h @ matrix": lambda h: h @ A,
    "h @ vector": lambda h: (h @ a) * a,
    "ndarray @ h": lambda h: A.numpy() @ h,
    "batch @ h": lambda h: (T @ h)[0],
    "linear": lambda h: F.linear(h, A, a),
    "linear to one feature": lambda h: F.linear(h, a) * a,
    "einsum": lambda h: pb.einsum("ij,j->i", A, h),
    "einsum of three": lambda h: pb.einsum("ij,jk,k->i", A, B, h),
    "inner": lambda h: pb.inner(A, h),
    "tensordot": lambda h: pb.tensordot(h, A, 1),
    "chain_matmul": lambda h: pb.chain_matmul(A, B, h[:, None])[:, 0],
    "multi_dot": lambda h: pb.linalg.multi_dot([A, B, h]),
    "bilinear": lambda h: F.bilinear(h, a, T),
    "bilinear of the other": lambda h: F.bilinear(a, h, T),
    "cross": lambda h: pb.cross(h, a),
    "cross of the other": lambda h: pb.linalg.cross(a, h),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_state_may_be_stepped_in_place(step):
    def gradient(in_place):
        x = pb.tensor([1.0, -2.0, 0.5], requires_grad=True)
        h = x * 1
        for _ in range(3):
            if in_place:
                h += 0.1 * step(h)
            else:
                h = h + 0.1 * step(h)
        (h * h).sum().backward()
        return x.grad.numpy()

    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-13)


def test_an_operand_that_a_gradient_needs_is_still_watched():
    w, h = pb.ones(3, 3, requires_grad=True), pb.ones(3)
    y = w @ h
    h.mul_(2)
    with pytest.raises(RuntimeError, match="MatmulBackward0 saved 'other'"):
        y.sum().backward()


def test_what_was_not_saved_is_shown_as_none():
    h = pb.ones(3, requires_grad=True)
    node = (A @ h).grad_fn
    assert node._saved_other is None
    assert node._saved_self is A


SHAPES = [
    ((3,), (3,)), ((3,), (3, 2)), ((4, 3), (3,)), ((4, 3), (3, 2)), ((5, 4, 3), (3,)), ((5, 4, 3), (3, 2)),
    ((3,), (5, 3, 2)), ((4, 3), (5, 3, 2)), ((5, 4, 3), (5, 3, 2)), ((1, 4, 3), (5, 3, 2)), ((2, 1, 4, 3), (5, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul_of_every_shape_with_either_operand_constant(shapes, which):
    operands = [constant(*shape).requires_grad_(wanted) for shape, wanted in zip(shapes, which, strict=True)]
    assert pb.autograd.gradcheck(pb.matmul, operands)
    assert pb.autograd.gradgradcheck(pb.matmul, operands)


@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "shapes",
    [((3,), (3,)), ((3,), (2, 3)), ((4, 3), (3,)), ((4, 3), (2, 3)), ((5, 4, 3), (3,)), ((5, 4, 3), (2, 3))],
    ids=str,
)
def test_linear_of_every_shape_with_either_operand_constant(shapes, which):
    operands = [constant(*shape).requires_grad_(wanted) for shape, wanted in zip(shapes, which, strict=True)]
    assert pb.autograd.gradcheck(F.linear, operands)
    assert pb.autograd.gradgradcheck(F.linear, operands)
