"""Argument checks that several composites share."""

from pullback.core.errors import DtypeError, type_name


def require_arrays(name, **arguments):
    """Refuse lists and numbers where a composite asks for shape or dtype."""
    for argument, value in arguments.items():
        if value is not None and not hasattr(value, "dtype"):
            raise TypeError(
                f"{name}(): argument {argument!r} must be a Tensor or an ndarray, got {type_name(value)}; "
                "make one with pullback.tensor(...)."
            )


def refuse_complex(name, input):
    """Refuse complex input: a variance without conjugates is none."""
    if input.dtype.kind == "c":
        raise DtypeError(f"{name}(): input must be real, but the dtype is {input.dtype}; use view_as_real(input).")
