"""Formats times and sizes for the tables of the profiler."""

from __future__ import annotations

_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


def time(us: float, unit: str | None = None) -> str:
    """Microseconds in `unit` (us, ms or s), by default one that keeps the number short."""
    if unit is None:
        unit = "s" if us >= 1e6 else "ms" if us >= 1e3 else "us"
    if unit not in _US:
        raise ValueError(f"table: time_unit must be 'us', 'ms' or 's', got {unit!r}.")
    return f"{us / _US[unit]:.3f}{unit}"


def memory(size: int) -> str:
    """Bytes in a unit that keeps the number short."""
    for unit, width in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << width:
            return f"{size / (1 << width):.2f} {unit}"
    return f"{size} B"
