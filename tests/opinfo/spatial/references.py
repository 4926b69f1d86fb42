"""What the operators of the area spatial are compared with: their definitions, window by window, or SciPy."""

import itertools
import math

import numpy as np
import scipy.ndimage

__all__ = [
    "adaptive", "affine_grid", "convolution", "grid_sample", "interpolate", "max_unpool", "pad", "pool",
    "transposed_convolution", "unfold",
]  # fmt: skip


def each(value, dims):
    """One number for each dimension."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return found if len(found) == dims else found * dims


def convolution(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Every number of the result as the sum over its window."""
    dims = weight.ndim - 2
    if x.ndim == dims + 1:
        return convolution(x[None], weight, bias, stride, padding, dilation, groups)[0]
    stride, dilation, kernel = each(stride, dims), each(dilation, dims), weight.shape[2:]
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel, strict=True)]
        pairs = [(n // 2, n - n // 2) for n in total]
    else:
        pairs = [(p, p) for p in each(padding, dims)]
    x = np.pad(x, [(0, 0), (0, 0), *pairs])
    out = tuple(
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    )
    y = np.zeros((len(x), len(weight), *out), np.result_type(x, weight))
    per_in, per_out = weight.shape[1], len(weight) // groups
    for at in np.ndindex(*out):
        window = x[
            (
                ...,
                *(
                    slice(i * s, i * s + d * (k - 1) + 1, d)
                    for i, s, d, k in zip(at, stride, dilation, kernel, strict=True)
                ),
            )
        ]
        for o in range(len(weight)):
            first = o // per_out * per_in
            y[(slice(None), o, *at)] = (window[:, first : first + per_in] * weight[o]).sum(tuple(range(1, x.ndim)))
    return y if bias is None else y + bias.reshape(-1, *[1] * dims)


def transposed_convolution(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Every number of the input laid down with the kernel around it."""
    dims = weight.ndim - 2
    if x.ndim == dims + 1:
        return transposed_convolution(x[None], weight, bias, stride, padding, output_padding, groups, dilation)[0]
    stride, dilation, kernel = each(stride, dims), each(dilation, dims), weight.shape[2:]
    padding, more = each(padding, dims), each(output_padding, dims)
    full = [
        (n - 1) * s + d * (k - 1) + 1 + m
        for n, s, d, k, m in zip(x.shape[2:], stride, dilation, kernel, more, strict=True)
    ]
    per_in, per_out = len(weight) // groups, weight.shape[1]
    y = np.zeros((len(x), per_out * groups, *full), np.result_type(x, weight))
    for c, *at in np.ndindex(*x.shape[1:]):
        place = [
            slice(i * s, i * s + d * (k - 1) + 1, d) for i, s, d, k in zip(at, stride, dilation, kernel, strict=True)
        ]
        first = c // per_in * per_out
        numbers = x[(slice(None), c, *at)].reshape(-1, *[1] * (dims + 1))
        y[(slice(None), slice(first, first + per_out), *place)] += numbers * weight[c]
    y = y[(..., *(slice(p, n - p) for n, p in zip(full, padding, strict=True)))]
    return y if bias is None else y + bias.reshape(-1, *[1] * dims)


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """The columns one after the other."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (each(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(ph, ph), (pw, pw)])
    rows = range(0, x.shape[-2] - dh * (kh - 1), sh)
    columns = range(0, x.shape[-1] - dw * (kw - 1), sw)
    lead = x.shape[:-3]
    windows = [
        x[..., i : i + dh * (kh - 1) + 1 : dh, j : j + dw * (kw - 1) + 1 : dw].reshape(*lead, -1)
        for i in rows
        for j in columns
    ]
    return np.stack(windows, -1)


def pad(x, pad, mode="constant", value=None):
    """numpy.pad, after what negative numbers cut off."""
    if x.ndim == 0:
        return x.copy()
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[i : i + 2]) for i in range(len(pad) - 2, -1, -2)]
    kept = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs, strict=True))]
    name = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    more = {"constant_values": value or 0} if mode == "constant" else {}
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in pairs], mode=name, **more)


def bounds(n, k, s, p, d, ceil_mode):
    """The places of each window of one dimension, in the padded array."""
    out = (math.ceil if ceil_mode else math.floor)((n + 2 * p - d * (k - 1) - 1) / s) + 1
    if ceil_mode and (out - 1) * s >= n + p:
        out -= 1
    return [[i * s - p + j * d for j in range(k)] for i in range(out)]


def over_windows(x, windows, function, outputs=1):
    """function(numbers, flat places, all places) of every window of the last dimensions, given by lists of places."""
    dims = len(windows)
    size, lead = x.shape[x.ndim - dims :], x.shape[: x.ndim - dims]
    flat = np.asarray(x).reshape(-1, math.prod(size))
    out = [len(w) for w in windows]
    found = np.zeros((outputs, len(flat), *out), np.float64)
    for at in np.ndindex(*out):
        every = list(itertools.product(*(w[i] for w, i in zip(windows, at, strict=True))))
        inside = [p for p in every if all(0 <= q < n for q, n in zip(p, size, strict=True))]
        places = np.array([np.ravel_multi_index(p, size) for p in inside], int)
        for row in range(len(flat)):
            found[(slice(None), row, *at)] = function(flat[row, places], places, every)
    return found.reshape(outputs, *lead, *out)


def pool(
    kind, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *, dims, include=True, divisor=None
):
    """avg: means; max: (maxima, their places); a number p: sums of powers, and their roots."""
    kernel, size = each(kernel_size, dims), x.shape[x.ndim - dims :]
    stride = kernel if stride is None else each(stride, dims)
    how = list(zip(size, kernel, stride, each(padding, dims), each(dilation, dims), strict=True))
    windows = [bounds(*one, ceil_mode) for one in how]
    if kind == "max":
        values, places = over_windows(x, windows, lambda v, at, _: (v.max(), at[v.argmax()]), 2)
        return values.astype(x.dtype), places.astype(np.int64)

    def mean(v, at, every):
        padded = sum(all(p < n + q for p, (n, _, _, q, _) in zip(place, how, strict=True)) for place in every)
        return v.sum() / (divisor or (padded if include else len(v)))

    def power(v, at, every):
        return (v**kind).sum() ** (1 / kind)

    return over_windows(x, windows, mean if kind == "avg" else power)[0].astype(x.dtype)


def adaptive(kind, x, output_size, dims):
    """Means, or (maxima, their places), over windows from floor(i n / m) to ceil((i + 1) n / m)."""
    size = x.shape[x.ndim - dims :]
    out = [n if m is None else m for n, m in zip(size, each(output_size, dims), strict=True)]
    windows = [
        [range(i * n // m, math.ceil((i + 1) * n / m)) for i in range(m)] for n, m in zip(size, out, strict=True)
    ]
    if kind == "avg":
        return over_windows(x, windows, lambda v, at, every: v.mean())[0].astype(x.dtype)
    values, places = over_windows(x, windows, lambda v, at, every: (v.max(), at[v.argmax()]), 2)
    return values.astype(x.dtype), places.astype(np.int64)


def max_unpool(x, indices, size):
    """Zeros with x written at flat places."""
    lead = x.shape[: x.ndim - len(size)]
    out = np.zeros((math.prod(lead), math.prod(size)), x.dtype)
    for row, (numbers, places) in enumerate(zip(x.reshape(len(out), -1), indices.reshape(len(out), -1), strict=True)):
        out[row, places] = numbers
    return out.reshape(*lead, *size)


def keys(t, a):
    """Keys' cubic kernel, by its two pieces."""
    t = np.abs(t)
    near, far = (a + 2) * t**3 - (a + 3) * t**2 + 1, a * (t**3 - 5 * t**2 + 8 * t - 4)
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def weights_of(kind, n, m, scale, align, antialias):
    """The matrix (m, n) of one dimension, each old place weighed by the kernel at its distance."""
    matrix = np.zeros((m, n))
    for i in range(m):
        centre = i * scale if align and not antialias else (i + 0.5) * scale - 0.5
        if kind.startswith("nearest"):
            matrix[i, min(int((i + 0.5 * (kind == "nearest-exact")) * scale), n - 1)] = 1
        elif antialias:
            distance = (np.arange(n) - centre) / max(scale, 1)
            kernel = (1 - np.abs(distance)).clip(0) if kind == "linear" else keys(distance, -0.5)
            matrix[i] = kernel / kernel.sum()
        else:
            for j in range(math.floor(centre) - 1, math.floor(centre) + 3):  # neighbours outside count at the border
                weight = max(1 - abs(j - centre), 0) if kind == "linear" else keys(j - centre, -0.75)
                matrix[i, min(max(j, 0), n - 1)] += weight
    return matrix


def interpolate(
    x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    """By one dense matrix a dimension."""
    dims, kind = x.ndim - 2, {"bicubic": "cubic"}.get(mode, mode if "nearest" in mode else "linear")
    factors = None if scale_factor is None else each(scale_factor, dims)
    out = each(size, dims) if size is not None else [int(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
    if mode == "area":
        return adaptive("avg", x, out, dims)
    y = x
    for d, (n, m) in enumerate(zip(x.shape[2:], out, strict=True)):
        scale = n / m if factors is None or recompute_scale_factor else 1 / factors[d]
        scale = (n - 1) / max(m - 1, 1) if align_corners else scale
        matrix = weights_of(kind, n, m, scale, align_corners, antialias)
        y = np.moveaxis(np.tensordot(matrix, y, (1, d + 2)), 0, d + 2)
    return y.astype(x.dtype)


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """By scipy.ndimage, channel by channel."""
    size = np.array(x.shape[2:])
    at = np.moveaxis(grid[..., ::-1], -1, 1)  # (N, dims, *out)
    shape = (-1, *[1] * (grid.ndim - 2))
    n = size.reshape(shape)
    at = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
    border = {"zeros": "grid-constant", "border": "nearest", "reflection": "mirror" if align_corners else "grid-mirror"}
    order = {"bilinear": 1, "nearest": 0}[mode]
    return np.array(
        [
            [scipy.ndimage.map_coordinates(channel, places, order=order, mode=border[padding_mode]) for channel in one]
            for one, places in zip(np.asarray(x), np.asarray(at), strict=True)
        ]
    ).reshape(*x.shape[:2], *grid.shape[1:-1])


def affine_grid(theta, size, align_corners=None):
    """Every place of the grid through its matrix."""
    out = np.zeros((size[0], *size[2:], len(size) - 2), theta.dtype)
    for at in np.ndindex(*size[2:]):
        place = []
        for i, n in zip(reversed(at), reversed(size[2:]), strict=True):
            line = (2 * i / (n - 1) - 1 if align_corners else (2 * i + 1) / n - 1) if n > 1 else 0
            place.append(line)
        out[(slice(None), *at)] = theta @ np.array([*place, 1], theta.dtype)
    return out
