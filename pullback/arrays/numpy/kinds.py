"""What kind of number an argument holds."""

__all__ = []


def is_complex(x):
    """Whether an array or a number is complex."""
    return x.dtype.kind == "c" if hasattr(x, "dtype") else isinstance(x, complex)
