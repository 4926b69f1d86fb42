"""NumPy's signatures over pullback's operators, one file an area. Each enters its rules into `interop.registry`."""

from __future__ import annotations

from importlib import import_module

_AREAS = (
    "calculus", "creation", "decompositions", "histograms", "indexing", "inspection", "joining", "linalg", "pointwise",
    "polynomials", "reductions", "sets", "shape", "sorting", "statistics",
)  # fmt: skip


def load() -> None:
    """Import all areas."""
    for area in _AREAS:
        import_module(f"{__name__}.{area}")
