"""Measure the peak memory of a chain of n layers with and without checkpoints; draw docs/images/checkpoint_memory.svg.

    python tools/plot_checkpoint_memory.py            measure, print a table, draw
    python tools/plot_checkpoint_memory.py --table    measure and print

Needs matplotlib (`pip install pullback[demo]`) to draw.
"""

import sys
import tracemalloc
from pathlib import Path

import pullback as pb
from pullback.utils.checkpoint import checkpoint, checkpoint_sequential

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "checkpoint_memory.svg"
SIZES = [16, 32, 64, 128, 256, 512, 1024]
ELEMENTS = 25_000  # of an activation, in float64: large beside the nodes of the graph


def without(layers, x):
    """The chain as it is."""
    for layer in layers:
        x = layer(x)
    return x


def sqrt_segments(layers, x):
    """In sqrt(n) checkpoints."""
    return checkpoint_sequential(layers, "sqrt", x)


def nested_halves(layers, x):
    """A checkpoint around the first half, and so on within both halves."""
    if len(layers) == 1:
        return layers[0](x)
    middle = len(layers) // 2
    return nested_halves(layers[middle:], checkpoint(nested_halves, layers[:middle], x))


class Layer:
    """A layer that saves one activation, and counts how often it is computed."""

    calls = 0

    def __call__(self, x):
        Layer.calls += 1
        return x.sin()


def measure(way, n):
    """(peak memory of a forward and backward, in activations; computations of a layer, for each layer)."""
    x = pb.full((ELEMENTS,), 0.5, requires_grad=True)
    Layer.calls = 0
    tracemalloc.start()
    try:
        way([Layer()] * n, x).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak / (8 * ELEMENTS), Layer.calls / n


WAYS = {
    "no checkpoints": without,
    'checkpoint_sequential(layers, "sqrt", x)': sqrt_segments,
    "nested halves": nested_halves,
}


def main():
    """Measure every way at every size."""
    measured = {name: [measure(way, n) for n in SIZES] for name, way in WAYS.items()}
    print("peak memory in activations (computations of each layer)")
    print(f"{'n':>6}", *(f"{name:>42}" for name in WAYS))
    for i, n in enumerate(SIZES):
        print(f"{n:>6}", *(f"{f'{rows[i][0]:.1f} ({rows[i][1]:.2f})':>42}" for rows in measured.values()))
    if "--table" not in sys.argv:
        draw({name: [peak for peak, _ in rows] for name, rows in measured.items()})


def draw(peaks):
    """Peak memory against the length of the chain, on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "pullback", "svg.fonttype": "none", "font.size": 10})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, values), marker in zip(peaks.items(), "os^", strict=True):
        axes.loglog(SIZES, values, marker=marker, label=name, base=2)
    axes.loglog(SIZES, SIZES, "--", color="0.7", linewidth=1, label="n", zorder=0, base=2)
    axes.loglog(SIZES, [2 * n**0.5 for n in SIZES], ":", color="0.5", linewidth=1, label="2 sqrt(n)", zorder=0, base=2)
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    ticks = [2**k for k in range(2, 11)]
    axes.set_yticks(ticks, [str(t) for t in ticks])
    axes.set_xlabel("layers n")
    axes.set_ylabel("peak memory, in activations")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
