"""Composite operators on samples of a function: differences, slopes and integrals."""

import numpy as np

from pullback.ops.composite.checks import require_arrays


def along(x, dim, item, ops):
    """x[..., item, ...] with the item at dimension dim."""
    return ops.slice_view(x, (*(slice(None),) * (dim % x.ndim), item, ...))


def diff(self, n=1, dim=-1, prepend=None, append=None, *, ops):
    """The n-th differences of neighbours along dim; of truth values, whether they differ."""
    require_arrays("diff", input=self, prepend=prepend, append=append)
    if n < 0:
        raise RuntimeError(f"diff(): n must not be negative, got {n}.")
    if self.ndim == 0:
        raise RuntimeError("diff(): expected at least one dimension, got a 0-d input.")
    if not -self.ndim <= dim < self.ndim:
        raise IndexError(f"diff(): dim {dim} is out of range for an input of {self.ndim} dimensions.")
    if n == 0:
        return ops.clone(self)
    parts = [x for x in (prepend, self, append) if x is not None]
    x = ops.cat(parts, dim) if len(parts) > 1 else self
    less = ops.logical_xor if x.dtype.kind == "b" else ops.sub
    for _ in range(min(n, max(x.shape[dim], 1))):  # nothing is left then
        x = less(along(x, dim, slice(1, None), ops), along(x, dim, slice(-1), ops))
    return x


# -- the trapezoidal rule --------------------------------------------------------------------------------------------
def panels(name, y, x, dx, dim, ops):
    """Twice the areas between neighbouring samples along dim."""
    require_arrays(name, y=y, x=x)
    if y.ndim == 0:
        raise RuntimeError(f"{name}(): y must have at least one dimension.")
    if not -y.ndim <= dim < y.ndim:
        raise IndexError(f"{name}(): dim {dim} is out of range for y of {y.ndim} dimensions.")
    if x is not None:
        if x.ndim == 1:  # the coordinates of dim, for every line
            x = ops.reshape(x, (-1, *(1,) * (y.ndim - 1 - dim % y.ndim)))
        elif x.ndim < y.ndim:
            x = ops.reshape(x, (*(1,) * (y.ndim - x.ndim), *x.shape))
        at = dim % y.ndim - y.ndim
        if x.shape[at] != y.shape[at]:
            raise RuntimeError(f"{name}(): there are {x.shape[at]} coordinates for {y.shape[at]} samples along {dim}.")
        dx = diff(x, dim=at, ops=ops)
    return (along(y, dim, slice(1, None), ops) + along(y, dim, slice(-1), ops)) * dx


def trapezoid(y, x=None, *, dx=1, dim=-1, ops):
    """The integral along dim of what is linear between the samples y at x, or dx apart."""
    return ops.sum(panels("trapezoid", y, x, dx, dim, ops), dim) / 2.0


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1, ops):
    """The integrals from the first sample to each of the others."""
    return ops.cumsum(panels("cumulative_trapezoid", y, x, dx, dim, ops), dim) / 2.0


# -- slopes ----------------------------------------------------------------------------------------------------------
def gradient(self, *, spacing=None, dim=None, edge_order=1, ops):
    """For each dimension in dim, the slopes of a function sampled in self: of second order inside."""
    require_arrays("gradient", input=self)
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient(): edge_order must be 1 or 2, got {edge_order}.")
    dims = dimensions(self, dim)
    single = spacing is None or not isinstance(spacing, (tuple, list))
    steps = [1.0 if spacing is None else spacing] * len(dims) if single else list(spacing)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"gradient(): spacing must be one number, or one number or vector for each of the dimensions {dims}; "
            f"got {len(steps)}."
        )
    for d in dims:
        if self.shape[d] < edge_order + 1:
            raise RuntimeError(
                f"gradient(): dimension {d} has {self.shape[d]} elements, and edge_order {edge_order} needs at least "
                f"{edge_order + 1}."
            )
    self = self if self.dtype.kind in "fc" else ops.to(self, np.dtype("float64"))
    return tuple(slope(self, step, d, edge_order, ops) for step, d in zip(steps, dims, strict=True))


def dimensions(x, dim):
    """`dim` as a list of numbers in range(x.ndim), none twice."""
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -x.ndim <= d < x.ndim:
            raise IndexError(f"gradient(): dim {d} is out of range for an input of {x.ndim} dimensions.")
    dims = [d % x.ndim for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient(): a dimension appears more than once in {dims}.")
    return dims


def slope(f, h, dim, edge_order, ops):
    """The slopes along dim of samples that are h apart, or at the coordinates h."""
    even = not hasattr(h, "ndim") or h.ndim == 0
    if not even:
        if tuple(h.shape) != (f.shape[dim],):
            raise RuntimeError(
                f"gradient(): the coordinates of dimension {dim} must have the shape ({f.shape[dim]},), "
                f"got {tuple(h.shape)}."
            )
        h = diff(h, ops=ops)
    first, last = ((h, h), (h, h)) if even else ((h[0], h[1 % len(h)]), (h[-1], h[-2 % len(h)]))
    ends = one_sided if edge_order == 1 else parabolic
    before = ends([along(f, dim, slice(k, k + 1), ops) for k in range(edge_order + 1)], first)
    after = ends([along(f, dim, slice(-k - 1, -k or None), ops) for k in range(edge_order + 1)], last)
    return ops.cat([before, central(f, h, even, dim, ops), -after], dim)


def central(f, h, even, dim, ops):
    """Slopes inside, of the parabola through three neighbours."""
    left, middle, right = (along(f, dim, s, ops) for s in (slice(-2), slice(1, -1), slice(2, None)))
    if even:
        return (right - left) / (2.0 * h)
    shape = [-1 if d == dim else 1 for d in range(f.ndim)]
    one, two = ops.reshape(h[:-1], shape), ops.reshape(h[1:], shape)
    total = one + two
    return -two / (one * total) * left + (two - one) / (one * two) * middle + one / (two * total) * right


def one_sided(values, steps):
    """The slope of the line through the last two samples, from the end inwards."""
    return (values[1] - values[0]) / steps[0]


def parabolic(values, steps):
    """The slope, at the first, of the parabola through three samples."""
    h1, h2 = steps
    total = h1 + h2
    inner = total / (h1 * h2) * values[1] - h1 / (h2 * total) * values[2]
    return inner - (2.0 * h1 + h2) / (h1 * total) * values[0]
