"""What the examples of implicit derivatives compute, drawn."""

from collections.abc import Callable
from typing import Any

import deep_equilibrium
import hyperparameters
import numpy as np
import ode_fit

import pullback as pb
from pullback.demo.plots import BLUE, GREY, ORANGE, figure


def equilibrium() -> Any:
    """Two spirals, told apart by a layer whose output is a fixed point."""
    x, y = deep_equilibrium.spirals()
    p, _, _ = deep_equilibrium.train(x, y)
    right = np.mean((deep_equilibrium.logits(p, x) > 0) == (y > 0.5))
    sides = np.linspace(-1.2, 1.2, 70)
    grid = np.stack(np.meshgrid(sides, sides), -1).reshape(-1, 2)
    drawing = figure(figsize=(5, 4.5))
    axes = drawing.subplots()
    score = np.tanh(deep_equilibrium.logits(p, grid)).reshape(70, 70)
    axes.pcolormesh(sides, sides, score, cmap="RdBu", alpha=0.7)
    for k, colour in ((0, ORANGE), (1, BLUE)):
        axes.plot(*x[y == k].T, "o", color=colour, markersize=4)
    axes.set(title=f"{right:.0%} right", aspect="equal")
    axes.grid(visible=False)
    return drawing


def penalties() -> Any:
    """The penalty of each feature, chosen by the gradient of the validation loss through the fit."""
    before, after, logs = hyperparameters.main()
    colours = [ORANGE] * hyperparameters.USEFUL + [GREY] * (hyperparameters.FEATURES - hyperparameters.USEFUL)
    drawing = figure(figsize=(6.5, 3.2))
    axes = drawing.subplots()
    axes.bar(range(len(logs)), logs, color=colours)
    axes.axhline(np.log(1e-2), color=BLUE, linewidth=0.8)
    axes.set(title=f"validation loss {before:.3f} before, {after:.3f} after", xlabel="feature; the useful ones orange")
    axes.set(ylabel="log of the penalty; blue: the start", xticks=range(len(logs)))
    return drawing


def predators() -> Any:
    """Prey and predators, and how their numbers move with the rate of births."""
    times = ode_fit.TIMES
    kept, slope = pb.func.jvp(ode_fit.counts, (ode_fit.RATES,), (np.array([1.0, 0, 0, 0]),))
    drawing = figure(figsize=(9, 3.2))
    numbers, slopes = drawing.subplots(1, 2)
    for column, colour, name in ((0, BLUE, "prey"), (1, ORANGE, "predators")):
        numbers.plot(times, kept[:, column], "o-", color=colour, label=name)
        slopes.plot(times, slope[:, column], "o-", color=colour)
    numbers.set(title="numbers", xlabel="time")
    numbers.legend()
    slopes.set(title="their derivative by the rate of births", xlabel="time")
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (equilibrium, penalties, predators)
