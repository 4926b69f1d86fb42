"""A graph of a million nodes, one after the other: build it, run backward, free it. Recursion anywhere would crash.

As a script (``python -m benchmarks.cases.million_nodes LIBRARY CLOCK``) it measures one library in this process.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import clock, contenders
from benchmarks.case import Goal, ProcessCase

NODES = 1_000_000
FACTOR = 1.000001  # keeps the values and the gradient between 1e-9 and 1
PAGE = 4096
BYTES_BEFORE = 330  # a node of this chain held 327 in version 0.1.0
MODULE = "benchmarks.cases.million_nodes"

CASE = ProcessCase(
    name="million-nodes",
    title="chain of 1,000,000 operators (a factor and sin, in turn) on one float64: build, backward, free; per node",
    # JAX is missing because it would first write down a program of a million lines, HIPS autograd for its minute.
    command={name: ["-m", MODULE, name] for name in ("pullback", "torch")},
    per=NODES,
    goals=[Goal(0.8), Goal(5e-6, of=None), Goal(BYTES_BEFORE, of=None, what="bytes")],
    rounds=2,
)


def resident_bytes() -> int:
    """Memory of this process now; its peak so far on systems without /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123  the file is not a path to handle
            return int(statm.read().split()[1]) * PAGE
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def chain(y: Any, sin: Callable[[Any], Any]) -> Any:
    """Half a million factors, which save a number, and as many sines, which save a tensor."""
    for _ in range(NODES // 2):
        y = sin(y * FACTOR)
    return y


def measure(lib: Any) -> tuple[int, float]:
    """Build, backward, free; return the bytes that the graph held, and the gradient."""
    x = lib.ones(1, dtype=lib.float64, requires_grad=True)
    before = resident_bytes()
    y = chain(x, lib.sin)
    held = resident_bytes() - before
    y.sum().backward()
    del y
    return held, float(x.grad[0])


def check(grad: float) -> None:
    """The chain rule on plain numbers says what the gradient is."""
    y, expected = 1.0, 1.0
    for _ in range(NODES // 2):
        expected *= math.cos(y * FACTOR) * FACTOR
        y = math.sin(y * FACTOR)
    if not math.isclose(grad, expected, rel_tol=1e-6, abs_tol=1e-300):
        raise ArithmeticError(f"The gradient of the chain is {grad!r}, and should be {expected!r}.")


def main(contender: str, clock_name: str) -> None:
    """Measure and print JSON."""
    lib = contenders.load(contender, threads=1 if clock_name == "cpu" else None)
    now = clock.CLOCKS[clock_name]
    start = now()
    held, grad = measure(lib)
    seconds = now() - start
    check(grad)
    print(json.dumps({"seconds": seconds, "bytes": held}))


if __name__ == "__main__":
    main(*sys.argv[1:])
