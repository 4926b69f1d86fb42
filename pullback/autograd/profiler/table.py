"""The table of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.autograd.profiler.event import FunctionEventAvg

SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "key",
)  # fmt: skip
Column = tuple[str, "Callable[[FunctionEventAvg], str]"]


def text(
    averages: Sequence[FunctionEventAvg], sort_by: str | None, row_limit: int, name_width: int, with_memory: bool
) -> str:
    """Names on the left, numbers right-aligned under their headings."""
    if sort_by is not None and sort_by not in SORTS:
        raise ValueError(f"table: sort_by must be one of {', '.join(map(repr, SORTS))}, got {sort_by!r}.")
    rows = list(averages)
    if sort_by is not None:
        rows.sort(key=lambda row: getattr(row, sort_by), reverse=sort_by != "key")
    total = sum(row.self_cpu_time_total for row in rows)
    left_out = len(rows) - row_limit if 0 <= row_limit < len(rows) else 0
    columns = _columns(total, name_width, with_memory, any(row.input_shapes for row in rows))
    cells = [[heading for heading, _ in columns]]
    cells += [[cell(row) for _, cell in columns] for row in rows[: len(rows) - left_out]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = "  ".join("-" * width for width in widths)
    lines = [_line(row, widths) for row in cells]
    if left_out:
        lines.append(f"... and {left_out} rows more; row_limit=-1 shows them")
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {time(total)}"]) + "\n"


def _columns(total: float, name_width: int, with_memory: bool, with_shapes: bool) -> list[Column]:
    columns: list[Column] = [
        ("Name", lambda row: _shortened(row.key, name_width)),
        ("Self CPU %", lambda row: _percent(row.self_cpu_time_total, total)),
        ("Self CPU", lambda row: time(row.self_cpu_time_total)),
        ("CPU total %", lambda row: _percent(row.cpu_time_total, total)),
        ("CPU total", lambda row: time(row.cpu_time_total)),
        ("CPU time avg", lambda row: time(row.cpu_time)),
    ]
    if with_memory:
        columns.append(("CPU Mem", lambda row: memory(row.cpu_memory_usage)))
        columns.append(("Self CPU Mem", lambda row: memory(row.self_cpu_memory_usage)))
    columns.append(("# of Calls", lambda row: str(row.count)))
    if with_shapes:
        columns.append(("Input Shapes", lambda row: _shortened(str(list(row.input_shapes)), 60)))
    return columns


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if not i else cell.rjust(width) for i, (cell, width) in _numbered(cells, widths)
    )
    return "  ".join([first, *others]).rstrip()


def _numbered(cells: Sequence[str], widths: Sequence[int]) -> Any:
    return enumerate(zip(cells, widths, strict=True))


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 3]}..."


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "0.00%"


def time(us: float) -> str:
    """Microseconds in a unit that keeps the number short."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def memory(size: int) -> str:
    """Bytes in a unit that keeps the number short."""
    for unit, width in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << width:
            return f"{size / (1 << width):.2f} {unit}"
    return f"{size} B"
