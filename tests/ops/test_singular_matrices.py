"""Singular matrices: determinants have all derivatives, logarithms and inverses none, in a batch each by itself."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def gradient(f, a):
    """The gradient of the sum of f at a."""
    x = pb.tensor(a, requires_grad=True)
    return pb.autograd.grad(f(x).sum(), x)[0].numpy()


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


def adjugate(a):
    """By minors."""
    n = len(a)
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)
    ]
    return np.array(cofactors).reshape(n, n).T


LOW_RANK = {
    "1 x 1": np.zeros((1, 1)),
    "2 x 2 of rank 1": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "2 x 2 of rank 0": np.zeros((2, 2)),
    "3 x 3 of rank 2": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    "3 x 3 of rank 1": np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]),
    "4 x 4 of rank 2": np.diag([2.0, 3.0, 0.0, 0.0]),
    "4 x 4 of rank 1": np.diag([2.0, 0.0, 0.0, 0.0]),
    "complex": np.array([[1, 1j], [1j, -1]]),
}


@pytest.mark.parametrize("a", LOW_RANK.values(), ids=LOW_RANK)
def test_two_derivatives_of_determinants_of_singular_matrices(a):
    """d det = tr(adj(A) dA); differences of a polynomial of degree 4 at most are exact."""
    x = pb.tensor(a, requires_grad=True)
    (slope,) = pb.autograd.grad(pb.linalg.det(x).real, x, create_graph=True)
    assert_close(slope.detach(), adjoint(adjugate(a)), rtol=1e-12, atol=1e-13)
    n = len(a)
    direction = np.cos(np.arange(n * n)).reshape(n, n)
    (found,) = pb.autograd.grad((slope * direction).sum().real, x)
    points, weights = np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12  # exact up to the degree 4
    expected = sum(w * adjoint(adjugate(a + p * direction)) for p, w in zip(points, weights, strict=True))
    assert_close(found, expected, rtol=1e-11, atol=1e-11)


def test_determinants_in_a_batch_are_each_their_own():
    batch = np.stack([np.diag([1.0, 2.0, 3.0]), *(LOW_RANK[f"3 x 3 of rank {r}"] for r in (1, 2))])
    found = gradient(pb.linalg.det, batch)
    assert_close(found, np.stack([adjoint(adjugate(a)) for a in batch]), rtol=1e-12, atol=1e-13)
    assert gradient(pb.linalg.det, np.zeros((0, 0))).shape == (0, 0)
    assert gradient(pb.linalg.det, np.zeros((0, 3, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize("f", [lambda x: pb.linalg.slogdet(x)[1], pb.logdet], ids=["slogdet", "logdet"])
@pytest.mark.parametrize("dtype", [float, complex])
def test_the_logarithm_of_a_singular_determinant_has_no_slope(f, dtype):
    batch = np.stack([2 * np.eye(2), np.zeros((2, 2)), LOW_RANK["2 x 2 of rank 1"]]).astype(dtype)
    x = pb.tensor(batch, requires_grad=True)
    value = f(x)
    assert value.real.tolist() == [2 * np.log(2), -np.inf, -np.inf]
    (found,) = pb.autograd.grad(value.sum().real, x, create_graph=True)
    assert_close(found[0].detach(), np.eye(2, dtype=dtype) / 2)
    assert found[1:].isnan().all()
    (twice,) = pb.autograd.grad(found[0].sum().real, x)
    assert_close(twice[0], -np.ones((2, 2), dtype) / 4)
    assert not twice[1:].any()  # nothing depends on them


INVERSES = {
    "inv_ex": lambda x: pb.linalg.inv_ex(x)[0],
    "solve_ex": lambda x: pb.linalg.solve_ex(x, np.ones((len(x), 2, 2)))[0],
}


@pytest.mark.parametrize("f", INVERSES.values(), ids=INVERSES)
def test_a_singular_matrix_that_nothing_depends_on_has_a_gradient_of_zeros(f):
    batch = np.stack([2 * np.eye(2), np.zeros((2, 2))])
    x = pb.tensor(batch, requires_grad=True)
    (found,) = pb.autograd.grad(f(x)[0].sum(), x, create_graph=True)
    (twice,) = pb.autograd.grad(found.sum(), x)
    for g in (found.detach(), twice):
        assert g[0].any()
        assert not g[1].any()
    tangent = pb.func.jvp(f, (batch,), (np.stack([np.eye(2), np.zeros((2, 2))]),))[1]
    assert_close(tangent, np.stack([f(pb.tensor(batch[:1]))[0].numpy() / -2, np.zeros((2, 2))]))
