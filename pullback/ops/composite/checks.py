"""Argument checks that several composites share."""

from pullback.core.errors import type_name


def require_arrays(name, **arguments):
    """Refuse lists and numbers where a composite asks for shape or dtype."""
    for argument, value in arguments.items():
        if value is not None and not hasattr(value, "dtype"):
            raise TypeError(
                f"{name}(): argument {argument!r} must be a Tensor or an ndarray, got {type_name(value)}; "
                "make one with pullback.tensor(...)."
            )
