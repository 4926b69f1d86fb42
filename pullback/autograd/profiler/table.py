"""The table of a profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pullback.autograd.profiler.event import FunctionEventAvg
from pullback.autograd.profiler.units import memory, time

SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "key",
)  # fmt: skip
Column = tuple[str, "Callable[[FunctionEventAvg], str]"]


@dataclass(frozen=True)
class Look:
    """How a table looks: rows at most (-1: all), widths of columns, a first line, the unit of times."""

    row_limit: int = 100
    name_width: int = 55
    shapes_width: int = 80
    header: str | None = None
    time_unit: str | None = None


def text(averages: Sequence[FunctionEventAvg], sort_by: str | None, look: Look, with_memory: bool) -> str:
    """Names on the left, numbers right-aligned under their headings."""
    if sort_by is not None and sort_by not in SORTS:
        raise ValueError(f"table: sort_by must be one of {', '.join(map(repr, SORTS))}, got {sort_by!r}.")
    rows = list(averages)
    if sort_by is not None:
        rows.sort(key=lambda row: getattr(row, sort_by), reverse=sort_by != "key")
    total = sum(row.self_cpu_time_total for row in rows)
    left_out = len(rows) - look.row_limit if 0 <= look.row_limit < len(rows) else 0
    columns = _columns(total, look, with_memory, any(row.input_shapes for row in rows))
    cells = [[heading for heading, _ in columns]]
    cells += [[cell(row) for _, cell in columns] for row in rows[: len(rows) - left_out]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = "  ".join("-" * width for width in widths)
    lines = [_line(row, widths) for row in cells]
    if left_out:
        lines.append(f"... and {left_out} rows more; row_limit=-1 shows them")
    above = [] if look.header is None else [look.header]
    below = f"Self CPU time total: {time(total, look.time_unit)}"
    return "\n".join([*above, rule, lines[0], rule, *lines[1:], rule, below]) + "\n"


def _columns(total: float, look: Look, with_memory: bool, with_shapes: bool) -> list[Column]:
    columns: list[Column] = [
        ("Name", lambda row: _shortened(row.key, look.name_width)),
        ("Self CPU %", lambda row: _percent(row.self_cpu_time_total, total)),
        ("Self CPU", lambda row: time(row.self_cpu_time_total, look.time_unit)),
        ("CPU total %", lambda row: _percent(row.cpu_time_total, total)),
        ("CPU total", lambda row: time(row.cpu_time_total, look.time_unit)),
        ("CPU time avg", lambda row: time(row.cpu_time, look.time_unit)),
    ]
    if with_memory:
        columns.append(("CPU Mem", lambda row: memory(row.cpu_memory_usage)))
        columns.append(("Self CPU Mem", lambda row: memory(row.self_cpu_memory_usage)))
    columns.append(("# of Calls", lambda row: str(row.count)))
    if with_shapes:
        columns.append(("Input Shapes", lambda row: _shortened(str(list(row.input_shapes)), look.shapes_width)))
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
