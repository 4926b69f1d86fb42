"""NumPy kernels of connectionist temporal classification: the loss of unaligned targets, and its derivatives.

A. Graves et al., ICML 2006, 369-376, in logarithms. A path visits the states blank, y1, blank, y2, ..., blank; it may
skip a blank between different labels. All rows and states of a frame are computed at once; only the frames follow one
another.
"""

import numpy as np

from pullback.arrays.numpy.declarations import loops
from pullback.arrays.numpy.nn.layers import floating_only


@loops("arguments")
def _check(log_probs, targets, input_lengths, target_lengths, blank):
    frames, rows, classes = log_probs.shape
    floating_only("ctc_loss", log_probs.dtype)
    if targets.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss(): targets must hold integer classes, but their dtype is {targets.dtype}.")
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss(): blank must be one of the {classes} classes, but got {blank}.")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.dtype.kind not in "iu" or lengths.shape != (rows,):
            raise RuntimeError(
                f"ctc_loss(): {name} must hold {rows} integers, one a row, but has shape {lengths.shape} and dtype "
                f"{lengths.dtype}."
            )
    if rows and (input_lengths.min() < 0 or input_lengths.max() > frames):
        raise RuntimeError(
            f"ctc_loss(): input_lengths must lie between 0 and the {frames} frames, but are {input_lengths.min()} to "
            f"{input_lengths.max()}."
        )
    if rows and target_lengths.min() < 0:
        raise RuntimeError(f"ctc_loss(): target_lengths must not be negative, but hold {target_lengths.min()}.")


def _padded(targets, target_lengths):
    """The targets as one row each, up to the longest; concatenated ones are cut apart."""
    longest = int(target_lengths.max()) if target_lengths.size else 0
    if targets.ndim == 1:
        total = int(target_lengths.sum())
        if targets.size != total:
            raise RuntimeError(f"ctc_loss(): target_lengths add up to {total}, but there are {targets.size} targets.")
        starts = np.cumsum(target_lengths) - target_lengths
        steps = np.arange(longest)
        inside = steps < target_lengths[:, None]
        out = np.zeros(inside.shape, np.intp)
        out[inside] = targets[(starts[:, None] + steps)[inside]]
        return out
    if targets.ndim != 2 or targets.shape[0] != target_lengths.size or targets.shape[1] < longest:
        raise RuntimeError(
            f"ctc_loss(): targets must have shape ({target_lengths.size}, S) with S at least {longest}, or be "
            f"concatenated, but have {targets.shape}."
        )
    return targets[:, :longest]


def _states(log_probs, targets, target_lengths, blank):
    """(the class of each state; whether a path may come to it from two states before)."""
    labels = _padded(targets, target_lengths)
    if labels.size and not (labels.min() >= 0 and labels.max() < log_probs.shape[2]):
        inside = np.arange(labels.shape[1]) < target_lengths[:, None]
        labels = np.where(inside, labels, blank)  # what lies past the end of a target may be anything
        if labels.size and not (labels.min() >= 0 and labels.max() < log_probs.shape[2]):
            raise RuntimeError(
                f"ctc_loss(): targets must lie between 0 and {log_probs.shape[2] - 1}, but hold {labels.min()} to "
                f"{labels.max()}."
            )
    states = np.full((labels.shape[0], 2 * labels.shape[1] + 1), blank, np.intp)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, np.bool_)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    return states, skips


def _ends(target_lengths):
    """The last two states of each row, as a pair of indices; an empty target has but one."""
    last = 2 * target_lengths.astype(np.intp)
    return last, np.maximum(last - 1, 0)


@loops("steps")
def ctc_loss_rows(log_probs, targets, input_lengths, target_lengths, blank=0):
    """(-log of the probability of each row's target, log of the probability to be in a state after each frame)."""
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    frames, rows, _ = log_probs.shape
    states, skips = _states(log_probs, targets, target_lengths, blank)
    alpha = np.full((frames, *states.shape), -np.inf, log_probs.dtype)
    emitted = np.take_along_axis(log_probs, states[None], axis=2)
    if frames:
        alpha[0, :, :2] = emitted[0, :, :2]
    no_skip = np.where(skips[:, 2:], log_probs.dtype.type(0), log_probs.dtype.type(-np.inf))
    for before, now, symbol in zip(alpha[:-1], alpha[1:], emitted[1:], strict=True):
        now[...] = before
        np.logaddexp(now[:, 1:], before[:, :-1], out=now[:, 1:])
        np.logaddexp(now[:, 2:], before[:, :-2] + no_skip, out=now[:, 2:])
        now += symbol
    last, second = _ends(target_lengths)
    each, length = np.arange(rows), input_lengths.astype(np.intp)
    final = alpha[length - 1, each] if frames else np.full(states.shape, -np.inf, log_probs.dtype)
    total = np.where(last > 0, np.logaddexp(final[each, last], final[each, second]), final[each, last])
    no_frames = np.where(last > 0, -np.inf, 0.0)  # no frame spells the empty target alone
    return -np.where(length > 0, total, no_frames).astype(log_probs.dtype, copy=False), alpha


@loops("steps")
def _log_beta(emitted, states, skips, length, target_lengths):
    """log of the probability of the frames to come, given the state after each frame."""
    beta = np.full(emitted.shape, -np.inf, emitted.dtype)
    last, second = _ends(target_lengths)
    each = np.flatnonzero(length > 0)
    beta[length[each] - 1, each, last[each]] = 0
    beta[length[each] - 1, each, second[each]] = 0
    no_skip = np.where(skips[:, 2:], emitted.dtype.type(0), emitted.dtype.type(-np.inf))
    for i in range(len(emitted) - 2, -1, -1):
        after, now = beta[i + 1] + emitted[i + 1], beta[i]
        came = after.copy()
        np.logaddexp(came[:, :-1], after[:, 1:], out=came[:, :-1])
        np.logaddexp(came[:, :-2], after[:, 2:] + no_skip, out=came[:, :-2])
        np.maximum(now, came, out=now)  # one of the two is -inf: a row's last frame has no frame after it
    return beta


def _visits(log_probs, states, skips, input_lengths, target_lengths, losses, log_alpha):
    """(log-probability of each state's class; that of the frames to come; probability to be in a state in a frame)."""
    emitted = np.take_along_axis(log_probs, states[None], axis=2)
    beta = _log_beta(emitted, states, skips, input_lengths.astype(np.intp), target_lengths)
    # An impossible target has no path, and gradient 0.
    visited = np.exp(beta + log_alpha + np.where(np.isfinite(losses), losses, -np.inf)[:, None])
    return emitted, beta, visited


def _by_class(visited, states, log_probs):
    """Sums over the states that belong to each class."""
    frames, rows, classes = log_probs.shape
    at = np.arange(frames * rows).reshape(frames, rows, 1) * classes + states
    flat = np.bincount(at.ravel(), visited.ravel(), minlength=log_probs.size)
    return flat.astype(log_probs.dtype, copy=False).reshape(log_probs.shape)


def ctc_loss_rows_backward(grad_output, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank=0):
    """-grad times the probability that a path of the row's target emits the class in the frame."""
    states, skips = _states(log_probs, targets, target_lengths, blank)
    visited = _visits(log_probs, states, skips, input_lengths, target_lengths, losses, log_alpha)[2]
    visited *= np.where(np.isfinite(losses), -grad_output, 0)[:, None]
    return _by_class(visited, states, log_probs)


def _shares(part, whole):
    """exp(part - whole), 0 where part is -inf."""
    return np.exp(part - np.where(np.isfinite(whole), whole, 0))


@loops("steps")
def _alpha_tangent(alpha, emitted, moved, skips):
    """The derivative of alpha where the log-probabilities move: a mean over the states before, by their shares."""
    out = np.zeros_like(alpha)
    out[:1] = moved[:1]
    for t in range(1, len(alpha)):
        whole = np.where(np.isfinite(alpha[t]), alpha[t] - emitted[t], -np.inf)
        now, before = out[t], out[t - 1]
        now += _shares(alpha[t - 1], whole) * before
        now[:, 1:] += _shares(alpha[t - 1, :, :-1], whole[:, 1:]) * before[:, :-1]
        now[:, 2:] += np.where(skips[:, 2:], _shares(alpha[t - 1, :, :-2], whole[:, 2:]), 0) * before[:, :-2]
        now += moved[t]
    return out


@loops("steps")
def _beta_tangent(beta, emitted, moved, skips):
    """The same for beta, from the states after."""
    out = np.zeros_like(beta)
    for t in range(len(beta) - 2, -1, -1):
        now, after, part = out[t], out[t + 1] + moved[t + 1], beta[t + 1] + emitted[t + 1]
        now += _shares(part, beta[t]) * after
        now[:, :-1] += _shares(part[:, 1:], beta[t, :, :-1]) * after[:, 1:]
        now[:, :-2] += np.where(skips[:, 2:], _shares(part[:, 2:], beta[t, :, :-2]), 0) * after[:, 2:]
    return out


def ctc_loss_rows_double_backward(
    direction, grad_output, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank=0
):
    """The derivative of ctc_loss_rows_backward where log_probs move in that direction: Hessian times vector."""
    states, skips = _states(log_probs, targets, target_lengths, blank)
    emitted, beta, visited = _visits(log_probs, states, skips, input_lengths, target_lengths, losses, log_alpha)
    moved = np.take_along_axis(direction, states[None], axis=2)
    change = _alpha_tangent(log_alpha, emitted, moved, skips) + _beta_tangent(beta, emitted, moved, skips)
    change -= np.sum(visited * moved, (0, 2))[:, None]
    change *= visited
    change *= np.where(np.isfinite(losses), -grad_output, 0)[:, None]
    return _by_class(change, states, log_probs)
