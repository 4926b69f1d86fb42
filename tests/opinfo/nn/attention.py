"""OpInfo records of attention and of embedding bags."""

import math

import numpy as np
from scipy.special import softmax

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import cases, on

__all__ = ["OPINFOS"]

PUBLIC = "nn.functional."


# -- references ------------------------------------------------------------------------------------------------------
def attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """By scipy's softmax."""
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = (q @ np.swapaxes(k, -1, -2)) * q.dtype.type(scale or 1 / math.sqrt(q.shape[-1]))
    if is_causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf).astype(q.dtype) if mask.dtype == bool else scores + mask
    return softmax(scores, axis=-1) @ v


def heads(q, k, v, features, count, w_in, b_in, bias_k, bias_v, zero, dropout, w_out, b_out, *,
          key_padding_mask=None, attn_mask=None, average_attn_weights=True):  # fmt: skip
    """Input by input, head by head."""
    parts = [x @ w.T + b for x, w, b in zip((q, k, v), np.split(w_in, 3), np.split(b_in, 3), strict=True)]
    q, k, v = parts
    if bias_k is not None:
        k, v = (np.concatenate([x, np.repeat(b, x.shape[1], 1)]) for x, b in ((k, bias_k), (v, bias_v)))
    each, out, shown = features // count, np.empty_like(q), []
    for n in range(q.shape[1]):
        for h in range(count):
            here = slice(h * each, h * each + each)
            scores = q[:, n, here] @ k[:, n, here].T / q.dtype.type(math.sqrt(each))
            real = scores[:, : v.shape[0] - (bias_k is not None)]
            real += 0 if attn_mask is None else np.where(attn_mask, -np.inf, 0)
            real += 0 if key_padding_mask is None else np.where(key_padding_mask[n], -np.inf, 0)
            weights = softmax(scores, axis=-1)
            out[:, n, here] = weights @ v[:, n, here]
            shown.append(weights)
    shown = np.array(shown).reshape(q.shape[1], count, *shown[0].shape)
    return out @ w_out.T + b_out, shown.mean(1) if average_attn_weights else shown


def bags(index, weight, offsets=None, mode="mean", per_sample_weights=None, padding_idx=None):
    """Bag after bag."""
    if index.ndim == 2:
        per = [None] * len(index) if per_sample_weights is None else per_sample_weights
        groups = list(zip(index, per, strict=True))
    else:
        groups = [
            (part, None if per_sample_weights is None else per_sample_weights[a : a + part.size])
            for a, part in zip(offsets, np.split(index, offsets[1:]), strict=True)
        ]
    out = np.zeros((len(groups), weight.shape[1]), weight.dtype)
    for i, (part, scale) in enumerate(groups):
        rows = weight[part] if scale is None else weight[part] * scale[:, None]
        rows = rows if padding_idx is None else rows[part != padding_idx]
        if len(rows):
            out[i] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, 0)
    return out


def bag_of_each(starts, index, rows, padding_idx=None):
    """By counting the starts that are passed."""
    bag = np.array([np.sum(starts <= i) - 1 for i in range(index.size)])
    if padding_idx is not None:
        bag = np.where(index == padding_idx, starts.size, bag)
    return bag, np.array([np.sum(bag == b) for b in range(starts.size)])


def bag_argmax(rows, bag, count):
    """Bag after bag."""
    where = [np.flatnonzero(bag == b) for b in range(count)]
    return np.array([w[np.argmax(rows[w], 0)] if w.size else np.zeros(rows.shape[1], int) for w in where])


# -- samples ---------------------------------------------------------------------------------------------------------
def attention_samples(make):
    """Masks of both kinds, causal, scaled, shared heads, strided."""
    yield Sample(make((2, 3)), make((4, 3)), make((4, 2)))
    yield Sample(make((2, 2, 3)), make((2, 3, 3)), make((2, 3, 2)), is_causal=True)
    mask = np.array([[True, False, True], [True, True, True]])
    yield Sample(make((2, 3), noncontiguous=True), make((3, 3)), make((2, 3)).T, mask)
    yield Sample(make((1, 2, 3)), make((1, 3, 3)), make((1, 3, 2)), make((2, 3)), scale=0.3)
    yield Sample(make((2, 1, 2)), make((1, 2, 2)), make((1, 2, 2)), enable_gqa=True)


def head_samples(make):
    """Two heads of two features: masks, further keys, all weights."""

    def arguments(count=1, bias=False):
        x = [make((2, count, 4)), make((3, count, 4)), make((3, count, 4))]
        further = [make((1, 1, 4)), make((1, 1, 4))] if bias else [None, None]
        return [*x, 4, 2, make((12, 4)), make((12,)), *further, False, 0.0, make((4, 4)), make((4,))]

    padding = np.array([[False, False, True]])
    yield Sample(*arguments(), key_padding_mask=padding)
    mask = np.array([[False, True, False], [False, False, False]])
    yield Sample(*arguments(bias=True), attn_mask=mask, average_attn_weights=False)


def bag_samples(make):
    """Every mode; bags as rows and by offsets; weights of samples, empty bags, padding."""
    index, offsets = np.array([0, 2, 1, 2, 0]), np.array([0, 2, 2, 4])
    for mode in ("sum", "mean", "max"):
        yield Sample(index, make((3, 2), distinct=True), offsets, mode=mode)
        yield Sample(np.array([[0, 2], [1, 1]]), make((3, 2), distinct=True), mode=mode, padding_idx=1)
    yield Sample(index, make((3, 2)), offsets, mode="sum", per_sample_weights=make((5,)))
    yield Sample(np.array([[0, 2]]), make((3, 2), noncontiguous=True), mode="sum", per_sample_weights=make((1, 2)))


NOTHING = "a row that attends to nothing is 0, and asks for nothing"
QUERY = np.ones((2, 3))
OPINFOS = [
    OpInfo("causal_mask", lambda x: np.tril(np.ones(x.shape[-2:], bool)), cases(on((2, 3)), on((2, 4, 2))), order=0),
    OpInfo(PUBLIC + "scaled_dot_product_attention", attention, attention_samples, dtypes=FLOATS,
           limits=[Limit(at=([[1.0]], [[1.0]], [[2.0]], np.array([[False]])), value=[[0.0]],
                         grad=(0.0, 0.0, 0.0, None), because=NOTHING)],
           errors=[Raises(RuntimeError, naming=("scaled_dot_product_attention", "is_causal"),
                          args=(QUERY, QUERY, QUERY, np.ones((2, 2), bool)), kwargs={"is_causal": True}),
                   Raises(RuntimeError, naming=("scaled_dot_product_attention", "(3,)"),
                          args=(np.ones(3), QUERY, QUERY))]),
    OpInfo(PUBLIC + "multi_head_attention_forward", heads, head_samples, dtypes=FLOATS,
           errors=[Raises(RuntimeError, naming=("multi_head_attention_forward", "4 features", "3 heads"),
                          args=(*[np.ones((2, 1, 4))] * 3, 4, 3, np.ones((12, 4)), None, None, None, False, 0.0,
                                np.ones((4, 4)), None))]),
    OpInfo(PUBLIC + "embedding_bag", bags, bag_samples, dtypes=FLOATS,
           errors=[Raises(ValueError, naming=("embedding_bag", "product"), args=(np.array([[0]]), np.ones((3, 2))),
                          kwargs={"mode": "product"}),
                   Raises(ValueError, naming=("embedding_bag", "offsets"), args=(np.array([0]), np.ones((3, 2)))),
                   Raises(RuntimeError, naming=("embedding_bag", "begin with 0"),
                          args=(np.array([0]), np.ones((3, 2)), np.array([1])))]),
    OpInfo("bag_of_each", bag_of_each, lambda _: [
           Sample(np.array([0, 2, 2]), np.array([0, 2, 1, 2]), 3),
           Sample(np.array([0, 1]), np.array([0, 2, 1]), 3, 2)], dtypes=(np.int64,), order=0),
    OpInfo("bag_argmax", bag_argmax, lambda make: [
           Sample(make((4, 2), distinct=True), np.array([0, 0, 2, 2]), 3)], dtypes=FLOATS, order=0),
]  # fmt: skip
