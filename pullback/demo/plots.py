"""The demos' pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from pullback.demo.extras import need
from pullback.demo.least_squares import Fit
from pullback.demo.training import History

BLUE, ORANGE, GREY = "#2563eb", "#ea580c", "#64748b"
STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "font.size": 10,
}


def figure(**options: Any) -> Any:
    """A figure that needs no screen, and leaves the user's own matplotlib settings alone."""
    return need("matplotlib.figure").Figure(layout="constrained", dpi=150, **options)


def save(drawing: Any, path: Path) -> Path:
    """Write the PNG, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path)
    return path


def training(history: History, path: Path) -> Path:
    """Loss and accuracy against epochs, for the digits learnt from and the ones held out."""
    with need("matplotlib").rc_context(STYLE):
        drawing = figure(figsize=(9, 3.6))
        losses, accuracies = drawing.subplots(1, 2)
        epochs = np.arange(1, len(history.train_loss) + 1)

        losses.semilogy(epochs, history.train_loss, color=BLUE, label="learnt from")
        losses.semilogy(epochs, history.held_out_loss, color=ORANGE, label="held out")
        losses.set(title="Cross-entropy", xlabel="epoch", ylabel="loss")
        losses.legend()

        accuracies.plot(epochs, 100 * np.array(history.train_accuracy), color=BLUE)
        accuracies.plot(epochs, 100 * np.array(history.held_out_accuracy), color=ORANGE)
        last = 100 * history.held_out_accuracy[-1]
        accuracies.annotate(
            f"{last:.2f} %", (epochs[-1], last), (0, -22), textcoords="offset points", ha="right", color=ORANGE
        )
        accuracies.set(title="Accuracy", xlabel="epoch", ylabel="recognised (%)", ylim=(88, 100.5))
        return save(drawing, path)


def fit(result: Fit, path: Path) -> Path:
    """The curve through the measurements, and what is left between them."""
    with need("matplotlib").rc_context(STYLE):
        drawing = figure(figsize=(7.5, 6))
        curve, rest = drawing.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        x, y = result.data.x, result.data.y
        grid = np.linspace(x.min(), x.max(), 400)

        curve.plot(grid, result.curve(grid), color=BLUE, label="fitted model")
        curve.plot(x, y, "o", color=ORANGE, markersize=4.5, label=f"{len(x)} measurements")
        curve.set(title="Electron mobility in a semiconductor (NIST StRD, Thurber)", ylabel="mobility")
        curve.legend(loc="lower right")
        lines = [
            f"$b_{number}$ = {with_error(value, error)}"
            for number, (value, error) in enumerate(zip(result.parameters, result.errors, strict=True), start=1)
        ]
        curve.text(0.02, 0.97, "\n".join(lines), transform=curve.transAxes, va="top", fontsize=9, color=GREY)

        rest.axhspan(-result.scatter, result.scatter, color=GREY, alpha=0.15, linewidth=0)
        rest.axhline(0, color=GREY, linewidth=0.8)
        rest.vlines(x, 0, y - result.curve(x), color=ORANGE, linewidth=1)
        rest.plot(x, y - result.curve(x), "o", color=ORANGE, markersize=4.5)
        rest.set(xlabel="log of the carrier density", ylabel="residual")
        rest.annotate(
            f"±{result.scatter:.1f}: residual standard deviation",
            (1, 1),
            (0, 2),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            fontsize=9,
            color=GREY,
        )
        return save(drawing, path)


def with_error(value: float, error: float) -> str:
    """Both to the second digit of the error: "75.4 ± 5.0"."""
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
