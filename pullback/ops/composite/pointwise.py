"""Elementwise operators made of others."""

__all__ = ["positive", "square"]


def positive(self, *, ops):
    """+self: self itself, as PyTorch gives; there is no +True."""
    if self.dtype.kind == "b":
        raise RuntimeError("positive: boolean tensors are not supported; convert to a number type first.")
    return self


def square(self, *, ops):
    """self * self, as a power."""
    return ops.pow(self, 2)
