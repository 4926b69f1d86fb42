"""The C++ of PyTorch's files, and what is written here instead: remedies for formulas from there."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

_ALONE: Final = "Write an operator by its name alone: cos(self), not at::cos(self)"
_SYNTAX: Final = (
    ("::", _ALONE),
    (r"\?", "Write `a if condition else b`"),
    ("&&", "Write `a and b`"),
    (r"\|\|", "Write `a or b`"),
    ("!(?!=)", "Write `not a`"),
    (r"\d\.?f\b", "Write the number without its f"),
)
_SHAPE, _LEAVE_OUT = "Write x.shape", "Leave it out: the engine does this after every formula"
INSTEAD: Final = MappingProxyType({  # of names, functions and methods
    "sizes": _SHAPE, "sym_sizes": _SHAPE, "size": f"{_SHAPE}, or x.shape[0]", "sym_size": f"{_SHAPE}[0]",
    "dim": "Write x.ndim", "numel": "Write x.size", "sym_numel": "Write x.size",
    "scalar_type": "Write x.dtype", "options": "Write x.dtype",
    "defined": "Write `x is not None`", "Tensor": "Write zeros_like(grad)", "undefined": "Write zeros_like(grad)",
    "handle_r_to_c": _LEAVE_OUT, "sum_to": _LEAVE_OUT, "maybe_multiply": "Write grad * factor",
    "M_PI": "Write pi", "M_SQRT2": "Write sqrt_2", "M_2_SQRTPI": "Write two_over_sqrt_pi",
    "true": "Write True", "false": "Write False", "nullopt": "Write None",
})  # fmt: skip


def instead_of(name: str) -> str | None:
    """The remedy for a name, a function or a method of PyTorch's C++; None for others."""
    if name.endswith("_symint"):
        return f"Write {name.removesuffix('_symint')}"
    return INSTEAD.get(name)


def instead_of_syntax(text: str) -> str | None:
    """The remedy for a text that is C++; None for others."""
    return next((remedy for pattern, remedy in _SYNTAX if re.search(pattern, text)), None)
