"""PyTorch's phrases for what kernels and composites say themselves: patterns of their texts.

A phrase is a template of the pattern's groups, or a function of the match and of the call, which gives "" where it
knows none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pullback.core.errors import as_list

Found: TypeAlias = "re.Match[str]"


class Call(NamedTuple):
    """A call that failed: the function as the user wrote it, and the shapes and dtypes of its tensors."""

    name: str
    shapes: list[Any]
    dtypes: list[Any]

    @property
    def bare(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2].strip("_")


Phrase: TypeAlias = str | Callable[[Found, Call], str]


def numbers(text: str) -> tuple[int, ...]:
    """The numbers in a text, such as that of a shape."""
    return tuple(map(int, re.findall(r"-?\d+", text)))


def scalar_type(dtype: Any) -> str:
    """A dtype as PyTorch's errors call it: Double for float64."""
    return _SCALAR_TYPES.get(np.dtype(dtype).name, str(dtype))


_SCALAR_TYPES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short",
    "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex128": "ComplexDouble", "complex64": "ComplexFloat",
}  # fmt: skip


def _square(found: Found, _: Call) -> str:
    shape = numbers(found[1])
    if len(shape) < 2:
        return "The input tensor A must have at least 2 dimensions"
    n, m = shape[-2:]
    return f"A must be batches of square matrices, but they are {n} by {m} matrices"


def _split_sizes(found: Found, _: Call) -> str:
    sizes = list(numbers(found[1]))
    if any(n < 0 for n in sizes):
        return f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
    return (
        f"split_with_sizes expects split_sizes to sum exactly to {found[2]} (input tensor's size at dimension "
        f"{found[3]}), but got split_sizes={sizes}"
    )


def _split_size(found: Found, call: Call) -> str:
    size = int(found[1])
    if size < 0:
        return f"split expects split_size be non-negative, but got split_size={size}"
    return f"split_size can only be 0 if dimension size is 0, but got dimension size of {call.shapes[0][0]}"


def _unequal(found: Found, _: Call) -> str:
    a, b = numbers(found[1]), numbers(found[2])
    return f"stack expects each tensor to be equal size, but got {as_list(a)} at entry 0 and {as_list(b)} at entry 1"


def _expanded(found: Found, _: Call) -> str:
    old, new = numbers(found[1]), numbers(found[2])
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


def _system(found: Found, _: Call) -> str:
    n, m = numbers(found[1])[-2:]
    return f"Incompatible shapes of A and B for the equation AX = B ({n}x{m} and B of {found[2]} rows)"


def _wrong_ndim(found: Found, call: Call) -> str:
    ndims = [len(shape) for shape in call.shapes]
    if call.bare == "dot":
        return f"1D tensors expected, but got {ndims[0]}D and {ndims[1]}D tensors"
    if call.bare == "mm":
        return f"{'self' if found[1] == 'input' else found[1]} must be a matrix"
    if call.bare == "bmm":
        return f"batch{1 if found[1] == 'input' else 2} must be a 3D tensor"
    if call.bare == "mv":
        return f"vector + matrix @ vector expected, got 1, {ndims[0]}, {ndims[1]}"
    if call.bare == "outer":
        return f"outer: Expected 1-D argument {'self' if found[1] == 'input' else found[1]}, but got {ndims[0]}-D"
    return f"{call.bare}: expected a matrix, but got tensor with dim {ndims[0]}" if call.bare == "trace" else ""


def _operands(found: Found, _: Call) -> str:
    named, given = numbers(re.sub("'.*?'", "", found.string))[:2]
    return f"{'fewer' if given < named else 'more'} operands were provided than specified in the equation"


def _subscripts(found: Found, _: Call) -> str:
    for place, letter in enumerate(found[1]):
        if not letter.isalpha():
            return f"invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
    return (
        f"the number of subscripts in the equation ({len(found[1])}) does not match the number of dimensions "
        f"({len(numbers(found[3]))}) for operand {found[2]}"
    )


def _channels(found: Found, call: Call) -> str:
    kind = "transposed=1" if "transpose" in call.bare else f"groups={found[2]}"
    return (
        f"Given {kind}, weight of size {as_list(numbers(found[1]))}, expected input{as_list(call.shapes[0])} to have "
        f"{found[3]} channels, but got {found[4]} channels instead"
    )


def _kernel_size(found: Found, _: Call) -> str:
    kernel, size = (" x ".join(map(str, numbers(found[i]))) for i in (1, 2))
    return (
        f"Calculated padded input size per channel: ({size}). Kernel size: ({kernel}). Kernel size can't be greater "
        "than actual input size"
    )


def _affine(found: Found, call: Call) -> str:
    wanted, got = as_list(numbers(found[2])), as_list(numbers(found[3]))
    if call.bare == "layer_norm":
        return (
            f"Expected {found[1]} to be of same shape as normalized_shape, but got {found[1]} of shape {got} and "
            f"normalized_shape = {wanted}"
        )
    if call.bare == "group_norm":
        return (
            f"Expected {found[1]} to be a vector of size equal to the number of channels in input, but got {found[1]} "
            f"of shape {got} and input of shape {as_list(call.shapes[0])}"
        )
    return ""


def _no_matrices(found: Found, call: Call) -> str:
    if len(numbers(found[3])) < 2:
        return f"{call.bare} only supports at least 2D tensors, X{found[1]} got: {len(numbers(found[3]))}D"
    return f"{call.bare} only supports floating-point dtypes, X{found[1]} got: {scalar_type(found[2])}"


def _target(found: Found, _: Call) -> str:
    size, target = numbers(found[1]), numbers(found[2])
    if len(target) > 1 and len(size) == 2:
        return "0D or 1D target tensor expected, multi-target not supported"
    if target and target[0] != size[0]:
        return f"Expected input batch_size ({size[0]}) to match target batch_size ({target[0]})."
    return f"size mismatch (got input: {as_list(size)}, target: {as_list(target)})"


def _source(found: Found, call: Call) -> str:
    wanted, got, dim = numbers(found[1]), numbers(found[4]), int(found[3])
    if len(got) == len(wanted) and got[dim] != wanted[dim]:
        end = f": ({got[dim]}), for dim: {dim}" if call.bare == "index_add" else f" ({got[dim]})"
        return f"Number of indices ({found[2]}) should be equal to source.size(dim){end}"
    return (
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
        f"{as_list(call.shapes[0])} source.shape = {as_list(got)}"
    )


def _exceeds(found: Found, call: Call) -> str:
    index, size = (as_list(numbers(found[i])) for i in (1, 2))
    if call.bare == "gather":
        return f"expected index {index} to be no larger than self {size} apart from dimension {found[3]}"
    return f"Expected index {index} to be no larger than self {size} apart from dimension {found[3]}"


OF_KERNELS: list[tuple[str, Phrase]] = [
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
    (
        r"index must hold integers",
        lambda _, call: f"Expected dtype int32{' or ' if call.bare == 'index_select' else '/'}int64 for index",
    ),
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
    # -- products
    (
        r"input of shape (\([\d, ]*\)) and weight of shape \((\d+), (\d+)\) must have the same last dimension",
        lambda found, _: (
            f"mat1 and mat2 shapes cannot be multiplied ({prod(numbers(found[1])[:-1])}x{numbers(found[1])[-1]} and "
            f"{found[3]}x{found[2]})"
        ),
    ),
    (r"(input|mat2|tensor|vec2?|batch[12]) must have [123] dimensions, got shape (\([\d, ]*\))", _wrong_ndim),
    (r"names \d+ operands, but (\d+) were given", _operands),
    (r"the subscripts '(\w*)' in '.*' do not fit operand (\d+) of shape (\([\d, ]*\))", _subscripts),
    (
        r"'(\w)' has sizes (\d+) and (\d+) in the operands",
        r"subscript \1 has size \3 for operand 1 which does not broadcast with previously seen size \2",
    ),
    (r"'(\w)' stands after '->'", r"output subscript \1 does not appear in the equation for any input operand"),
    (
        r"after '->', expected letters, each once.*got '(\w*?(\w)\w*\2\w*)'",
        r"output subscript \2 appears more than once",
    ),
    # -- layers
    (
        r"weight of shape (\([\d, ]*\)) with groups (\d+) expects input to have (\d+) channels, but it has (\d+)",
        _channels,
    ),
    (
        r"input must have (\d) dimensions, \(C, \.\.\.\), or (\d), \(N, C, \.\.\.\), but has the shape (\([\d, ]*\))",
        lambda found, call: (
            f"non-empty {found[1]}D or {found[2]}D (batch mode) tensor expected for input"
            if "pool" in call.bare
            else f"Expected {found[1]}D (unbatched) or {found[2]}D (batched) input to {call.bare}, but got input of "
            f"size: {as_list(numbers(found[3]))}"
        ),
    ),
    (r"the kernel (\([\d, ]*\)) with dilation .* must not be larger than the input (\([\d, ]*\)) with", _kernel_size),
    (
        r"bias must have the shape \((\d+),\), but has (\([\d, ]*\))",
        lambda found, call: (
            f"Given weight of size {as_list(call.shapes[1])}, expected bias to be 1-dimensional with {found[1]} "
            f"elements, but got bias of size {as_list(numbers(found[2]))} instead"
        ),
    ),
    (r"stride must be positive", "non-positive stride is not supported"),
    (r"groups must be positive", "non-positive groups is not supported"),
    (
        r"dilation must be (?:positive|greater than zero), but got (\([-\d, ]*\))",
        lambda found, _: f"dilation should be greater than zero, but got {as_list(numbers(found[1]))}",
    ),
    (
        r"the size of weight in dimension 0 must be a positive multiple of groups, (\d+); its shape is (\([\d, ]*\))",
        lambda found, _: (
            f"Given groups={found[1]}, expected weight to be divisible by {found[1]} at dimension 0, but got weight of "
            f"size [{as_list(numbers(found[2]))}] instead"
        ),
    ),
    (r"padding must be a number, numbers, .* but got ('\w+')", r"Invalid padding string: \1"),
    (r"output_padding .* must be smaller than stride", "output padding must be smaller than either stride or dilation"),
    (r"padding must be at most half of the kernel", "pad should be at most half of effective kernel size"),
    (r"(?:kernel_size|stride) must be greater than zero", "stride should not be zero"),
    (r"the output size .* is too small", "Output size is too small"),
    (r"divisor_override must not be zero", "divisor must be not zero"),
    (
        r"input must have 3 or 4 dimensions, but has the shape (\([\d, ]*\))",
        lambda found, _: f"Expected 3D or 4D tensor, but got {as_list(numbers(found[1]))}",
    ),
    (r"output_size must not be negative", "elements of output_size must be greater than or equal to 0"),
    (r"indices must have the shape of input", "Expected shape of indices to be same as that of the input tensor"),
    (r"normalized_shape \(\) must be", "Expected normalized_shape to be at least 1-dimensional"),
    (
        r"normalized_shape (\([\d, ]*\)) must be the last dimensions of input, which has (\([\d, ]*\))",
        lambda found, _: (
            f"Given normalized_shape={as_list(numbers(found[1]))}, expected input with shape [*, "
            f"{as_list(numbers(found[1]))[1:]}, but got input of size{as_list(numbers(found[2]))}"
        ),
    ),
    (r"^(?:\w+\(\): )?(weight|bias) must have shape (\([\d, ]*\)), but has (\([\d, ]*\))", _affine),
    (r"\d+ channels cannot be divided into", "Expected number of channels in input to be divisible by num_groups"),
    (
        r"(\w+) must have one element a channel, shape \((\d+),\), but (?:it )?has \((\d+),\)",
        r"\1 should contain \2 elements not \3",
    ),
    (r"running_mean and running_var must be given", "running_mean must be defined in evaluation mode"),
    (r"each channel of an input needs more than one value", "Expected more than 1 spatial element when training"),
    # -- distances and losses
    (
        r"x1 and x2 must have the same number of columns, got (\([\d, ]*\)) and (\([\d, ]*\))",
        lambda found, _: (
            f"X1 and X2 must have the same number of columns. X1: {numbers(found[1])[-1]} X2: {numbers(found[2])[-1]}"
        ),
    ),
    (r"x([12]) must be real matrices, got (\w+)\[([\d, ]*)\]", _no_matrices),
    (
        r"input must be a real matrix, got \w+\[([\d, ]*)\]",
        lambda found, call: f"{call.bare} only supports 2D tensors, got: {len(numbers(found[1]))}D",
    ),
    (r"\bp must not be negative", lambda _, call: f"{call.bare} only supports non-negative p values"),
    (r"for input of shape (\([\d, ]*\)) target must have shape .*, but it has (\([\d, ]*\))", _target),
    (
        r"target must hold integer class indices, but its dtype is (\w+)",
        lambda found, _: f"expected target dtype to be Long or Byte, but got {scalar_type(found[1])}",
    ),
    (
        r"weight must have one element a class, shape \((\d+),\), but it has (\([\d, ]*\))",
        lambda found, _: (
            f"weight tensor should be defined either for all {found[1]} classes or no classes but got weight tensor of "
            f"shape: {as_list(numbers(found[2]))}"
        ),
    ),
    (
        r"holds class probabilities, but its dtype is (\w+)",
        lambda found, _: (
            f"Expected floating point type for target with class probabilities, got {scalar_type(found[1])}"
        ),
    ),
    (
        r"label_smoothing must lie between 0 and 1, but got ([-\d.]+\d)",
        r"label_smoothing must be between 0.0 and 1.0. Got: \1",
    ),
    (
        r"there are \d+ coordinates for \d+ samples",
        lambda _, call: f"{call.bare}: There must be one `x` value for each sample point",
    ),
    # -- writing by index
    (r"source must have shape (\([\d, ]*\)) \(the input's, with (\d+) along dim (\d+)\), got (\([\d, ]*\))", _source),
    (
        r"source must have the dtype of the input \((\w+)\), got (\w+)",
        lambda found, call: (
            f"self ({scalar_type(found[1])}) and source ({scalar_type(found[2])}) must have the same scalar type"
            if call.bare == "index_add"
            else "self and source expected to have the same dtype, but got "
            f"(self) {scalar_type(found[1])} and (source) {scalar_type(found[2])}"
        ),
    ),
    (r"src must have the dtype of the input", "Expected self.dtype to be equal to src.dtype"),
    (
        r"index must be a vector, got shape",
        lambda _, call: (
            "Index has to be a vector/scalar" if call.bare == "index_fill" else "Index is supposed to be a vector"
        ),
    ),
    (
        r"value must be a number or a 0-d Tensor, got shape (\([\d, ]*\))",
        lambda found, _: (
            f"only supports a 0-dimensional value tensor, but got tensor with {len(numbers(found[1]))} dimension(s)."
        ),
    ),
    (r"index of shape (\([\d, ]*\)) must not exceed the input's (\([\d, ]*\)) except along dim (\d+)", _exceeds),
    (r"reduce must be 'add' or 'multiply'", "reduce argument must be either add or multiply."),
    (
        r"reduce must be one of sum, mean, prod, amax, amin, got '(\w*)'",
        r"reduce argument must be either sum, prod, mean, amax or amin, got \1",
    ),
    # -- dtypes
    (
        r"input must have a floating-point dtype, but it is (\w+)",
        lambda found, call: f"\"{call.bare}\" not implemented for '{scalar_type(found[1])}'",
    ),
    (
        r"input of dtype (\w+) needs dtype=",
        lambda found, call: f"\"{call.bare}\" not implemented for '{scalar_type(found[1])}'",
    ),
]
