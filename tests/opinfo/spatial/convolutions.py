"""OpInfo records of the area spatial: convolution, padding, maps along dimensions."""

import numpy as np

from pullback.testing.opinfo.core import FLOATS, OpInfo, Raises, Sample
from pullback.testing.opinfo.samples import T, cases, on
from tests.opinfo.spatial import references as reference

__all__ = ["OPINFOS"]

NN = "nn.functional."
EITHER = {"dtypes": FLOATS, "complex": True}
ANY = {"complex": True}


# -- convolution -----------------------------------------------------------------------------------------------------
def convolutions():
    """conv1d to conv3d."""
    one = cases(on((2, 2, 5), T((3, 2, 2)), T((3,)), 2, 1, 2), on((2, 4), T((4, 1, 2)), None, padding="same", groups=2),
                on((0, 2, 3), T((2, 2, 3))), on((1, 1, 6), T((1, 1, 3)), T((1,)), padding="valid"))  # fmt: skip
    two = cases(on((1, 2, 3, 4), T((2, 2, 2, 3)), T((2,)), (2, 1), (1, 0)), on((2, 3, 2), T((2, 1, 1, 1)), groups=2))
    three = cases(on((1, 1, 2, 3, 2), T((2, 1, 2, 1, 2)), T((2,)), padding=1, stride=(2, 2, 1)))
    for dims, samples in ((1, one), (2, two), (3, three)):
        name, x, w = f"conv{dims}d", np.ones((1, 2, *[3] * dims)), np.ones((2, 2, *[2] * dims))
        yield OpInfo(name, reference.convolution, samples, **EITHER, errors=[
            Raises(RuntimeError, (name, "channels", "2"), (x, w[:, :1])),
            Raises(RuntimeError, (name, "stride", "0"), (x, w), {"stride": 0}),
            Raises(RuntimeError, (name, "negative padding"), (x, w), {"padding": -1}),
            Raises(RuntimeError, (name, "bias", "(3,)"), (x, w, np.ones(3))),
            Raises(RuntimeError, (name, "kernel", "input"), (x, np.ones((2, 2, *[4] * dims)))),
        ])  # fmt: skip


def transposed():
    """conv_transpose1d to conv_transpose3d."""
    one = cases(on((2, 2, 3), T((2, 3, 2)), T((3,)), 2, 1, 1), on((2, 3), T((2, 1, 3)), groups=2),
                on((1, 1, 3), T((1, 1, 2)), T((1,)), 1, 1, 2, dilation=3))  # fmt: skip
    two = cases(on((1, 2, 2, 3), T((2, 1, 2, 2)), T((1,)), (2, 1), (1, 0)))
    three = cases(on((1, 1, 2, 1, 2), T((1, 2, 2, 1, 2)), None, 2))
    for dims, samples in ((1, one), (2, two), (3, three)):
        name, x, w = f"conv_transpose{dims}d", np.ones((1, 2, *[3] * dims)), np.ones((2, 2, *[2] * dims))
        yield OpInfo(name, reference.transposed_convolution, samples, **EITHER, errors=[
            Raises(RuntimeError, (name, "channels"), (x, w[:1])),
            Raises(RuntimeError, (name, "output_padding", "1"), (x, w), {"output_padding": 1}),
        ])  # fmt: skip


def of_input(y, weight, size, stride, padding, dilation, groups):
    """Without bias; the size says how much padding there is behind."""
    usual = [(n - 1) * s - 2 * p + d * (k - 1) + 1
             for n, s, p, d, k in zip(y.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True)
             ]  # fmt: skip
    more = [n - m for n, m in zip(size, usual, strict=True)]
    return reference.transposed_convolution(y, weight, None, stride, padding, more, groups, dilation)


def of_weight(y, x, shape, stride, padding, dilation, groups):
    """Entry by entry: the convolution is linear in its weight."""
    found = np.zeros(shape, np.result_type(x, y))
    for at in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[at] = 1
        found[at] = (y * reference.convolution(x, unit, None, stride, padding, dilation, groups)).sum()
    return found


def general(x, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):
    """Either convolution."""
    if is_transposed:
        return reference.transposed_convolution(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return reference.convolution(x, weight, bias, stride, padding, dilation, groups)


def folded(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Column by column: fold is the adjoint of unfold."""
    channels = x.shape[-2] // int(np.prod(reference.each(kernel_size, 2)))
    shape = (channels, *output_size)
    units = np.eye(int(np.prod(shape)), dtype=x.dtype).reshape(-1, *shape)
    columns = np.array([reference.unfold(u, kernel_size, dilation, padding, stride) for u in units])
    return np.tensordot(x, columns, ((-2, -1), (-2, -1))).reshape(*x.shape[:-2], *shape)


CONVOLUTIONS = [
    *convolutions(),
    *transposed(),
    OpInfo("convolution", general, cases(on((1, 2, 4), T((2, 1, 2)), T((2,)), [1], [1], [1], False, [0], 2),
                                         on((1, 2, 3), T((2, 1, 2)), T((1,)), [2], [1], [1], True, [1], 1)), **EITHER),
    OpInfo("convolution_input", of_input, cases(on((1, 2, 3), T((2, 1, 2)), [6], [2], [0], [1], 1)), **EITHER),
    OpInfo("convolution_weight", of_weight, cases(on((1, 2, 2), T((1, 2, 5)), [2, 1, 2], [2], [0], [1], 2)), **EITHER),
    OpInfo("im2col", reference.unfold, cases(on((1, 2, 3, 4), [2, 2], [1, 1], [1, 0], [2, 1])), **ANY),
    OpInfo("col2im", folded, cases(on((1, 4, 9), [3, 3], [2, 2], [1, 1], [1, 1], [2, 2]),
                                   on((1, 8, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])), **EITHER),
    OpInfo(NN + "unfold", reference.unfold, cases(on((1, 2, 3, 4), 2), on((1, 4, 4), (2, 1), 2, 1, (1, 2))), **ANY,
           errors=[Raises(RuntimeError, ("unfold", "(3, 3)"), (np.ones((1, 1, 2, 2)), 3)),
                   Raises(RuntimeError, ("unfold", "stride"), (np.ones((1, 1, 2, 2)), 2), {"stride": 0})]),
    OpInfo(NN + "fold", folded, cases(on((1, 8, 4), (3, 3), 2), on((2, 2), (3, 3), (2, 1), 2, 0, (2, 2))), **EITHER,
           errors=[Raises(RuntimeError, ("fold", "4"), (np.ones((1, 8, 5)), (3, 3), 2))]),
    OpInfo("bilinear", lambda a, b, w, c=0: np.einsum("...i,oij,...j->...o", a, w, b) + c,
           cases(on((2, 3), T((2, 2)), T((2, 3, 2)), T((2,))), on((3,), T((2,)), T((1, 3, 2))),
                 on((0, 3), T((0, 2)), T((1, 3, 2)))), **EITHER,
           errors=[Raises(RuntimeError, ("bilinear", "(2, 3, 2)"), (np.ones((2, 4)), np.ones((2, 2)),
                                                                          np.ones((2, 3, 2))))]),
]  # fmt: skip


# -- padding and maps along dimensions -------------------------------------------------------------------------------
def mapped(x, maps):
    """The maps as dense matrices, by what they make of unit vectors."""
    y = x
    for axis, m in enumerate(maps, x.ndim - len(maps)):
        if m is not None:
            y = np.moveaxis(np.tensordot(dense(m), y, (1, axis)), 0, axis)
    return y.astype(x.dtype)


def dense(told):
    """The matrix of a map, from what it is said to do."""
    kind, *how = told
    if kind == "adjoint":
        return dense(*how).T
    if kind == "border":
        mode, n, before, after = how
        kept = np.eye(n)[max(-before, 0) : n - max(-after, 0)]
        margins = [(max(before, 0), max(after, 0)), (0, 0)]
        return np.pad(kept, margins, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])
    if kind == "resample":
        _, n, m, _, _, _ = how  # linear, corners not aligned
        return np.stack([np.interp((np.arange(m) + 0.5) * n / m - 0.5, np.arange(n), row) for row in np.eye(n)], 1)
    n, m = how[:2]
    matrix = np.zeros((m, n))
    for i in range(m):
        if kind == "mean":
            matrix[i, i * n // m : -(-(i + 1) * n // m)] = 1
        else:
            _, _, kernel, stride, padding, counted = how
            begin, end = i * stride - padding, i * stride - padding + kernel
            matrix[i, max(begin, 0) : max(end, 0)] = 1
            if counted == "padded":
                matrix[i] /= min(end, n + padding) - begin
    return matrix / matrix.sum(1, keepdims=True) if kind == "mean" or how[-1] == "inside" else matrix


def map_samples(make):
    """Each kind of map."""
    yield Sample(make((2, 3, 4)), (("border", "reflect", 3, 1, 2), None))
    yield Sample(make((5, 3)), (("mean", 5, 3), ("border", "circular", 3, 2, -1)))
    yield Sample(make((4, 3)), (("resample", "linear", 4, 6, None, False, False), ("border", "replicate", 3, 0, 2)))
    yield Sample(make((1, 3, 16)), (("sum", 3, 4, 2, 1, 1, "inside"), ("sum", 16, 2, 8, 8, 0, "padded")))
    yield Sample(make((2, 5)), (("adjoint", ("sum", 5, 2, 3, 2, 1, None)), ("sum", 5, 3, 3, 2, 1, "padded")))
    yield Sample(make((2, 0, 3)), (None, ("border", "replicate", 3, -1, -1)))


def pad_records():
    """One a mode."""
    for mode in ("constant", "reflect", "replicate", "circular"):
        given = {"mode": mode}
        samples = cases(on((2, 4), (1, 2), **given), on((1, 3, 4), (1, 1, 2, 0), **given), on((2, 4), (-1, 2), **given))
        errors = [Raises(RuntimeError, ("pad", "5"), (np.ones((1, 3)), (5, 0)), given)] if mode == "reflect" else ()
        yield OpInfo(NN + "pad", reference.pad, samples, **ANY, errors=errors, variant=mode)


def pad_only(x, pad, value=0):
    """With a constant."""
    return reference.pad(x, pad, "constant", value)


PADDING = [
    OpInfo("constant_pad_nd", pad_only, cases(on((2, 3), [1, 2]), on((2, 3), [1, -1, 0, 2], 1.5), on((), []),
                                              on((0, 2), [0, 0, 1, 1], 2)), dtypes=(*FLOATS, np.complex128),
           errors=[Raises(RuntimeError, ("-2", "(1,)"), (np.ones(1), [-2, 0]))]),
    *pad_records(),
    OpInfo("separable_map", mapped, map_samples, **EITHER),
]  # fmt: skip

OPINFOS = [*CONVOLUTIONS, *PADDING]
