"""What the gradients are good for, drawn: each picture is of a program that was not changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import integrals_and_equations
import model_pictures
import numpy as np
from programs import (
    conductivity,
    deblurring,
    influence,
    lens_design,
    registration,
    titanium_spline,
    transport,
    vibrating_truss,
    weather_hmm,
)

import pullback as pb
from pullback.demo.extras import need
from pullback.demo.plots import BLUE, GREY, ORANGE, STYLE, figure, save


def draw(folder: Path) -> list[Path]:
    """Draw all pictures into a folder."""
    with pb.adopt(), need("matplotlib").rc_context(STYLE):
        return [save(picture(), folder / f"{picture.__name__}.png") for picture in PICTURES]


def _images(titles: tuple[str, ...], images: tuple[Any, ...], **style: Any) -> Any:
    drawing = figure(figsize=(3 * len(images), 3.2))
    for title, image, axes in zip(titles, images, drawing.subplots(1, len(images)), strict=True):
        axes.imshow(image, **style)
        axes.set(title=title, xticks=[], yticks=[])
    return drawing


def sharp() -> Any:
    """A picture made sharp: 1,600 unknowns, by L-BFGS-B."""
    photo = deblurring.photograph()
    found = pb.optimize.minimize(deblurring.objective, photo.ravel(), (photo,), method="L-BFGS-B")
    shape = photo.shape
    return _images(
        ("the scene", "the photograph", f"{found.nfev} evaluations later"),
        (deblurring.scene(), photo, found.x.reshape(shape)),
        cmap="gray", vmin=0, vmax=1,
    )  # fmt: skip


def aligned() -> Any:
    """What differs between two pictures, before and after."""
    image, target = registration.pair()
    found = align()
    before, after = (registration.warp(image, p) - target for p in (registration.IDENTITY, found.x))
    most = np.abs(before).max()
    return _images(
        ("the picture", "what differs", f"after {found.nfev} evaluations"), (image / image.max() * most, before, after),
        cmap="RdBu", vmin=-most, vmax=most,
    )  # fmt: skip


def align() -> Any:
    """The map that registration looks for."""
    return pb.optimize.minimize(
        registration.misfit, registration.IDENTITY, registration.pair(), method="BFGS", tol=1e-9
    )


def states() -> Any:
    """The record, and the level that each moment most probably has, by the fitted model."""
    y = weather_hmm.record(200)
    found = pb.optimize.minimize(
        weather_hmm.negative_log_likelihood, weather_hmm.start(y), (y,), method="BFGS", tol=1e-3
    )
    likely = np.argmax(weather_hmm.forward(found.x, y), axis=1)
    drawing = figure(figsize=(9, 2.6))
    axes = drawing.subplots()
    axes.plot(y, ".", color=GREY, markersize=4, label="record")
    axes.step(range(len(y)), found.x[:3][likely], color=ORANGE, where="mid", label="level")
    axes.set(title=f"a hidden Markov model of 15 parameters, fitted with {found.nfev} evaluations", xlabel="time")
    axes.legend()
    return drawing


def peak() -> Any:
    """The spline whose knots fit best."""
    best, squares, evaluations = titanium_spline.fit(pb.func.grad(titanium_spline.sum_of_squares))
    x = np.linspace(titanium_spline.TEMPERATURE[0], titanium_spline.TEMPERATURE[-1], 400)
    drawing = figure(figsize=(6, 3.6))
    axes = drawing.subplots()
    axes.plot(titanium_spline.TEMPERATURE, titanium_spline.HEAT, ".", color=GREY, label="data")
    axes.plot(x, titanium_spline.fitted(best)(x), color=ORANGE, label="spline")
    axes.plot(best, titanium_spline.fitted(best)(best), "o", color=BLUE, label="its knots")
    axes.set(title=f"sum of squares {squares:.5f}, after {evaluations} evaluations", xlabel="temperature")
    axes.legend()
    return drawing


def observations() -> Any:
    """The effect of leaving an observation out: by one gradient, and by sixty new fits."""
    slopes = pb.func.grad(influence.prediction)(np.ones(60))
    real = np.array([influence.left_out(i) for i in range(60)]) - influence.prediction(np.ones(60))
    drawing = figure(figsize=(4.5, 4))
    axes = drawing.subplots()
    axes.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
    axes.plot(-slopes, real, "o", color=BLUE, markersize=4)
    axes.set(
        title="a prediction without one observation", xlabel="change by one gradient", ylabel="change by a new fit"
    )
    return drawing


def flow() -> Any:
    """Points that follow the gradient of the transport cost."""
    x, y = transport.clouds()
    drawing = figure(figsize=(4.5, 4.2))
    axes = drawing.subplots()
    axes.plot(*y.T, "o", color=ORANGE, markersize=4, label="goal")
    axes.plot(*x.T, "o", color=GREY, markersize=4, label="start")
    slopes = pb.func.grad(transport.distance)
    path = [x]
    for _ in range(12):
        path.append(path[-1] - 4.0 * slopes(path[-1], y))
    axes.plot(*np.stack(path).transpose(2, 0, 1), color=BLUE, linewidth=0.7)
    axes.plot(*path[-1].T, "o", color=BLUE, markersize=3, label="12 steps")
    drawing.legend(loc="outside lower center", ncols=3)
    axes.set(title="optimal transport", aspect="equal")
    return drawing


def truss() -> Any:
    """A truss of given mass: the lowest frequency made highest."""
    lengths = np.array(
        [np.hypot(*(vibrating_truss.NODES[j] - vibrating_truss.NODES[i])) for i, j in vibrating_truss.BARS]
    )
    mass = 1e-3 * lengths.sum()

    def areas(q: Any) -> Any:
        weights = np.exp(1.5 * np.tanh(q))  # none thinner than a twentieth of the thickest
        return weights * mass / np.sum(weights * lengths)

    found = pb.optimize.minimize(lambda q: -vibrating_truss.lowest(areas(q)), np.zeros(15), method="BFGS", tol=1e-4)
    drawing = figure(figsize=(9, 2.8))
    for title, q, axes in zip(
        ("all bars alike", "made stiffest"), (np.zeros(15), found.x), drawing.subplots(1, 2), strict=True
    ):
        for (i, j), area in zip(vibrating_truss.BARS, areas(q), strict=True):
            axes.plot(*vibrating_truss.NODES[[i, j]].T, color=BLUE, linewidth=2.5e3 * area, solid_capstyle="round")
        axes.set(title=f"{title}: {vibrating_truss.lowest(areas(q)):.1f} Hz", aspect="equal", xticks=[], yticks=[])
    return drawing


def sensitivities() -> Any:
    """Where a change of the ground changes the voltages, and where glass brightens the focus."""
    seen = conductivity.data()
    ground = pb.func.grad(conductivity.misfit)(np.zeros(576), seen).reshape(24, 24)
    glass = pb.func.grad(lens_design.brightness)(np.zeros(240))
    drawing = figure(figsize=(9, 3.2))
    left, right = drawing.subplots(1, 2)
    most = np.abs(ground).max()
    left.imshow(ground, cmap="RdBu", vmin=-most, vmax=most)
    left.set(title="misfit by conductivity", xticks=[], yticks=[])
    right.imshow(glass.reshape(8, 30), cmap="RdBu", vmin=-np.abs(glass).max(), vmax=np.abs(glass).max(), aspect="auto")
    right.set(title="brightness by glass", xticks=[], yticks=[])
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (
    sharp, aligned, states, peak, observations, flow, truss, sensitivities,
    *model_pictures.PICTURES, *integrals_and_equations.PICTURES,
)  # fmt: skip
