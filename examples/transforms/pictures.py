"""What the examples of transforms compute, drawn."""

from collections.abc import Callable
from typing import Any

import boundary_layer
import compiled_fit
import gauss_newton
import halo_exchange
import laplace
import maml
import newton_cg
import numpy as np
import per_sample_gradients
import soap_film

import pullback as pb
from pullback.demo.plots import BLUE, GREY, ORANGE, figure


def film() -> Any:
    """A soap film over a wire: the heights that make its area least, and the pattern of a small film's Hessian."""
    _, found = soap_film.main()
    inner = found.x.reshape(soap_film.N, soap_film.N)
    frame = soap_film.FRAME.copy()
    frame[1:-1, 1:-1] = inner
    s = np.linspace(0, 1, soap_film.N + 2)
    drawing = figure(figsize=(6, 4.5))
    axes = drawing.add_subplot(projection="3d")
    axes.plot_surface(*np.meshgrid(s, s), frame, cmap="RdBu", rcount=40, ccount=40)
    axes.set_title(f"{inner.size} heights, area {found.fun:.4f}")
    return drawing


def layer() -> Any:
    """The boundary layer on a plate, by a network that was fitted to the equation."""
    start = 0.3 * np.random.default_rng(0).standard_normal(3 * boundary_layer.HIDDEN)
    found = boundary_layer.least_squares(
        boundary_layer.residuals, start, jac=pb.func.jacobian(boundary_layer.residuals), method="lm", max_nfev=400
    )
    eta = np.linspace(0, boundary_layer.FAR, 200)
    drawing = figure(figsize=(6.5, 3.6))
    axes = drawing.subplots()
    derivatives = boundary_layer.with_derivatives(found.x, eta)
    for y, name, colour in zip(derivatives[1:3], ("f', the speed", "f'', the friction"), (BLUE, ORANGE), strict=True):
        axes.plot(eta, y, color=colour, label=name)
    axes.plot(0, 0.3321, "o", color=GREY, label="f''(0) in the literature")
    axes.set(title="Blasius' equation, by Taylor mode", xlabel="distance from the plate")
    axes.legend()
    return drawing


def compiled() -> Any:
    """A fit to 100,000 points by one compiled program: after each call of the optimizer, the time that it has taken."""
    t, y = compiled_fit.data()
    found, program = compiled_fit.main()
    drawing = figure(figsize=(6.5, 3.4))
    axes = drawing.subplots()
    axes.plot(t[::200], y[::200], ".", color=GREY, markersize=3, label="one of 200 points")
    axes.plot(t, compiled_fit.oscillation(found.x, t), color=ORANGE, label=f"after {found.nfev} calls")
    axes.set_title(str(program.explain()).splitlines()[3].strip(), fontsize=9)
    axes.legend()
    return drawing


def peaks() -> Any:
    """A spectrum and its peaks, fitted by Gauss and Newton without forming the Jacobian."""
    t, y = gauss_newton.measured()
    guess = {"height": np.ones(2), "centre": np.array([-0.5, 1.0]), "width": np.ones(2)}
    found, steps = gauss_newton.fit(guess, t, y)
    drawing = figure(figsize=(6.5, 3.4))
    axes = drawing.subplots()
    axes.plot(t, y, ".", color=GREY, markersize=3, label="measured")
    axes.plot(t, gauss_newton.spectrum(guess, t), color=BLUE, linewidth=0.8, label="guess")
    axes.plot(t, gauss_newton.spectrum(found, t), color=ORANGE, label=f"after {steps} steps")
    axes.set(xlabel="frequency", ylabel="intensity")
    axes.legend()
    return drawing


def posterior() -> Any:
    """A posterior and Laplace's approximation: the Gaussian at the mode with the Hessian as precision."""
    x, y = laplace.data()

    def joint(w: Any) -> Any:
        return laplace.minus_log_joint(w, x, y)

    mode, covariance, _ = laplace.laplace(joint, np.zeros(2))
    sides = [np.linspace(m - 4.0 * s, m + 4.0 * s, 60) for m, s in zip(mode, np.sqrt(np.diag(covariance)), strict=True)]
    apart = np.stack(np.meshgrid(*sides), -1) - mode
    gauss = np.exp(-np.einsum("...i,ij,...j", apart, np.linalg.inv(covariance), apart) / 2)
    exact = np.exp(joint(mode) - np.array([[joint(np.array([a, b])) for a in sides[0]] for b in sides[1]]))
    drawing = figure(figsize=(5.5, 4.2))
    axes = drawing.subplots()
    levels = np.exp(-np.array([4.5, 2.0, 0.5]))
    axes.contour(*sides, exact, levels, colors=BLUE)
    axes.contour(*sides, gauss, levels, colors=ORANGE, linestyles="--")
    axes.set(title="posterior (blue) and Laplace's (orange)", xlabel="offset", ylabel="slope")
    return drawing


def waves() -> Any:
    """A start that was learnt: one step of gradient descent fits a new sine wave."""
    p = maml.train()
    t = np.linspace(-3, 3, 100)
    drawing = figure(figsize=(9, 3.2))
    rng = np.random.default_rng(3)
    for axes, height, phase in zip(drawing.subplots(1, 2, sharey=True), (1.6, 0.8), (0.5, 2.2), strict=True):
        x = rng.uniform(-3, 3, 10)
        axes.plot(t, height * np.sin(t + phase), color=GREY, linewidth=0.8, label="task")
        axes.plot(x, height * np.sin(x + phase), "o", color=GREY, markersize=4)
        axes.plot(t, maml.network(p, t), color=BLUE, label="learnt start")
        step = maml.adapted(p, x, height * np.sin(x + phase))
        axes.plot(t, maml.network(step, t), color=ORANGE, label="after one step")
        axes.set(title=f"a wave of height {height}", xlabel="x")
    axes.legend()
    return drawing


def valley() -> Any:
    """The way of Newton's method down Rosenbrock's valley, without a Hessian."""
    path = [np.array([-1.2, 1.0])]
    _, steps = newton_cg.minimise(newton_cg.rosenbrock, path[0], callback=path.append)
    a, b = np.linspace(-1.6, 1.4, 120), np.linspace(-0.5, 1.8, 120)
    grid = [[newton_cg.rosenbrock(np.array([u, v])) for u in a] for v in b]
    drawing = figure(figsize=(6, 4))
    axes = drawing.subplots()
    axes.contour(a, b, np.log(np.array(grid) + 1e-3), 14, cmap="Blues")
    axes.plot(*np.array(path).T, "o-", color=ORANGE, markersize=4)
    axes.set(title=f"{steps} steps by products with the Hessian", xlabel="x", ylabel="y")
    return drawing


def suspects() -> Any:
    """Which labels are wrong? Those of the samples whose gradients are long."""
    x, y = per_sample_gradients.data()
    p = per_sample_gradients.train(x, y)
    norms = per_sample_gradients.norms(p, x, y)
    wrong = np.arange(len(y)) < per_sample_gradients.WRONG
    drawing = figure(figsize=(9, 3.6))
    places, lengths = drawing.subplots(1, 2)
    places.scatter(*x.T, c=y, s=4 + 60 * norms / norms.max(), cmap="coolwarm", alpha=0.8)
    places.set(title="size: the length of the gradient")
    bins = np.linspace(0, norms.max(), 30)
    lengths.hist([norms[~wrong], norms[wrong]], bins, stacked=True, color=[BLUE, ORANGE], label=["right", "wrong"])
    lengths.set(title="lengths of the gradients, by label", yscale="log")
    lengths.legend()
    return drawing


def rod() -> Any:
    """A source along a rod that four ranks share, found from the temperatures."""
    found, truth, _ = halo_exchange.main()
    x = np.linspace(0, 1, len(truth))
    drawing = figure(figsize=(7, 3.2))
    axes = drawing.subplots()
    axes.plot(x, truth, color=GREY, label="true source")
    axes.plot(x, found, "o", color=BLUE, markersize=4, label="found")
    for cut in (0.25, 0.5, 0.75):
        axes.axvline(cut, color=ORANGE, linewidth=0.8, linestyle="--")
    axes.set(title="dashed: where one rank ends and the next begins", xlabel="place on the rod")
    axes.legend()
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (film, layer, peaks, compiled, posterior, waves, valley, suspects, rod)
