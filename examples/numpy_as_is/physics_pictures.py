"""What the gradients of the programs from physics say, drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import (
    fdtd_waves,
    gaussian_elimination,
    heat_gauss_seidel,
    ising,
    kepler,
    lens,
    projectile,
    schroedinger,
    truss,
)
from scipy.optimize import minimize

from pullback.demo.plots import BLUE, GREY, ORANGE, figure
from pullback.func import grad, value_and_grad


def waves() -> Any:
    """A wave meets a slab of glass, before and after the slab has followed the gradient of what passes."""
    slab = np.array([2.0, 3.0, 4.0, 4.0, 3.0, 2.0])
    better = slab.copy()
    for _ in range(40):
        better = np.clip(better + 0.02 * grad(fdtd_waves.transmitted)(better), 1.5, 6.0)
    drawing = figure(figsize=(9, 3.4))
    for layers, axes in zip((slab, better), drawing.subplots(1, 2, sharey=True), strict=True):
        record = fdtd_waves.simulate(fdtd_waves.medium(layers))
        axes.imshow(record, cmap="RdBu", vmin=-1, vmax=1, aspect="auto", origin="lower")
        axes.axvspan(30, 30 + len(layers), color=GREY, alpha=0.2)
        axes.set(title=f"energy behind the slab: {fdtd_waves.transmitted(layers):.2f}", xlabel="cell")
        axes.grid(visible=False)
    drawing.axes[0].set_ylabel("time step")
    return drawing


def bridge() -> Any:
    """A Wheatstone bridge: the current across it, and its slope, as one resistance changes."""
    R = np.array([1.0, 100.0, 220.0, 105.0, 218.0, 50.0])
    resistances = np.linspace(80.0, 120.0, 60)
    slopes = value_and_grad(lambda r: gaussian_elimination.bridge_current([R[0], r, *R[2:]]))
    rows = 1e3 * np.array([slopes(r) for r in resistances])
    drawing = figure(figsize=(8, 3.2))
    current, slope = drawing.subplots(1, 2)
    current.plot(resistances, rows[:, 0], color=BLUE)
    current.axhline(0, color=GREY, linewidth=0.8)
    current.set(title="current through the bridge (mA)", xlabel="first resistance (ohm)")
    slope.plot(resistances, rows[:, 1], color=ORANGE)
    slope.set(title="its slope (mA / ohm)", xlabel="first resistance (ohm)")
    return drawing


def plate() -> Any:
    """The temperature of a plate, before and after its edges have followed the gradient of the discomfort."""
    start = np.array([80.0, 10.0, 25.0, 5.0])
    found = minimize(value_and_grad(heat_gauss_seidel.discomfort), start, jac=True, method="BFGS")
    drawing = figure(figsize=(8, 3.4))
    for edges, axes in zip((start, found.x), drawing.subplots(1, 2), strict=True):
        image = axes.imshow(heat_gauss_seidel.solve(edges), cmap="inferno", vmin=5, vmax=80)
        axes.set(title=f"discomfort {heat_gauss_seidel.discomfort(edges):.2f}", xticks=[], yticks=[])
        axes.grid(visible=False)
    drawing.colorbar(image, ax=drawing.axes, label="degrees")
    return drawing


def magnet() -> Any:
    """The magnetization of a chain of spins is minus the slope of its free energy by the field."""
    fields = np.linspace(-1.0, 1.0, 81)
    drawing = figure(figsize=(6, 3.4))
    axes = drawing.subplots()
    for T, colour in ((0.5, ORANGE), (1.0, BLUE), (2.0, GREY)):
        slope = grad(lambda h, T=T: ising.chain_free_energy(1.0, h, T))
        axes.plot(fields, [-slope(h) for h in fields], color=colour, label=f"T = {T}")
    axes.set(title="-dF/dh by the gradient through eigvalsh", xlabel="field h", ylabel="magnetization")
    axes.legend()
    return drawing


def planet() -> Any:
    """The orbit of a planet, fitted to five velocities of its star by BFGS."""
    observed = np.array([(0.0, 40.1), (3.1, -12.0), (5.5, -31.9), (8.2, -22.5), (11.7, 25.3)])
    start = np.array([13.0, 0.3, 0.4, 38.0])
    scale = np.array([1.0, 0.1, 0.1, 5.0])
    slopes = value_and_grad(lambda q: kepler.chi_squared(list(q * scale)))
    found = minimize(slopes, start / scale, jac=True, method="BFGS").x * scale
    times = np.linspace(0, 13, 200)
    drawing = figure(figsize=(7, 3.4))
    axes = drawing.subplots()
    for orbit, colour, name in ((start, GREY, "guess"), (found, ORANGE, "fit")):
        label = f"{name}: chi squared {kepler.chi_squared(list(orbit)):.2f}"
        axes.plot(times, [kepler.radial_velocity(t, *orbit) for t in times], color=colour, label=label)
    axes.plot(*observed.T, "o", color=BLUE)
    axes.set(title="velocity of the star (m/s)", xlabel="day")
    axes.legend()
    return drawing


def rays() -> Any:
    """Rays through a lens, before and after its faces have followed the gradient of the spot."""
    start = [100.0, -110.0, 6.0, 1.52]

    def spot(radii: Any) -> Any:
        return lens.spot_size([radii[0], radii[1], *start[2:]])

    found = minimize(value_and_grad(spot), np.array(start[:2]), jac=True, method="BFGS")
    drawing = figure(figsize=(9, 3.2))
    for radii, axes in zip((start[:2], found.x), drawing.subplots(1, 2, sharey=True), strict=True):
        for height in np.linspace(-10.0, 10.0, 11):
            (x, y), (dx, dy) = lens.trace(height, [*radii, *start[2:]])
            axes.plot([-20, 0, x, 100], [height, height, y, y + (100 - x) * dy / dx], color=BLUE, linewidth=0.8)
        axes.axvline(100, color=GREY)
        axes.set(title=f"spot {spot(radii):.3f} mm", xlabel="mm")
    return drawing


def shots() -> Any:
    """The flight of a projectile with drag from a table, and how the range changes with the elevation."""
    degrees = np.linspace(15, 70, 23)
    slopes = value_and_grad(lambda angle: projectile.distance(500.0, angle))
    rows = np.array([slopes(angle) for angle in np.radians(degrees)])
    drawing = figure(figsize=(10, 3.2))
    paths, distance, slope = drawing.subplots(1, 3)
    for angle in (20, 35, 50, 65):
        paths.plot(*projectile.flight(500.0, np.radians(angle)).T / 1000, label=f"{angle} degrees")
    paths.set(title="flight", xlabel="km", ylabel="km")
    paths.legend(fontsize=8)
    distance.plot(degrees, rows[:, 0] / 1000, color=BLUE)
    distance.set(title="range (km)", xlabel="elevation (degrees)")
    slope.plot(degrees, rows[:, 1] / 1000, color=ORANGE)
    slope.axhline(0, color=GREY, linewidth=0.8)
    slope.set(title="its slope (km / radian)", xlabel="elevation (degrees)")
    return drawing


def tunnel() -> Any:
    """A wave packet at a barrier, and how much passes, with the slope by the height."""
    heights = np.linspace(0.0, 5.0, 40)
    slopes = value_and_grad(lambda height: schroedinger.transmission(height, 0.8, 2.0))
    rows = np.array([slopes(height) for height in heights])
    drawing = figure(figsize=(10, 3.2))
    packet, passed, slope = drawing.subplots(1, 3)
    for steps, colour in ((0, GREY), (20, BLUE), (40, ORANGE)):
        psi = schroedinger.propagate(1.5, 0.8, 2.0, steps=steps)
        packet.plot(schroedinger.X, np.abs(psi) ** 2, color=colour, label=f"step {steps}")
    packet.set(title="probability", xlabel="place")
    packet.legend()
    passed.plot(heights, rows[:, 0], color=BLUE)
    passed.set(title="what passes", xlabel="height of the barrier")
    slope.plot(heights, rows[:, 1], color=ORANGE)
    slope.set(title="its slope", xlabel="height of the barrier")
    return drawing


def bars() -> Any:
    """A truss under a load, before and after its bars have followed the gradient of the cost."""
    start = np.ones(len(truss.BARS))
    found = minimize(value_and_grad(truss.cost), start, jac=True, bounds=[(0.05, None)] * len(start))
    drawing = figure(figsize=(9, 3))
    for areas, axes in zip((start, found.x), drawing.subplots(1, 2, sharey=True), strict=True):
        bent = truss.NODES + 0.1 * truss.deflection(areas)
        for area, (i, j) in zip(areas, truss.BARS, strict=True):
            axes.plot(*bent[[i, j]].T, color=BLUE, linewidth=3 * area, solid_capstyle="round")
        axes.plot(*bent[1], "v", color=ORANGE, markersize=9)
        axes.set(title=f"compliance and weight: {truss.cost(areas):.3f}", aspect="equal")
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (waves, bridge, plate, magnet, planet, rays, shots, tunnel, bars)
