"""Pooling to a given size, with windows as even as possible or with random ones."""

from pullback.ops.composite.spatial.arguments import batched, numbers, refuse, require_arrays, require_fractions
from pullback.ops.composite.spatial.pooling import finished


def adaptive_avg_pool1d(input, output_size, *, ops):
    """Adaptive average pooling over (N, C, L)."""
    return _averaged("adaptive_avg_pool1d", 1, input, output_size, ops)


def adaptive_avg_pool2d(input, output_size, *, ops):
    """Adaptive average pooling over (N, C, H, W)."""
    return _averaged("adaptive_avg_pool2d", 2, input, output_size, ops)


def adaptive_avg_pool3d(input, output_size, *, ops):
    """Adaptive average pooling over (N, C, D, H, W)."""
    return _averaged("adaptive_avg_pool3d", 3, input, output_size, ops)


def adaptive_max_pool1d(input, output_size, return_indices=False, *, ops):
    """Adaptive max pooling over (N, C, L)."""
    return _largest("adaptive_max_pool1d", 1, input, output_size, return_indices, ops)


def adaptive_max_pool2d(input, output_size, return_indices=False, *, ops):
    """Adaptive max pooling over (N, C, H, W)."""
    return _largest("adaptive_max_pool2d", 2, input, output_size, return_indices, ops)


def adaptive_max_pool3d(input, output_size, return_indices=False, *, ops):
    """Adaptive max pooling over (N, C, D, H, W)."""
    return _largest("adaptive_max_pool3d", 3, input, output_size, return_indices, ops)


def _sizes(name, dims, input, output_size, ops):
    """(input with a batch dimension, whether it had one, sizes in, sizes out); None is the size of input."""
    if isinstance(output_size, (tuple, list)) and len(output_size) != dims:
        raise refuse(name, f"output_size must be one number or {dims}, but got {tuple(output_size)}")
    require_arrays(name, input=input)
    if input.ndim not in (dims + 1, dims + 2):
        error = ValueError if dims > 1 and input.ndim <= dims else RuntimeError
        raise error(
            f"{name}(): input must have {dims + 1} or {dims + 2} dimensions, but has the shape {tuple(input.shape)}."
        )
    x, has_batch = batched(name, input, dims, ops)
    size = tuple(x.shape[2:])
    if 0 in x.shape[1:]:
        raise refuse(name, f"only the batch of input may be empty, but its shape is {tuple(input.shape)}")
    each = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    out = numbers(name, "output_size", tuple(n if m is None else m for n, m in zip(size, each, strict=True)), dims)
    if min(out) < 0:
        raise refuse(name, f"output_size must not be negative, but got {out}")
    return x, has_batch, size, out


def _averaged(name, dims, input, output_size, ops):
    x, has_batch, size, out = _sizes(name, dims, input, output_size, ops)
    require_fractions(name, x)
    result = ops.separable_map(x, tuple(("mean", n, m) for n, m in zip(size, out, strict=True)))
    return result if has_batch else ops.squeeze(result, 0)


def _largest(name, dims, input, output_size, return_indices, ops):
    x, has_batch, size, out = _sizes(name, dims, input, output_size, ops)
    return finished(ops.windowed_max(x, tuple(zip(size, out, strict=True))), has_batch, return_indices, ops)


def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None, *, ops
):
    """Fractional max pooling over (N, C, H, W)."""
    how = (kernel_size, output_size, output_ratio, return_indices, _random_samples)
    return _fractional("fractional_max_pool2d", 2, input, *how, ops)


def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None, *, ops
):
    """Fractional max pooling over (N, C, D, H, W)."""
    how = (kernel_size, output_size, output_ratio, return_indices, _random_samples)
    return _fractional("fractional_max_pool3d", 3, input, *how, ops)


def _fractional(name, dims, input, kernel_size, output_size, output_ratio, return_indices, samples, ops):
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}(): give one of output_size and output_ratio; got {output_size} and {output_ratio}.")
    kernel = numbers(name, "kernel_size", kernel_size, dims)
    x, has_batch = batched(name, input, dims, ops)
    size = tuple(x.shape[2:])
    if output_size is None:
        ratio = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * dims
        if len(ratio) != dims or not all(issubclass(type(r), float) and 0 < r < 1 for r in ratio):
            raise ValueError(
                f"{name}(): output_ratio must be a number between 0 and 1, or {dims} of them, but got {output_ratio}."
            )
        output_size = tuple(int(n * r) for n, r in zip(size, ratio, strict=True))
    out = numbers(name, "output_size", output_size, dims)
    if min(kernel) < 1 or min(out) < 1 or any(m + k - 1 > n for n, m, k in zip(size, out, kernel, strict=True)):
        raise refuse(name, f"kernel_size {kernel} and output_size {out} do not fit into the size {size}")
    if samples is None:
        samples = ops.rand((*x.shape[:2], dims))
    elif tuple(samples.shape) != (*x.shape[:2], dims):
        raise refuse(name, f"_random_samples must have the shape {(*x.shape[:2], dims)}, not {tuple(samples.shape)}")
    indices = ops.fractional_max_indices(x, kernel, out, samples)
    return finished((ops.take_pooled(x, indices, dims), indices), has_batch, return_indices, ops)
