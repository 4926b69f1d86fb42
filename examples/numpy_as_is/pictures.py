"""What the gradients say, drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import data_pictures
import numpy as np
import physics_pictures
from programs import ar_model, black_scholes, kmeans, nbody, neural_net, predator_prey, robot_arm, thin_films
from scipy.optimize import minimize

from pullback.demo.extras import need
from pullback.demo.plots import BLUE, GREY, ORANGE, STYLE, figure, save
from pullback.func import grad, value_and_grad


def draw(folder: Path) -> list[Path]:
    """Draw all pictures into a folder."""
    with need("matplotlib").rc_context(STYLE):
        return [save(picture(), folder / f"{picture.__name__}.png") for picture in PICTURES]


def greeks() -> Any:
    """The price of an option and its slopes, against the price of the share."""
    spots = np.linspace(60.0, 150.0, 60)
    names = ("price", "delta", "theta", "rho", "vega")
    slopes = value_and_grad(black_scholes.call_price, (0, 2, 3, 4))
    rows = np.array([(value, *found) for value, found in (slopes(s, 105.0, 0.5, 0.02, 0.25) for s in spots)])
    drawing = figure(figsize=(12, 2.8))
    for name, row, axes in zip(names, rows.T, drawing.subplots(1, 5), strict=True):
        axes.plot(spots, row, color=BLUE if name == "price" else ORANGE)
        axes.axvline(105.0, color=GREY, linewidth=0.8)
        axes.set(title=name, xlabel="price of the share")
    return drawing


def sunspots() -> Any:
    """On which observations the forecast depends."""
    series = ar_model.sunspots()
    years = 1755 + np.arange(len(series))
    drawing = figure(figsize=(9, 4))
    above, below = drawing.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(years, series, ".-", color=BLUE, label="sunspots")
    above.plot(years[-1] + np.arange(1, 6), ar_model.forecast(series), ".--", color=ORANGE, label="forecast")
    above.legend()
    below.bar(years, grad(ar_model.next_maximum)(series), color=ORANGE)
    below.set(title="slope of the highest forecast by each observation", xlabel="year")
    return drawing


def lynx_and_hare() -> Any:
    """A fit by BFGS, with the gradient through all Runge-Kutta steps."""
    start = np.array([0.55, 0.028, 0.84, 0.026, 33.0, 6.0])
    scale = np.abs(start)
    slopes = value_and_grad(predator_prey.misfit)

    def scaled(q: Any) -> Any:
        value, gradient = slopes(q * scale)
        return value, gradient * scale

    found = minimize(scaled, start / scale, jac=True, method="BFGS").x * scale
    drawing = figure(figsize=(9, 3.6))
    for axes, p, title in zip(drawing.subplots(1, 2, sharey=True), (start, found), ("guess", "fit"), strict=True):
        y = predator_prey.trajectory(p)
        for column, counts, colour, name in (
            (0, predator_prey.HARE, BLUE, "hare"),
            (1, predator_prey.LYNX, ORANGE, "lynx"),
        ):
            axes.plot(predator_prey.YEARS, counts, "o", color=colour)
            axes.plot(predator_prey.YEARS, y[:, column], color=colour, label=name)
        axes.set(title=f"{title}: misfit {predator_prey.misfit(p):.3f}", xlabel="year")
        axes.legend()
    return drawing


def arm() -> Any:
    """The arm of a robot reaches for a point, by the gradient of how far it misses."""
    angles = np.radians([30.0, -20.0, 45.0, 10.0])
    path = [angles]
    minimize(value_and_grad(robot_arm.miss), angles, jac=True, callback=lambda x: path.append(x.copy()))
    drawing = figure(figsize=(5, 4.5))
    axes = drawing.add_subplot(projection="3d")
    for n, pose in enumerate(path):
        colour = ORANGE if n == len(path) - 1 else BLUE
        axes.plot(*robot_arm.joints(pose).T, "o-", color=colour, alpha=0.2 + 0.8 * n / len(path), markersize=3)
    axes.plot(*[[x] for x in (0.5, 0.4, 0.3)], "*", color=GREY, markersize=14)
    axes.set_title(f"{len(path) - 1} steps of BFGS")
    return drawing


def clusters() -> Any:
    """Where each point would have to go for tighter clusters."""
    X = kmeans.points()
    centres, labels = kmeans.hard(X)
    drawing = figure(figsize=(5, 4.5))
    axes = drawing.subplots()
    axes.scatter(*X.T, c=labels, cmap="viridis", s=25)
    axes.plot(*centres.T, "+", color=GREY, markersize=14)
    axes.quiver(*X.T, *-grad(kmeans.inertia)(X).T, color=ORANGE, width=0.004)
    axes.set(title="hard k-means: minus the slope of the inertia", aspect="equal")
    return drawing


def orbits() -> Any:
    """Which change of the starting velocities keeps the three bodies apart."""
    path = nbody.orbit(nbody.VELOCITIES, steps=320)
    away = grad(nbody.closest_approach)(nbody.VELOCITIES)
    drawing = figure(figsize=(7, 3.4))
    axes = drawing.subplots()
    for body, colour in enumerate((BLUE, ORANGE, GREY)):
        axes.plot(*path[:, body].T, color=colour, linewidth=0.8)
        axes.plot(*path[0, body], "o", color=colour)
    axes.quiver(*nbody.POSITIONS.T, *nbody.VELOCITIES.T, color=GREY, width=0.004, label="velocity")
    axes.quiver(*nbody.POSITIONS.T, *away.T, color="black", width=0.004, label="slope of the closest approach")
    axes.legend(loc="lower center", ncols=2)
    axes.set(title="the figure of eight", aspect="equal", ylim=(-0.65, 0.55))
    return drawing


def spirals() -> Any:
    """What the network holds for which spiral, before and after 400 steps down the gradient."""
    X, y = neural_net.spirals()
    before = neural_net.initial_weights()
    after = {name: array.copy() for name, array in before.items()}
    speeds = {name: np.zeros_like(array) for name, array in before.items()}
    slopes = grad(neural_net.cross_entropy)
    for _ in range(400):
        for name, slope in slopes(after).items():
            speeds[name] = 0.9 * speeds[name] - 0.1 * slope
            after[name] += speeds[name]
    grid = np.linspace(-1.1, 1.1, 80)
    places = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    drawing = figure(figsize=(8, 3.8))
    for axes, weights, title in zip(drawing.subplots(1, 2), (before, after), ("before", "after"), strict=True):
        held = neural_net.forward(weights, places)[:, 1].reshape(80, 80)
        axes.contourf(grid, grid, held, levels=20, cmap="RdBu", vmin=0, vmax=1)
        axes.scatter(*X.T, c=y, cmap="RdBu", edgecolor="black", s=18)
        axes.set(title=f"{title}: loss {neural_net.cross_entropy(weights):.3f}", aspect="equal")
    return drawing


def films() -> Any:
    """The spectrum of an antireflection coating, before and after its thicknesses follow their slopes."""
    start = np.array([100.0, 60.0, 95.0, 65.0])
    found = minimize(value_and_grad(lambda d: 100 * thin_films.mean_reflectance(d)), start, jac=True).x
    wavelengths = np.linspace(400e-9, 700e-9, 100)
    drawing = figure(figsize=(6, 3.6))
    axes = drawing.subplots()
    for d, colour in ((start, GREY), (found, ORANGE)):
        spectrum = [100 * thin_films.reflectance(d * 1e-9, w) for w in wavelengths]
        axes.plot(wavelengths * 1e9, spectrum, color=colour, label=", ".join(f"{x:.0f}" for x in d) + " nm")
    axes.set(title="reflectance (%)", xlabel="wavelength (nm)")
    axes.legend()
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (
    greeks, sunspots, lynx_and_hare, arm, clusters, orbits, spirals, films,
    *physics_pictures.PICTURES, *data_pictures.PICTURES,
)  # fmt: skip
