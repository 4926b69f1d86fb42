"""float16 holds no count beyond 65504: what divides by one is right all the same, forward, backward and in jvp."""

import numpy as np
import pytest

import pullback as pb
import pullback.nn.functional as F

N = 70_004


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: x.mean(),
        lambda x, t: x.var(),
        lambda x, t: x.std(),
        lambda x, t: pb.nanmean(x),
        lambda x, t: F.mse_loss(x, t),
        lambda x, t: F.l1_loss(x, t),
        lambda x, t: (F.layer_norm(x, (N,)) * t).mean(),
        lambda x, t: (F.rms_norm(x, (N,)) * t).mean(),
        lambda x, t: (F.group_norm(x.reshape(1, 4, -1), 2).reshape(-1) * t).mean(),
        lambda x, t: (F.batch_norm(x.reshape(-1, 2), None, None, training=True).reshape(-1) * t).mean(),
    ],
    ids=["mean", "var", "std", "nanmean", "mse", "l1", "layer_norm", "rms_norm", "group_norm", "batch_norm"],
)
def test_many_halves(function):
    rng = np.random.default_rng(0)
    halves = rng.normal(size=N).astype(np.float16), (rng.normal(size=N) + 1).astype(np.float16)
    found = []
    for dtype in (np.float16, np.float64):
        x, t = (a.astype(dtype) for a in halves)
        leaf = pb.tensor(x, requires_grad=True)
        value = function(leaf, pb.tensor(t))
        (value * 1024).backward()
        tangent = pb.func.jvp(lambda x, t=t: function(x, pb.tensor(t)), (x,), (t,))[1]
        assert leaf.grad.dtype == value.dtype == dtype
        found.append((value.item(), leaf.grad.numpy().astype(float), np.asarray(tangent).item()))
    (value, grad, tangent), (true_value, true_grad, true_tangent) = found
    assert abs(value - true_value) < 2e-3
    assert np.abs(grad - true_grad).max() < 5e-3 * np.abs(true_grad).max()
    assert abs(tangent - true_tangent) < 5e-3 * max(1, abs(true_tangent))


def test_layer_norm_of_halves_of_small_variance():
    x = np.array([0.01, -0.01, 0.02, 0.0], np.float16)
    grads = [pb.func.grad(lambda x: (F.layer_norm(x, (4,)) ** 3).sum())(x.astype(d)) for d in (np.float16, float)]
    assert np.allclose(grads[0], grads[1], rtol=1e-2, atol=0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda z: F.layer_norm(z, (4,)),
        lambda z: F.group_norm(z, 2),
        lambda z: F.batch_norm(z, None, None, training=True),
        lambda z: F.instance_norm(z.reshape(1, 2, 4)),
        lambda z: pb.native_layer_norm(z, (4,), None, None, 1e-5),
        lambda z: F.max_pool1d(z, 2),
        lambda z: F.adaptive_max_pool1d(z, 2),
        lambda z: F.fractional_max_pool2d(z.reshape(1, 1, 2, 4), 1, (1, 2)),
        lambda z: pb.histc(z),
        lambda z: pb.histogram(z, 3),
        lambda z: pb.histogram(z.real, z[0]),
    ],
)
def test_complex_numbers_have_neither_order_nor_a_variance_here(call):
    with pytest.raises(RuntimeError, match=r"must be real|no order"):
        call(pb.tensor(np.arange(8).reshape(2, 4) * 1j))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(dim=0, axis=1),
        lambda x: x.sum(0, axis=1),
        lambda x: x.max(0, axis=1),
        lambda x: pb.softmax(x, dim=0, axis=1),
        lambda x: pb.fft.fft(x, dim=0, axis=1),
        lambda x: x.cumsum(0, axis=0),
        lambda x: x.squeeze(0, axis=1),
        lambda x: pb.linalg.norm(x, dim=0, axis=1),
    ],
)
def test_dim_and_axis_together_are_refused(call):
    with pytest.raises(TypeError, match=r"'dim' and 'axis'"):
        call(pb.ones(2, 3))


@pytest.mark.parametrize("name", ["sum", "max"])
def test_keepdim_and_keepdims_together_are_refused(name):
    x = pb.ones(2, 3)
    with pytest.raises(TypeError, match=r"'keepdim' and 'keepdims'"):
        getattr(x, name)(0, keepdim=True, keepdims=False)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3)


def test_none_and_texts_equal_no_tensor():
    x = pb.ones(2)
    found = [x.__eq__(None), x.__ne__(None), x.__eq__("a")]
    assert all(y is NotImplemented for y in found)
    assert (x == "a") is False
    assert None in [x, None]
    assert (x == 1).tolist() == [True, True]
    with pytest.raises(TypeError):
        x.eq(None)
    with pytest.raises(TypeError):
        None in x


@pytest.mark.parametrize("n", [3, 4, 5, -1, -2])
def test_powers_of_halves_are_rounded_once(n):
    x = np.linspace(-5, 5, 300).astype(np.float16)
    x = x[x != 0]
    assert np.array_equal(pb.pow(pb.tensor(x), n).numpy(), np.power(x, n))
