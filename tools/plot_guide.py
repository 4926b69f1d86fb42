"""Draw the pictures of docs/guide: a graph, slopes at a kink, the error of differences.

    python tools/plot_guide.py

Needs matplotlib (`pip install pullback[demo]`).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import pullback as pb

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "pullback", "svg.fonttype": "none", "font.size": 10})
import matplotlib.pyplot as plt  # noqa: E402  # after the choice of the backend

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def save(figure, name):
    """Write a figure, the same bytes for the same picture, on white: the text is dark on dark pages too."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / name, metadata={"Date": None})
    print(f"wrote {IMAGES / name}")


def graph():
    """The graph of exp(x * x).sum()."""
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.viz.graph((x * x).exp().sum(), params={"x": x}).save(IMAGES / "graph.svg")
    print(f"wrote {IMAGES / 'graph.svg'}")


def kinks():
    """A kink with its subgradients, and a root behind a mask, each with the gradient that pullback gives."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3), layout="constrained")
    x = np.linspace(-1, 1, 201)
    for slope in np.linspace(-1, 1, 9):
        left.plot(x, slope * x, color="0.8", linewidth=1)
    left.plot(x, pb.func.grad(np.abs)(0.0) * x, color="C1", label="the slope that is chosen: 0")
    left.plot(x, np.abs(x), color="C0", linewidth=2, label="|x|")
    left.set_ylim(-0.6, 1.6)
    left.set_title("every grey slope is a subgradient", fontsize=10)
    left.legend(frameon=False, loc="upper center")

    def guarded(x):
        return np.where(x > 0, np.sqrt(np.abs(x)), 0.0)

    x = np.linspace(-1, 1, 401)
    right.plot(x, guarded(x), color="C0", linewidth=2, label="value")
    gradient = pb.func.grad(lambda x: np.sum(guarded(x)))(x)
    right.plot(x[x > 0], gradient[x > 0], color="C1", label="gradient")
    right.plot(x[x <= 0], gradient[x <= 0], color="C1")
    right.plot(0, gradient[200], "o", color="C1")
    right.set_ylim(-0.2, 4)
    right.set_title("where(x > 0, sqrt(|x|), 0)", fontsize=10)
    right.legend(frameon=False, loc="upper left")
    save(figure, "kinks.svg")


def differences():
    """The error of a difference against its step, and that of the gradient; no error at all is drawn as 1e-17."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    steps = np.logspace(-13, 0, 105)
    for dtype, color in [(np.float64, "C0"), (np.float32, "C2")]:
        x = dtype(1.1)
        exact = np.cos(np.float64(x))
        up, down = (x + steps).astype(dtype), (x - steps).astype(dtype)
        moved = up.astype(float) - down.astype(float)
        keep = moved > 0
        central = (np.sin(up[keep]).astype(float) - np.sin(down[keep])) / moved[keep]
        axes.loglog(
            steps[keep], np.abs(central - exact) + 1e-17, color=color, label=f"central difference, {dtype.__name__}"
        )
        gradient = float(pb.func.grad(np.sin)(x))
        axes.axhline(
            max(abs(gradient - exact), 1e-17), color=color, linestyle="--", label=f"func.grad, {dtype.__name__}"
        )
    axes.axvline(1e-6, color="0.7", linewidth=1, zorder=0)
    axes.text(8e-7, 1e-15, "gradcheck's step", color="0.4", ha="right")
    axes.set_xlabel("step")
    axes.set_ylabel("error of the slope of sin at 1.1")
    axes.set_ylim(3e-18, 2)
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 0.08))
    save(figure, "differences.svg")


if __name__ == "__main__":
    graph()
    kinks()
    differences()
