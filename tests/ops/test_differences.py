"""What docs/operators_differences.yaml says of results unlike PyTorch's, where it can be shown without it."""

import mpmath
import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad, gradcheck
from pullback.testing import assert_close

RNG = np.random.default_rng(0)


def tangent(f, x, direction):
    """The forward derivative of f."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.from_numpy(x), pb.from_numpy(direction))
        return forward_ad.unpack_dual(f(dual)).tangent.numpy()


def second(f, x):
    """The gradient of a random functional of the gradient."""
    leaf = pb.tensor(x, requires_grad=True)
    (grad,) = pb.autograd.grad(f(leaf).sum(), leaf, create_graph=True)
    weights = pb.from_numpy(np.random.default_rng(1).standard_normal(x.shape))
    return grad.detach().numpy(), pb.autograd.grad((grad * weights).sum(), leaf)[0].numpy()


def test_the_square_of_bool_has_numpys_dtype():
    assert pb.square(pb.tensor(True)).dtype == np.square(np.True_).dtype


def test_dtypes_of_integers_are_those_of_numpy():
    numbers, single, bound = np.arange(6).reshape(2, 3), np.ones(3, np.float32), np.array([0, 1, 2], np.int32)
    weighted = pb.cov(pb.from_numpy(numbers), aweights=pb.from_numpy(single))
    assert weighted.dtype == np.cov(numbers, aweights=single).dtype
    assert pb.clamp(pb.from_numpy(single), pb.from_numpy(bound)).dtype == np.clip(single, bound, None).dtype
    assert pb.masked.var(pb.from_numpy(numbers), 0).dtype == np.var(numbers, 0).dtype


def test_memory_is_not_exchanged_in_place():
    with pytest.raises(RuntimeError, match="addbmm_"):
        pb.ones(1).addbmm_(pb.ones(2, 3, 4), pb.ones(2, 4, 5))
    with pytest.raises(RuntimeError, match="resize_"):
        pb.ones(2, 3).resize_((4, 3))
    with pytest.raises(RuntimeError, match="resize_as_"):
        pb.ones(2, 3).resize_as_(pb.ones(4, 3))


@pytest.mark.parametrize("how", [((2, 2), (1, 2), 0), ((2, 2), (1, 2), 1), ((2, 2), (2, 1), 0), ((3,), (3,), 2)])
def test_as_strided_scatter_has_the_gradients_of_finite_differences(how):
    size, stride, offset = how
    leaves = [pb.tensor(RNG.standard_normal(s), requires_grad=True) for s in ((3, 3), size)]
    assert gradcheck(lambda x, src: pb.as_strided_scatter(x, src, size, stride, offset), leaves)


@pytest.mark.parametrize("upper", [False, True])
def test_the_tangent_of_cholesky_inverse_is_that_of_a_complex_step(upper):
    factor, direction = np.tril(RNG.standard_normal((2, 4, 4)))
    stepped = factor + 1e-30j * direction
    expected = np.linalg.inv(stepped @ stepped.T).imag / 1e-30
    turned = (factor.T, direction.T) if upper else (factor, direction)
    found = tangent(lambda x: pb.cholesky_inverse(x, upper=upper), *(np.ascontiguousarray(a) for a in turned))
    assert_close(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("imaginary", [0, 1])
def test_the_tangent_of_logcumsumexp_is_exact_where_terms_differ_much(imaginary):
    numbers = np.array([8.5, -8.9, -3.0, 2.0, 8.9, -7.0])
    x, direction = numbers + imaginary * 1j * numbers[::-1] / 9, RNG.standard_normal(6) * (1 + imaginary * 0.5j)
    x, direction = (a if imaginary else a.real for a in (x, direction))
    with mpmath.workdps(40):
        terms = [mpmath.exp(mpmath.mpmathify(v)) for v in x.tolist()]
        moved = [t * mpmath.mpmathify(d) for t, d in zip(terms, direction.tolist(), strict=True)]
        expected = [complex(mpmath.fsum(moved[: i + 1]) / mpmath.fsum(terms[: i + 1])) for i in range(6)]
    expected = np.array(expected) if imaginary else np.array(expected).real
    assert_close(tangent(lambda a: pb.logcumsumexp(a, 0), x, direction), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_bessel_functions_past_5_are_those_of_mpmath(name):
    x = np.linspace(5.0, 40.0, 71)
    function = {"j": mpmath.besselj, "y": mpmath.bessely}[name[0]]
    expected = np.array([float(function(int(name[1]), v)) for v in x.tolist()])
    found = getattr(pb.special, f"bessel_{name}")(pb.from_numpy(x)).numpy()
    assert_close(found, expected, rtol=0, atol=3e-15)


@pytest.mark.parametrize("order", [2, -2, "nuc", "fro", None])
def test_norms_at_0_have_zero_gradients_of_every_order(order):
    for found in second(lambda x: pb.linalg.norm(x, order), np.zeros((3, 3))):
        assert_close(found, np.zeros((3, 3)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin", "logsumexp"])
def test_wholly_masked_slices_have_zero_gradients_of_every_order(name):
    mask = np.array([[True, True, False], [False, False, False]])
    function = getattr(pb.masked, name)
    # Of one sign: a wholly masked slice is infinite in the forward, and inf - inf would be no test of gradients.
    shares = pb.from_numpy(RNG.uniform(0.5, 1.5, 2 if name == "logsumexp" else (2, 3)))
    for found in second(lambda x: function(x, 1, mask=pb.from_numpy(mask)) * shares, RNG.standard_normal((2, 3))):
        assert_close(found[~mask], np.zeros(4))
        assert np.isfinite(found).all()
        assert found[mask].all()


def test_the_gradient_of_a_wholly_masked_mean_does_not_depend_on_its_cotangent():
    x, cotangent = pb.ones(2, 2, requires_grad=True), pb.ones(2, requires_grad=True)
    mean = pb.masked.mean(x, 1, mask=pb.tensor([[True, True], [False, False]]))
    (grad,) = pb.autograd.grad(mean, x, cotangent, create_graph=True)
    assert_close(grad.detach().numpy(), np.array([[0.5, 0.5], [0.0, 0.0]]))
    assert_close(pb.autograd.grad(grad.sum(), cotangent)[0].numpy(), np.array([1.0, 0.0]))


def test_dropout_that_drops_nothing_does_not_count_as_a_write():
    x = pb.ones(2, 3, 4, 4, requires_grad=True) * 1
    square = x * x
    pb.nn.functional.dropout3d(x, p=0.0, inplace=True)
    square.sum().backward()  # would raise if x had been written


def test_a_low_rank_approximation_converges_to_the_singular_values():
    A = RNG.standard_normal((2, 6, 4)) @ np.diag([9.0, 5.0, 1.0, 0.1])
    pb.manual_seed(0)
    U, S, V = pb.svd_lowrank(pb.from_numpy(A), 2, niter=30)
    u, s, vh = np.linalg.svd(A, full_matrices=False)
    assert_close(S.numpy(), s[:, :2], rtol=1e-12, atol=0)
    best = (u[..., :2] * s[:, None, :2]) @ vh[:, :2]
    assert_close((U * S.unsqueeze(-2) @ V.mT).numpy(), best, rtol=1e-10, atol=1e-10)
