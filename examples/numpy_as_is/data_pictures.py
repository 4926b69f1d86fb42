"""What the gradients of the programs about data and decisions say, drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import (
    bezier_camera,
    crank_nicolson,
    epidemic,
    gaussian_process,
    hmc,
    hmm_forward,
    kalman_filter,
    metropolis_swaps,
    moving_average,
)
from scipy.optimize import minimize

from pullback.demo.plots import BLUE, GREY, ORANGE, figure
from pullback.func import grad, jvp, value_and_grad


def curve() -> Any:
    """A Bezier curve as a camera sees it, and where its control points would lengthen it."""
    eye = np.array([3.0, 2.0, 1.5])
    points = np.array([bezier_camera.de_casteljau(bezier_camera.CONTROL, t) for t in np.linspace(0, 1, 60)])
    away = grad(bezier_camera.length_in_picture)(bezier_camera.CONTROL, eye)
    control = bezier_camera.project(bezier_camera.CONTROL, eye)
    moved = bezier_camera.project(bezier_camera.CONTROL + away, eye)
    drawing = figure(figsize=(6, 4))
    axes = drawing.subplots()
    axes.plot(*bezier_camera.project(points, eye).T, color=BLUE, label="curve")
    axes.plot(*control.T, "o--", color=GREY, linewidth=0.8, label="control points")
    axes.quiver(*control.T, *(moved - control).T, color=ORANGE, angles="xy", scale_units="xy", scale=1, width=0.005)
    axes.update_datalim(moved)  # what quiver draws does not widen the axes
    axes.autoscale_view()
    axes.set(title="arrows: the gradient of the length, as the camera sees it", aspect="equal")
    axes.legend(loc="upper center")
    return drawing


def put() -> Any:
    """The price of a put on a grid, and its slopes, against the price of the share."""
    spots = np.linspace(60.0, 140.0, 17)
    slopes = value_and_grad(crank_nicolson.put_price, (0, 4))
    rows = np.array([(value, *found) for value, found in (slopes(s, 100.0, 1.0, 0.03, 0.2) for s in spots)])
    drawing = figure(figsize=(10, 3))
    names = ("price of the put", "its slope by the share (delta)", "by the volatility (vega)")
    for name, row, axes in zip(names, rows.T, drawing.subplots(1, 3), strict=True):
        axes.plot(spots, row, color=BLUE if name.startswith("price") else ORANGE)
        axes.set(title=name, xlabel="price of the share")
    return drawing


def lockdown() -> Any:
    """An epidemic, and how much its burden changes with the strength of the lockdown."""
    parameters = np.array([0.5, 0.2, 0.1, 0.4])
    strengths = np.linspace(0.1, 1.0, 46)
    slopes = value_and_grad(lambda k: epidemic.burden([*parameters[:3], k]))
    rows = np.array([slopes(k) for k in strengths])
    drawing = figure(figsize=(10, 3.2))
    infected, burden = drawing.subplots(1, 2)
    for k, colour in ((0.2, BLUE), (0.4, ORANGE), (1.0, GREY)):
        infected.plot(100 * epidemic.run(*parameters[:3], k), color=colour, label=f"contacts times {k}")
    infected.axvspan(20, 50, color=GREY, alpha=0.12)
    infected.set(title="infected (%)", xlabel="day", ylim=(0, 40))
    infected.legend()
    burden.plot(strengths, rows[:, 0], color=BLUE, label="burden")
    burden.plot(strengths, rows[:, 1], color=ORANGE, label="its slope")
    burden.axhline(0, color=GREY, linewidth=0.8)
    burden.set(title="burden of the epidemic", xlabel="contacts in the lockdown")
    burden.legend()
    return drawing


def evidence() -> Any:
    """The evidence of a Gaussian process, and the way of BFGS to its top."""
    start = np.log([1.0, 1.0, 0.3])
    path = [start]
    slopes = value_and_grad(lambda theta: -gaussian_process.log_evidence(theta))
    minimize(slopes, start, jac=True, method="BFGS", callback=lambda x: path.append(x.copy()))
    amplitude = path[-1][0]
    lengths, noises = np.linspace(-1.0, 1.5, 40), np.linspace(-4.0, -0.5, 40)
    grid = [[gaussian_process.log_evidence(np.array([amplitude, a, b])) for a in lengths] for b in noises]
    drawing = figure(figsize=(6, 4))
    axes = drawing.subplots()
    levels = axes.contourf(lengths, noises, grid, 20, cmap="Blues")
    axes.plot(*np.array(path)[:, 1:].T, "o-", color=ORANGE, markersize=4)
    axes.set(title=f"{len(path) - 1} steps of BFGS", xlabel="log of the length", ylabel="log of the noise")
    drawing.colorbar(levels, label="log evidence at the best amplitude")
    return drawing


def chain() -> Any:
    """A chain of Hamiltonian Monte Carlo, and how its points move with the width of the target."""
    width = 1.2
    points, moves = jvp(lambda w: hmc.sample(w, 0.6)[0], (width,), (1.0,))
    slope = grad(hmc.spread)(width, 0.6)
    drawing = figure(figsize=(5.5, 4.5))
    axes = drawing.subplots()
    axes.plot(*points.T, ".-", color=BLUE, linewidth=0.6)
    axes.quiver(*points.T, *moves.T, color=ORANGE, angles="xy", scale_units="xy", scale=4, width=0.004)
    axes.update_datalim(points + moves / 4)  # what quiver draws does not widen the axes
    axes.autoscale_view()
    axes.set(title=f"slope of the spread by the width: {slope:.2f}", aspect="equal")
    return drawing


def regions() -> Any:
    """Which letters a hidden Markov model of DNA would rather have in which region: the slopes of its likelihood."""
    slopes = grad(hmm_forward.log_likelihood, (0, 1))(hmm_forward.TRANSITIONS, hmm_forward.EMISSIONS)
    drawing = figure(figsize=(8, 2.6))
    letters = ("AB", "ACGT")
    for found, columns, title, axes in zip(
        slopes, letters, ("by the transitions", "by the emissions"), drawing.subplots(1, 2), strict=True
    ):
        most = np.abs(found).max()
        axes.imshow(found, cmap="RdBu", vmin=-most, vmax=most)
        axes.set(title=f"slope {title}", xticks=range(len(columns)), xticklabels=columns)
        axes.set(yticks=(0, 1), yticklabels=("region A", "region B"))
        axes.grid(visible=False)
        for (i, j), value in np.ndenumerate(found):
            colour = "white" if abs(value) > most / 2 else "black"
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    return drawing


def track() -> Any:
    """A noisy track, filtered with a guess of the noise and with the most likely one."""
    measured = kalman_filter.simulate()
    start = np.log([0.5, 0.02])
    found = minimize(value_and_grad(kalman_filter.negative_log_likelihood), start, jac=True, method="BFGS").x
    steady = np.polyval(np.polyfit(range(len(measured)), measured, 1), range(len(measured)))
    drawing = figure(figsize=(9, 3.4))
    for theta, title, axes in zip((start, found), ("guess", "fit"), drawing.subplots(1, 2, sharey=True), strict=True):
        states, covariances, _, _ = kalman_filter.filter_track(measured, *np.exp(theta))
        place, width = states[:, 0] - steady, 2 * np.sqrt(covariances[:, 0, 0])
        axes.plot(measured - steady, ".", color=GREY)
        axes.plot(place, color=BLUE)
        axes.fill_between(range(len(place)), place - width, place + width, color=BLUE, alpha=0.15, linewidth=0)
        lost = kalman_filter.negative_log_likelihood(theta)
        axes.set(title=f"{title}: -log likelihood {lost:.1f}", xlabel="time")
    drawing.axes[0].set_ylabel("place, less a steady motion")
    return drawing


def wells() -> Any:
    """Chains at three temperatures in a double well, and the slope of the coldest one's energy by the depth."""
    depths = np.linspace(1.0, 3.0, 41)
    slopes = value_and_grad(metropolis_swaps.coldest_energy)
    rows = np.array([slopes(depth, 0.6) for depth in depths])
    history, swaps = metropolis_swaps.temper(2.0, 0.6)
    drawing = figure(figsize=(10, 3.2))
    chains, energy = drawing.subplots(1, 2)
    for states, colour, name in zip(history.T, (BLUE, GREY, ORANGE), ("cold", "warm", "hot"), strict=True):
        chains.plot(states, color=colour, linewidth=0.8, label=name)
    chains.set(title=f"{swaps} swaps", xlabel="step", ylabel="place", ylim=(-1.7, 2.3))
    chains.legend(ncols=3, loc="upper center")
    energy.plot(depths, rows[:, 0], ".", color=BLUE, label="energy")
    energy.plot(depths, rows[:, 1], ".", color=ORANGE, label="slope, of the decisions made")
    energy.set(title="the coldest chain", xlabel="depth of the wells", ylim=(0.02, 0.18))
    energy.legend(ncols=2, loc="upper center")
    return drawing


def holding() -> Any:
    """Prices, their two averages, and on which prices the outcome of the strategy depends."""
    prices = moving_average.prices()
    days = np.arange(len(prices))
    drawing = figure(figsize=(9, 4))
    above, below = drawing.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(days, prices, color=GREY, linewidth=0.8, label="price")
    for window, colour in ((5, ORANGE), (15, BLUE)):
        average = moving_average.moving_average(prices, window)
        above.plot(days[window - 1 :], average, color=colour, label=f"mean of {window} days")
    above.legend(ncols=3)
    below.bar(days, grad(moving_average.log_wealth)(prices), color=ORANGE)
    below.set(title="slope of the log of the wealth by each price", xlabel="day")
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (
    curve, put, lockdown, evidence, chain, regions, track, wells, holding,
)  # fmt: skip
