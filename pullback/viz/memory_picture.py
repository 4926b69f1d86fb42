"""The picture of a graph's memory: its course through backward, and bars for the lines that hold most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pullback.autograd.profiler import units
from pullback.viz.holding import Holding
from pullback.viz.peak import Course

_WIDTH, _HEIGHT, _LEFT, _TOP = 760, 200, 78, 42
_BARS = 8
_POINTS = 400  # of the curve at most
_LEGEND = "blue: leaves and what was saved; orange: gradients, and what a node needs while it runs"
STYLE = """\
<style>
  .paper { fill: #fff } .ink { fill: #1e293b } .quiet { fill: #64748b } .rule { stroke: #dfe3ea }
  .saved { fill: #7aa6d8 } .flowing { fill: #f0a261 } .peak { stroke: #d6203a; fill: none } .bar { fill: #7aa6d8 }
  text { font: 12px Helvetica, Arial, sans-serif } .head { font-weight: bold; font-size: 13px }
  .code { font-family: monospace }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #181d26 } .ink { fill: #e4e9f1 } .quiet { fill: #93a0b2 } .rule { stroke: #2b3340 }
    .saved, .bar { fill: #4a7fc0 } .flowing { fill: #d98942 }
  }
</style>"""


def svg(course: Course, peak_at: str, held: int, rows: Sequence[Holding]) -> str:
    """The whole picture."""
    rows = [row for row in rows[:_BARS] if row.bytes]
    height = _TOP + _HEIGHT + 62 + 24 * len(rows) + 14
    parts = [STYLE, f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="8"/>']
    parts += [*_course(course, peak_at), *_bars(held, rows)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img" aria-label="memory of a backward">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def html(picture: str, summary: Iterable[str], cells: Sequence[Sequence[str]]) -> str:
    """Figures, picture and table for a notebook."""
    heading, *rows = cells
    sides = ("right", "right", "right", "left", "left", "left")

    def row(cells: Sequence[str]) -> str:
        return "".join(
            f'<td style="text-align: {side}">{escape(cell)}</td>' for side, cell in zip(sides, cells, strict=True)
        )

    table = "".join(f"<tr>{row(cells)}</tr>" for cells in rows)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    lines = "<br>".join(map(escape, summary))
    return f"<p>{lines}</p>{picture}<table><thead><tr>{head}</tr></thead><tbody>{table}</tbody></table>"


def _course(course: Course, peak_at: str) -> list[str]:
    """Memory over the nodes of backward: what is saved, what flows, and the most while a node runs."""
    bottom = _TOP + _HEIGHT
    count = len(course.nodes)
    step = max(1, -(-count // _POINTS))  # of several nodes in one point the highest counts
    groups = [range(i, min(i + step, count)) for i in range(0, count, step)]
    top = max(course.peak, 1)
    wide = (_WIDTH - _LEFT - 24) / len(groups)

    def area(values: Sequence[int], css: str) -> str:
        points = [f"{_LEFT},{bottom}"]
        for number, group in enumerate(groups):
            y = bottom - _HEIGHT * max(values[i] for i in group) / top
            points += [f"{_LEFT + number * wide:.1f},{y:.1f}", f"{_LEFT + (number + 1) * wide:.1f},{y:.1f}"]
        points.append(f"{_WIDTH - 24},{bottom}")
        return f'<polygon class="{css}" points="{" ".join(points)}"/>'

    at = course.during.index(course.peak) // step
    x = _LEFT + (at + 0.5) * wide
    side = "end" if x > _WIDTH / 2 else "start"
    parts = [
        _text(f"Backward, node by node: {units.memory(course.peak)} at its highest", _LEFT, 18, "ink head"),
        _text(
            "blue: leaves and what was saved; orange: gradients, and what a node needs while it runs",
            _LEFT,
            34,
            "quiet",
        ),
    ]
    for share in (0, 0.5, 1):
        y = bottom - _HEIGHT * share
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - 24}" y1="{y}" y2="{y}"/>')
        parts.append(_text(units.memory(int(top * share)), _LEFT - 8, y + 4, "quiet", "end"))
    parts += [
        area(course.during, "flowing"),
        area(course.saved, "saved"),
        f'<line class="peak" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{bottom}" stroke-dasharray="3 3"/>',
        _text(_shortened(peak_at, 90), x, bottom + 16, "ink", side),
    ]
    return parts


def _bars(held: int, rows: Sequence[Holding]) -> list[str]:
    y = _TOP + _HEIGHT + 46
    parts = [_text(f"Held for backward: {units.memory(held)}", _LEFT, y, "ink head")]
    for row in rows:
        y += 24
        width = 130 * row.bytes / rows[0].bytes
        label = f"{row.operator} ×{row.nodes}" if row.nodes > 1 else row.operator
        where = f"{row.where}  {row.code}" if row.where else "line not recorded"
        parts += [
            _text(units.memory(row.bytes), _LEFT - 8, y, "quiet", "end"),
            f'<rect class="bar" x="{_LEFT}" y="{y - 11}" width="{width:.1f}" height="14" rx="3"/>',
            _text(_shortened(label, 30), _LEFT + 140, y, "ink"),
            _text(_shortened(where, 46), _LEFT + 340, y, "quiet code"),
        ]
    return parts


def _text(text: str, x: float, y: float, css: str, anchor: str = "start") -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
