"""Elementwise operators made of others."""

from pullback.core.cuts import WATCHED, note_operator
from pullback.core.tensor import Tensor, extra_of
from pullback.ops.composite.checks import require_arrays


def conj(self, *, ops):
    """The conjugate, marked as what PyTorch would have as a view: writing into it is refused."""
    out = conjugate(self, ops=ops)
    if out is not self and isinstance(out, Tensor):
        extra_of(out).no_view = "conj"
    return out


def conjugate(self, *, ops):
    """The conjugate; a real tensor is its own, so a backward that is recorded has no nodes for it."""
    return ops.conj_physical(self) if self.dtype.kind == "c" else self


def is_conj(self, *, ops):
    """False: conj computes its result at once."""
    return False


def resolve_conj(self, *, ops):
    """self, for it is no lazy conjugate; of what `conj` gave a copy, which may be written into."""
    written_never = isinstance(self, Tensor) and self._extra is not None and isinstance(self._extra.no_view, str)
    return ops.clone(self) if written_never else self


def is_neg(self, *, ops):
    """False: neg computes its result at once."""
    return False


def resolve_neg(self, *, ops):
    """self, for it is no lazy negative."""
    return self


def is_complex(self, *, ops):
    """True if the dtype is complex."""
    require_arrays("is_complex", input=self)
    return self.dtype.kind == "c"


def is_floating_point(self, *, ops):
    """True if the dtype is a real floating-point one."""
    require_arrays("is_floating_point", input=self)
    return self.dtype.kind == "f"


def real(self, *, ops):
    """The real part of a complex tensor, a view; a real one itself."""
    require_arrays("real", input=self)
    return ops._real(self) if self.dtype.kind == "c" else self


def to(self, dtype, *, ops):
    """self in a dtype; self itself if it has it."""
    require_arrays("to", input=self)
    if WATCHED and dtype.kind not in "fc":
        note_operator(f"the cast to {dtype}", self)
    return self if self.dtype == dtype else ops._to_copy(self, dtype)


def positive(self, *, ops):
    """+self: self itself, as PyTorch gives; there is no +True."""
    if self.dtype.kind == "b":
        raise RuntimeError("positive: boolean tensors are not supported; convert to a number type first.")
    return self
