"""OpInfo records of the losses of nn.functional that ask for a margin, and of those that are likelihoods."""

import itertools
import math

import numpy as np

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on
from tests.opinfo.nn.activations_and_losses import reduced

__all__ = ["OPINFOS"]

PUBLIC = "nn.functional."
REDUCTIONS = ("none", "mean", "sum")


# -- references ------------------------------------------------------------------------------------------------------
def distance(x, y, p=2.0, eps=1e-6, keepdim=False):
    """By NumPy's norm."""
    return np.linalg.norm(x - y + x.dtype.type(eps), p, -1, keepdims=keepdim).astype(x.real.dtype)


def hinge(x, target, margin=1.0):
    """For targets 1 and -1."""
    return np.where(target == 1, x, np.maximum(0, margin - x))


def cosine_embedding(x, y, target, margin=0.0):
    """By the cosine."""
    cosine = np.sum(x * y, -1) / np.sqrt(np.sum(x * x, -1) * np.sum(y * y, -1))
    return np.where(target == 1, 1 - cosine, np.maximum(0, cosine - margin))


def triplet(a, p, n, margin=1.0, swap=False, **how):
    """By the distances."""
    far = distance(a, n, **how)
    far = np.minimum(far, distance(p, n, **how)) if swap else far
    return np.maximum(0, margin + distance(a, p, **how) - far)


def multi_margin(x, target, p=1, margin=1.0, weight=None):
    """Row by row, class by class."""
    rows, labels = np.atleast_2d(x), np.atleast_1d(target)
    out = np.zeros(len(rows), x.dtype)
    for i, (row, y) in enumerate(zip(rows, labels, strict=True)):
        terms = [max(0, margin - row[y] + row[j]) ** p for j in range(len(row)) if j != y]
        out[i] = sum(terms) * (1 if weight is None else weight[y]) / len(row)
    return out.reshape(target.shape)


def multilabel_margin(x, target):
    """Row by row, label by label."""
    out = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(target), strict=True):
        labels = list(itertools.takewhile(lambda y: y >= 0, labels))
        others = [j for j in range(len(row)) if j not in labels]
        out.append(sum(max(0, 1 - row[y] + row[j]) for y in labels for j in others) / len(row))
    return np.array(out, x.dtype).reshape(x.shape[:-1])


def multilabel_soft(x, target, weight=1):
    """By logaddexp."""
    return np.mean(weight * (target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)), -1)


def poisson(x, target, log_input=True, full=False, eps=1e-8):
    """By the rate."""
    rate = np.exp(x) if log_input else x + x.dtype.type(eps)
    out = (rate if log_input else x) - target * np.log(rate)
    safe = np.maximum(target, 1)
    stirling = safe * np.log(safe) - safe + np.log(2 * math.pi * safe) / 2
    return out + np.where(target > 1, stirling, 0) if full else out


def gaussian(x, target, var, full=False):
    """By the variance."""
    var = var[..., None] if var.ndim == x.ndim - 1 and var.ndim else var
    return (np.log(var) + (x - target) ** 2 / var) / 2 + (math.log(2 * math.pi) / 2 if full else 0)


def linear_cross_entropy(x, weight, target, linear_bias=0, reduction="mean"):
    """By the logarithm of the softmax."""
    scores = x @ weight.T + linear_bias
    top = scores.max(-1, keepdims=True)
    log_p = scores - top - np.log(np.sum(np.exp(scores - top), -1, keepdims=True))
    return reduced(lambda: -np.take_along_axis(log_p, target[..., None], -1)[..., 0])(reduction=reduction)


def spelled(path, blank):
    """What a path of classes spells: repetitions merged, blanks left out."""
    return [k for k, _ in itertools.groupby(path) if k != blank]


def ctc_rows(log_probs, targets, input_lengths, target_lengths, blank=0):
    """The sum over all paths that spell the target."""
    classes = log_probs.shape[2]
    starts = np.cumsum(target_lengths) - target_lengths
    out = []
    for row, (length, size) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        wanted = targets[row, :size] if targets.ndim == 2 else targets[starts[row] : starts[row] + size]
        total = 0.0
        for path in itertools.product(range(classes), repeat=int(length)):
            if spelled(path, blank) == list(wanted):
                total += math.exp(sum(log_probs[t, row, k] for t, k in enumerate(path)))
        out.append(-math.log(total))
    return np.array(out, log_probs.dtype)


def ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean"):
    """ctc_rows, reduced."""
    sizes = np.shape(target_lengths)  # () for a single row
    if log_probs.ndim == 2:
        log_probs, targets = log_probs[:, None], targets[None]
        input_lengths, target_lengths = [int(input_lengths)], [int(target_lengths)]
    lengths = np.asarray(target_lengths)
    loss = ctc_rows(log_probs, targets, np.asarray(input_lengths), lengths, blank)
    if reduction == "none":
        return loss.reshape(sizes)
    return np.mean(loss / np.maximum(lengths, 1).astype(loss.dtype)) if reduction == "mean" else np.sum(loss)


# -- samples ---------------------------------------------------------------------------------------------------------
def signs(make, shape):
    """1 and -1, a constant."""
    return np.where(make.mask(shape), 1.0, -1.0).astype(make.dtype)


def with_signs(inputs, shape, target, **kwargs):
    """`inputs` inputs of one shape, and signs, under every reduction; strided too."""

    def samples(make):
        for reduction in REDUCTIONS:
            yield Sample(*(make(shape) for _ in range(inputs)), signs(make, target), reduction=reduction, **kwargs)
        yield Sample(*(make(shape, noncontiguous=True) for _ in range(inputs)), signs(make, target), **kwargs)

    return samples


def triplet_samples(make):
    """Every reduction, other norms, swapped."""
    for reduction in REDUCTIONS:
        yield Sample(*(make((2, 3)) for _ in range(3)), reduction=reduction)
    yield Sample(*(make((2, 3), noncontiguous=True) for _ in range(3)), margin=0.5, swap=True)


def multi_margin_samples(make):
    """Every reduction, both powers, weights, a single row."""
    for reduction in REDUCTIONS:
        yield Sample(make((2, 3)), make.index((2,), 3), reduction=reduction)
    yield Sample(make((2, 3), noncontiguous=True), make.index((2,), 3), 2, 0.5, make.constant((3,), low=0.5))
    yield Sample(make((3,)), np.array(1), reduction="none")


def multilabel_samples(make):
    """Every reduction, a single row, no label at all."""
    target = np.array([[2, 0, -1, 1], [-1, 0, 1, 2]])
    for reduction in REDUCTIONS:
        yield Sample(make((2, 4)), target, reduction=reduction)
    yield Sample(make((4,), noncontiguous=True), np.array([3, -1, -1, 0]))


def multilabel_soft_samples(make):
    """Every reduction, weights."""
    for reduction in REDUCTIONS:
        yield Sample(make((2, 3)), make((2, 3), low=0, high=1), reduction=reduction)
    yield Sample(make((2, 3), noncontiguous=True), make((2, 3), low=0, high=1), make.constant((3,), low=0.5))


def linear_samples(make):
    """Every reduction, with a bias, a single row."""
    for reduction in REDUCTIONS:
        yield Sample(make((2, 3)), make((4, 3)), np.array([3, 1]), reduction=reduction)
    yield Sample(make((3,)), make((4, 3)), np.array(2), linear_bias=make((4,)))


def ctc_inputs(make):
    """log_probs of 4 frames, 3 rows, 3 classes, and what follows: repeated labels, short frames, an empty target."""
    log_probs = make((4, 3, 3), low=-3, high=-0.1)
    return log_probs, np.array([[1, 1], [2, 1], [2, 0]]), np.array([4, 3, 4]), np.array([2, 2, 0])


def ctc_samples(make):
    """Every reduction, targets concatenated, another blank, a single row."""
    for reduction in REDUCTIONS:
        yield Sample(*ctc_inputs(make), reduction=reduction)
    log_probs, _, frames, _ = ctc_inputs(make)
    yield Sample(log_probs, np.array([1, 2, 1]), frames, [1, 1, 1], reduction="sum")
    yield Sample(log_probs, np.array([[0, 1], [1, 0], [0, 0]]), frames, np.array([2, 2, 1]), 2)
    yield Sample(make((3, 2), low=-2, high=-0.1, noncontiguous=True), np.array([1]), 3, 1, reduction="none")


def ctc_row_samples(make):
    """The same for the primitive."""
    yield Sample(*ctc_inputs(make))
    yield Sample(make((3, 2, 2), low=-2, high=-0.1), np.array([1, 1]), np.array([3, 2]), np.array([1, 1]))


# -- records ---------------------------------------------------------------------------------------------------------
def refused(name, args):
    """An unknown reduction is refused."""
    return Raises(ValueError, naming=(name, "average"), args=args, kwargs={"reduction": "average"})


TWO = (np.ones((2, 3)), np.ones((2, 3)))
THREE = (*TWO, np.ones((2, 3)))
LABELS = (np.ones((2, 3)), np.array([0, 1]))
FRAMES = np.log(np.full((2, 1, 2), 0.5))
INF = float("inf")

OPINFOS = [
    OpInfo(PUBLIC + "pairwise_distance", distance,
           cases(on((2, 3), T((2, 3))), on((3,), T((3,)), 1.0), on((2, 3), T((1, 3)), keepdim=True),
                 on((0, 3), T((0, 3))), noncontiguous=True), dtypes=FLOATS, complex=True),
    OpInfo(PUBLIC + "hinge_embedding_loss", reduced(hinge), with_signs(1, (2, 3), (2, 3), margin=0.3), dtypes=FLOATS,
           errors=[refused("hinge_embedding_loss", TWO)]),
    OpInfo(PUBLIC + "cosine_embedding_loss", reduced(cosine_embedding), with_signs(2, (2, 3), (2,), margin=0.1),
           dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("cosine_embedding_loss", "(2, 3)"), args=THREE)]),
    OpInfo(PUBLIC + "margin_ranking_loss", reduced(lambda x, y, t, margin=0.0: np.maximum(0, margin - t * (x - y))),
           with_signs(2, (2, 3), (2, 3), margin=0.2), dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("margin_ranking_loss", "(2,)"), args=(*TWO, np.ones(2)))]),
    OpInfo(PUBLIC + "soft_margin_loss", reduced(lambda x, t: np.logaddexp(0, -t * x)), with_signs(1, (2, 3), (2, 3)),
           dtypes=FLOATS,
           limits=[Limit(at=(-800.0, 1.0), value=800.0, grad=(-1.0, 800.0), because="exp(800) overflows")],
           errors=[refused("soft_margin_loss", TWO)]),
    OpInfo(PUBLIC + "multi_margin_loss", reduced(multi_margin), multi_margin_samples, dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("multi_margin_loss", "p", "3"), args=(*LABELS, 3)),
                   Raises(RuntimeError, naming=("multi_margin_loss", "(3,)"), args=(LABELS[0], np.array([0, 1, 2]))),
                   Raises(RuntimeError, naming=("multi_margin_loss", "float64"), args=(LABELS[0], np.ones(2)))]),
    OpInfo(PUBLIC + "multilabel_margin_loss", reduced(multilabel_margin), multilabel_samples, dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("multilabel_margin_loss", "(2, 3)", "(2,)"), args=LABELS)]),
    OpInfo(PUBLIC + "multilabel_soft_margin_loss", reduced(multilabel_soft), multilabel_soft_samples, dtypes=FLOATS,
           errors=[refused("multilabel_soft_margin_loss", TWO)]),
    OpInfo(PUBLIC + "triplet_margin_loss", reduced(triplet), triplet_samples, dtypes=FLOATS, complex=True,
           limits=[Limit(at=([1.0, 2.0], [1.0, 2.0], [9.0, 9.0]), kwargs={"eps": 0.0, "margin": 20.0},
                         grad=([8 / math.sqrt(113), 7 / math.sqrt(113)], [0.0, 0.0],
                               [-8 / math.sqrt(113), -7 / math.sqrt(113)]),
                         because="equal points have no direction between them: slope 0 there")],
           errors=[Raises(ValueError, naming=("triplet_margin_loss", "margin", "-1"), args=THREE,
                          kwargs={"margin": -1.0}),
                   Raises(RuntimeError, naming=("triplet_margin_loss", "(3,)"), args=(*TWO, np.ones(3)))]),
    OpInfo(PUBLIC + "triplet_margin_with_distance_loss", reduced(triplet), triplet_samples, dtypes=FLOATS,
           complex=True,
           errors=[refused("triplet_margin_with_distance_loss", THREE)]),
    OpInfo(PUBLIC + "poisson_nll_loss", reduced(poisson),
           cases(*(on((2, 3), T((2, 3)), reduction=r) for r in REDUCTIONS), on((2, 3), T((2, 3)), False, True),
                 on((2, 3), T((2, 3)), True, True, eps=0.1), noncontiguous=True, low=0.2, high=3, away_from=1),
           dtypes=FLOATS,
           limits=[Limit(at=(0.0, 0.0), kwargs={"full": True}, value=1.0, grad=(1.0, 0.0),
                         because="0! = 1: no logarithm of 0 is formed")],
           errors=[refused("poisson_nll_loss", TWO)]),
    OpInfo("lifted_variance", np.maximum, cases(on((2, 3), 0.01, low=0.1, high=2)), dtypes=FLOATS,
           limits=[Limit(at=(0.0,), value=0.5, grad=(1.0,), kwargs={"eps": 0.5}, because="it must be able to grow"),
                   Limit(at=(0.5,), value=0.5, grad=(1.0,), kwargs={"eps": 0.5}, because="from both sides")],
           errors=[Raises(ValueError, ("negative",), (-np.ones(2), 0.1))]),
    OpInfo(PUBLIC + "gaussian_nll_loss", reduced(gaussian),
           cases(*(on((2, 3), T((2, 3)), T((2, 3), low=0.5, high=2), reduction=r) for r in REDUCTIONS),
                 on((2, 3), T((2, 3)), T((2,), low=0.5, high=2), True),
                 on((2, 3), T((2, 3)), T((2, 1), low=0.5, high=2)), noncontiguous=True), dtypes=FLOATS,
           limits=[Limit(at=(1.0, 1.0, 0.0), kwargs={"eps": 0.5}, value=math.log(0.5) / 2, grad=(0.0, 0.0, 1.0),
                         because="a variance below eps has the slope of eps, so that it can grow")],
           errors=[Raises(ValueError, naming=("gaussian_nll_loss", "negative"), args=(*TWO, -np.ones((2, 3)))),
                   Raises(ValueError, naming=("gaussian_nll_loss", "(3,)"), args=(*TWO, np.ones(3)))]),
    OpInfo(PUBLIC + "linear_cross_entropy", linear_cross_entropy, linear_samples, dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("linear_cross_entropy", "(2, 3)", "(4, 5)"),
                          args=(np.ones((2, 3)), np.ones((4, 5)), np.array([0, 1])))]),
    OpInfo(PUBLIC + "ctc_loss", ctc, ctc_samples, dtypes=FLOATS, numbers=(1e-5, 1e-6), check_dtype=False,
           limits=[Limit(at=([[[0.0, -INF]], [[-INF, 0.0]]], np.array([[1]]), np.array([2]), np.array([1])),
                         value=0.0, grad=([[[-1.0, 0.0]], [[0.0, -1.0]]], None, None, None),
                         because="one path has probability 1; what is impossible has slope 0"),
                   Limit(at=(FRAMES, np.array([[1, 1]]), np.array([2]), np.array([2])), value=INF,
                         grad=(0.0, None, None, None), because="two frames cannot spell a repeated label: no path"),
                   Limit(at=(FRAMES, np.array([[1, 1]]), np.array([2]), np.array([2])),
                         kwargs={"zero_infinity": True}, value=0.0, grad=(0.0, None, None, None),
                         because="zero_infinity leaves such rows out")],
           errors=[Raises(RuntimeError, naming=("ctc_loss", "input_lengths", "2 frames"),
                          args=(FRAMES, np.array([[1]]), np.array([3]), np.array([1]))),
                   Raises(RuntimeError, naming=("ctc_loss", "blank", "2 classes"),
                          args=(FRAMES, np.array([[1]]), np.array([2]), np.array([1]), 5))]),
    OpInfo("ctc_loss_rows", ctc_rows, ctc_row_samples, dtypes=FLOATS,
           observe=lambda out: out[0], numbers=(1e-5, 1e-6)),
]  # fmt: skip
