"""Helpers of the formulas of convolution and pooling.

With T(x, w, y) = sum(y * convolution(x, w)), which is linear in each, `convolution`, `convolution_input` and
`convolution_weight` are its derivatives by y, x and w, and the derivatives of each are the two others.
"""

from pullback.ops.formulas.indexing.by_index import last_written
from pullback.ops.formulas.nn.layers_and_losses import conj

NO_PADDING = (0, 0, 0)  # output_padding, where there is none


def convolution_backward(
    grad, input, weight, input_shape, weight_shape, stride, padding, dilation, transposed, groups, grad_input_mask, *,
    ops,
):  # fmt: skip
    """(gradient to input, made of weight; gradient to weight, made of input)."""
    how, (to_input, to_weight) = (stride, padding, dilation, groups), grad_input_mask
    if transposed:
        return (
            convolved(grad, conj(weight), input_shape[2:], *how, ops=ops) if to_input else None,
            ops.convolution_weight(conj(input), grad, weight_shape, *how) if to_weight else None,
        )
    return (
        ops.convolution_input(grad, conj(weight), input_shape[2:], *how) if to_input else None,
        ops.convolution_weight(grad, conj(input), weight_shape, *how) if to_weight else None,
    )


def sum_of_channels(grad, *, ops):
    """The gradient to a bias: summed over all but dimension 1."""
    return ops.sum(grad, (0, *range(2, grad.ndim)))


def convolution_jvp(
    input, input_t, weight, weight_t, bias_t, stride, padding, dilation, transposed, output_padding, groups, *, ops,
):  # fmt: skip
    """Product rule; tangents that are None are zero."""
    how = (stride, padding, dilation, transposed, output_padding, groups)
    total = None
    if input_t is not None:
        total = ops.convolution(input_t, weight, bias_t, *how)
    if weight_t is not None:
        moved = ops.convolution(input, weight_t, None if total is not None else bias_t, *how)
        total = moved if total is None else total + moved
    if total is None:  # the bias alone moves
        total = ops.convolution(input * 0, weight, bias_t, *how)
    return total


def convolved(input, weight, size, stride, padding, dilation, groups, *, ops):
    """The first `size` windows of a convolution without bias.

    There may be more: a transposed convolution may have an output_padding of more than a stride.
    """
    out = ops.convolution(input, weight, None, stride, padding, dilation, False, NO_PADDING[: len(stride)], groups)
    if tuple(out.shape[2:]) == tuple(size):
        return out
    return ops.slice_view(out, (Ellipsis, *(slice(n) for n in size)))


def conjugated(x, *, ops):
    """The conjugate of a complex array, and a real one itself."""
    del ops
    return conj(x)


def negated(pad, *, ops):
    """The padding that undoes `pad`."""
    del ops
    return tuple(-n for n in pad)


def adjoint_maps(maps, *, ops):
    """The adjoints of the maps of separable_map."""
    del ops
    return tuple(None if m is None else m[1] if m[0] == "adjoint" else ("adjoint", m) for m in maps)


def pooled_backward(grad, indices, shape, windows, *, ops):
    """grad at the maxima, zero elsewhere."""
    return ops.place_pooled(grad, indices, shape[len(shape) - len(windows) :])


def pooled_tangent(tangent, indices, windows, *, ops):
    """The tangent at the maxima."""
    return ops.take_pooled(tangent, indices, len(windows))


def unplaced(grad, indices, size, *, ops):
    """The adjoint of place_pooled."""
    return ops.take_pooled(grad, indices, len(size))


def unput(grad, indices, size, *, ops):
    """The adjoint of put_pooled: where an index occurs twice, the last number alone was written."""
    return last_written(
        unplaced(grad, indices, size, ops=ops),
        lambda numbers: ops.put_pooled(numbers, indices, size),
        lambda x: ops.take_pooled(x, indices, len(size)),
        ops=ops,
    )
