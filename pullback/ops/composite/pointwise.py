"""Elementwise operators made of others."""

__all__ = ["conj", "positive"]


def conj(self, *, ops):
    """The conjugate; a real tensor is its own, so a backward that is recorded has no nodes for it."""
    return ops.conj_physical(self) if self.dtype.kind == "c" else self


def positive(self, *, ops):
    """+self: self itself, as PyTorch gives; there is no +True."""
    if self.dtype.kind == "b":
        raise RuntimeError("positive: boolean tensors are not supported; convert to a number type first.")
    return self
