"""The points where automatic differentiation fails its users: each with value and gradient in closed form.

`docs/conventions.md` states the convention for each. The operators' own records have further limits; here stand the
promises across operators, and compositions of several.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pullback as pb

INF = math.inf


@dataclass(frozen=True)
class Point:
    """A function at a point: its value and the gradient of its sum, one entry for each argument."""

    name: str
    function: Any
    at: tuple
    value: Any
    grad: tuple
    because: str


def point(name, function, *at, value, grad, because):
    """A Point, with a gradient for one argument given bare."""
    return Point(name, function, at, value, grad if len(at) > 1 else (grad,), because)


def of_spectrum(a):
    """trace(A**3), by eigenvalues: a symmetric function of them."""
    return (pb.linalg.eigvalsh(a) ** 3).sum()


NO_DIRECTION = "the norm has no direction at 0; its subgradient of least norm is 0"
KINK = "the subgradient of least norm"
SHARED = "equal elements share the gradient"
OTHERS = "the product of the others, which a division by zero would lose"

POINTS = [
    point("norm at 0", pb.linalg.norm, [0.0, 0.0], value=0.0, grad=[0.0, 0.0], because=NO_DIRECTION),
    point("norm of order 3 at 0", lambda x: pb.linalg.vector_norm(x, 3), [0.0, 0.0], value=0.0, grad=[0.0, 0.0],
          because=NO_DIRECTION),
    point("norm squared at 0", lambda x: pb.linalg.norm(x) ** 2, [0.0, 0.0], value=0.0, grad=[0.0, 0.0],
          because="smooth: sum(x**2) has slope 2 x"),
    point("distance of equal points", lambda x: pb.cdist(x, pb.zeros(1, 2)), [[0.0, 0.0]], value=[[0.0]],
          grad=[[0.0, 0.0]], because=NO_DIRECTION),
    point("complex abs at 0", pb.abs, 0j, value=0.0, grad=0j, because=NO_DIRECTION),
    point("std of constants", pb.std, [2.0, 2.0], value=0.0, grad=[0.0, 0.0], because=KINK),
    point("var of constants", pb.var, [2.0, 2.0], value=0.0, grad=[0.0, 0.0], because="smooth: 2 (x - mean) / (n - 1)"),
    point("hypot at the origin", pb.hypot, 0.0, 0.0, value=0.0, grad=(0.0, 0.0), because=NO_DIRECTION),
    point("hypot of huge numbers", pb.hypot, 3e200, 4e200, value=5e200, grad=(0.6, 0.8), because="x / hypot(x, y)"),
    point("atan2 at the origin", pb.atan2, 0.0, 0.0, value=0.0, grad=(0.0, 0.0), because="no direction: 0"),
    point("sinc at 0", pb.sinc, 0.0, value=1.0, grad=0.0, because="an even, smooth function"),
    point("x**0 at 0", lambda x: x**0, 0.0, value=1.0, grad=0.0, because="constant 1"),
    point("x**2. at 0", lambda x: x**2.0, 0.0, value=0.0, grad=0.0, because="2 x"),
    point("pow at (0, 2)", pb.pow, 0.0, 2.0, value=0.0, grad=(0.0, 0.0), because="0**y is 0 for all y near 2"),
    point("pow at (0, 0)", pb.pow, 0.0, 0.0, value=1.0, grad=(0.0, 0.0), because="x**0 is constant; 0 by convention"),
    point("xlogy at (0, 0)", pb.xlogy, 0.0, 0.0, value=0.0, grad=(0.0, 0.0), because="0 log y is 0 for every y"),
    point("prod with a zero", pb.prod, [2.0, 0.0, 3.0], value=0.0, grad=[0.0, 6.0, 0.0], because=OTHERS),
    point("prod with two zeros", pb.prod, [0.0, 0.0, 3.0], value=0.0, grad=[0.0, 0.0, 0.0], because=OTHERS),
    point("cumprod with a zero", lambda x: pb.cumprod(x, 0), [2.0, 0.0, 3.0], value=[2.0, 0.0, 0.0],
          grad=[1.0, 8.0, 0.0], because=OTHERS),
    point("scattered products with a zero",
          lambda x, src: pb.scatter_reduce(x, 0, np.array([0, 0]), src, "prod"), [2.0], [0.0, 3.0],
          value=[0.0], grad=([0.0], [6.0, 0.0]), because=OTHERS),
    point("logaddexp of two -inf", pb.logaddexp, -INF, -INF, value=-INF, grad=(0.5, 0.5),
          because="equal arguments share; the weights add up to 1"),
    point("logaddexp of huge numbers", pb.logaddexp, 1e300, 1e300, value=1e300, grad=(0.5, 0.5), because="no overflow"),
    point("logsumexp of -inf alone", lambda x: pb.logsumexp(x, 0), [-INF, -INF], value=-INF, grad=[0.0, 0.0],
          because="it stays -inf wherever one of them moves"),
    point("softmax beside -inf", lambda x: pb.softmax(x, 0)[1], [-INF, 0.0], value=1.0, grad=[0.0, 0.0],
          because="what is masked has no share"),
    point("max, tied", pb.max, [1.0, 1.0], value=1.0, grad=[0.5, 0.5], because=SHARED),
    point("amin, tied", pb.amin, [1.0, 1.0, 2.0], value=1.0, grad=[0.5, 0.5, 0.0], because=SHARED),
    point("max along a dimension, tied", lambda x: x.max(0)[0], [1.0, 1.0], value=1.0, grad=[1.0, 0.0],
          because="the index that is returned takes it"),
    point("sort, tied", lambda x: x.sort()[0] * pb.tensor([1.0, 2.0]), [1.0, 1.0], value=[1.0, 2.0], grad=[1.0, 2.0],
          because="equal elements keep their order"),
    point("median, tied", pb.median, [1.0, 2.0, 2.0, 3.0], value=2.0, grad=[0.0, 0.5, 0.5, 0.0], because=SHARED),
    point("median along a dimension", lambda x: x.median(0)[0], [3.0, 1.0, 2.0], value=2.0, grad=[0.0, 0.0, 1.0],
          because="the index that is returned takes it"),
    point("largest absolute value, tied", lambda x: pb.linalg.norm(x, INF), [1.0, -1.0], value=1.0, grad=[0.5, -0.5],
          because=SHARED),
    point("abs at 0", pb.abs, 0.0, value=0.0, grad=0.0, because=KINK),
    point("relu at 0", pb.relu, 0.0, value=0.0, grad=0.0, because=KINK),
    point("maximum, tied", pb.maximum, 1.0, 1.0, value=1.0, grad=(0.5, 0.5), because=KINK),
    point("fmax, tied", pb.fmax, 1.0, 1.0, value=1.0, grad=(1.0, 0.0), because="PyTorch's choice, to the first"),
    point("fmin, tied", pb.fmin, 1.0, 1.0, value=1.0, grad=(1.0, 0.0), because="PyTorch's choice, to the first"),
    point("quantile, tied", lambda x: pb.quantile(x, 0.5), [1.0, 1.0, 1.0], value=1.0, grad=[0.0, 1.0, 0.0],
          because="to the element that a stable sort puts there"),
    point("std of huge numbers", pb.std, [3e200, -3e200], value=3e200 * 2**0.5, grad=[0.5**0.5, -(0.5**0.5)],
          because="(x - mean) / (n - 1) / std; squares overflow"),
    point("std of tiny numbers", pb.std, [3e-200, -3e-200], value=3e-200 * 2**0.5, grad=[0.5**0.5, -(0.5**0.5)],
          because="(x - mean) / (n - 1) / std; squares vanish"),
    point("clamp at its ends", lambda x: pb.clamp(x, 0, 1), [0.0, 1.0], value=[0.0, 1.0], grad=[1.0, 1.0],
          because="PyTorch's choice: the gradient passes where the value is unchanged"),
    point("det of a singular matrix", pb.linalg.det, [[1.0, 2.0], [2.0, 4.0]], value=0.0,
          grad=[[4.0, -2.0], [-2.0, 1.0]], because="the cofactors"),
    point("det of 0", pb.linalg.det, [[0.0, 0.0], [0.0, 0.0]], value=0.0, grad=[[0.0, 0.0], [0.0, 0.0]],
          because="the cofactors"),
    point("equal eigenvalues", of_spectrum, [[2.0, 0.0], [0.0, 2.0]], value=16.0, grad=[[12.0, 0.0], [0.0, 12.0]],
          because="the gradient of trace(A**3) is 3 A**2"),
    point("equal singular values", lambda a: pb.linalg.svdvals(a).sum(), [[2.0, 0.0], [0.0, 2.0]], value=4.0,
          grad=[[1.0, 0.0], [0.0, 1.0]], because="U V^H, which is unique"),
    point("nuclear norm of a singular matrix", lambda a: pb.linalg.matrix_norm(a, "nuc"), [[2.0, 0.0], [0.0, 0.0]],
          value=2.0, grad=[[1.0, 0.0], [0.0, 0.0]], because=KINK),
]  # fmt: skip


def value_and_gradients(function, at):
    """The value, and the gradients of its sum."""
    leaves = [pb.tensor(x, requires_grad=True) for x in at]
    value = function(*leaves)
    grads = pb.autograd.grad(value.sum(), leaves)
    return value.detach().numpy(), [grad.numpy() for grad in grads]


@pytest.mark.parametrize("case", POINTS, ids=lambda case: case.name)
def test_value_and_gradient(case):
    value, grads = value_and_gradients(case.function, case.at)
    np.testing.assert_allclose(value, case.value, rtol=1e-14, atol=1e-14, err_msg=case.because)
    for grad, expected in zip(grads, case.grad, strict=True):
        np.testing.assert_allclose(grad, expected, rtol=1e-14, atol=1e-14, err_msg=case.because)


def test_log_determinant_of_a_singular_matrix_is_minus_infinity():
    sign, log = pb.linalg.slogdet(pb.tensor([[1.0, 2.0], [2.0, 4.0]]))
    assert (sign.item(), log.item()) == (0.0, -INF)


def test_what_equal_eigenvalues_leave_open_is_refused():
    a = pb.tensor([[2.0, 0.0], [0.0, 2.0]], requires_grad=True)
    _, vectors = pb.linalg.eigh(a)
    with pytest.raises(np.linalg.LinAlgError, match="are equal"):
        (vectors * pb.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert a.grad is None


def test_masking_the_argument_is_always_right():
    _, (grad,) = value_and_gradients(lambda x: pb.where(x > 0, pb.where(x > 0, x, 1.0).sqrt(), 0.0), ([0.0, 4.0],))
    assert grad.tolist() == [0.0, 0.25]


def test_a_variance_below_eps_moves_alike_in_both_modes_and_at_every_order():
    def f(var):
        return pb.nn.functional.gaussian_nll_loss(np.array([0.5, 1.0]), np.zeros(2), var, eps=0.1)

    var = np.array([0.05, 0.5])
    slope = pb.func.grad(f)(var)
    assert slope.tolist() == pytest.approx([-3.75, -0.5])
    assert [pb.func.jvp(f, (var,), (e,))[1] for e in np.eye(2)] == pytest.approx(slope.tolist())
    for twice in (lambda e: pb.func.grad(lambda w: pb.func.jvp(f, (w,), (e,))[1])(var),
                  lambda e: pb.func.jvp(pb.func.grad(f), (var,), (e,))[1],
                  lambda e: pb.func.grad(lambda w: (pb.func.grad(f)(w) * e).sum())(var)):  # fmt: skip
        assert np.stack([twice(e) for e in np.eye(2)]).ravel().tolist() == pytest.approx([100.0, 0, 0, 3.0])


def test_limits_that_are_equal_leave_a_constant():
    """A parameter that equal bounds hold does not move; the bound does."""
    for lower, upper in ((2.0, 2.0), (2, 2), (pb.full((3,), 2.0), 2.0), (pb.full((3,), 2.0), pb.full((3,), 2.0))):
        x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        pb.clamp(x, lower, upper).sum().backward()
        assert x.grad.tolist() == [0, 0, 0]
        assert (
            pb.func.jvp(lambda x, a=lower, b=upper: pb.clamp(x, a, b), (x.detach(),), (pb.ones(3),))[1].tolist()
            == [0] * 3
        )
    p = pb.full((3,), 2.0).requires_grad_()
    pb.clamp(pb.tensor([1.0, 2.0, 3.0]), p, p).sum().backward()
    assert p.grad.tolist() == [1, 1, 1]


def test_whole_numbers_beyond_64_bits_are_numbers_in_formulas():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    (pb.xlogy(x, 10**20) + pb.special.xlog1py(x, 10**20)).sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.log(1e20))
    for function, slope in ((np.fmax, 0), (np.fmin, 1), (np.logaddexp, 0), (np.logaddexp2, 0)):
        assert pb.func.grad(lambda x, f=function: f(x, 10**20).sum())(np.array([1.0, 2.0])).tolist() == [slope, slope]
        assert pb.func.grad(lambda x, f=function: f(-(10**20), x).sum())(np.array([1.0])).tolist() == [1 - slope]
