"""What the gradients of the programs about models and designs are good for, drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import (
    arma_filter,
    bundle_adjustment,
    heat_source,
    matern_process,
    mbb_beam,
    phylogeny,
    regulator,
    solitons,
    survival,
)

import pullback as pb
from pullback.demo.plots import BLUE, GREY, ORANGE, figure


def stiff() -> Any:
    """The stiffest beam of half a box of material, from grey by the gradient of the compliance."""
    steps = (1, 10, 40, 200)
    drawing = figure(figsize=(9, 3.6))
    for most, axes in zip(steps, drawing.subplots(2, 2).flat, strict=True):
        x, taken = mbb_beam.optimise(pb.func.grad(mbb_beam.compliance), most)
        axes.imshow(x, cmap="Greys", vmin=0, vmax=1)
        axes.set(title=f"step {taken}: compliance {mbb_beam.compliance(x):.1f}", xticks=[], yticks=[])
        axes.grid(visible=False)
    return drawing


def process() -> Any:
    """What a Gaussian process predicts before and after its hyperparameters were fitted to the measurements."""
    start = np.log([0.8, 0.2, 0.2, 0.3])
    found = pb.optimize.minimize(matern_process.negative_log_evidence, start, method="BFGS")
    X, y = matern_process.measurements()
    sides = np.linspace(0, 4, 50)
    grid = np.stack(np.meshgrid(sides, sides), -1).reshape(-1, 2)
    drawing = figure(figsize=(9, 3.8))
    for theta, title, axes in zip((start, found.x), ("guess", "fit"), drawing.subplots(1, 2), strict=True):
        image = matern_process.prediction(theta, grid).reshape(50, 50)
        axes.pcolormesh(sides, sides, image, cmap="RdBu", vmin=-1, vmax=1)
        axes.scatter(*X.T, c=y, cmap="RdBu", vmin=-1, vmax=1, edgecolors=GREY, s=20)
        lost = matern_process.negative_log_evidence(theta)
        axes.set(title=f"{title}: -log evidence {lost:.1f}", aspect="equal")
        axes.grid(visible=False)
    return drawing


def remission() -> Any:
    """How long a remission lasts with a medicine and without: the fitted law, with its standard errors."""
    found = pb.optimize.minimize(survival.weibull, np.array([2.0, 0.0, 0.0]), method="BFGS")
    errors = np.sqrt(np.diag(np.linalg.inv(pb.func.hessian(survival.weibull)(found.x))))
    weeks = np.linspace(0, 35, 200)
    drawing = figure(figsize=(6.5, 3.6))
    axes = drawing.subplots()
    for treated, colour, name in ((1, ORANGE, "6-mercaptopurine"), (0, GREY, "placebo")):
        group = treated == survival.TREATED
        times, ends = survival.WEEKS[group], survival.WEEKS[group & survival.RELAPSED]
        stay = {t: 1 - np.sum(ends == t) / np.sum(times >= t) for t in np.unique(ends)}  # Kaplan and Meier
        left = [np.prod([share for t, share in stay.items() if t <= w]) for w in weeks]
        axes.plot(weeks, left, color=colour, linewidth=0.8, drawstyle="steps-post")
        scale = np.exp(found.x[0] + found.x[1] * treated)
        axes.plot(weeks, np.exp(-((weeks / scale) ** np.exp(-found.x[2]))), color=colour, label=name)
    axes.set(title=f"effect of the treatment {found.x[1]:.2f} ± {errors[1]:.2f}", xlabel="weeks", ylabel="in remission")
    axes.legend()
    return drawing


def innovations() -> Any:
    """The forecast of an ARMA model, and on which of the last values its fourth step depends."""
    y = arma_filter.simulate()
    found = pb.optimize.minimize(
        arma_filter.negative_log_likelihood, np.array([0.5, 0.0, 0.0, 0.0]), (y,), method="BFGS"
    )
    slopes = pb.func.grad(lambda y: arma_filter.forecast(found.x, y)[3])(y)
    last = np.arange(len(y) - 40, len(y))
    drawing = figure(figsize=(8, 4))
    above, below = drawing.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(last, y[last], ".-", color=BLUE, label="record")
    above.plot(len(y) + np.arange(10), arma_filter.forecast(found.x, y), ".--", color=ORANGE, label="forecast")
    above.legend()
    below.bar(last, slopes[last], color=ORANGE)
    below.set(title="slope of the fourth value of the forecast by each of the record", xlabel="time")
    return drawing


def cameras() -> Any:
    """What is left between points and pictures, before and after least squares with a sparse Jacobian."""
    seen, camera, point, start, _ = bundle_adjustment.problem()
    data = (bundle_adjustment.CAMERAS, bundle_adjustment.POINTS, camera, point, seen)
    found = pb.optimize.least_squares(bundle_adjustment.fun, start, args=data, x_scale="jac", method="trf", ftol=1e-6)
    drawing = figure(figsize=(8.5, 4))
    for x, title, axes in zip((start, found.x), ("before", "after"), drawing.subplots(1, 2), strict=True):
        rest = bundle_adjustment.fun(x, *data).reshape(-1, 2)
        axes.scatter(*rest.T, c=camera, cmap="viridis", s=14)
        axes.axhline(0, color=GREY, linewidth=0.6)
        axes.axvline(0, color=GREY, linewidth=0.6)
        axes.set(title=f"{title}: {np.sqrt(np.mean(rest**2)):.2f} pixels", aspect="equal", xlabel="pixels")
    return drawing


def apes() -> Any:
    """How long the branches of a tree of apes most probably are, with standard errors from the exact Hessian."""
    names = ("human", "chimp", "both", "gorilla", "the three", "orang", "the four")

    def lost(lengths: Any) -> Any:  # the gibbon's branch and that of the four others are one
        return -phylogeny.log_likelihood(np.concatenate([phylogeny.START[:1], np.log(lengths), np.log([1e-6])]))

    start = np.exp(phylogeny.START[1:-1])
    found = pb.optimize.minimize(lost, start, method="L-BFGS-B", bounds=[(1e-6, 1.0)] * 7)
    inside = np.flatnonzero(found.x > 1e-4)  # the others are best at 0
    errors = np.zeros(7)
    errors[inside] = np.sqrt(np.diag(np.linalg.inv(pb.func.hessian(lost)(found.x)[np.ix_(inside, inside)])))
    drawing = figure(figsize=(7.5, 3.2))
    axes = drawing.subplots()
    axes.barh(names, found.x, color=BLUE, xerr=errors, ecolor=ORANGE)
    axes.set(xlabel="substitutions a site", xlim=(0, None), title=f"log likelihood {-found.fun:.2f}")
    return drawing


def heated() -> Any:
    """Where a plate was heated, found from three thermometers, by the gradient through a sparse factorisation."""
    seen = heat_source.readings(heat_source.TRUE)
    path = [np.array([0.4, 0.6, 1.0, 1.0, 1.0])]
    pb.optimize.minimize(
        heat_source.misfit, path[0], (seen,), method="BFGS", callback=lambda x: path.append(np.array(x))
    )
    ways = np.array(path)
    drawing = figure(figsize=(9, 3.8))
    plate, curves = drawing.subplots(1, 2)
    plate.imshow(heat_source.source(heat_source.TRUE[:2]).reshape(20, 20), cmap="Oranges", extent=(0, 1, 1, 0))
    plate.plot(ways[:, 0], ways[:, 1], ".-", color=BLUE)
    plate.plot(*[[(t[k] + 1) / 21 for t in heat_source.THERMOMETERS] for k in (1, 0)], "s", color=GREY)
    plate.set(title=f"{len(path) - 1} steps to the source")
    plate.grid(visible=False)
    curves.plot(seen, "o", color=GREY, markersize=3)
    curves.plot(heat_source.readings(path[0]), color=BLUE, linewidth=0.8)
    curves.plot(heat_source.readings(path[-1]), color=ORANGE)
    curves.set(title="readings: the guess blue, the fit orange", xlabel="time step")
    return drawing


def collision() -> Any:
    """Two solitons, and how the wave that they make moves with the speed of the faster one."""
    after = solitons.evolve(solitons.start(solitons.TRUE))

    def wave(speed: Any) -> Any:
        return solitons.evolve(solitons.start(np.array([speed, *solitons.TRUE[1:]])))

    _, slope = pb.func.jvp(wave, (solitons.TRUE[0],), (1.0,))
    drawing = figure(figsize=(9, 3.2))
    waves, moved = drawing.subplots(1, 2)
    waves.plot(solitons.X, solitons.start(solitons.TRUE), color=GREY, label="at first")
    waves.plot(solitons.X, after, color=BLUE, label="after 500 steps")
    waves.set(title="height of the wave", xlabel="place")
    waves.legend()
    moved.plot(solitons.X, slope, color=ORANGE)
    moved.set(title="its derivative by the first speed", xlabel="place")
    return drawing


def upright() -> Any:
    """What it costs to hold a pendulum upright, with the slope through Riccati's and Lyapunov's equations."""
    weights = np.geomspace(0.005, 1.0, 30)
    slopes = pb.func.value_and_grad(lambda w: regulator.cost(np.array([*regulator.PENDULUM[:4], w])))
    rows = np.array([slopes(w) for w in weights])
    drawing = figure(figsize=(8.5, 3.2))
    cost, slope = drawing.subplots(1, 2)
    cost.semilogx(weights, rows[:, 0], color=BLUE)
    cost.set(title="cost of control", xlabel="weight of the torque")
    slope.semilogx(weights, weights * rows[:, 1], color=ORANGE)
    slope.axhline(0, color=GREY, linewidth=0.8)
    slope.set(title="its slope by the log of the weight", xlabel="weight of the torque")
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (
    stiff, process, remission, innovations, cameras, apes, heated, collision, upright,
)  # fmt: skip
