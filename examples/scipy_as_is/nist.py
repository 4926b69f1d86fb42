"""All 27 nonlinear regressions of NIST's StRD, with the certified parameters and standard deviations.

    python nist.py              every data set: digits of parameters and of their standard deviations
    python nist.py Hahn1 ENSO   these two

The models are as one writes them for scipy.optimize.curve_fit. Exact Jacobians come from pullback, and scipy.optimize's
Levenberg-Marquardt does the rest. Data and certified values are in nist/strd.txt.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb

DATA = Path(__file__).parent / "nist" / "strd.txt"


def exponentials(x, b1, b2, b3, b4, b5, b6):
    """Three decays, of Lanczos."""
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-b4 * x) + b5 * np.exp(-b6 * x)


def two_peaks(x, b1, b2, b3, b4, b5, b6, b7, b8):
    """Two Gaussians on a baseline that decays."""
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-((x - b4) ** 2) / b5**2) + b6 * np.exp(-((x - b7) ** 2) / b8**2)


def ultrasonic(x, b1, b2, b3):
    """Response of an ultrasonic reference block, of Chwirut."""
    return np.exp(-b1 * x) / (b2 + b3 * x)


def cubics(x, b1, b2, b3, b4, b5, b6, b7):
    """A quotient of cubics."""
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


def climate(x, b1, b2, b3, b4, b5, b6, b7, b8, b9):
    """Three cycles, one of them of a year: El Nino."""
    annual = b2 * np.cos(2 * np.pi * x / 12) + b3 * np.sin(2 * np.pi * x / 12)
    slow = b5 * np.cos(2 * np.pi * x / b4) + b6 * np.sin(2 * np.pi * x / b4)
    fast = b8 * np.cos(2 * np.pi * x / b7) + b9 * np.sin(2 * np.pi * x / b7)
    return b1 + annual + slow + fast


MODELS = {
    "Misra1a": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** -2),
    "Misra1c": lambda x, b1, b2: b1 * (1 - (1 + 2 * b2 * x) ** -0.5),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x / (1 + b2 * x),
    "Chwirut2": ultrasonic,
    "Chwirut1": ultrasonic,
    "Lanczos3": exponentials,
    "Lanczos2": exponentials,
    "Lanczos1": exponentials,
    "Gauss1": two_peaks,
    "Gauss2": two_peaks,
    "Gauss3": two_peaks,
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "Kirby2": lambda x, b1, b2, b3, b4, b5: (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2),
    "Hahn1": cubics,
    "Nelson": lambda x, b1, b2, b3: b1 - b2 * x[0] * np.exp(-b3 * x[1]),  # of log(y)
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * np.exp(-x * b4) + b3 * np.exp(-x * b5),
    "Roszman1": lambda x, b1, b2, b3, b4: b1 - b2 * x - np.arctan(b3 / (x - b4)) / np.pi,
    "ENSO": climate,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "Thurber": cubics,
    "BoxBOD": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Rat42": lambda x, b1, b2, b3: b1 / (1 + np.exp(b2 - b3 * x)),
    "MGH10": lambda x, b1, b2, b3: b1 * np.exp(b2 / (x + b3)),
    "Eckerle4": lambda x, b1, b2, b3: (b1 / b2) * np.exp(-0.5 * ((x - b3) / b2) ** 2),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4),
    "Bennett5": lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
}


@dataclass
class Regression:
    """A data set, and what NIST certifies of it."""

    name: str
    values: dict[str, np.ndarray]
    starts: list[np.ndarray] = field(default_factory=list)

    @property
    def x(self) -> np.ndarray:
        """The predictor, or both of them."""
        return self.values["x"] if "x" in self.values else np.stack([self.values["x1"], self.values["x2"]])

    @property
    def y(self) -> np.ndarray:
        """The response."""
        return np.log(self.values["y"]) if self.name == "Nelson" else self.values["y"]


def regressions() -> dict[str, Regression]:
    """All data sets, by name."""
    found: dict[str, Regression] = {}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        key, _, rest = line.partition(" ")
        if not key or key == "#":
            continue
        if key == "name":
            current = found[rest] = Regression(rest, {})
        elif key == "start":
            current.starts.append(np.array(rest.split(), float))
        elif key == "data":
            current.values |= {name: found[rest].values[name] for name in ("x", "y")}
        elif rest.startswith("range"):
            first, last = map(int, rest.split()[1:])
            current.values[key] = np.arange(first, last + 1.0)
        else:
            numbers = np.array(rest.split(), float)
            current.values[key] = np.concatenate([current.values.get(key, np.zeros(0)), numbers])
    return found


def fit(regression: Regression, start: int = 1) -> tuple[np.ndarray, np.ndarray, float]:
    """(parameters, their standard deviations, the sum of squares) from the first or the second start."""
    tight = 4 * np.finfo(float).eps
    with np.errstate(over="ignore", invalid="ignore"):  # on the way from the first start of MGH17
        popt, pcov, info, *_ = pb.optimize.curve_fit(
            MODELS[regression.name],
            regression.x,
            regression.y,
            regression.starts[start],
            full_output=True,
            ftol=tight,
            xtol=tight,
            gtol=0.0,
            maxfev=5000,
        )
    return popt, np.sqrt(np.diag(pcov)), float(np.sum(info["fvec"] ** 2))


def digits(found: Any, certified: Any) -> float:
    """How many digits of numbers are right: -log10 of the largest relative error."""
    error = np.max(np.abs(np.asarray(found) - certified) / np.abs(certified))
    return 16.0 if error == 0 else float(-np.log10(error))


def main(names: list[str]) -> None:
    """A line for each data set."""
    print("data set   observations  parameters   digits: parameters  deviations  sum of squares")
    every = regressions()
    for name in names or every:
        regression = every[name]
        popt, deviations, rss = fit(regression)
        values = regression.values
        right = [digits(popt, values["certified"]), digits(deviations, values["deviation"]), digits(rss, values["rss"])]
        print(f"{name:10} {regression.y.size:12d} {popt.size:11d} {right[0]:20.1f} {right[1]:11.1f} {right[2]:15.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
