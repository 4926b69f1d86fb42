"""Composite operators: quantiles, from sorting, gathering and interpolation; differentiable in q too."""

from functools import partial

import numpy as np

from pullback.core.array_type import check
from pullback.ops.composite.checks import require_arrays

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(self, q, dim=None, keepdim=False, *, interpolation="linear", ops):
    """The q-th quantiles along dim, NaN where there is a NaN."""
    return quantiles("quantile", self, q, dim, keepdim, interpolation, ops)


def nanquantile(self, q, dim=None, keepdim=False, *, interpolation="linear", ops):
    """The q-th quantiles along dim of what is not NaN."""
    return quantiles("nanquantile", self, q, dim, keepdim, interpolation, ops)


def quantiles(name, x, q, dim, keepdim, interpolation, ops):
    """Both; q comes first in the shape of the result, if it is a vector."""
    q = checked(name, x, q, interpolation, ops)
    lanes = ops.reshape(x, (-1,)) if dim is None or x.ndim == 0 else ops.movedim(x, dim, -1)
    lanes = ops.sort(lanes, -1)[0]
    result = between(lanes, ranks(lanes, ops.reshape(q, (-1,)), name == "nanquantile", ops), interpolation, ops)
    result = ops.movedim(result, -1, 0)  # (q, rest)
    if keepdim:
        shape = [1] * x.ndim
        if dim is not None and x.ndim:
            shape = [*x.shape]
            shape[dim] = 1
        result = ops.reshape(result, (result.shape[0], *shape))
    return result if q.ndim else ops.squeeze(result, 0)


def checked(name, x, q, interpolation, ops):
    """q as an array, refused with the other arguments that make no sense."""
    require_arrays(name, input=x)
    if x.dtype.kind != "f":
        raise RuntimeError(f"{name}(): input must be floating-point, but its dtype is {x.dtype}; convert it first.")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}(): interpolation must be one of {INTERPOLATIONS}, got {interpolation!r}.")
    if not x.size:
        raise RuntimeError(f"{name}(): an empty input has no quantiles (shape {tuple(x.shape)}).")
    q = ops.full((), q, dtype=x.dtype) if issubclass(type(q), (int, float)) else q
    require_arrays(name, q=q)
    if q.ndim > 1 or q.dtype != x.dtype:
        raise RuntimeError(
            f"{name}(): q must be a number or a vector in the dtype of the input, {x.dtype}; got {q.dtype} of shape "
            f"{tuple(q.shape)}."
        )
    check(partial(_examine, name), q)
    return q


def _examine(name, q):
    if not ((q >= 0) & (q <= 1)).all():
        raise RuntimeError(f"{name}(): q must be in the range [0, 1], got {q.min()} to {q.max()}.")


def ranks(lanes, q, ignore_nan, ops):
    """The places of the quantiles in sorted lanes, with fractions; the last place, where NaN is, if there is one."""
    lost = ops.isnan(lanes)
    if ignore_nan:
        known = ops.sum(ops.logical_not(lost), -1, True)
        return ops.to(ops.clamp(known - 1, 0), q.dtype) * q
    last = lanes.shape[-1] - 1
    return ops.where(ops.any(lost, -1, True), last, q * last)


def between(lanes, place, interpolation, ops):
    """The values of lanes at fractional places."""

    def at(rank):
        return ops.gather(lanes, -1, ops.to(rank, np.dtype("int64")))

    if interpolation in ("lower", "higher", "nearest"):
        return at({"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation](place))
    low = ops.floor(place)
    weight = 0.5 if interpolation == "midpoint" else place - low
    return ops.lerp(at(low), at(ops.ceil(place)), weight)
