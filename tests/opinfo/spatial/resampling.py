"""OpInfo records of interpolation, sampling by a grid, and the exchange of channels and pixels."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import cases, on
from tests.opinfo.spatial import references as reference

__all__ = ["OPINFOS"]

NN = "nn.functional."
REAL = {"dtypes": FLOATS}
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
WRONG = [
    Raises(RuntimeError, ("interpolate", "int64"), (np.ones((1, 1, 3), int), 2), {"mode": "linear"}),
    Raises(ValueError, ("interpolate", "one of"), (np.ones((1, 1, 3)),)),
    Raises(ValueError, ("interpolate", "align_corners"), (np.ones((1, 1, 3)), 2), {"align_corners": True}),
    Raises(
        NotImplementedError, ("interpolate", "bilinear", "(1, 1, 3)"), (np.ones((1, 1, 3)), 2), {"mode": "bilinear"}
    ),
    Raises(ValueError, ("interpolate", "antialias"), (np.ones((1, 1, 3)), 2), {"antialias": True}),
]


def interpolations():
    """One record a mode."""
    line, plane, box = (1, 2, 4), (1, 1, 3, 4), (1, 1, 2, 3, 2)
    for mode in ("nearest", "nearest-exact"):
        calls = [on(line, 7), on(plane, None, (1.5, 0.5)), on(box, (3, 2, 1)), on((0, 1, 3), 2)]
        yield record(mode, [written(c, mode) for c in calls], WRONG if mode == "nearest" else ())
    yield record("area", [written(on(line, 3), "area"), written(on(plane, (2, 3)), "area")])
    for mode, shape, size in (("linear", line, 6), ("bilinear", plane, (5, 3)), ("trilinear", box, (3, 2, 3))):
        factors = {"scale_factor": 1.7}
        calls = [
            on(shape, size),
            on(shape, size, align_corners=True),
            on(shape, recompute_scale_factor=True, **factors),
        ]
        yield record(mode, [written(c, mode) for c in (*calls, on(shape, align_corners=False, **factors))])
    for mode in ("bilinear", "bicubic"):
        calls = [on((1, 1, 5, 4), (2, 3)), on((1, 1, 2, 3), (3, 4))]
        yield record(mode, [written(c, mode, antialias=True) for c in calls], variant=f"{mode}_antialias")
    calls = [on((1, 1, 4, 3), (6, 2)), on(plane, (2, 5), align_corners=True), on((1, 1, 3, 3), scale_factor=(1.3, 2))]
    yield record("bicubic", [written(c, "bicubic") for c in calls])


def written(call, mode, **more):
    """The call with a mode."""
    return Sample(*call.args, **(call.kwargs | {"mode": mode} | more))


def record(mode, calls, errors=(), variant=None):
    """The record of a mode."""
    samples = cases(*calls)
    return OpInfo(NN + "interpolate", reference.interpolate, samples, **REAL, errors=errors, variant=variant or mode)


def bicubic_of(x, grid, padding_mode="zeros", align_corners=None):
    """Sixteen neighbours of each place, each by Keys' kernel; with zeros outside, or the border."""
    n, size = len(x), x.shape[2:]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for row, *at in np.ndindex(n, *grid.shape[1:-1]):
        place = [
            (g + 1) / 2 * (m - 1) if align_corners else ((g + 1) * m - 1) / 2
            for g, m in zip(grid[(row, *at)][::-1], size, strict=True)
        ]
        for i in range(size[0] + 8):
            for j in range(size[1] + 8):
                there = (i - 4, j - 4)
                weight = np.prod([reference.keys(p - q, -0.75) for p, q in zip(place, there, strict=True)])
                inside = all(0 <= q < m for q, m in zip(there, size, strict=True))
                if inside or padding_mode == "border":
                    near = tuple(min(max(q, 0), m - 1) for q, m in zip(there, size, strict=True))
                    out[(row, slice(None), *at)] += weight * x[(row, slice(None), *near)]
    return out


def sampled(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """By SciPy, or sixteen neighbours."""
    if mode == "bicubic":
        return bicubic_of(x, grid, padding_mode, align_corners)
    return reference.grid_sample(x, grid, mode, padding_mode, align_corners)


def grid_samples(mode):
    """Places inside and outside of the array."""

    def samples(make):
        for padding_mode in PADDINGS[: 2 if mode == "bicubic" else 3]:
            for align_corners in (False, True):
                grid = make((1, 2, 2, 2), low=-1.4, high=1.4)
                how = {"padding_mode": padding_mode, "align_corners": align_corners}
                yield Sample(make((1, 2, 3, 4)), grid, mode, **how)
        if mode != "bicubic":
            yield Sample(make((1, 1, 2, 3, 2)), make((1, 1, 2, 1, 3), low=-1.2, high=1.2), mode)

    return samples


def by_numbers(x, grid, mode, padding_mode, align_corners):
    """Numbers for words."""
    return sampled(x, grid, MODES[mode], PADDINGS[padding_mode], align_corners)


def sampler_samples(*shapes):
    """One call for each shape."""

    def samples(make):
        for shape in shapes:
            grid = make((shape[0], *[1] * (len(shape) - 3), 2, len(shape) - 2), low=-1.2, high=1.2)
            yield Sample(make(shape), grid, 0, 1, False)

    return samples


def places_of(grid, size, mode, padding_mode, align_corners):
    """Coordinate by coordinate, for two dimensions, two neighbours in each and zeros outside."""
    part, slope = np.zeros_like(grid), np.zeros_like(grid)
    index = np.full((len(grid), grid[0, ..., 0].size, 4), -1)
    for n, point in np.ndindex(*index.shape[:2]):
        at, lows = (n, *np.unravel_index(point, grid.shape[1:-1])), []
        for d, m in enumerate(size):
            slope[(*at, 1 - d)] = scale = (m - 1) / 2 if align_corners else m / 2
            place = (grid[(*at, 1 - d)] + 1) * scale - (0 if align_corners else 0.5)
            lows.append(int(np.floor(place)))
            part[(*at, 1 - d)] = place - np.floor(place)
        for k, near in enumerate(np.ndindex(2, 2)):
            there = [low + j for low, j in zip(lows, near, strict=True)]
            if all(0 <= q < m for q, m in zip(there, size, strict=True)):
                index[n, point, k] = np.ravel_multi_index(there, size)
    return part, slope, index


def place_samples(make):
    """Places inside and outside."""
    for align_corners in (False, True):
        yield Sample(make((2, 1, 3, 2), low=-1.3, high=1.3), [3, 4], "bilinear", "zeros", align_corners)


INDEX = np.array([[[0, 3], [-1, 2], [3, 3]], [[1, 0], [2, -1], [-1, -1]]])  # two of them the same; some nowhere


def of_three(x, y, weight):
    """The sum over p and k of y[:, :, p] * x[:, :, place] * weight, not yet summed: its terms (n, c, p, k)."""
    found = np.zeros((len(INDEX), y.shape[1], *INDEX.shape[1:]), np.result_type(x, y, weight))
    for n, p, k in np.ndindex(*INDEX.shape):
        if INDEX[n, p, k] >= 0:
            found[n, :, p, k] = y[n, :, p] * x[n, :, INDEX[n, p, k]] * weight[n, p, k]
    return found


def spread(y, index, weight, size):
    """Added number by number."""
    terms = of_three(np.ones((*y.shape[:2], size), y.dtype), y, weight)
    out = np.zeros((*y.shape[:2], size), terms.dtype)
    for n, p, k in np.ndindex(*INDEX.shape):
        out[n, :, INDEX[n, p, k]] += terms[n, :, p, k]
    return out


def sample_samples(make):
    """An array, places, weights."""
    yield Sample(make((2, 2, 4)), INDEX, make(INDEX.shape))


def spread_samples(make):
    """Numbers, their places and weights."""
    yield Sample(make((2, 2, 3)), INDEX, make(INDEX.shape), 4)


def dot_samples(make):
    """Numbers, an array, places."""
    yield Sample(make((2, 2, 3)), make((2, 2, 4)), INDEX)


def pixel_shuffle(x, r):
    """Number by number."""
    *lead, c, h, w = x.shape
    out = np.empty((*lead, c // r**2, h * r, w * r), x.dtype)
    for k, i, j in np.ndindex(*out.shape[-3:]):
        out[..., k, i, j] = x[..., k * r * r + i % r * r + j % r, i // r, j // r]
    return out


def pixel_unshuffle(x, r):
    """Number by number."""
    *lead, c, h, w = x.shape
    out = np.empty((*lead, c * r**2, h // r, w // r), x.dtype)
    for k, i, j in np.ndindex(c, h, w):
        out[..., k * r * r + i % r * r + j % r, i // r, j // r] = x[..., k, i, j]
    return out


def channel_shuffle(x, groups):
    """Channel by channel."""
    each = x.shape[1] // groups
    return x[:, [g * each + i for i in range(each) for g in range(groups)]]


ONES = np.ones((1, 1, 2, 2))


def base_places(x, size, align_corners):
    """Place by place."""
    at = [
        [0.0] if n == 1 else [(2 * i / (n - 1) - 1) * (1 if align_corners else (n - 1) / n) for i in range(n)]
        for n in size
    ]
    return np.array([[*(at[d][i] for d, i in reversed(list(enumerate(k)))), 1.0] for k in np.ndindex(*size)], x.dtype)


OPINFOS = [
    OpInfo("base_grid", base_places, cases(on((1, 2, 3), [2, 3], True), on((1,), [3, 1, 2], False)),
           dtypes=FLOATS, order=0),
    *interpolations(),
    OpInfo(NN + "upsample", reference.interpolate, cases(on((1, 1, 3), 5)), **REAL),
    OpInfo(NN + "upsample_nearest", reference.interpolate, cases(on((1, 1, 2, 3), scale_factor=2)), **REAL),
    OpInfo(NN + "upsample_bilinear", lambda x, size: reference.interpolate(x, size, None, "bilinear", True),
           cases(on((1, 1, 2, 3), (3, 2))), **REAL),
    *(OpInfo(NN + "grid_sample", sampled, grid_samples(mode), **REAL, variant=mode, errors=[
        Raises(ValueError, ("grid_sample", "mode", "cubic"), (ONES, np.ones((1, 1, 1, 2)), "cubic")),
        Raises(RuntimeError, ("grid_sample", "2 coordinates", "(1, 1, 1, 3)"), (ONES, np.ones((1, 1, 1, 3))))])
      for mode in MODES),
    OpInfo("grid_sampler", by_numbers, sampler_samples((1, 1, 2, 3)), **REAL),
    OpInfo("grid_sampler_2d", by_numbers, sampler_samples((1, 1, 2, 3)), **REAL),
    OpInfo("grid_sampler_3d", by_numbers, sampler_samples((1, 1, 2, 3, 2)), **REAL),
    OpInfo("grid_places", places_of, place_samples, **REAL),
    OpInfo("sample_at", lambda x, index, w: of_three(x, np.ones((2, 2, 3), x.dtype), w).sum(3), sample_samples,
           dtypes=FLOATS, complex=True),
    OpInfo("spread_at", spread, spread_samples, dtypes=FLOATS, complex=True),
    OpInfo("dot_at", lambda y, x, index: of_three(x, y, np.ones(INDEX.shape, x.dtype)).sum(1), dot_samples,
           dtypes=FLOATS, complex=True),
    OpInfo(NN + "affine_grid", reference.affine_grid, cases(
        on((2, 2, 3), (2, 1, 2, 3)), on((1, 2, 3), (1, 1, 1, 2), True), on((1, 3, 4), (1, 1, 2, 1, 2), False)), **REAL,
        errors=[Raises(ValueError, ("affine_grid", "(1, 2, 3)"), (np.ones((1, 2, 2)), (1, 1, 2, 2)))]),
    OpInfo("pixel_shuffle", pixel_shuffle, cases(on((1, 4, 2, 1), 2), on((9, 1, 2), 3), on((0, 4, 1, 1), 2)),
           complex=True, errors=[Raises(RuntimeError, ("pixel_shuffle", "3"), (np.ones((3, 2, 2)), 2))]),
    OpInfo("pixel_unshuffle", pixel_unshuffle, cases(on((1, 1, 2, 4), 2), on((2, 3, 3), 3)), complex=True,
           errors=[Raises(RuntimeError, ("pixel_unshuffle", "2"), (np.ones((1, 3, 2)), 2))]),
    OpInfo("channel_shuffle", channel_shuffle, cases(on((1, 4, 2), 2), on((2, 6, 1, 1), 3)), complex=True,
           errors=[Raises(RuntimeError, ("channel_shuffle", "3"), (np.ones((1, 4, 2)), 3))]),
]  # fmt: skip
