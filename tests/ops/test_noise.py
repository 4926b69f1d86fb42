"""Distributions of nn.functional's random operators, and what their masks do to gradients."""

import numpy as np
import pytest

import pullback as pb

F = pb.nn.functional
MANY = 200_000


@pytest.fixture(autouse=True)
def seed():
    pb.manual_seed(0)


@pytest.mark.parametrize(
    ("dropout", "shape"),
    [(F.dropout1d, (500, 40, 3)), (F.dropout2d, (500, 40, 2, 2)), (F.dropout3d, (500, 40, 2, 1, 2))],
)
def test_channels_fall_as_a_whole_and_the_rest_is_scaled(dropout, shape):
    out = dropout(pb.ones(shape), 0.25).numpy().reshape(*shape[:2], -1)
    assert (out == out[..., :1]).all()
    assert set(np.unique(out)) == {0.0, 1 / 0.75}
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(("dropout", "shape"), [(F.dropout1d, (40, 3)), (F.dropout3d, (40, 2, 1, 2))])
def test_an_input_without_batch_has_channels_first(dropout, shape):
    out = dropout(pb.ones(shape)).numpy().reshape(shape[0], -1)
    assert (out == out[:, :1]).all()
    assert len(np.unique(out)) == 2


@pytest.mark.parametrize("dropout", [F.alpha_dropout, F.feature_alpha_dropout])
def test_selu_dropout_keeps_mean_and_variance(dropout):
    out = dropout(pb.randn((MANY, 2)), 0.3, training=True).numpy()
    assert out.mean() == pytest.approx(0.0, abs=0.01)
    assert out.var() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("dropout", [F.dropout1d, F.alpha_dropout, F.feature_alpha_dropout, F.rrelu])
def test_in_place_writes_over_the_input(dropout):
    leaf = pb.full((4, 3), -1.0).requires_grad_()
    x = leaf * 1.0
    out = dropout(x, training=True, inplace=True)
    assert out is x
    (grad,) = pb.autograd.grad(out.sum(), leaf)
    assert np.isfinite(grad.numpy()).all()


def test_rrelu_draws_slopes_between_its_bounds():
    out = -F.rrelu(pb.full((MANY,), -1.0), 0.2, 0.6, training=True).numpy()
    assert 0.2 <= out.min() < 0.201
    assert 0.599 < out.max() <= 0.6
    assert out.mean() == pytest.approx(0.4, abs=0.002)


def test_gumbel_softmax_chooses_by_the_softmax_of_the_logits():
    logits = pb.tensor([0.0, 1.0, 2.0])
    chosen = F.gumbel_softmax(logits.expand((MANY, 3)), hard=True).numpy()
    assert np.allclose(chosen.sum(-1), 1)
    np.testing.assert_allclose(chosen.mean(0), pb.softmax(logits, 0).numpy(), atol=0.01)


def test_a_hard_sample_has_the_gradient_of_the_soft_one():
    weights = np.array([1.0, 2.0, 3.0])
    grads = []
    for hard in (True, False):
        pb.manual_seed(3)
        logits = pb.tensor([0.1, 0.2, 0.3], requires_grad=True)
        (F.gumbel_softmax(logits, hard=hard) * weights).sum().backward()
        grads.append(logits.grad.numpy())
    np.testing.assert_allclose(*grads)


def test_attention_drops_weights():
    query, key, value = pb.randn((50, 4)), pb.randn((60, 4)), pb.ones((60, 1))
    kept = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5).numpy()
    assert kept.mean() == pytest.approx(1.0, abs=0.1)
    assert kept.std() > 0.01
