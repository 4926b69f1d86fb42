"""Code as users write it, which `mypy --strict` passes: see test_typing.py. It runs too."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import pullback as pb
import pullback.nn.functional as F
from pullback import Tensor
from pullback.autograd import Function, gradcheck
from pullback.autograd.function import FunctionCtx
from pullback.testing import Limit, OpInfo, Raises, check_operator
from pullback.testing.opinfo.samples import cases, on


def tensors() -> Tensor:
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert pb.linspace(0, 1, 5).size(0) + x.stride(0) == x.size()[0] + 5 == 2 + pb.logspace(0, 2, steps=5).numel()
    zeros = pb.zeros(2, 2, dtype=pb.float32) + pb.ones((2, 2), requires_grad=True)
    shape: tuple[int, ...] = x.shape
    count: int = x.numel()
    kind: np.dtype[Any] = x.dtype
    number: float = x.sum().item()
    array = x.detach().numpy()
    assert (*shape, count, kind, number, *array.shape) == (2, 2, 4, pb.float64, 10.0, 2, 2)
    return x @ zeros.to(pb.float64) + pb.arange(2) * 2 - np.ones(2) / x[0]


def operators(x: Tensor, arrays: Sequence[np.ndarray[Any, Any]]) -> Tensor:
    y = pb.sin(x) + pb.exp(-x).clamp(min=0.1, max=5) + pb.add(x, 1, alpha=2) + pb.logsumexp(x, dim=(0, 1))
    values, indices = pb.max(x, 0)
    largest = x.max(dim=1, keepdim=True).values
    spread = pb.var(x, dim=0, correction=0) + x.std(unbiased=False)
    joined = pb.cat([x, y, pb.stack([x[0], x[1]])], dim=0)
    halves: tuple[Tensor, ...] = pb.split(joined, 2)
    product = pb.einsum("ij,jk->ik", x, y)
    chosen = pb.where(x > 1, x, 0.0).masked_fill(x < 2, -1.0)
    total: Tensor = sum((pb.asarray(a) for a in arrays), pb.zeros(2, 2))
    spread = spread + pb.var_mean(x, dim=0)[0]
    mean = x.mean(axis=0) + x.sum(-1, keepdims=True)
    rows, _ = pb.nonzero(x > 0, as_tuple=True)
    _, counts = pb.unique(rows, return_counts=True)
    assert len(counts) == pb.unique(rows).numel() == 2
    return product + chosen + values * largest + spread + halves[0] + total + indices + mean + abs(-x) ** 2


def methods(x: Tensor) -> Tensor:
    assert x.permute(dims=(1, 0)).mT.view(size=(4,)).repeat(2, 1).expand((2, 4)).shape == (2, 4)
    y = x.reshape(1, 4).T.permute(1, 0).squeeze(0).unsqueeze(-1).flatten()
    z = y.clone().mul_(2).add_(1).clamp_(min=0)
    z[0] = 3.0
    z += y.detach()
    flag: bool = bool(z.any()) and z.is_contiguous()
    assert flag
    return z.view(2, 2).softmax(dim=-1).tril().contiguous().real.mT


def linear_algebra(a: Tensor) -> Tensor:
    u, s, vh = pb.linalg.svd(a)
    w = pb.linalg.eigvalsh(a @ a.mT)
    return pb.linalg.solve(a, u @ vh) + s.sum() + w.sum() + pb.linalg.norm(a) + pb.linalg.det(a)


def gradients(x: Tensor) -> Tensor:
    loss = (x * x).sum()
    (grad,) = pb.autograd.grad(loss, [x], create_graph=True)
    handle = x.register_hook(lambda g: g * 2)
    grad.pow(2).sum().backward()
    handle.remove()
    assert x.grad is not None
    with pb.no_grad():
        x -= 0.1 * x.grad
    x.grad = None
    return x


@pb.no_grad()
def unrecorded(x: Tensor) -> Tensor:
    with pb.enable_grad():
        leaf = x.detach().requires_grad_()
        return pb.autograd.grad(leaf.sum(), leaf)[0]


@pb.inference_mode()
def inferred(x: Tensor) -> Tensor:
    return x * 2


def later(x: Tensor) -> Tensor:
    with pb.autograd.profiler.profile(), pb.autograd.forward_ad.dual_level(), pb.autograd.trace_nans():
        assert pb.autograd.forward_ad.make_dual(x, x) is not None
    assert pb.autograd.functional.hessian(lambda v: (v**3).sum(), x).shape == (2, 2, 2, 2)
    return unrecorded(x) + inferred(x)


def transforms(x: np.ndarray[Any, Any]) -> Any:
    def f(v: Any) -> Any:
        return (np.sin(v) ** 2).sum()

    value, slope = pb.func.value_and_grad(f)(x)
    primal, tangent = pb.func.jvp(f, (x,), (np.ones_like(x),))
    return pb.func.grad(f)(x) - slope + value - primal + tangent - tangent


class Cube(Function):
    """x ** 3."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.power = 3
        return x**3

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        assert ctx.power == 3
        return 3 * grad * x**2


def network(images: Tensor, labels: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    hidden = F.relu(F.conv2d(images, weight, bias, padding=1))
    largest, _ = F.max_pool2d(hidden, 2, return_indices=True)
    pooled = F.max_pool2d(hidden, 2).flatten(1)
    assert pooled.shape == largest.flatten(1).shape
    return F.cross_entropy(F.dropout(pooled, 0.0, training=True), labels, label_smoothing=0.1)


def checked(operator: str) -> tuple[np.dtype[Any] | type[Any] | str, ...]:
    limits = [Limit(at=(0.0,), grad=(1.0,), because="it is odd")]
    errors = [Raises(TypeError, naming=(operator,), args=("x",))]
    samples = cases(on((2, 3)), on(()), low=-1)
    info = OpInfo(operator, np.sin, samples, dtypes=(np.float64,), complex=True, limits=limits, errors=errors)
    check_operator(info)
    return tuple(info.dtypes)


def arrays(x: pb.Array) -> Any:
    y = x.copy()
    y.sort(axis=0)
    y.shape = (3, 1)
    y.flat[0] = x.max(axis=0) ** 2
    return (y.std(ddof=1) + x.reshape(-1, order="F").dot(x) * (x > 0).sum()) / x.size


def main() -> None:
    x = tensors().detach().requires_grad_()
    operators(x, [np.ones((2, 2))])
    methods(x)
    linear_algebra(x + 3 * pb.eye(2))
    gradients(x)
    later(x.detach())
    transforms(np.ones(3))
    pb.func.grad(arrays)(np.array([3.0, 1.0, 2.0]))
    assert gradcheck(Cube.apply, (pb.tensor([1.0, 2.0], requires_grad=True),))
    network(pb.ones(2, 1, 4, 4), pb.tensor([0, 1]), pb.ones(1, 1, 3, 3))
    pb.testing.assert_close(x, x.clone())
    assert checked("sin") == (pb.float64, pb.complex128)


if __name__ == "__main__":
    main()
