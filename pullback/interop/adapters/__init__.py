"""NumPy's signatures over pullback's operators, one file an area. Imported by `registry.load_adapters`."""

from __future__ import annotations
