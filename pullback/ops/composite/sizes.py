"""Arguments of operators on 1, 2 or 3 spatial dimensions: a number stands for one in each."""

__all__ = ["batched", "numbers", "refuse", "require_fractions"]


def numbers(name, argument, given, dims):
    """`given` as a tuple with one number a dimension."""
    found = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(found) == 1:
        found *= dims
    if len(found) != dims:
        raise RuntimeError(f"{name}(): {argument} must be one number or {dims}, but got {given}.")
    return found


def refuse(name, problem):
    """The error of an operator."""
    return RuntimeError(f"{name}(): {problem}.")


def batched(name, input, dims, ops):
    """(input with a batch dimension, whether it had one)."""
    if not hasattr(input, "ndim") or input.ndim not in (dims + 1, dims + 2):
        raise refuse(
            name,
            f"input must have {dims + 1} dimensions, (C, ...), or {dims + 2}, (N, C, ...), "
            f"but has the shape {tuple(getattr(input, 'shape', ()))}",
        )
    return (input, True) if input.ndim == dims + 2 else (ops.unsqueeze(input, 0), False)


def require_fractions(name, input):
    """Refuse integers where the result is a mean of them."""
    if input.dtype.kind not in "fc":
        raise refuse(name, f"the result has fractions, so input must be floating-point, but it is {input.dtype}")
