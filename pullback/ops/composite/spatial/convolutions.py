"""conv1d to conv_transpose3d, unfold and fold: checks of arguments, and calls of the general operators."""

from pullback.ops.composite.spatial.arguments import batched, numbers, refuse, require_arrays


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, ops):
    """Convolution over (N, C, L)."""
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups, ops)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, ops):
    """Convolution over (N, C, H, W)."""
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups, ops)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, ops):
    """Convolution over (N, C, D, H, W)."""
    return _convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups, ops)


def _convolved(name, dims, input, weight, bias, stride, padding, dilation, groups, ops):
    _check_weight(name, dims, input, weight)
    stride, dilation = numbers(name, "stride", stride, dims), numbers(name, "dilation", dilation, dims)
    x, has_batch = batched(name, input, dims, ops)
    _check_groups(name, x, weight, bias, groups, transposed=False)
    _check_steps(name, stride, dilation)
    if isinstance(padding, str):
        x, padding = _padded_by_word(name, padding, x, weight.shape[2:], stride, dilation, ops)
    padding = numbers(name, "padding", padding, dims)
    if min(padding) < 0:
        raise refuse(name, f"negative padding is not supported, but got {padding}")
    for n, k, p, d in zip(x.shape[2:], weight.shape[2:], padding, dilation, strict=True):
        if n + 2 * p < d * (k - 1) + 1:
            raise refuse(
                name,
                f"the kernel {tuple(weight.shape[2:])} with dilation {dilation} must not be larger than the input "
                f"{tuple(x.shape[2:])} with padding {padding}",
            )
    out = ops.convolution(x, weight, bias, stride, padding, dilation, False, (0,) * dims, groups)
    return out if has_batch else ops.squeeze(out, 0)


def _padded_by_word(name, word, x, kernel, stride, dilation, ops):
    """(x, padding): for "same", with one more zero behind where the padding is odd."""
    if word == "valid":
        return x, 0
    if word != "same":
        raise refuse(name, f'padding must be a number, numbers, "same" or "valid", but got {word!r}')
    if max(stride) > 1:
        raise refuse(name, f"padding='same' is not supported for strided convolutions, but stride is {stride}")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(n % 2 for n in total):
        x = ops.constant_pad_nd(x, [m for n in reversed(total) for m in (0, n % 2)])
    return x, tuple(n // 2 for n in total)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *, ops):
    """Transposed convolution over (N, C, L)."""
    how = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose1d", 1, input, weight, bias, *how, ops)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *, ops):
    """Transposed convolution over (N, C, H, W)."""
    how = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose2d", 2, input, weight, bias, *how, ops)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *, ops):
    """Transposed convolution over (N, C, D, H, W)."""
    how = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose3d", 3, input, weight, bias, *how, ops)


def _transposed(name, dims, input, weight, bias, stride, padding, output_padding, groups, dilation, ops):
    _check_weight(name, dims, input, weight)
    stride, dilation = numbers(name, "stride", stride, dims), numbers(name, "dilation", dilation, dims)
    padding, more = numbers(name, "padding", padding, dims), numbers(name, "output_padding", output_padding, dims)
    x, has_batch = batched(name, input, dims, ops)
    _check_groups(name, x, weight, bias, groups, transposed=True)
    _check_steps(name, stride, dilation)
    if min(padding) < 0 or min(more) < 0:
        raise refuse(name, f"padding {padding} and output_padding {more} must not be negative")
    if any(m >= max(s, d) for m, s, d in zip(more, stride, dilation, strict=True)):
        raise refuse(name, f"output_padding {more} must be smaller than stride {stride} or dilation {dilation}")
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, more, strict=True)
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + m + 1 for n, k, s, p, d, m in sizes)
    if min(size) < 1:
        raise refuse(
            name,
            f"input of size {tuple(x.shape[2:])} with kernel {tuple(weight.shape[2:])} and padding {padding} would "
            f"give the result the size {size}, which must be positive",
        )
    out = ops.convolution(x, weight, bias, stride, padding, dilation, True, more, groups)
    return out if has_batch else ops.squeeze(out, 0)


def _check_weight(name, dims, input, weight):
    require_arrays(name, input=input, weight=weight)
    if weight.ndim != dims + 2:
        raise refuse(
            name,
            f"weight must have {dims + 2} dimensions, (out, in / groups, ...), but has the shape {tuple(weight.shape)}",
        )


def _check_groups(name, x, weight, bias, groups, transposed):
    """Channels of input, weight, and bias."""
    if groups <= 0:
        raise refuse(name, f"groups must be positive, but got {groups}")
    if weight.shape[0] % groups or weight.shape[0] < groups:
        raise refuse(
            name,
            f"the size of weight in dimension 0 must be a positive multiple of groups, {groups}; its shape is "
            f"{tuple(weight.shape)}",
        )
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.shape[1] != wanted:
        raise refuse(
            name,
            f"weight of shape {tuple(weight.shape)} with groups {groups} expects input to have {wanted} channels, but "
            f"it has {x.shape[1]} (shape {tuple(x.shape)})",
        )
    out = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (out,):
        raise refuse(name, f"bias must have the shape ({out},), but has {tuple(bias.shape)}")
    for argument, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.dtype.kind != x.dtype.kind:
            raise refuse(name, f"input and {argument} should be of the same kind, but are {x.dtype} and {value.dtype}")
    if 0 in weight.shape[2:]:
        raise refuse(name, f"the kernel must not be empty, but weight has the shape {tuple(weight.shape)}")


def _check_steps(name, stride, dilation):
    if min(stride) <= 0:
        raise refuse(name, f"stride must be positive, but got {stride}")
    if min(dilation) <= 0:
        raise refuse(name, f"dilation must be positive, but got {dilation}")


_NAMES = ("kernel_size", "dilation", "padding", "stride")


def unfold(input, kernel_size, dilation=1, padding=0, stride=1, *, ops):
    """Windows of (N, C, H, W) as columns: (N, C * places in the kernel, windows)."""
    name = "unfold"
    kernel, how = _windows_of(name, kernel_size, dilation, padding, stride)
    x, has_batch = batched(name, input, 2, ops)
    _count_columns(name, x.shape[2:], kernel, *how)
    out = ops.im2col(x, kernel, *how)
    return out if has_batch else ops.squeeze(out, 0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1, *, ops):
    """The adjoint of unfold: columns (N, C * places in the kernel, windows) summed to (N, C, H, W)."""
    name = "fold"
    kernel, how = _windows_of(name, kernel_size, dilation, padding, stride)
    size = numbers(name, "output_size", output_size, 2)
    x, has_batch = batched(name, input, 1, ops)
    count = _count_columns(name, size, kernel, *how)
    if x.shape[1] % (kernel[0] * kernel[1]) or x.shape[2] != count:
        raise refuse(
            name,
            f"for output_size {size} and kernel_size {kernel}, input must have the shape (N, multiple of "
            f"{kernel[0] * kernel[1]}, {count}), but has {tuple(input.shape)}",
        )
    out = ops.col2im(x, size, kernel, *how)
    return out if has_batch else ops.squeeze(out, 0)


def _windows_of(name, kernel, dilation, padding, stride):
    """The four pairs of numbers, checked."""
    found = {
        argument: numbers(name, argument, given, 2)
        for argument, given in zip(_NAMES, (kernel, dilation, padding, stride), strict=True)
    }
    for argument, pair in found.items():
        if min(pair) < (argument != "padding"):
            least = "at least 0" if argument == "padding" else "positive"
            raise refuse(name, f"{argument} must be {least}, but got {pair}")
    kernel, *how = found.values()
    return kernel, how


def _count_columns(name, size, kernel, dilation, padding, stride):
    """The number of windows along each dimension."""
    each = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    if min(each) < 1:
        raise refuse(
            name,
            f"kernel_size {kernel} with dilation {dilation} does not fit into {tuple(size)} with padding {padding}",
        )
    return each[0] * each[1]


def bilinear(input1, input2, weight, bias=None, *, ops):
    """sum over i, j of input1[..., i] weight[o, i, j] input2[..., j]."""
    require_arrays("bilinear", input1=input1, input2=input2, weight=weight)
    if input1.ndim == 0 or input2.ndim == 0:
        raise refuse("bilinear", "input1 and input2 must have at least one dimension, but one of them is a number")
    if weight.ndim != 3 or (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise refuse(
            "bilinear",
            f"weight must have the shape (out, {input1.shape[-1]}, {input2.shape[-1]}), but has {tuple(weight.shape)}",
        )
    if tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
        raise refuse(
            "bilinear",
            f"input1 and input2 must agree in all but the last dimension: {tuple(input1.shape)}, {tuple(input2.shape)}",
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise refuse("bilinear", f"bias must have the shape ({weight.shape[0]},), but has {tuple(bias.shape)}")
    (count, first, second), lead = weight.shape, tuple(input1.shape[:-1])
    left = ops.reshape(ops.transpose(weight, 0, 1), (first, count * second))
    halves = ops.reshape(ops.matmul(input1, left), (*lead, count, second))
    out = ops.squeeze(ops.matmul(halves, ops.unsqueeze(input2, -1)), -1)
    return out if bias is None else out + bias
