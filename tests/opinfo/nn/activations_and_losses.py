"""OpInfo records of the operators of the area nn."""

import math

import numpy as np
from scipy.special import expit, log_expit, ndtr, xlogy
from scipy.special import log_softmax as scipy_log_softmax
from scipy.special import softmax as scipy_softmax

from pullback.core.array_type import TENSOR
from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Plain, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on, unary

INF = float("inf")
PUBLIC = "nn.functional."


# -- references ------------------------------------------------------------------------------------------------------
def gelu(x, approximate="none"):
    """By the distribution function, or by tanh."""
    if approximate == "none":
        return x * ndtr(x)
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_backward(grad, x, output, approximate="none"):
    """grad times the derivative, by a complex step where there is tanh."""
    del output
    if approximate == "none":
        return grad * (ndtr(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    return grad * (gelu(x + 1e-30j, "tanh").imag / 1e-30)


def reduced(loss):
    """A loss of each element, with `reduction`."""

    def reference(*args, reduction="mean", **kwargs):
        out = loss(*args, **kwargs)
        return {"none": lambda x: x, "mean": np.mean, "sum": np.sum}[reduction](out)

    return reference


def smooth_l1(x, y, beta=1.0):
    """Square within beta, straight beyond."""
    error = np.abs(x - y)
    return np.where(error < beta, error**2 / 2 / (beta or 1), error - beta / 2)


def huber(x, y, reduction="mean", delta=1.0):
    """delta times smooth_l1."""
    return reduced(smooth_l1)(x, y, reduction=reduction, beta=delta) * delta


def classes_last(x):
    """The classes moved from their place, dimension 1 (0 for one row), to the end."""
    return x if x.ndim == 1 else np.moveaxis(x, 1, -1)


def nll(x, target, weight=None, *, reduction="mean", ignore_index=-100, smoothing=0.0):
    """Element by element."""
    x = classes_last(x)
    weight = np.ones(x.shape[-1], x.dtype) if weight is None else weight
    loss, total = np.zeros(target.shape, x.dtype), 0.0
    for i in np.ndindex(target.shape):
        k = target[i]
        if k != ignore_index:
            smooth = np.sum(weight * x[i]) / x.shape[-1]
            loss[i] = -(1 - smoothing) * weight[k] * x[i][k] - smoothing * smooth
            total += weight[k]
    if reduction == "none":
        return loss
    return np.sum(loss) / (x.dtype.type(total) if reduction == "mean" else 1)


def cross_entropy(x, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """For class indices and class probabilities."""
    log_p = scipy_log_softmax(x, axis=0 if x.ndim == 1 else 1)
    if target.shape != x.shape:
        return nll(log_p, target, weight, reduction=reduction, ignore_index=ignore_index, smoothing=label_smoothing)
    log_p, target = classes_last(log_p), classes_last(target)
    target = target * (1 - label_smoothing) + label_smoothing / log_p.shape[-1]
    loss = -np.sum(log_p * target * (1 if weight is None else weight), -1)
    return {"none": lambda x: x, "mean": np.mean, "sum": np.sum}[reduction](loss)


def cross_entropy_of_rows(x, target, reduction="mean", ignore_index=-100):
    """cross_entropy for class indices alone."""
    return cross_entropy(x, target, reduction=reduction, ignore_index=ignore_index)


def cross_entropy_rows_backward(grad, x, target, reduction="mean", ignore_index=-100):
    """Softmax less unit vectors, row by row."""
    kept = target != ignore_index
    out = np.where(kept[:, None], scipy_softmax(x, axis=1), 0)
    out[kept, target[kept]] -= 1
    share = grad / x.dtype.type(kept.sum()) if reduction == "mean" else grad
    return out * (share[:, None] if reduction == "none" else share)


def nll_backward(grad, sizes, target, weight=None, *, reduction="mean", ignore_index=-100):
    """The transpose of nll, column by column of the identity."""
    out = np.zeros(sizes, grad.dtype)
    for i in np.ndindex(*sizes):
        unit = np.zeros(sizes, grad.dtype)
        unit[i] = 1
        out[i] = np.sum(grad * nll(unit, target, weight, reduction=reduction, ignore_index=ignore_index))
    return out


def bce(x, t, weight=1.0):
    """By logarithms."""
    return -weight * (t * np.log(x) + (1 - t) * np.log1p(-x))


def bce_logits(x, t, weight=1.0, *, pos_weight=1.0):
    """By the logarithm of the logistic function."""
    return -weight * (pos_weight * t * log_expit(x) + (1 - t) * log_expit(-x))


def kl_div(x, t, *, reduction="mean", log_target=False):
    """With batchmean."""
    loss = np.exp(t) * (t - x) if log_target else xlogy(t, t) - t * x
    return np.sum(loss) / x.shape[0] if reduction == "batchmean" else reduced(lambda v: v)(loss, reduction=reduction)


def layer_norm(x, shape, weight=1, bias=0, eps=1e-5):
    """By the mean and the variance of the last dimensions."""
    axis = tuple(range(-len(shape), 0))
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps) * weight + bias


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    """layer_norm of each group of channels."""
    out = np.concatenate([layer_norm(part, part.shape[1:], eps=eps) for part in np.split(x, groups, 1)], 1)
    shape = (-1,) + (1,) * (x.ndim - 2)
    return out if weight is None else out * weight.reshape(shape) + bias.reshape(shape)


def cosine_similarity(x, y, dim=1, eps=1e-8):
    """By the norms."""
    x, y = np.broadcast_arrays(x, y)
    norms = [np.maximum(np.sqrt(np.sum(v * v, dim, keepdims=True)), eps) for v in (x, y)]
    return np.sum(x / norms[0] * (y / norms[1]), dim)


def prelu(x, weight):
    """Channels are dimension 1."""
    weight = weight.reshape([-1 if i == 1 else 1 for i in range(x.ndim)]) if weight.size > 1 else weight.reshape(())
    return np.where(x > 0, x, weight * x)


def embedding(index, weight, max_norm=None):
    """Rows, shortened to max_norm."""
    rows = weight[index]
    norm = np.sqrt(np.sum(rows**2, -1, keepdims=True))
    return rows if max_norm is None else rows * np.where(norm > max_norm, max_norm / (norm + 1e-7), 1)


def embedding_backward(grad, index, count):
    """One gradient after the other."""
    out = np.zeros((count, grad.shape[-1]), grad.dtype)
    for i in np.ndindex(index.shape):
        out[index[i]] += grad[i]
    return out


# -- samples ---------------------------------------------------------------------------------------------------------
def linear_samples(make):
    """One row, many, batches, none; with and without bias; a transposed weight."""
    for shape in ((3,), (2, 3), (2, 2, 3), (0, 3)):
        yield Sample(make(shape), make((4, 3)), make((4,)))
        yield Sample(make(shape), make((3, 4)).T)
    yield Sample(make((2, 3), noncontiguous=True), make((3,)))


def embedding_samples(make):
    """Indices in one and two dimensions, with repetitions."""
    yield Sample(np.array([[0, 2], [2, 2]]), make((3, 2)))
    yield Sample(np.array(1), make((3, 2)))
    yield Sample(np.zeros((0,), np.int64), make((3, 2)))


def gelu_backward_samples(make):
    """Both approximations; the output, which follows from the input, is left to `gelu_backward_from_input`."""
    for how in ("none", "tanh"):
        yield Sample(make((2, 3)), make((2, 3), noncontiguous=True), None, how)
        yield Sample(make(()), make(()), None, how)


def gelu_backward_from_input(grad, x, output, approximate):
    """gelu_backward as gelu's own formula calls it."""
    del output
    result = TENSOR.gelu(x, approximate=approximate).detach()
    return TENSOR.gelu_backward(grad, x, result, approximate=approximate)


def both(shape=(2, 3), low=None, high=None, **kwargs):
    """Two inputs of one shape, each element well apart from the other's, under every reduction."""

    def samples(make):
        for reduction in ("none", "mean", "sum"):
            first = make(shape, low=low, high=high)
            yield Sample(first, make(shape, low=low, high=high), reduction=reduction, **kwargs)
        yield Sample(make((), low=low, high=high), make((), low=low, high=high), **kwargs)
        yield Sample(make((3, 2), low=low, high=high).T, make(shape, low=low, high=high, noncontiguous=True), **kwargs)

    return samples


def class_samples(probabilities=False, smoothing=(None,)):
    """(N, C), (C,) and (N, C, d) with class indices: weights, an ignored class, every reduction."""

    def samples(make):
        for extra in ({} if s is None else {"label_smoothing": s} for s in smoothing):
            for shape, targets in (((3, 4), (3,)), ((4,), ()), ((2, 3, 2), (2, 2))):
                classes = shape[0] if len(shape) == 1 else shape[1]
                for reduction in ("mean", "sum", "none"):
                    index = make.index(targets, classes - 1) + 1  # never 0, so that 0 may be ignored
                    index = np.asarray(index)
                    yield Sample(make(shape), index, reduction=reduction, **extra)
                    if index.ndim:
                        index.flat[0] = 0
                        weight = make.constant((classes,), low=0.5, high=1.5)
                        yield Sample(make(shape), index, weight, ignore_index=0, reduction=reduction, **extra)
                    if probabilities:
                        yield Sample(make(shape), make(shape, low=0.1, high=1), reduction=reduction, **extra)
                        weight = make.constant((classes,), low=0.5, high=1.5)
                        yield Sample(make(shape), make(shape, low=0.1, high=1), weight, reduction=reduction, **extra)

    return samples


def row_samples(make):
    """Every reduction; scores near and far apart, in other orders in memory; a class that is ignored."""
    for reduction in ("mean", "sum", "none"):
        index = np.array([2, 0, 1])
        yield Sample(make((3, 4)), index, reduction)
        yield Sample(make((3, 4), low=-20, high=20), index, reduction)
        yield Sample(make((4, 3)).T, index, reduction, 0)
    yield Sample(make((3, 4), noncontiguous=True), np.array([2, -100, 3]))
    yield Sample(make((2, 70)), np.array([2, 69]))
    yield Sample(make((0, 3)), np.zeros(0, np.int64), "sum")


def row_backward_samples(make):
    """The samples of the loss, with a cotangent."""
    for sample in row_samples(make):
        rows = sample.args[0].shape[0]
        yield Sample(make((rows,) if "none" in sample.args[2:] else ()), *sample.args)


def nll_backward_samples(make):
    """Every reduction, with weights and without."""
    for reduction in ("mean", "sum", "none"):
        shape = (3,) if reduction == "none" else ()
        index = np.array([2, 0, 1])
        yield Sample(make(shape), (3, 4), index, reduction=reduction)
        weight = make.constant((4,), low=0.5, high=1.5)
        yield Sample(make(shape), (3, 4), index, weight, reduction=reduction, ignore_index=0)


def activation(name, reference, kinks=(), *args, complex=False, limits=(), errors=(), more=(), **kwargs):
    """An elementwise function with its kinks."""
    samples = [unary(*args, away_from=kinks, **kwargs), *(unary(away_from=kinks, **extra) for extra in more)]
    return OpInfo(PUBLIC + name, reference, lambda make: (s for several in samples for s in several(make)),
                  dtypes=FLOATS, complex=complex, limits=limits, errors=errors)  # fmt: skip


SOFT = cases(
    on((3,), 0), on((2, 3), 1), on((2, 3), -2), on((2, 3, 2), dim=1), on((), 0), on((0, 2), 1), noncontiguous=True
)


def along(function):
    """scipy.special's softmax and its like, with dim."""
    return lambda x, dim: function(x, axis=dim) if x.ndim else function(x)


# -- records ---------------------------------------------------------------------------------------------------------
BAD_REDUCTION = {"args": (np.ones(2), np.ones(2)), "kwargs": {"reduction": "average"}}
LARGE = "exp(800) overflows, the answer does not"
FAR = "in the tails the distribution function is 0 or 1, and no infinity times zero is formed"

OPINFOS = [
    OpInfo(PUBLIC + "linear", lambda x, w, b=0: x @ w.T + b, linear_samples, complex=True, check_dtype=False,
           errors=[Raises(RuntimeError, naming=("linear", "(2, 3)", "(4, 5)", "in_features"),
                          args=(np.ones((2, 3)), np.ones((4, 5))))]),
    OpInfo(PUBLIC + "dropout", None, cases(on((2, 3)), on((2, 3), 0.25), on((3,), p=0.0), on((3,), p=1.0),
           on((3,), training=False), on((), 0.5)), dtypes=FLOATS, random=True, because="the mask is random",
           errors=[Raises(ValueError, naming=("dropout", "1.5"), args=(np.ones(2), 1.5))]),
    OpInfo("native_dropout", None, cases(on((2, 3), 0.25), on((3,), 0.5, True)), dtypes=FLOATS, random=True,
           because="the mask is random"),
    OpInfo(PUBLIC + "embedding", embedding, embedding_samples, dtypes=FLOATS,
           limits=[Limit(at=(Plain(np.array([0, 1])), [[1.0], [2.0]]), kwargs={"padding_idx": 1}, grad=(1.0, 0.0),
                         because="the padding row is not trained")],
           errors=[Raises(RuntimeError, naming=("embedding", "2-D"), args=(np.array([0]), np.ones(3))),
                   Raises(IndexError, naming=("embedding", "5", "3 rows"), args=(np.array([5]), np.ones((3, 2))))]),
    OpInfo("embedding_rows", lambda index, weight: weight[index], embedding_samples, dtypes=FLOATS),
    OpInfo("embedding_rows_backward", embedding_backward, lambda make: [
           Sample(make((3, 2)), np.array([0, 3, 0]), 4), Sample(make((2, 2, 1)), np.array([[0, 1], [1, 1]]), 2)],
           dtypes=FLOATS),
    OpInfo(PUBLIC + "layer_norm", layer_norm, cases(on((2, 3), (3,)), on((2, 3), (2, 3), T((2, 3)), T((2, 3))),
           on((2, 2, 3), (3,), T((3,)), T((3,)), 0.1), on((0, 3), (3,)), noncontiguous=True), dtypes=FLOATS,
           limits=[Limit(at=([2.0, 2.0],), kwargs={"normalized_shape": (2,)}, value=(0.0, 0.0), grad=(0.0, 0.0),
                         because="eps keeps a constant input finite")],
           errors=[Raises(RuntimeError, naming=("layer_norm", "(2,)", "(2, 3)"), args=(np.ones((2, 3)), (2,)))]),
    OpInfo(PUBLIC + "group_norm", group_norm, cases(on((2, 4, 3), 2), on((2, 4), 2, T((4,)), T((4,))),
           on((1, 2, 2, 2), 1, eps=0.1), noncontiguous=True), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("group_norm", "3 channels", "2 groups"), args=(np.ones((2, 3)), 2))]),
    OpInfo("cosine_similarity", cosine_similarity, cases(on((2, 3), T((2, 3))), on((3,), T((3,)), 0),
           on((2, 3), T((2, 1, 3)), -1), on((2, 3), T((1,)), dim=0, eps=0.5), noncontiguous=True), dtypes=FLOATS,
           errors=[Raises(RuntimeError, ("cosine_similarity", "(2, 3)", "(4,)"), (np.ones((2, 3)), np.ones(4)))]),
    OpInfo(PUBLIC + "one_hot", lambda x, num_classes=-1: np.eye(max(num_classes, int(x.max()) + 1), dtype=int)[x],
           lambda _: [Sample(np.array([0, 2, 1])), Sample(np.array([[0, 1]]), 4)], dtypes=(np.int64,), order=0),
    OpInfo(PUBLIC + "gelu", gelu, lambda make: (s for how in ("none", "tanh") for s in unary(approximate=how)(make)),
           dtypes=FLOATS,
           limits=[Limit(at=([-INF, INF, 0.0],), value=(0.0, INF, 0.0), grad=(0.0, 1.0, 0.5), because=FAR),
                   Limit(at=([-INF, INF, 0.0],), kwargs={"approximate": "tanh"}, value=(0.0, INF, 0.0),
                         grad=(0.0, 1.0, 0.5), because=FAR)],
           errors=[Raises(RuntimeError, naming=("gelu", "tanh", "erf"), args=(np.ones(2),),
                          kwargs={"approximate": "erf"})]),
    OpInfo("gelu_backward", gelu_backward, gelu_backward_samples, dtypes=FLOATS, call=gelu_backward_from_input),
    activation("softplus", lambda x, beta=1: np.logaddexp(0, beta * x) / beta, more=[{"beta": 2}],
               limits=[Limit(at=([-800.0, 800.0],), value=(0.0, 800.0), grad=(0.0, 1.0), because=LARGE)]),
    activation("logsigmoid", log_expit,
               limits=[Limit(at=([-800.0, 800.0],), value=(-800.0, 0.0), grad=(1.0, 0.0), because=LARGE)]),
    activation("relu", lambda x: np.maximum(x, 0), 0),
    activation("sigmoid", lambda x: 1 / (1 + np.exp(-x)), complex=True),
    activation("tanh", np.tanh, complex=True),
    activation("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x), 0,
               more=[{"negative_slope": 0.2}]),
    OpInfo("prelu", prelu, cases(on((2, 3), T((3,))), on((2, 3, 2), T((1,))), on((3,), T((1,))), on((), T(())),
           noncontiguous=True, away_from=0), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("prelu", "(4,)", "(2, 3)"), args=(np.ones((2, 3)), np.ones(4)))]),
    activation("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), 0,
               more=[{"alpha": 2.0}],
               limits=[Limit(at=([800.0, -800.0, 0.0],), value=(800.0, -1.0, 0.0), grad=(1.0, 0.0, 1.0),
                             because="exp(800) overflows in the branch that is not taken")]),
    activation("selu", lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), 0),
    activation("celu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)), 0,
               more=[{"alpha": 2.0}], errors=[Raises(RuntimeError, naming=("celu", "alpha"), args=(np.ones(2), 0.0))]),
    activation("silu", lambda x: x / (1 + np.exp(-x)), complex=True),
    activation("mish", lambda x: x * np.tanh(np.logaddexp(0, x))),
    activation("hardtanh", lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val), (-1, 1, 2),
               more=[{"max_val": 2.0}],
               limits=[Limit(at=([-1.0, 1.0],), grad=(0.0, 0.0), because="cut off at the ends, as in PyTorch")],
               errors=[Raises(ValueError, naming=("hardtanh", "min_val"), args=(np.ones(2), 1.0, -1.0))]),
    activation("relu6", lambda x: np.clip(x, 0, 6), (0, 6)),
    activation("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), (-3, 3)),
    activation("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), (-3, 3)),
    activation("softsign", lambda x: x / (1 + np.abs(x)), 0, complex=True,
               limits=[Limit(at=([0.0],), grad=(1.0,), because="both sides have slope 1")]),
    activation("tanhshrink", lambda x: x - np.tanh(x), complex=True),
    activation("softshrink", lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), (-0.5, 0.5, -1, 1),
               more=[{"lambd": 1.0}],
               errors=[Raises(RuntimeError, naming=("softshrink", "lambd"), args=(np.ones(2), -0.5))]),
    activation("hardshrink", lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x), (-0.5, 0.5, -1, 1),
               more=[{"lambd": 1.0}]),
    activation("threshold", lambda x, threshold, value: np.where(x <= threshold, value, x), 0.5, 0.5, 2.0),
    OpInfo(PUBLIC + "glu", lambda x, dim=-1: np.split(x, 2, dim)[0] * expit(np.split(x, 2, dim)[1]),
           cases(on((4,)), on((2, 3), 0), on((2, 4), dim=1), noncontiguous=True), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("glu", "even", "3"), args=(np.ones(3),))]),
    OpInfo("softmax", along(scipy_softmax), SOFT, dtypes=FLOATS,
           limits=[Limit(at=([1000.0, -INF],), kwargs={"dim": 0}, value=(1.0, 0.0), grad=(0.0, 0.0),
                         because="exp(1000) overflows, the ratio does not")],
           errors=[Raises(RuntimeError, naming=("softmax", "int64", "dtype="), args=(np.arange(3), 0))]),
    OpInfo("log_softmax", along(scipy_log_softmax), SOFT, dtypes=FLOATS,
           limits=[Limit(at=([1000.0, 0.0],), kwargs={"dim": 0}, value=(0.0, -1000.0), grad=(-1.0, 1.0),
                         because="exp(1000) overflows, the difference does not")]),
    OpInfo(PUBLIC + "softmax", along(scipy_softmax), SOFT, dtypes=FLOATS),
    OpInfo(PUBLIC + "log_softmax", along(scipy_log_softmax), SOFT, dtypes=FLOATS),
    OpInfo(PUBLIC + "softmin", along(lambda x, **kw: scipy_softmax(-x, **kw)), SOFT, dtypes=FLOATS),
    OpInfo("softmax_backward", lambda g, y, dim: y * (g - np.sum(g * y, axis=dim, keepdims=True)),
           cases(on((2, 3), T((2, 3)), 1), on((3,), T((3,)), -1), noncontiguous=True), dtypes=FLOATS),
    OpInfo("log_softmax_backward", lambda g, y, dim: g - np.exp(y) * np.sum(g, axis=dim, keepdims=True),
           cases(on((2, 3), T((2, 3)), 1), on((3,), T((3,)), -1), noncontiguous=True), dtypes=FLOATS),
    OpInfo(PUBLIC + "mse_loss", reduced(lambda x, y: (x - y) ** 2), both(), dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("mse_loss", "average"), **BAD_REDUCTION)]),
    OpInfo(PUBLIC + "l1_loss", reduced(lambda x, y: np.abs(x - y)), both(), dtypes=FLOATS, complex=True,
           errors=[Raises(ValueError, naming=("l1_loss", "average"), **BAD_REDUCTION)]),
    OpInfo(PUBLIC + "smooth_l1_loss", reduced(smooth_l1), both(beta=1.5), dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("smooth_l1_loss", "average"), **BAD_REDUCTION)]),
    OpInfo(PUBLIC + "huber_loss", huber, both(delta=1.5), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("huber_loss", "delta"), args=(np.ones(2), np.ones(2)),
                          kwargs={"delta": 0})]),
    OpInfo(PUBLIC + "nll_loss", nll, class_samples(), dtypes=FLOATS,
           errors=[Raises(IndexError, naming=("nll_loss", "3"), args=(np.ones((2, 3)), np.array([0, 3]))),
                   Raises(ValueError, naming=("nll_loss", "(2,)"), args=(np.ones((2, 3)), np.array([0, 1, 2])))]),
    OpInfo("nll_loss_backward", nll_backward, nll_backward_samples, dtypes=FLOATS),
    OpInfo(PUBLIC + "cross_entropy", cross_entropy, class_samples(probabilities=True, smoothing=(None, 0.1)),
           dtypes=FLOATS,
           limits=[Limit(at=([[1000.0, 0.0]], np.array([1])), value=1000.0, grad=(1.0, -1.0),
                         because="exp(1000) overflows, the loss does not")],
           errors=[Raises(ValueError, naming=("cross_entropy", "average"), args=(np.ones((2, 3)), np.array([0, 1])),
                          kwargs={"reduction": "average"})]),
    OpInfo("cross_entropy_loss", cross_entropy_of_rows, row_samples, dtypes=FLOATS,
           limits=[Limit(at=([[1000.0, 0.0]], np.array([1])), value=1000.0, grad=(1.0, -1.0),
                         because="exp(1000) overflows, the loss does not"),
                   Limit(at=([[0.0, -INF]], np.array([0])), value=0.0, grad=(0.0, 0.0),
                         because="a class may be impossible")],
           errors=[Raises(IndexError, naming=("3",), args=(np.ones((2, 3)), np.array([0, 3]))),
                   Raises(IndexError, naming=("-1",), args=(np.ones((2, 3)), np.array([0, -1]))),
                   Raises(ValueError, naming=("(2,)",), args=(np.ones((2, 3)), np.array([0, 1, 2])))]),
    OpInfo("cross_entropy_loss_backward", cross_entropy_rows_backward, row_backward_samples, dtypes=FLOATS),
    OpInfo("binary_cross_entropy_logit_elements", bce_logits, cases(on((2, 3), T((2, 3)))), dtypes=FLOATS),
    OpInfo("binary_cross_entropy_elements", bce, cases(on((2, 3), T((2, 3), low=0, high=1)), low=0.1, high=0.9),
           dtypes=FLOATS),
    OpInfo(PUBLIC + "binary_cross_entropy", reduced(bce), both(low=0.1, high=0.9), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("binary_cross_entropy", "between 0 and 1"),
                          args=(np.full(2, 1.5), np.ones(2)))]),
    OpInfo(PUBLIC + "binary_cross_entropy_with_logits", reduced(bce_logits), both(), dtypes=FLOATS,
           limits=[Limit(at=(800.0, 0.0), value=800.0, grad=(1.0, -800.0), because=LARGE)]),
    OpInfo(PUBLIC + "kl_div", kl_div, both(low=0.1, high=1), dtypes=FLOATS),
    OpInfo(PUBLIC + "kl_div", kl_div, both(log_target=True), dtypes=FLOATS, variant="log_target"),
]  # fmt: skip
