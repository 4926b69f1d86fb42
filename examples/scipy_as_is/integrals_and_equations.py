"""Gradients of programs that integrate and solve differential equations with SciPy, with no line of them changed.

python integrals_and_equations.py                     slopes by gradients and by differences
python integrals_and_equations.py robertson           sensitivities of Robertson's reactions, and SUNDIALS's
python integrals_and_equations.py fit                 rate constants of a stiff reaction, by exact Jacobians
python integrals_and_equations.py --pictures FOLDER   the first and the last of these, drawn
"""

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback.demo.extras import need
from pullback.demo.plots import BLUE, GREY, ORANGE, STYLE, figure, save

sys.path.insert(0, str(Path(__file__).parent))  # so that `programs` is found from anywhere


def program(name: str) -> Any:
    """One of the programs."""
    return importlib.import_module(f"programs.{name}")


# What SUNDIALS 7 prints (examples/cvodes/serial/cvsRoberts_FSA_dns -sensi stg1 t, with a relative tolerance of 1e-4):
# at each of the times the derivatives of the three concentrations by the first rate, by the second, by the third.
SUNDIALS = np.array([
    [[-3.5595e-01, 3.9025e-04, 3.5556e-01], [9.5428e-08, -2.1310e-10, -9.5215e-08],
     [-1.5833e-11, -5.2901e-13, 1.6362e-11]],
    [[-1.8760e00, 1.7923e-04, 1.8758e00], [2.9615e-06, -5.8302e-10, -2.9610e-06],
     [-4.9337e-10, -2.7627e-13, 4.9364e-10]],
    [[-4.2477e00, 4.5907e-05, 4.2476e00], [1.3732e-05, -2.3569e-10, -1.3731e-05],
     [-2.2885e-09, -1.1380e-13, 2.2886e-09]],
    [[-5.9588e00, 3.5358e-06, 5.9588e00], [2.2740e-05, -2.2567e-11, -2.2740e-05],
     [-3.7900e-09, -4.9944e-14, 3.7901e-09]],
    [[-4.7500e00, -5.9955e-06, 4.7500e00], [1.8809e-05, 2.3132e-11, -1.8809e-05],
     [-3.1348e-09, -1.8757e-14, 3.1348e-09]],
    [[-1.5752e00, -2.7620e-06, 1.5752e00], [6.2882e-06, 1.1002e-11, -6.2882e-06],
     [-1.0480e-09, -4.5372e-15, 1.0480e-09]],
    [[-2.3634e-01, -4.5834e-07, 2.3634e-01], [9.4507e-07, 1.8324e-12, -9.4507e-07],
     [-1.5753e-10, -6.3636e-16, 1.5753e-10]],
    [[-2.5661e-02, -5.1039e-08, 2.5661e-02], [1.0262e-07, 2.0408e-13, -1.0262e-07],
     [-1.7111e-11, -6.8512e-17, 1.7111e-11]],
    [[-2.5995e-03, -5.1927e-09, 2.5995e-03], [1.0395e-08, 2.0760e-14, -1.0395e-08],
     [-1.7340e-12, -6.9367e-18, 1.7340e-12]],
])  # fmt: skip


@functools.cache
def sensitivities(method: str = "LSODA") -> np.ndarray:
    """The same by forward mode: shape (times, rates, concentrations)."""
    robertson = program("robertson")
    with pb.adopt():
        columns = [
            pb.func.jvp(lambda k: robertson.concentrations(k, method), (robertson.RATES,), (unit,))[1]
            for unit in np.eye(3)
        ]
    return np.stack(columns).transpose(2, 0, 1)


@functools.cache
def fitted() -> tuple[np.ndarray, np.ndarray, int]:
    """What the stiff fit finds with exact Jacobians: the logarithms of the rates, their errors, runs of the model."""
    stiff = program("stiff_fit")

    def jacobian(log_k: np.ndarray, measured: np.ndarray) -> np.ndarray:
        return np.stack([pb.func.jvp(lambda q: stiff.residuals(q, measured), (log_k,), (e,))[1] for e in np.eye(3)], 1)

    with pb.adopt():
        return stiff.fit(stiff.measurements(), jacobian)


def _robertson() -> Any:
    module = program("robertson")
    return lambda log_k: np.log(module.concentrations(np.exp(log_k))).sum(), np.log(module.RATES)


def _half_time() -> Any:
    module = program("robertson")
    return lambda log_k: np.log(module.half_time(np.exp(log_k))), np.log(module.RATES)


def _fit() -> Any:
    module = program("stiff_fit")
    measured = module.measurements()
    return lambda log_k: module.misfit(log_k, measured), module.TRUE + 0.02


def _integrals(name: str, *point: float) -> Any:
    function = getattr(program("quad_parameters"), name)
    return lambda x: function(*(x * np.array(point))), np.ones(len(point))


CASES = {
    "robertson": _robertson,
    "robertson (half of it)": _half_time,
    "stiff_fit": _fit,
    "pendulum": lambda: _integrals("period", 2.0, 1.0),
    "light that is seen": lambda: _integrals("radiated", 5772.0, 380e-9, 750e-9),
    "light in all": lambda: _integrals("radiated_in_all", 5772.0),
    "plate": lambda: _integrals("attraction", 0.5, 2.0),
}


def slopes(case: str) -> tuple[float, float, float]:
    """(value, slope along a direction by the gradient, by differences)."""
    f, x = CASES[case]()
    direction = np.cos(np.arange(x.size))
    with pb.adopt():
        value, gradient = pb.func.value_and_grad(f)(x)
    ends = [(f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (1e-3, 5e-4)]
    return value, gradient @ direction, (4 * ends[1] - ends[0]) / 3


def draw(folder: Path) -> list[Path]:
    """Draw the pictures into a folder."""
    with need("matplotlib").rc_context(STYLE):
        return [save(picture(), folder / f"{picture.__name__}.png") for picture in PICTURES]


def robertson() -> Any:
    """By how many percent the concentrations change with one percent of a rate."""
    reactions, found = program("robertson"), sensitivities()
    y = reactions.concentrations(reactions.RATES)
    drawing = figure(figsize=(12, 3))
    for i, axes in enumerate(drawing.subplots(1, 3, sharex=True)):
        for substance, color in enumerate((BLUE, ORANGE, GREY)):
            relative = found[:, i, substance] * reactions.RATES[i] / y[substance]
            printed = SUNDIALS[:, i, substance] * reactions.RATES[i] / y[substance]
            axes.semilogx(reactions.TIMES, relative, color=color, label=f"y{substance + 1}")
            axes.semilogx(reactions.TIMES, printed, "o", color=color)
        axes.set(title=f"percent a percent of k{i + 1}", xlabel="time (points: SUNDIALS)")
    axes.legend()
    return drawing


def stiff_fit() -> Any:
    """What was measured of the stiff reaction, and the model with what was found."""
    stiff = program("stiff_fit")
    measured, model = stiff.measurements(), stiff.model(fitted()[0])
    drawing = figure(figsize=(7, 3.5))
    axes = drawing.subplots()
    for i, color in enumerate((BLUE, ORANGE, GREY)):
        axes.semilogx(stiff.TIMES[1:], measured[:, i], "o", color=color)
        axes.semilogx(stiff.TIMES[1:], model[:, i], color=color, label=("y1", "10,000 y2", "y3")[i])
    axes.set(xlabel="time")
    axes.legend()
    return drawing


def pendulum() -> Any:
    """How long a pendulum swings, an integral, and its slope by the amplitude."""
    amplitudes = np.linspace(0.05, 3.0, 60)
    slopes = pb.func.value_and_grad(lambda a: program("quad_parameters").period(a, 1.0))
    with pb.adopt():
        rows = np.array([slopes(a) for a in amplitudes])
    drawing = figure(figsize=(8, 3))
    for axes, row, color, title in zip(
        drawing.subplots(1, 2), rows.T, (BLUE, ORANGE), ("period (s)", "its slope (s / rad)"), strict=True
    ):
        axes.plot(amplitudes, row, color=color)
        axes.set(title=title, xlabel="amplitude (rad)")
    return drawing


PICTURES = (robertson, stiff_fit, pendulum)


def main(words: list[str]) -> None:
    """Print what is asked for."""
    if words[:1] == ["--pictures"]:
        print(*draw(Path(words[1])), sep="\n")
    elif words == ["robertson"]:
        times = program("robertson").TIMES
        for t, ours, theirs in zip(times, sensitivities(), SUNDIALS, strict=True):
            print(f"t = {t:.0e}")
            for i, (row, printed) in enumerate(zip(ours, theirs, strict=True)):
                numbers = "  ".join(f"{a:11.4e} ({b:11.4e})" for a, b in zip(row, printed, strict=True))
                print(f"  by k{i + 1}: {numbers}")
    elif words == ["fit"]:
        found, errors, runs = fitted()
        for i, (x, error) in enumerate(zip(found, errors, strict=True)):
            print(f"log k{i + 1} = {x:.4f} +- {error:.4f}, true {program('stiff_fit').TRUE[i]:.4f}")
        print(f"{runs} runs of the model and {runs} of its Jacobian at most")
    else:
        print(f"{'program':24} {'value':>14} {'slope':>14} {'difference':>14}")
        for case in CASES:
            print("{:24} {:14.7g} {:14.8g} {:14.8g}".format(case, *slopes(case)))


if __name__ == "__main__":
    main(sys.argv[1:])
