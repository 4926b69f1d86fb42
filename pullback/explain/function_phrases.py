"""PyTorch's phrases for what functions of arrays and of layers refuse: more rows as in `kernel_phrases.OF_KERNELS`."""

from __future__ import annotations

from pullback.core.errors import as_list
from pullback.explain.kernel_phrases import Call, Found, Phrase, numbers, scalar_type


def _padding(found: Found, call: Call) -> str:
    given = numbers(found[1])
    if len(given) % 2:
        return "Padding length must be divisible by 2"
    return (
        "Padding length should be less than or equal to two times the input dimension but got padding length "
        f"{len(given)} and input of dimension {len(call.shapes[0])}"
    )


def _contracted(found: Found, _: Call) -> str:
    a, b = numbers(found[2]), numbers(found[4])
    i, j = int(found[1]), int(found[3])
    return (
        f"contracted dimensions need to match, but first has size {a[i]} in dim {i} and second has size {b[j]} in "
        f"dim {j}"
    )


def _crossed(found: Found, _: Call) -> str:
    dim = int(found[1])
    a, b = (numbers(found[i]) for i in (2, 3))
    if len(a) != len(b):
        return "linalg.cross: inputs must have the same number of dimensions."
    return f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[dim]} and {b[dim]}"


def _folded(_: Found, call: Call) -> str:
    size = call.shapes[0]
    if len(size) not in (2, 3):
        return f"Expected 2D or 3D (batch mode) tensor for input, but got: {as_list(size)}"
    return (
        f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size "
        f"{as_list(size)}"
    )


OF_FUNCTIONS: list[tuple[str, Phrase]] = [
    (r"q must be in the range \[0, 1\], got (\S+) to \S+\d", r"quantile() q must be in the range [0, 1] but got \1"),
    (
        r"expected at least \d+ repeats for an input",
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
    ),
    (
        r"expected a vector or a matrix, got shape (\([\d, ]*\))",
        lambda found, call: (
            f"diag(): Supports 1D or 2D tensors. Got {len(numbers(found[1]))}D" if call.bare == "diag" else ""
        ),
    ),
    (
        r"expected an input with at least 2 dimensions, got shape",
        lambda _, call: (
            f"{call.bare}: input tensor must have at least 2 dimensions" if call.bare in ("tril", "triu") else ""
        ),
    ),
    (
        r"input must have at most 2 dimensions, got shape (\([\d, ]*\))",
        lambda found, call: (
            f"{call.bare}(): expected input to have two or fewer dimensions but got an input with "
            f"{len(numbers(found[1]))} dimensions"
        ),
    ),
    (r"dimension (\d+) of (\([\d, ]*\)) and (\d+) of (\([\d, ]*\)) must be of equal size", _contracted),
    (r"dimension (-?\d+) must have size 3, got shapes (\([\d, ]*\)) and (\([\d, ]*\))", _crossed),
    (
        r"sorted_sequence must be a vector, or agree with",
        (
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            "tensor and input value tensor must match"
        ),
    ),
    (
        r"boundaries must be a vector, got shape (\([\d, ]*\))",
        lambda found, _: f"boundaries tensor must be 1 dimension, but got dim({len(numbers(found[1]))})",
    ),
    (
        r"expected two dims of an input with at least two, got dims (\([-\d, ]*\))",
        lambda found, _: (
            f"expected total rotation dims == 2, but got dims = {len(numbers(found[1]))}"
            if len(numbers(found[1])) != 2
            else "expected total dims >= 2"
        ),
    ),
    (r"invalid normalization mode: '(\w*)'", r'Invalid normalization mode: "\1"'),
    (
        r"input must be a vector of integers|the numbers in input, and minlength, must not be negative",
        "bincount only supports 1-d non-negative integral inputs.",
    ),
    (
        r"dimension (-?\d+) must have even length, but it is (\d+)",
        lambda found, call: (
            f"Halving dimension must be even, but dimension {int(found[1]) % len(call.shapes[0])} is size {found[2]}"
        ),
    ),
    (r"pad must have two numbers for each of at most \d+ dimensions, got (\[[-\d, ]*\])", _padding),
    (r"for output_size .* and kernel_size .*, input must have the shape", _folded),
    (
        r"input and grid must both have 4 dimensions, or both 5",
        lambda _, call: (
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {as_list(call.shapes[0])} and grid with sizes {as_list(call.shapes[1])}"
        ),
    ),
    (
        r"weight must have one element or one a channel, but weight has shape \((\d+),\) .*\((\d+) channels\)",
        (
            r"Mismatch of parameter numbers and input channel size. Found parameter numbers = \1 and channel size = "
            r"\2."
        ),
    ),
    (
        r"the (\d+) channels must be a multiple of (\d+) \* \d+",
        lambda found, _: (
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={found[1]} is not divisible by {int(found[2]) ** 2}"
        ),
    ),
    (
        r"input must hold integer row indices, but its dtype is (\w+)",
        lambda found, _: (
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{scalar_type(found[1])}"
        ),
    ),
    (
        r"input must hold integers, but its dtype is",
        lambda _, call: (
            "one_hot is only applicable to index tensor of type LongTensor." if call.bare == "one_hot" else ""
        ),
    ),
    (r"class values must be smaller than num_classes", "Class values must be smaller than num_classes."),
]
