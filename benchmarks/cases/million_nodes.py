"""A graph of a million nodes, one after the other: build it, run backward, free it. Recursion anywhere would crash.

As a script (``python -m benchmarks.cases.million_nodes LIBRARY CLOCK``) it measures one library in this process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks import clock, contenders
from benchmarks.case import ProcessCase

NODES = 1_000_000
FACTOR = 1.0000001  # to the millionth power: 1.105
PAGE = 4096
MODULE = "benchmarks.cases.million_nodes"

CASE = ProcessCase(
    name="million-nodes",
    title="chain of 1,000,000 multiplications on one float64: build, backward, free; per node",
    # JAX is missing because it would first write down a program of a million lines.
    command={name: ["-m", MODULE, name] for name in ("pullback", "torch", "autograd")},
    per=NODES,
    goals={"torch": 0.8},
    rounds=3,
)


def resident_bytes() -> int:
    """Memory of this process now; its peak so far on systems without /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123  the file is not a path to handle
            return int(statm.read().split()[1]) * PAGE
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def multiply(y: Any) -> Any:
    """The chain."""
    for _ in range(NODES):
        y = y * FACTOR
    return y


def by_tensors(lib: Any) -> int:
    """Build, backward, free; return the bytes that the graph held."""
    x = lib.ones(1, dtype=lib.float64, requires_grad=True)
    before = resident_bytes()
    y = multiply(x)
    held = resident_bytes() - before
    y.sum().backward()
    del y
    check(float(x.grad[0]))
    return held


def by_function(lib: Any) -> int:
    """The same through HIPS autograd, whose graph is seen from inside the function."""
    import autograd.numpy as anp
    import numpy as np

    held = 0

    def function(x: Any) -> Any:
        nonlocal held
        before = resident_bytes()
        y = anp.sum(multiply(x))
        held = resident_bytes() - before
        return y

    check(float(lib.grad(function)(np.ones(1))[0]))
    return held


def check(grad: float) -> None:
    """The gradient is FACTOR to the power NODES."""
    expected = FACTOR**NODES
    if abs(grad - expected) > 1e-8 * expected:
        raise ArithmeticError(f"The gradient of the chain is {grad!r}, and should be {expected!r}.")


def main(contender: str, clock_name: str) -> None:
    """Measure and print JSON."""
    lib = contenders.load(contender, threads=1 if clock_name == "cpu" else None)
    now = clock.CLOCKS[clock_name]
    start = now()
    held = by_function(lib) if contender == "autograd" else by_tensors(lib)
    print(json.dumps({"seconds": now() - start, "bytes": held / NODES}))


if __name__ == "__main__":
    main(*sys.argv[1:])
