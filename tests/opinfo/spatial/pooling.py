"""OpInfo records of pooling, and of the way back from it."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, Limit, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import cases, on
from tests.opinfo.spatial import references as reference

__all__ = ["OPINFOS"]

NN = "nn.functional."
FIRST = "the first of equal numbers is the one that is returned"
REAL = {"dtypes": FLOATS}


def averages(dims):
    """The reference of avg_pool."""

    def found(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        how = {"dims": dims, "include": count_include_pad, "divisor": divisor_override}
        return reference.pool("avg", x, kernel_size, stride, padding, 1, ceil_mode, **how)

    return found


def powers(dims):
    """The reference of lp_pool."""
    return lambda x, p, kernel_size, stride=None: reference.pool(p, x, kernel_size, stride, dims=dims)


def maxima(dims):
    """The reference of max_pool."""

    def found(x, *args, return_indices=False, **kwargs):
        pair = reference.pool("max", x, *args, dims=dims, **kwargs)
        return pair if return_indices else pair[0]

    return found


def pool_records(dims):
    """Of one number of dimensions."""
    shape, odd = (1, 2, *[4] * (dims - 1), 3), (2, *[3] * (dims - 1), 5)
    if dims == 3:
        shape, odd = (1, 1, 2, 3, 3), (1, 2, 3, 4)
    one = np.ones((1, 1, *[4] * dims))
    calls = [on(shape, 2), on(odd, 2, 1, 1), on(odd, 2, 2, ceil_mode=True)]
    uneven = on(odd, 2, 2, 1, True, False)
    wrong = [
        Raises(RuntimeError, (f"pool{dims}d", "non-negative"), (one, 2), {"padding": -1}),
        Raises(RuntimeError, (f"pool{dims}d", "half"), (one, 2), {"padding": 2}),
        Raises(RuntimeError, (f"pool{dims}d", "stride"), (one, 2), {"stride": 0}),
        Raises(RuntimeError, (f"pool{dims}d", "too small"), (one, 5)),
    ]
    divided = [on(shape, 2, divisor_override=3)] if dims > 1 else []
    ties = Limit(at=(np.zeros((1, 1, *[2] * dims)),), kwargs={"kernel_size": 2}, value=np.zeros((1, 1, *[1] * dims)),
                 grad=(np.eye(1, 2**dims).reshape(1, 1, *[2] * dims),), because=FIRST)  # fmt: skip
    zeros = Limit(at=(np.zeros((1, 1, *[2] * dims)),), value=np.zeros((1, 1, *[1] * dims)), grad=(0.0,),
                  kwargs={"norm_type": 2.0, "kernel_size": 2}, because="the subgradient 0 of a norm")  # fmt: skip
    apart = [on(shape, 2, return_indices=True), on(odd, 2, 1, 1, 2 if dims == 1 else 1), on(odd, 2, 2, ceil_mode=True)]
    yield OpInfo(NN + f"avg_pool{dims}d", averages(dims), cases(*calls, uneven, *divided), **REAL,
                 errors=wrong)  # fmt: skip
    yield OpInfo(f"max_pool{dims}d", maxima(dims), cases(*apart, distinct=True), **REAL, errors=wrong, limits=[ties])
    yield OpInfo(NN + f"lp_pool{dims}d", powers(dims), cases(on(shape, 2, 2), on(odd, 3, 2, 1), low=0.5), **REAL,
                 limits=[zeros])  # fmt: skip
    yield from adaptive_records(dims, shape, odd, one)
    yield unpool_record(dims)


def adaptive_records(dims, shape, odd, one):
    """adaptive_avg_pool and adaptive_max_pool."""
    outs = (2, 1, [*[None] * (dims - 1), 2])
    calls = [on(odd, out) for out in outs]
    wrong = [Raises(RuntimeError, (f"pool{dims}d", "output_size"), (one, [1] * (dims + 1)))]
    for kind in ("avg", "max"):

        def found(x, output_size, return_indices=False, kind=kind):
            pair = reference.adaptive(kind, x, output_size, dims)
            return pair if kind == "avg" or return_indices else pair[0]

        more = [on(shape, 2, return_indices=True)] if kind == "max" else []
        name = NN + f"adaptive_{kind}_pool{dims}d"
        yield OpInfo(name, found, cases(*calls, *more, distinct=True), **REAL, errors=wrong)


def unpool_record(dims):
    """max_unpool."""

    def samples(make):
        places = np.array([0, 5, 2, 3] if dims == 1 else [0, 3, 9, 13])
        shape = (1, 1, *([4] if dims == 1 else [2, 2] if dims == 2 else [1, 2, 2]))
        yield Sample(make(shape), places.reshape(shape), 2)

    def found(x, indices, kernel_size):
        return reference.max_unpool(x, indices, tuple(2 * n for n in x.shape[2:]))

    x = np.ones((1, 1, *[2] * dims))
    return OpInfo(NN + f"max_unpool{dims}d", found, samples, **REAL, errors=[
        Raises(RuntimeError, ("indices",), (x, np.full(x.shape, 99), 2)),
        Raises(RuntimeError, (f"max_unpool{dims}d", "shape"), (x, np.zeros((1,), int), 2)),
    ])  # fmt: skip


def windowed(x, windows):
    """(maxima, their places)."""
    windows = [inside(n, *told) for n, told in zip(x.shape[-2:], windows, strict=True)]
    values, at = reference.over_windows(x, windows, lambda v, at, every: (v.max(), at[v.argmax()]), 2)
    return values.astype(x.dtype), at.astype(np.int64)


def inside(size, *told):
    """The places of each window that are inside."""
    if len(told) == 2:
        n, m = told
        return [np.arange(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
    m, kernel, stride, padding, dilation = told
    places = (np.arange(kernel) * dilation + i * stride - padding for i in range(m))
    return [p[(p >= 0) & (p < size)] for p in places]


def pooled_samples(make):
    """A tensor, and flat places in two dimensions."""
    yield Sample(make((2, 2, 3)), np.array([[[0, 5]], [[2, 2]]]), 2)


def placed_samples(make):
    """Numbers, and their places in (2, 3); the last two of them are the same."""
    yield Sample(make((2, 1, 2)), np.array([[[0, 5]], [[2, 2]]]), [2, 3])


def placed(x, indices, size):
    """Added one by one."""
    out = np.zeros((len(x), int(np.prod(size))), x.dtype)
    np.add.at(out, (np.arange(len(x))[:, None], indices.reshape(len(x), -1)), x.reshape(len(x), -1))
    return out.reshape(len(x), *size)


def put_samples(make):
    """Different places."""
    yield Sample(make((2, 1, 2)), np.array([[[0, 5]], [[2, 4]]]), [2, 3])


def fractional_samples(dims):
    """With given random numbers, and with drawn ones for which there is one choice alone."""

    def samples(make):
        x = make((1, 2, *[4] * dims), distinct=True)
        draws = np.random.default_rng(1).random((1, 2, dims))
        yield Sample(x, 2, output_size=2, _random_samples=draws, return_indices=True)
        yield Sample(x, 2, output_size=3)

    return samples


def fractional(dims):
    """Windows that begin at steps of a line with a random start."""

    def found(x, kernel_size, output_size, _random_samples=None, return_indices=False):
        n, k, m = x.shape[-1], kernel_size, output_size
        draws = np.full((*x.shape[:2], dims), 0.5) if _random_samples is None else np.asarray(_random_samples)
        alpha, planes = (n - k) / (m - 1), []
        for plane, u in zip(x.reshape(-1, *x.shape[2:]), draws.reshape(-1, dims), strict=True):
            u = u[::-1] if dims == 2 else u
            begins = [[int((i + r) * alpha) - int(r * alpha) for i in range(m - 1)] + [n - k] for r in u]
            windows = [[range(b, b + k) for b in line] for line in begins]
            planes.append(reference.over_windows(plane, windows, lambda v, at, every: (v.max(), at[v.argmax()]), 2))
        values, places = np.stack(planes, 1).reshape(2, *x.shape[:2], *[m] * dims)
        return (values.astype(x.dtype), places.astype(np.int64)) if return_indices else values.astype(x.dtype)

    return found


def index_samples(make):
    """Of the places alone."""
    yield Sample(make((1, 2, 4, 4), distinct=True), [2, 2], [2, 2], np.random.default_rng(2).random((1, 2, 2)))


FRACTIONAL = fractional(2)
OPINFOS = [
    *(record for dims in (1, 2, 3) for record in pool_records(dims)),
    *(OpInfo(NN + f"fractional_max_pool{d}d", fractional(d), fractional_samples(d), **REAL, errors=[
        Raises(ValueError, (f"fractional_max_pool{d}d", "output_ratio"), (np.ones((1, 1, *[4] * d)), 2))])
      for d in (2, 3)),
    OpInfo("fractional_max_indices", lambda x, k, m, u: FRACTIONAL(x, k[0], m[0], u, True)[1], index_samples, **REAL,
           order=0),
    OpInfo("windowed_max", windowed, cases(on((2, 3, 4), ((2, 2, 2, 1, 1), (4, 3))),
           on((2, 3, 4), ((2, 2, 1, 1, 2), (3, 2, 2, 1, 1))), distinct=True), **REAL),
    OpInfo("take_pooled", lambda x, i, dims: np.take_along_axis(x.reshape(2, 1, 6), i, 2), pooled_samples, **REAL),
    OpInfo("place_pooled", placed, placed_samples, **REAL),
    OpInfo("put_pooled", reference.max_unpool, put_samples, **REAL),
]  # fmt: skip
