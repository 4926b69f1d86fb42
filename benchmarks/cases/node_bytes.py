"""The memory that nodes of several kinds hold: a chain of each is built, and the growth of the process is divided.

As a script (``python -m benchmarks.cases.node_bytes LIBRARY KIND CLOCK``) it measures one kind in this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import clock, contenders
from benchmarks.case import Goal, ProcessCase
from benchmarks.cases.million_nodes import resident_bytes

NODES = 200_000
MODULE = "benchmarks.cases.node_bytes"
KINDS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {  # name: (what makes a node, the most bytes)
    "add": (lambda lib, y: y + y, 180),
    "sum": (lambda lib, y: y.sum(0, keepdim=True), 270),
    "cat": (lambda lib, y: lib.cat([y]), 350),
    "slice": (lambda lib, y: y[:1], 320),
}
CASES = [
    ProcessCase(
        name=f"bytes-{kind}",
        title=f"chain of {NODES:,} nodes of {kind} on one float64; per node",
        command={name: ["-m", MODULE, name, kind] for name in ("pullback", "torch")},
        per=NODES,
        goals=[Goal(most, of=None, what="bytes")],
        rounds=2,
    )
    for kind, (_, most) in KINDS.items()
]


def main(contender: str, kind: str, clock_name: str) -> None:
    """Measure and print JSON."""
    lib = contenders.load(contender, threads=1 if clock_name == "cpu" else None)
    grow, now = KINDS[kind][0], clock.CLOCKS[clock_name]
    y = grow(lib, lib.zeros(1, dtype=lib.float64, requires_grad=True))
    before, start = resident_bytes(), now()
    for _ in range(NODES):
        y = grow(lib, y)
    print(json.dumps({"seconds": now() - start, "bytes": resident_bytes() - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
