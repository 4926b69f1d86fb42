"""Translates messages of NumPy and of kernels into PyTorch's well-known phrases, which people search and test for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

_Found: TypeAlias = "re.Match[str]"


def torch_phrase(text: str, shapes: list[Any]) -> str:
    """PyTorch's phrase for an error where NumPy (or a kernel) says `text`, followed by a colon; "" if none is known.

    `shapes`: those of the tensors among the operator's arguments.
    """
    for pattern, phrase in (*_PHRASES, *_OF_KERNELS):
        found = re.search(pattern, text)
        if found:
            said = phrase(found, shapes) if callable(phrase) else found.expand(phrase)
            return "" if not said or said in text else f"{said}: "
    return ""


def sizes_differ(shapes: list[Any]) -> str:
    """The first two of these shapes that do not broadcast, as PyTorch puts it."""
    for i, a in enumerate(shapes):
        for b in shapes[i + 1 :]:
            ndim = max(len(a), len(b))
            for back in range(1, min(len(a), len(b)) + 1):
                if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
                    return (
                        f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) at "
                        f"non-singleton dimension {ndim - back}"
                    )
    return ""


def as_list(shape: Any) -> str:
    """(2, 3) as PyTorch writes it: [2, 3]."""
    return "[" + ", ".join(map(str, shape)) + "]"


def out_of_range(dim: int, ndim: int) -> str:
    """PyTorch's phrase for a dimension that is out of range."""
    last = max(ndim, 1)
    return f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {dim})"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"-?\d+", text)))


def _not_broadcast(found: _Found, shapes: list[Any]) -> str:
    named = [_numbers(shape) for shape in re.findall(r"\(([\d, ]*)\)", found.string[found.start() :])]
    return sizes_differ(shapes) or sizes_differ(named)


def _products(found: _Found, shapes: list[Any]) -> str:
    a: Any
    b: Any
    a, b = shapes[-2:] if len(shapes) > 1 else ((), ())
    if len(a) == 2 and len(b) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})"
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    if len(a) == 1 and len(b) == 1:
        return _dot(found, shapes)
    if len(a) == 3 and len(b) == 3:
        return (
            f"Expected size for first two dimensions of batch2 tensor to be: {as_list((a[0], a[2]))} but got: "
            f"{as_list(b[:2])}"
        )
    return ""


def _dot(_: _Found, shapes: list[Any]) -> str:
    a, b = shapes[0], shapes[1]
    return (
        f"inconsistent tensor size, expected tensor {as_list(a)} and src {as_list(b)} to have the same number of "
        f"elements, but got {a[0]} and {b[0]} elements respectively"
    )


_Phrase: TypeAlias = str | Callable[[_Found, list[Any]], str]
_PHRASES: list[tuple[str, _Phrase]] = [
    (r"could not be broadcast together|cannot be broadcast to a single shape", _not_broadcast),
    (r"mismatch in its core dimension", _products),
    (r"shapes \(\d+,\) and \(\d+,\) not aligned", _dot),
    (
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
        lambda found, _: out_of_range(int(found[1]), int(found[2])),
    ),
    (
        r"dim (-?\d+) is out of range for (\d+) dimensions",
        lambda found, _: out_of_range(int(found[1]), int(found[2])),
    ),
    (
        r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
        r"index \1 is out of bounds for dimension \2 with size \3",
    ),
    (
        r"cannot reshape array of size (\d+) into shape \(([-\d, ]*)\)",
        lambda found, _: f"shape '{as_list(_numbers(found[2]))}' is invalid for input of size {found[1]}",
    ),
    (r"only specify one unknown dimension", "only one dimension can be inferred"),
    (r"array is 0-dimensional", "invalid index of a 0-dim tensor. Use `tensor.item()` for its number"),
    (r"too many indices for array: array is (\d+)-", r"too many indices for tensor of dimension \1"),
    (
        r"along axis (\d+); size of axis is (\d+) but size of corresponding boolean axis is (\d+)",
        r"The shape of the mask [\3] at index \1 does not match the shape of the indexed tensor [\2] at index \1",
    ),
    (r"duplicate value in 'axis'", "a dim appears multiple times in the list of dims"),
    (r"repeated axis in transpose", "permute(): duplicate dims are not allowed"),
    (
        r"could not broadcast input array from shape \(([\d, ]*)\) into shape \(([\d, ]*)\)",
        lambda found, _: (
            f"shape mismatch: value tensor of shape {as_list(_numbers(found[1]))} cannot be broadcast to indexing "
            f"result of shape {as_list(_numbers(found[2]))}"
        ),
    ),
    (
        r"array at index 0 has size (\d+) and the array at index (\d+) has size (\d+)",
        (
            r"Sizes of tensors must match except in dimension `dim`. Expected size \1 but got size \3 for "
            r"tensor number \2 in the list."
        ),
    ),
    (
        r"array at index 0 has (\d+) dimension\(s\) and the array at index \d+ has (\d+)",
        r"Tensors must have same number of dimensions: got \1 and \2",
    ),
    (r"negative dimensions are not allowed", "Trying to create tensor with negative dimension"),
    (
        r"boolean subtract",
        (
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        ),
    ),
    (
        r"boolean negative",
        (
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        ),
    ),
]


def _square(found: _Found, _: list[Any]) -> str:
    shape = _numbers(found[1])
    if len(shape) < 2:
        return "The input tensor A must have at least 2 dimensions"
    n, m = shape[-2:]
    return f"A must be batches of square matrices, but they are {n} by {m} matrices"


def _split_sizes(found: _Found, _: list[Any]) -> str:
    sizes = list(_numbers(found[1]))
    if any(n < 0 for n in sizes):
        return f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
    return (
        f"split_with_sizes expects split_sizes to sum exactly to {found[2]} (input tensor's size at dimension "
        f"{found[3]}), but got split_sizes={sizes}"
    )


def _split_size(found: _Found, shapes: list[Any]) -> str:
    size = int(found[1])
    if size < 0:
        return f"split expects split_size be non-negative, but got split_size={size}"
    return f"split_size can only be 0 if dimension size is 0, but got dimension size of {shapes[0][0]}"


def _unequal(found: _Found, _: list[Any]) -> str:
    a, b = _numbers(found[1]), _numbers(found[2])
    return f"stack expects each tensor to be equal size, but got {as_list(a)} at entry 0 and {as_list(b)} at entry 1"


def _expanded(found: _Found, _: list[Any]) -> str:
    old, new = _numbers(found[1]), _numbers(found[2])
    if len(new) < len(old):
        return (
            f"the number of sizes provided ({len(new)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(old)})"
        )
    for back in range(1, len(old) + 1):
        if old[-back] not in (1, new[-back]):
            return (
                f"The expanded size of the tensor ({new[-back]}) must match the existing size ({old[-back]}) at "
                f"non-singleton dimension {len(new) - back}"
            )
    return ""


def _system(found: _Found, _: list[Any]) -> str:
    n, m = _numbers(found[1])[-2:]
    return f"Incompatible shapes of A and B for the equation AX = B ({n}x{m} and B of {found[2]} rows)"


# The same of what kernels and composites say themselves: patterns of their texts.
_OF_KERNELS: list[tuple[str, _Phrase]] = [
    (r"must be batches of square matrices, got shape (\([\d, ]*\))", _square),
    (r"A must have at least 2 dimensions", "The input tensor A must have at least 2 dimensions"),
    (
        r"linalg\.inv.*the matrix is singular: pivot (\d+)",
        (
            r"The diagonal element \1 is zero, the inversion could not be completed because the input matrix is "
            r"singular"
        ),
    ),
    (r"linalg\.solve.*the matrix is singular", "The solver failed because the input matrix is singular"),
    (
        r"not positive definite: its leading minor of order (\d+)",
        (
            r"The factorization could not be completed because the input is not positive-definite (the leading minor "
            r"of order \1 is not positive-definite)"
        ),
    ),
    (r"must be floating point or complex .*got (\w+)", r"Expected a floating point or complex tensor as input. Got \1"),
    (r"A of shape (\([\d, ]*\)) needs a B of \d+ rows, got (\d+)", _system),
    (r"same number of rows, got shapes", "input.size(-2) should match other.size(-2)"),
    (r"complex numbers.* have no order", "not implemented for complex tensors"),
    (r"indexing must be 'ij' or 'xy', got '(\w+)'", r'indexing must be one of "xy" or "ij", but received: \1'),
    (
        r"expected vectors or numbers of one dtype.*\(\d+, \d",
        "Expected 0D or 1D tensor in the tensor list",
    ),
    (r"expected vectors or numbers of one dtype", "meshgrid expects all tensors to have the same dtype"),
    (r"sizes (\([-\d, ]*\)) must not be negative and must add up to (\d+), the size of dimension (\d+)", _split_sizes),
    (r"split_size must be positive, got (-?\d+)", _split_size),
    (r"a 0-d input has no dimension to split", "split expects at least a 1-dimensional tensor"),
    (r"chunks must be at least 1, got (-?\d+)", r"chunk expects `chunks` to be greater than 0, got: \1"),
    (r"number of sections must be positive, got (-?\d+)", r"number of sections must be larger than 0, got \1"),
    (r"all inputs must have the same shape, got (\([\d, ]*\)) and (\([\d, ]*\))", _unequal),
    (r"an input of shape (\([\d, ]*\)) does not expand to (\([-\d, ]*\))", _expanded),
    (r"start (-?\d+) \+ length (\d+) exceeds size (\d+)", r"start (\1) + length (\2) exceeds dimension size (\3)."),
    (
        r"does not fit the shape .* and strides",
        (
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ),
    ),
    (r"k must be between \d+ and \d+, the size of dimension", "selected index k out of range"),
    (
        r"cannot reduce over an empty dimension.*dim None",
        (
            "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument"
        ),
    ),
    (r"index must hold integers", "Expected dtype int32/int64 for index"),
    (
        r"index must have as many dimensions as the input",
        ("Index tensor must have the same number of dimensions as input tensor"),
    ),
    (r"mask must hold booleans, got (\w+)", r"only supports boolean masks, but got mask with dtype \1"),
    (r"mask has \d+ True elements but source only", "Number of elements of source < number of ones in mask"),
    (
        r"condition must be boolean, but its dtype is (\w+)",
        r"where expected condition to be a boolean tensor, but got a tensor with dtype \1",
    ),
    (
        r"all elements of input must lie between 0 and 1",
        "all elements of input should be between 0 and 1",
    ),
    (r"class values must not be negative", "Class values must be non-negative."),
    (
        r"the probability p must lie between 0 and 1, but got ([-\d.]+)\.",
        r"dropout probability has to be between 0 and 1, but got \1",
    ),
    (r"while training each channel needs more than one value", "Expected more than 1 value per channel when training"),
    (r"input holds \S+ to \S+, but weight has \d+ rows", "index out of range in self"),
    (
        r"need as many positive weights",
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    (
        r"weights must be finite and not negative",
        "probability tensor contains either `inf`, `nan` or element < 0",
    ),
    (r"steps must not be negative", "number of steps must be non-negative"),
    (r"step must not be 0", "step must be nonzero"),
    (r"step \S+ does not lead from start", "upper bound and lower bound inconsistent with step sign"),
    (r"a dimension appears more than once", "a dim appears multiple times in the list of dims"),
    (r"shifts and dims must pair up", "shifts and dimensions must align"),
    (r"start_dim \d+ comes after end_dim", "start_dim cannot come after end_dim"),
    (r"dim1 and dim2 must differ, got (-?\d+) and (-?\d+)", r"diagonal dimensions cannot be identical \1, \2"),
    (
        r"last dimension of 2, got",
        "Tensor must have a last dimension of size 2",
    ),
    (r"expected a complex input, got", "only supported for complex tensors"),
    (r"has no imaginary part to view", "imag is not implemented for tensors with non-complex dtypes."),
]
