"""What the example of operators of one's own computes, drawn."""

from collections.abc import Callable
from typing import Any

import fit_spin
import numpy as np
import paramagnet

from pullback.demo.plots import GREY, figure


def moments() -> Any:
    """Which ion is it? Magnetization curves, with spin and g-factor fitted by exact gradients of an own operator."""
    measured = fit_spin.simulate(3.5, 2.0)
    (spin, g), (spin_error, g_error) = fit_spin.fit(measured)
    model = paramagnet.magnetization(fit_spin.FIELDS, fit_spin.TEMPERATURES, spin, g).numpy()
    drawing = figure(figsize=(6.5, 3.8))
    axes = drawing.subplots()
    for T, points, curve in zip(np.ravel(fit_spin.TEMPERATURES), measured, model, strict=True):
        axes.plot(fit_spin.FIELDS, points, ".", color=GREY, markersize=3)
        axes.plot(fit_spin.FIELDS, curve, label=f"{T} K")
    axes.set(title=f"spin {spin:.3f} ± {spin_error:.3f}, g {g:.3f} ± {g_error:.3f}")
    axes.set(xlabel="field (tesla)", ylabel="moment (Bohr magnetons)")
    axes.legend()
    return drawing


PICTURES: tuple[Callable[[], Any], ...] = (moments,)
