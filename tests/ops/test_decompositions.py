"""Linear algebra where theory decides: equal eigenvalues, singular matrices, gauge freedom, third derivatives."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.testing import assert_close

RNG = np.random.default_rng(0)
ROTATION = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
TWICE = ROTATION @ np.diag([1.0, 1.0, 4.0]) @ ROTATION.T  # eigenvalues equal but for rounding
WEIGHTS = RNG.standard_normal((3, 3))


def gradient(f, *arrays):
    """Gradients of f, a number, at arrays."""
    leaves = [pb.tensor(a, requires_grad=True) for a in arrays]
    return [g.numpy() for g in pb.autograd.grad(f(*leaves), leaves)]


def differences(f, a, step=1e-6):
    """The same by differences."""
    found = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        moved = np.zeros_like(a)
        moved[i] = step
        found[i] = (f(pb.tensor(a + moved)).item() - f(pb.tensor(a - moved)).item()) / (2 * step)
    return found


@pytest.mark.parametrize("power", [1, 2, 3])
def test_symmetric_functions_of_equal_eigenvalues_have_their_gradient(power):
    for a in (np.eye(3), 2 * np.eye(3), TWICE):
        (found,) = gradient(lambda x: (pb.linalg.eigvalsh(x) ** power).sum(), a)
        assert_close(found, power * np.linalg.matrix_power(a, power - 1).T, rtol=1e-12, atol=1e-12)
        (found,) = gradient(lambda x: (pb.linalg.eigh(x)[0] ** power).sum(), a)
        assert_close(found, power * np.linalg.matrix_power(a, power - 1).T, rtol=1e-12, atol=1e-12)


def test_a_projector_on_the_space_of_equal_eigenvalues_has_its_gradient():
    def projector(x):
        _, vectors = pb.linalg.eigh((x + x.mT) / 2)
        return ((vectors[:, :2] @ vectors[:, :2].mT) * WEIGHTS).sum()

    a = np.diag([1.0, 1.0, 4.0])
    assert_close(gradient(projector, a)[0], differences(projector, a), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("loss", [
    lambda values, vectors: (vectors[:, 0] * WEIGHTS[0]).sum(),
    lambda values, vectors: (((vectors * values.exp()) @ vectors.mT) * WEIGHTS).sum(),
])  # fmt: skip
def test_losses_that_equal_eigenvalues_do_not_determine_are_refused(loss):
    a = pb.tensor(np.eye(3), requires_grad=True)
    value = loss(*pb.linalg.eigh(a))
    with pytest.raises(
        np.linalg.LinAlgError, match=r"linalg.eigh: eigenvalues 0 \(1\) and 1 \(1\) are equal.* not determined"
    ):
        value.backward()
    assert a.grad is None


def test_the_polar_factor_has_its_gradient_where_singular_values_are_equal():
    def polar(x):
        U, _, Vh = pb.linalg.svd(x)
        return ((U @ Vh) * WEIGHTS).sum()

    for a in (np.eye(3), ROTATION * 2, TWICE):
        assert_close(gradient(polar, a)[0], differences(polar, a), rtol=1e-6, atol=1e-7)


def test_the_nuclear_norm_has_the_shortest_subgradient_at_zero():
    assert_close(gradient(lambda x: pb.linalg.norm(x, "nuc"), np.zeros((2, 3)))[0], np.zeros((2, 3)))
    assert_close(gradient(lambda x: pb.linalg.norm(x, "nuc"), np.eye(3))[0], np.eye(3), rtol=1e-12, atol=1e-12)


def test_a_loss_that_depends_on_phases_is_refused():
    a = pb.tensor(TWICE + 1j * (WEIGHTS - WEIGHTS.T) + np.diag([0, 1, 5]), requires_grad=True)
    with pytest.raises(pb.linalg.LinAlgError, match="phases"):
        (pb.linalg.eigh(a)[1] * WEIGHTS).real.sum().backward()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_determinants_of_any_rank_have_two_derivatives(rank):
    a = RNG.standard_normal((3, rank)) @ RNG.standard_normal((rank, 3))

    def slope(x):
        (g,) = pb.autograd.grad(pb.det(x), x, create_graph=True)
        return (g * WEIGHTS).sum()

    assert_close(gradient(pb.det, a)[0], differences(pb.det, a), rtol=1e-7, atol=1e-9)
    second = differences(lambda x: slope(x.requires_grad_()), a)
    assert_close(gradient(slope, a)[0], second, rtol=1e-6, atol=1e-8)


def test_the_third_derivative_of_a_determinant_is_that_of_its_polynomial():
    def polynomial(x):
        a, b, c = x[0, 0], x[0, 1], x[0, 2]
        minors = [x[1, i] * x[2, j] - x[1, j] * x[2, i] for i, j in ((1, 2), (0, 2), (0, 1))]
        return a * minors[0] - b * minors[1] + c * minors[2]

    def third(f):
        x = pb.tensor(WEIGHTS, requires_grad=True)
        value = f(x)
        for order in (1, 2):
            (g,) = pb.autograd.grad(value, x, create_graph=True)
            value = (g * np.cos(np.arange(9.0).reshape(3, 3) * order)).sum()
        return pb.autograd.grad(value, x)[0].numpy()

    assert_close(third(pb.det), third(polynomial), rtol=1e-9, atol=1e-9)


def test_a_singular_matrix_in_a_batch_spoils_only_itself():
    batch = np.stack([np.eye(2), np.zeros((2, 2))])
    x = pb.tensor(batch, requires_grad=True)
    inverse, info = pb.linalg.inv_ex(x)
    assert info.tolist() == [0, 1]
    assert_close(inverse[0], np.eye(2))
    assert inverse[1].isnan().all()
    pb.where(info == 0, pb.linalg.slogdet(x).logabsdet, 0.0).sum().backward()
    assert_close(x.grad, np.stack([np.eye(2), np.zeros((2, 2))]))


@pytest.mark.parametrize("f", [pb.linalg.inv, lambda x: pb.linalg.solve(x, np.ones(2))])
def test_singular_matrices_raise_what_users_of_either_library_catch(f):
    for error in (RuntimeError, np.linalg.LinAlgError, pb.linalg.LinAlgError):
        with pytest.raises(error, match=r"pivot 2 .* is zero"):
            f(pb.tensor([[1.0, 2.0], [2.0, 4.0]]))


def test_least_squares_of_lower_rank_takes_the_shortest_solution():
    a = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    found = pb.linalg.lstsq(pb.tensor(a), pb.tensor([1.0, 2.0, 3.0]))
    assert_close(found.solution, np.linalg.lstsq(a, [1.0, 2.0, 3.0])[0])
    assert found.rank.item() == 1


def test_forward_over_reverse_with_an_output_that_nobody_uses():
    a, t = WEIGHTS + 3 * np.eye(3), np.cos(np.arange(9.0)).reshape(3, 3)

    def slope(x):
        (g,) = pb.autograd.grad((pb.linalg.qr(x).Q * WEIGHTS).sum(), x, create_graph=True)
        return g

    with forward_ad.dual_level():
        x = forward_ad.make_dual(pb.tensor(a, requires_grad=True), pb.tensor(t))
        (g,) = pb.autograd.grad((pb.linalg.qr(x).Q * WEIGHTS).sum(), x)
        found = forward_ad.unpack_dual(g).tangent.numpy()
    steps = [slope(pb.tensor(a + h * t, requires_grad=True)).detach().numpy() for h in (1e-6, -1e-6)]
    assert_close(found, (steps[0] - steps[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_gels_refuses_matrices_of_less_than_full_rank():
    with pytest.raises(pb.linalg.LinAlgError, match="driver='gelsd'"):
        pb.linalg.lstsq(pb.ones(3, 2), pb.ones(3, 1), driver="gels")


def test_solve_names_no_shape_that_nobody_wrote():
    with pytest.raises(RuntimeError, match=r"needs a B of 2 rows, got 3") as caught:
        pb.linalg.solve(pb.eye(2), pb.ones(3))
    assert "(3, 1)" not in str(caught.value)
