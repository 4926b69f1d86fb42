"""lobpcg: few eigenpairs, their gradient without the others, and what is refused."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.testing import assert_close

RNG = np.random.default_rng(0)
ROTATION = np.linalg.qr(RNG.standard_normal((10, 10)))[0]
WEIGHTS = RNG.standard_normal((10, 10))


def with_spectrum(*values):
    """A full symmetric matrix with these eigenvalues and, above them, 10, 11, ..."""
    rest = np.arange(10.0, 20.0 - len(values))
    return ROTATION @ np.diag([*values, *rest]) @ ROTATION.T


def lowest(A, k, **how):
    """The k smallest eigenpairs, from a start that is always the same."""
    return pb.lobpcg(A, X=np.random.default_rng(1).standard_normal((A.shape[-1], k)), largest=False, **how)


def test_a_large_problem_converges_to_the_wanted_end():
    size = 400
    A = np.diag(np.full(size, 2.0)) - np.eye(size, k=1) - np.eye(size, k=-1) + np.diag(np.linspace(0, 30, size))
    exact = scipy.linalg.eigvalsh(A)
    pb.manual_seed(0)
    for largest, wanted in ((True, exact[:-4:-1]), (False, exact[:3])):
        values, vectors = pb.lobpcg(pb.from_numpy(A), 3, n=6, largest=largest)
        assert_close(values.numpy(), wanted, rtol=1e-9, atol=0)
        assert_close((vectors.mT @ vectors).numpy(), np.eye(3), rtol=0, atol=1e-12)
        assert np.abs(A @ vectors.numpy() - vectors.numpy() * values.numpy()).max() < 1e-5


def test_gradient_is_that_of_the_complete_decomposition():
    A = pb.tensor(RNG.standard_normal((60, 60)), requires_grad=True)
    weights = pb.from_numpy(RNG.standard_normal((60, 60)))

    def loss(values, vectors):
        return values.square().sum() + (vectors @ vectors.mT * weights).sum() + (vectors**4).sum()

    found = pb.autograd.grad(loss(*lowest(A, 3, tol=1e-13)), A)[0]
    values, vectors = pb.linalg.eigh((A + A.mT) / 2)
    expected = pb.autograd.grad(loss(values[:3], vectors[:, :3]), A)[0]
    assert_close(found.numpy(), expected.numpy(), rtol=1e-8, atol=1e-8)


def test_a_loss_of_the_eigenvalues_alone_solves_no_system(monkeypatch):
    from pullback.ops.formulas.decompositions import eigenpairs

    monkeypatch.setattr(eigenpairs, "_solve_outside", None)
    A = pb.tensor(with_spectrum(1.0, 1.0, 1.0), requires_grad=True)
    values, vectors = lowest(A, 2)  # of three equal ones: u u^T is a subgradient
    (found,) = pb.autograd.grad(values.sum(), A)
    assert_close(found.numpy(), (vectors @ vectors.mT).detach().numpy(), rtol=0, atol=1e-14)


def test_curvature_is_there_where_the_gradient_of_the_vectors_is_zero():
    A = pb.tensor(with_spectrum(1.0, 3.0), requires_grad=True)
    _, vectors = lowest(A, 1, tol=1e-14)
    other = pb.from_numpy(ROTATION[:, 1])
    part = (vectors[:, 0] * other).sum()
    part = part - part.detach()  # exactly 0
    (slope,) = pb.autograd.grad(part**2, A, create_graph=True)
    (curved,) = pb.autograd.grad((slope * pb.from_numpy(WEIGHTS)).sum(), A, retain_graph=True)
    (first,) = pb.autograd.grad(part, A)
    assert_close(slope.detach().numpy(), np.zeros((10, 10)))
    assert_close(curved.numpy(), 2 * first.numpy() * (first.numpy() * WEIGHTS).sum(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-9])
def test_a_wanted_eigenvalue_equal_to_an_unwanted_one_is_refused(gap):
    A = pb.tensor(with_spectrum(1.0, 1.0 + gap), requires_grad=True)
    _, vectors = lowest(A, 1)
    with pytest.raises(pb.linalg.LinAlgError, match=r"lobpcg.*larger k"):
        (vectors**4).sum().backward()
    assert A.grad is None


def test_the_projector_on_a_whole_group_of_equal_eigenvalues_has_its_gradient():
    A = with_spectrum(1.0, 1.0)
    leaf = pb.tensor(A, requires_grad=True)
    _, vectors = lowest(leaf, 2, tol=1e-14)
    ((vectors @ vectors.mT) * pb.from_numpy(WEIGHTS)).sum().backward()
    # d P = sum over wanted i, others j of (u_j u_j^T dA u_i u_i^T + its transpose) / (d_i - d_j)
    inner = ROTATION.T @ (WEIGHTS + WEIGHTS.T) / 2 @ ROTATION
    values = np.diag(ROTATION.T @ A @ ROTATION)
    expected = np.zeros((10, 10))
    expected[2:, :2] = inner[2:, :2] / (values[:2] - values[2:, None])
    expected = ROTATION @ (expected + expected.T) @ ROTATION.T
    assert_close(leaf.grad.numpy(), expected, rtol=1e-8, atol=1e-8)


def test_single_vectors_of_equal_eigenvalues_are_refused():
    A = pb.tensor(with_spectrum(1.0, 1.0), requires_grad=True)
    _, vectors = lowest(A, 2)
    with pytest.raises(pb.linalg.LinAlgError, match="lobpcg: some of the eigenvalues asked for are equal"):
        (vectors[:, 0] ** 4).sum().backward()


def test_too_few_steps_are_told_unless_they_were_asked_for():
    A = pb.from_numpy(np.diag(1 / np.arange(1.0, 401.0)))
    lowest(A, 1, niter=2)
    with pytest.warns(UserWarning, match="lobpcg: 1000 steps"):
        lowest(A, 1, tol=0.0)


def test_matrices_without_such_pairs_are_refused():
    A, B = np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(pb.linalg.LinAlgError, match="B must be positive definite"):
        lowest(pb.from_numpy(A), 2, B=pb.from_numpy(B))
    with pytest.raises(pb.linalg.LinAlgError, match="inf or nan"):
        lowest(pb.full((4, 4), np.inf), 1)


def test_integers_become_floating_point():
    values = pb.lobpcg(pb.from_numpy(np.diag(np.arange(5))), 2)[0]
    assert values.dtype == np.float64
    assert_close(values.numpy(), np.array([4.0, 3.0]))


@pytest.mark.parametrize("power", [1, 2])
def test_curvature_of_symmetric_functions_of_equal_eigenvalues_is_right_or_refused(power):
    A, direction = with_spectrum(1.0, 1.0), WEIGHTS + WEIGHTS.T
    leaf = pb.tensor(A, requires_grad=True)
    values, _ = lowest(leaf, 2, tol=1e-13)
    (slope,) = pb.autograd.grad((values if power == 1 else values**2).sum(), leaf, create_graph=True)
    along = (slope * pb.from_numpy(direction)).sum()
    if power == 2:
        with pytest.raises(pb.linalg.LinAlgError, match="vectors and values together"):
            pb.autograd.grad(along, leaf)
        return
    curvature = (pb.autograd.grad(along, leaf)[0].numpy() * direction).sum()
    step = 1e-3
    sums = [np.linalg.eigvalsh(A + t * direction)[:2].sum() for t in (-step, 0, step)]
    assert_close(curvature, (sums[0] - 2 * sums[1] + sums[2]) / step**2, rtol=1e-4, atol=0)
