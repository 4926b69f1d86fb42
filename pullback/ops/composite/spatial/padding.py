"""Padding: with a constant, or with what the array has at its borders."""

from pullback.ops.composite.spatial.arguments import integers, refuse, require_arrays

MODES = ("reflect", "replicate", "circular")  # beside "constant"


def pad(input, pad, mode="constant", value=None, *, ops):
    """`pad` has two numbers a dimension, the last dimension first; negative ones cut off."""
    require_arrays("pad", input=input)
    amounts = list(integers("pad", "pad", pad))
    if len(amounts) % 2 or len(amounts) > 2 * input.ndim:
        raise refuse("pad", f"pad must have two numbers for each of at most {input.ndim} dimensions, got {amounts}")
    if mode == "constant":
        return ops.constant_pad_nd(input, amounts, 0 if value is None else value)
    if mode not in MODES:
        raise NotImplementedError(f"pad(): mode must be constant, reflect, replicate or circular, but got {mode!r}.")
    if value:
        raise ValueError(f"pad(): value is for the mode 'constant'; the mode {mode!r} takes none, but got {value}.")
    dims = len(amounts) // 2
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"pad(): the mode {mode!r} pads the last 1, 2 or 3 dimensions of an input with one or two more; got "
            f"{len(amounts)} numbers for the shape {tuple(input.shape)}."
        )
    pairs = [(amounts[i], amounts[i + 1]) for i in range(len(amounts) - 2, -1, -2)]
    sizes = tuple(input.shape[-dims:])
    for n, pair in zip(sizes, pairs, strict=True):
        _check(mode, n, pair, input.shape)
    if mode == "replicate" and all(n + sum(pair) == 0 for n, pair in zip(sizes, pairs, strict=True)):
        raise refuse("pad", f"padding {amounts} leaves nothing of an input of shape {tuple(input.shape)}")
    if all(pair == (0, 0) for pair in pairs):
        return ops.clone(input)
    return ops.separable_map(input, tuple(("border", mode, n, *pair) for n, pair in zip(sizes, pairs, strict=True)))


def _check(mode, n, pair, shape):
    before, after = pair
    if mode == "reflect" and max(pair) >= n:
        raise refuse(
            "pad", f"reflect needs less padding than the dimension has, but got {pair} for {n} in {tuple(shape)}"
        )
    if mode == "circular" and max(pair) > n:
        raise refuse("pad", f"circular padding may go around once, but got {pair} for {n} of {tuple(shape)}")
    if mode == "circular" and n + min(before, 0) + min(after, 0) <= 0 < max(pair):
        raise refuse("pad", f"padding {pair} cuts off all of a dimension of size {n} and leaves nothing to repeat")
    if n + before + after < (1 if mode == "reflect" else 0) or (n == 0 and max(pair) > 0):
        raise refuse("pad", f"padding {pair} leaves nothing of a dimension of size {n} (shape {tuple(shape)})")
