"""What the records of normalisations do not show: the running statistics that training moves."""

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional


def batch():
    """Five inputs of two channels with three elements each."""
    return np.random.default_rng(0).standard_normal((5, 2, 3))


def test_batch_norm_moves_the_running_statistics_towards_those_of_the_batch():
    x, mean, var = batch(), pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    F.batch_norm(pb.tensor(x, requires_grad=True), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), 0.75 * np.array([1, 2]) + 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.75 * np.array([3, 4]) + 0.25 * x.var((0, 2), ddof=1))
    assert not mean.requires_grad
    assert not var.requires_grad


def test_instance_norm_averages_the_statistics_of_the_instances():
    x, mean, var = batch(), pb.zeros(2), pb.zeros(2)
    F.instance_norm(pb.tensor(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.mean(2).mean(0))
    np.testing.assert_allclose(var.numpy(), 0.5 * x.var(2, ddof=1).mean(0))


def test_statistics_are_left_alone_when_not_training():
    mean, var = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    F.batch_norm(pb.tensor(batch()), mean, var)
    F.instance_norm(pb.tensor(batch()), mean, var, use_input_stats=False)
    assert mean.tolist() == [1.0, 2.0]
    assert var.tolist() == [3.0, 4.0]


def test_statistics_may_be_plain_arrays():
    x, mean, var = batch(), np.zeros(2), np.ones(2)
    F.batch_norm(pb.tensor(x, requires_grad=True), mean, var, training=True, momentum=1.0)
    np.testing.assert_allclose(mean, x.mean((0, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_batch_norm_gives_the_statistics_it_used(dtype):
    x = batch().astype(dtype)
    out, mean, inverse = pb.native_batch_norm(pb.tensor(x), None, None, None, None, True, 0.1, 1e-5)
    expected = (x - mean.numpy()[:, None]) * inverse.numpy()[:, None]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert out.dtype == mean.dtype == inverse.dtype == dtype


@pytest.mark.parametrize("norm", [F.batch_norm, F.instance_norm])
def test_an_empty_batch_leaves_the_statistics_alone(norm):
    mean, var = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    how = {"training": True} if norm is F.batch_norm else {}
    assert norm(pb.zeros((0, 2, 3)), mean, var, **how).shape == (0, 2, 3)
    assert mean.tolist() == [1.0, 2.0]
    assert var.tolist() == [3.0, 4.0]
