"""Translates messages of NumPy and of kernels into PyTorch's well-known phrases, which people search and test for."""

from __future__ import annotations

import re
from typing import Any

from pullback.core.errors import as_list
from pullback.explain.function_phrases import OF_FUNCTIONS
from pullback.explain.kernel_phrases import OF_KERNELS, Call, Found, Phrase, numbers, scalar_type


def torch_phrase(text: str, call: Call) -> str:
    """PyTorch's phrase for an error where NumPy (or a kernel) says `text`, followed by a colon; "" if none is known."""
    for pattern, phrase in (*_PHRASES, *OF_KERNELS, *OF_FUNCTIONS):
        found = re.search(pattern, text)
        if found:
            try:
                said = phrase(found, call) if callable(phrase) else found.expand(phrase)
            except IndexError:  # the phrase names more tensors or dimensions than the call has: dot(x, 1.5)
                return ""
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


def out_of_range(dim: int, ndim: int) -> str:
    """PyTorch's phrase for a dimension that is out of range."""
    last = max(ndim, 1)
    return f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {dim})"


def _not_broadcast(found: Found, call: Call) -> str:
    named = [numbers(shape) for shape in re.findall(r"\(([\d, ]*)\)", found.string[found.start() :])]
    if "remapped" in found.string:  # a product of stacks of matrices
        return sizes_differ([shape[:-2] for shape in named])
    return ("" if call.bare in _OF_PRODUCTS else sizes_differ(call.shapes)) or sizes_differ(named)


_OF_PRODUCTS = frozenset({"linear", "addmm", "addmv", "addbmm", "baddbmm"})  # what they add to has another shape


def _not_for_dtypes(_: Found, call: Call) -> str:
    kinds = dict.fromkeys(dtype for dtype in call.dtypes if dtype.kind in "fc") or dict.fromkeys(call.dtypes)
    return f"\"{call.bare}\" not implemented for '{scalar_type(next(iter(kinds)))}'" if kinds else ""


def _products(found: Found, call: Call) -> str:
    a: Any
    b: Any
    a, b = call.shapes[-2:] if len(call.shapes) > 1 else ((), ())
    if len(a) == 2 and len(b) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})"
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    if len(a) == 1 and len(b) == 1:
        return _dot(found, call)
    if len(a) == 3 and len(b) == 3:
        return (
            f"Expected size for first two dimensions of batch2 tensor to be: {as_list((a[0], a[2]))} but got: "
            f"{as_list(b[:2])}"
        )
    return ""


def _dot(_: Found, call: Call) -> str:
    a, b = call.shapes[0], call.shapes[1]
    return (
        f"inconsistent tensor size, expected tensor {as_list(a)} and src {as_list(b)} to have the same number of "
        f"elements, but got {a[0]} and {b[0]} elements respectively"
    )


def _out_of_bounds(found: Found, call: Call) -> str:
    if call.bare in ("nll_loss", "cross_entropy", "cross_entropy_loss"):
        return f"Target {found[1]} is out of bounds."
    if call.bare == "take":
        return f"out of range: tried to access index {found[1]} on a tensor of {found[3]} elements."
    said = f"index {found[1]} is out of bounds for dimension {found[2]} with size {found[3]}"
    return f"index out of range in self: {said}" if call.bare == "index_select" else said


_PHRASES: list[tuple[str, Phrase]] = [
    (r"could not be broadcast together|cannot be broadcast to a single shape", _not_broadcast),
    (r"mismatch in its core dimension|the batches must be of equal size", _products),
    (r"^ufunc '\w+' (?:not supported|did not contain a loop)", _not_for_dtypes),
    (r"shapes \(\d+,\) and \(\d+,\) not aligned", _dot),
    (
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
        lambda found, _: out_of_range(int(found[1]), int(found[2])),
    ),
    (
        r"dim (-?\d+) is out of range for (\d+) dimensions",
        lambda found, _: out_of_range(int(found[1]), int(found[2])),
    ),
    (r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", _out_of_bounds),
    (
        r"cannot reshape array of size (\d+) into shape \(([-\d, ]*)\)",
        lambda found, _: f"shape '{as_list(numbers(found[2]))}' is invalid for input of size {found[1]}",
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
            f"shape mismatch: value tensor of shape {as_list(numbers(found[1]))} cannot be broadcast to indexing "
            f"result of shape {as_list(numbers(found[2]))}"
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
