"""Arguments of operators on 1, 2 or 3 spatial dimensions: one number means the same for each."""

import operator


def numbers(name, argument, given, dims):
    """`given` as a tuple with one integer a dimension."""
    if type(given) is int:  # as nearly always
        return (given,) * dims
    is_one = not isinstance(given, (tuple, list)) and getattr(given, "ndim", 0) == 0
    found = integers(name, argument, (given,) if is_one else given, f"an integer or {dims} of them")
    if len(found) == 1:
        found *= dims
    if len(found) != dims:
        raise RuntimeError(f"{name}(): {argument} must be one number or {dims}, but got {given}.")
    return found


def integers(name, argument, given, wanted="a tuple of integers"):
    """`given` as a tuple of integers."""
    try:
        return tuple(operator.index(n) for n in given)
    except TypeError:
        given = given[0] if isinstance(given, tuple) and len(given) == 1 else given
        raise TypeError(f"{name}(): {argument} must be {wanted}, but got {given!r}.") from None


def integer(name, argument, given):
    """`given` as an int; an error names the function and the argument."""
    return integers(name, argument, (given,), "an integer")[0]


def refuse(name, problem):
    """The error of an operator."""
    return RuntimeError(f"{name}(): {problem}.")


def require_arrays(name, **arguments):
    """Refuse what has no shape and no dtype."""
    for argument, value in arguments.items():
        if not hasattr(value, "dtype") or not hasattr(value, "ndim"):
            raise TypeError(f"{name}(): {argument} must be a Tensor or an ndarray, but got {value!r}.")


def batched(name, input, dims, ops):
    """(input with a batch dimension, whether it had one)."""
    require_arrays(name, input=input)
    if input.ndim not in (dims + 1, dims + 2):
        raise refuse(
            name,
            f"input must have {dims + 1} dimensions, (C, ...), or {dims + 2}, (N, C, ...), "
            f"but has the shape {tuple(input.shape)}",
        )
    return (input, True) if input.ndim == dims + 2 else (ops.unsqueeze(input, 0), False)


def require_fractions(name, input):
    """Refuse integers where the result is a mean of them."""
    if input.dtype.kind not in "fc":
        raise refuse(name, f"the result has fractions, so input must be floating-point, but it is {input.dtype}")
