"""Running sums and their like, along a dimension; recurrences."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from pullback.arrays.traced.graph import Step, Value
from pullback.compiler.native import simple
from pullback.compiler.native.lowering import FLOATS, WHOLE, Lowering, lowers
from pullback.compiler.native.nodes import Window

_FEW = 4096  # elements that lie apart, from which on NumPy's loops over rows are faster
_NAMES = {
    "cumsum": "running sum", "cumsum_backward": "running sum", "cumprod": "running product",
    "logcumsumexp": "running logaddexp", "cummax": "running maximum", "cummin": "running minimum",
}  # fmt: skip


def _fits(step: Step, *arrays: Any) -> bool:
    dtype = step.results[0].dtype
    return dtype in FLOATS and all(type(x) is Value and x.dtype == dtype and x.shape for x in arrays)


def _last(x: Window, d: int, backwards: bool) -> Window:
    """The window with a dimension last, perhaps from its end."""
    x = x.only([*(i for i in range(len(x.shape)) if i != d), d])
    if backwards:
        *lead, stride = x.strides
        x = x._replace(strides=(*lead, -stride), offset=x.offset + stride * (x.shape[-1] - 1))
    return x


def _back(x: Window, d: int, backwards: bool) -> Window:
    """Undo `_last`."""
    x = _last(x, len(x.shape) - 1, backwards)
    order = list(range(len(x.shape) - 1))
    order.insert(d, len(x.shape) - 1)
    return x.only(order)


def _run(lowering: Lowering, name: str, d: int, backwards: bool, *arrays: Window) -> Window:
    given = [_last(x, d, backwards) for x in arrays]
    *batch, n = given[0].shape
    items = ((n,),) * (len(given) + 1)
    return _back(lowering.alone(name, (n,), items, tuple(batch), given), d, backwards)


@lowers("cumsum", "cumsum_backward", "cumprod", "logcumsumexp", "cummax", "cummin")
def _running(lowering: Lowering, step: Step) -> bool:
    x, dim = step.args[:2]
    if not _fits(step, x) or any(y is not None for y in step.args[2:]):
        return False
    window, d = lowering.window(x), dim % len(x.shape)
    if lowering.calls and abs(window.strides[d]) > 1 and prod(x.shape) > _FEW:
        return False
    found = _run(lowering, _NAMES[str(step.what)], d, step.what == "cumsum_backward", window)
    if len(step.results) == 1:
        return lowering.gives(step, found)
    places = np.arange(float(x.shape[d])).reshape([x.shape[d] if i == d else 1 for i in range(len(x.shape))])
    rule = lambda c, t, v, x, at: c.sel(v.eq(x) | x.ne(x), at, 0.0)  # noqa: E731
    met = lowering.map("where it was met", rule, [found, window, lowering.constant(places)], shape=x.shape, dtype=float)
    last = _run(lowering, "running maximum", d, False, met)
    return lowering.gives(step, found, lowering.map("whole", simple.whole, [last], shape=x.shape, dtype=WHOLE))


@lowers("linear_recurrence")
def _recurrence(lowering: Lowering, step: Step) -> bool:
    """s[i] = x[i] + c[i] s[i - 1]; from the end with c[i + 1]."""
    x, c, dim, backwards = (*step.args, False)[:4]
    if not _fits(step, x, c) or x.shape != c.shape:
        return False
    d, factors = dim % len(x.shape), lowering.window(c)
    if backwards and x.shape[d] > 1:  # the coefficient of the place behind: the first one is not used
        rolled = lowering.map("fill", simple.fill, [0.0], shape=x.shape, dtype=x.dtype)
        before = (slice(None),) * d
        where = rolled.through(lambda probe: probe[(*before, slice(0, -1))])
        value = factors.through(lambda probe: probe[(*before, slice(1, None))])
        assert where is not None
        assert value is not None
        factors = lowering.write(rolled, where, value, adds=False)
    return lowering.gives(step, _run(lowering, "recurrence", d, bool(backwards), lowering.window(x), factors))
