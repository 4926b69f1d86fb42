"""Fit a physical model to real measurements by scipy.optimize, with exact gradients and Hessian-vector products."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pullback.demo import plots
from pullback.demo.least_squares import Fit, fit, load

# NIST's starting values (the farther of its two), and what it certifies to eleven digits, for the set Thurber of the
# Statistical Reference Datasets. Its standard errors come from first derivatives alone (Gauss-Newton).
START = np.array([1000.0, 1000.0, 400.0, 40.0, 0.7, 0.3, 0.03])
CERTIFIED, CERTIFIED_ERRORS = np.array(
    [
        (1288.1396800, 4.6647963344),
        (1491.0792535, 39.571156086),
        (583.23836877, 28.698696102),
        (75.416644291, 5.5675370270),
        (0.96629502864, 0.031333340687),
        (0.39797285797, 0.014984928198),
        (0.049727297349, 0.0065842344623),
    ]
).T
CERTIFIED_SUM = 5642.7082397


def table(result: Fit) -> str:
    """Parameters and their errors beside what NIST certifies."""
    lines = [
        "      fitted         NIST           std. error     std. error     std. error",
        "                                    exact Hessian  Gauss-Newton   NIST",
    ]
    columns = (result.parameters, CERTIFIED, result.errors, result.gauss_newton_errors, CERTIFIED_ERRORS)
    for number, row in enumerate(zip(*columns, strict=True), start=1):
        lines.append(f"  b{number}  " + "  ".join(f"{value:<13.9g}" for value in row).rstrip())
    return "\n".join(lines)


def main(folder: Path) -> int:
    """Run the demo; write fit.png into `folder`."""
    data = load()
    print(f"Electron mobility of a semiconductor: {len(data.x)} measurements, {len(START)} parameters.")
    result = fit(data, START)
    print(f"trust-krylov: {result.iterations} iterations, {result.products} Hessian-vector products.\n")
    print(table(result))
    digits = -np.log10(np.max(np.abs(result.parameters / CERTIFIED - 1)))
    print(f"\nSum of squares {result.sum_of_squares:.10g}; NIST certifies {CERTIFIED_SUM:.11g}.")
    print(f"All parameters agree with NIST's to {digits:.1f} digits or more.")
    print(f"Fit and residuals: {plots.fit(result, folder / 'fit.png')}")
    return 0
