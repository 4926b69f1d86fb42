"""OpInfo records of the normalisations of nn.functional over batches, instances, norms and neighbours."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on

__all__ = ["OPINFOS"]

PUBLIC = "nn.functional."


# -- references ------------------------------------------------------------------------------------------------------
def channels(v, x):
    """A vector of channels beside x."""
    return v.reshape((-1,) + (1,) * (x.ndim - 2))


def standard(x, axis, eps, weight=None, bias=None):
    """Mean 0 and variance 1, then scaled and shifted, all in the dtype of x."""
    out = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + x.dtype.type(eps))
    return out if weight is None else out * channels(weight, x) + channels(bias, x)


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """By the moments of the batch or those given."""
    if training:
        return standard(x, (0, *range(2, x.ndim)), eps, weight, bias)
    out = (x - channels(mean, x)) / np.sqrt(channels(var, x) + x.dtype.type(eps))
    return out if weight is None else out * channels(weight, x) + channels(bias, x)


def native_batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    """With the moments of the batch."""
    out = batch_norm(x, mean, var, weight, bias, training, momentum, eps)
    if not training:
        return out, np.zeros(0, x.dtype), np.zeros(0, x.dtype)
    axes = (0, *range(2, x.ndim))
    return out, x.mean(axes), 1 / np.sqrt(x.var(axes) + x.dtype.type(eps))


def instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """By the moments of each channel of each input."""
    if not use_input_stats:
        return batch_norm(x, mean, var, weight, bias, False, momentum, eps)
    return standard(x, tuple(range(2, x.ndim)), eps, weight, bias)


def native_layer_norm(x, shape, weight, bias, eps):
    """With the moments."""
    axis = tuple(range(-len(shape), 0))
    out = standard(x, axis, eps)
    out = out if weight is None else out * weight + bias
    rstd = 1 / np.sqrt(x.var(axis, keepdims=True) + x.dtype.type(eps))
    return out, x.mean(axis, keepdims=True), rstd


def native_group_norm(x, weight, bias, n, c, hw, group, eps):
    """With the moments."""
    out, mean, rstd = native_layer_norm(x.reshape(n, group, c // group * hw), (c // group * hw,), None, None, eps)
    out = out.reshape(x.shape)
    out = out if weight is None else out * channels(weight, x) + channels(bias, x)
    return out, mean[..., 0], rstd[..., 0]


def rms_norm(x, shape, weight=None, eps=None):
    """By the root of the mean square."""
    axis = tuple(range(-len(shape), 0))
    eps = x.dtype.type(np.finfo(x.dtype).eps if eps is None else eps)
    return x / np.sqrt((x * x).mean(axis, keepdims=True) + eps) * (1 if weight is None else weight)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    """Channel by channel."""
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        near = x[:, max(0, c - size // 2) : c + (size - 1) // 2 + 1]
        out[:, c] = x[:, c] / (k + alpha * np.sum(near * near, 1) / size) ** beta
    return out


def normalize(x, p=2.0, dim=1, eps=1e-12):
    """By the norm."""
    return x / np.maximum(np.linalg.norm(x, p, dim, keepdims=True), eps).astype(x.real.dtype)


# -- samples ---------------------------------------------------------------------------------------------------------
def batch_samples(make):
    """Training and not, with and without weights, in several dimensions, strided.

    Running statistics that training would change are tested in tests/ops/test_normalisations.py.
    """
    for shape in ((3, 2), (2, 2, 2)):
        for training in (True, False):
            stats = (None, None) if training else (make.constant((2,)), make.constant((2,), low=0.5, high=1.5))
            yield Sample(make(shape), *stats, make((2,)), make((2,)), training, 0.2, 0.1)
    yield Sample(make((3, 2), noncontiguous=True), None, None, training=True)
    yield Sample(make((0, 2)), make.constant((2,)), make.constant((2,), low=0.5, high=1))


def native_batch_samples(make):
    """Training and not."""
    for training in (True, False):
        stats = (None, None) if training else (make.constant((2,)), make.constant((2,), low=0.5, high=1.5))
        yield Sample(make((2, 2, 2)), make((2,)), make((2,)), *stats, training, 0.1, 0.1)


def instance_samples(make):
    """By the input's statistics, or those given."""
    stats = make.constant((2,)), make.constant((2,), low=0.5, high=1.5)
    yield Sample(make((2, 2, 3)), eps=0.1)
    yield Sample(make((1, 2, 2, 2), noncontiguous=True), None, None, make((2,)), make((2,)), eps=0.1)
    yield Sample(make((2, 2, 2)), *stats, make((2,)), make((2,)), False)


CONSTANT = "eps keeps a constant input finite"
OPINFOS = [
    OpInfo(PUBLIC + "batch_norm", batch_norm, batch_samples, dtypes=FLOATS,
           limits=[Limit(at=([[2.0], [2.0]],), kwargs={"running_mean": None, "running_var": None, "training": True},
                         value=[[0.0], [0.0]], grad=(0.0, 0.0), because=CONSTANT)],
           errors=[Raises(ValueError, naming=("batch_norm", "more than one", "(1, 2)"),
                          args=(np.ones((1, 2)), None, None), kwargs={"training": True}),
                   Raises(RuntimeError, naming=("batch_norm", "running_mean", "training"),
                          args=(np.ones((2, 2)), None, None)),
                   Raises(RuntimeError, naming=("batch_norm", "weight", "(2,)", "(3,)"),
                          args=(np.ones((2, 2)), np.ones(2), np.ones(2), np.ones(3)))]),
    OpInfo("native_batch_norm", native_batch_norm, native_batch_samples, dtypes=FLOATS),
    OpInfo(PUBLIC + "instance_norm", instance_norm, instance_samples, dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("instance_norm", "(2, 2, 1)"), args=(np.ones((2, 2, 1)),))]),
    OpInfo(PUBLIC + "rms_norm", rms_norm,
           cases(on((2, 3), (3,)), on((2, 3), (2, 3), T((2, 3))), on((2, 3), (3,), None, 0.1), on((0, 3), (3,)),
                 noncontiguous=True), dtypes=FLOATS, complex=True,
           limits=[Limit(at=([0.0, 0.0],), kwargs={"normalized_shape": (2,), "eps": 0.25}, value=(0.0, 0.0),
                         grad=(2.0, 2.0), because=CONSTANT)],
           errors=[Raises(RuntimeError, naming=("rms_norm", "(2,)", "(2, 3)"), args=(np.ones((2, 3)), (2,)))]),
    OpInfo("native_layer_norm", native_layer_norm,
           cases(on((2, 3), (3,), None, None, 0.1), on((2, 3), (3,), T((3,)), T((3,)), 0.1)), dtypes=FLOATS),
    OpInfo("native_group_norm", native_group_norm,
           cases(on((2, 2, 2), None, None, 2, 2, 2, 1, 0.1), on((1, 2, 2), T((2,)), T((2,)), 1, 2, 2, 2, 0.1)),
           dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("native_group_norm", "3 channels", "2 groups"),
                          args=(np.ones((1, 3, 2)), None, None, 1, 3, 2, 2, 0.1))]),
    OpInfo(PUBLIC + "local_response_norm", local_response_norm,
           cases(on((1, 3, 2), 2, 0.5), on((1, 4, 1, 2), 3, 0.5, 0.5, 2.0), on((0, 2, 2), 2), noncontiguous=True),
           dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("local_response_norm", "3 dimensions"), args=(np.ones((2, 2)), 2))]),
    OpInfo(PUBLIC + "normalize", normalize,
           cases(on((2, 3)), on((3,), 1.0, 0), on((2, 3), 3.0, dim=-1), on((0, 3)), noncontiguous=True, away_from=0),
           dtypes=FLOATS, complex=True,
           limits=[Limit(at=([0.0, 0.0],), kwargs={"dim": 0, "eps": 0.5}, value=(0.0, 0.0), grad=(2.0, 2.0),
                         because="0 has no direction: its norm counts as eps")]),
]  # fmt: skip
