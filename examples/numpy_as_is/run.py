"""Gradients of programs that were written for NumPy, with no line of them changed.

    python run.py                         every program: its value, its gradient against finite differences
    python run.py kepler truss            these two
    python run.py --pictures folder       draws what the gradients say, too (needs matplotlib)

Each file in `programs/` is a program of its own: run it with Python, and it prints what it computes. None of them
mentions pullback. This file alone does: `pullback.adopt()` and `pullback.func.value_and_grad`.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb

sys.path.insert(0, str(Path(__file__).parent))  # so that `programs` is found from anywhere


@dataclass
class Program:
    """A function of a program, and the arguments to differentiate it at: all of them."""

    module: str
    function: str
    arguments: tuple[Any, ...]

    def load(self) -> Callable[..., Any]:
        """The function, as its author wrote it."""
        return getattr(importlib.import_module(f"programs.{self.module}"), self.function)

    def gradient(self) -> tuple[Any, tuple[Any, ...]]:
        """(value, gradients by each argument)."""
        everything = tuple(range(len(self.arguments)))
        return pb.func.value_and_grad(self.load(), everything)(*self.arguments)


def _from(module: str, call: Callable[[Any], Any]) -> Any:
    return call(importlib.import_module(f"programs.{module}"))


PROGRAMS = [
    Program("ar_model", "next_maximum", (_from("ar_model", lambda m: m.sunspots()),)),
    Program(
        "bezier_camera", "length_in_picture", (_from("bezier_camera", lambda m: m.CONTROL), np.array([3.0, 2.0, 1.5]))
    ),
    Program("black_scholes", "call_price", (100.0, 105.0, 0.5, 0.02, 0.25)),
    Program("crank_nicolson", "put_price", (98.0, 101.0, 1.0, 0.03, 0.2)),
    Program("epidemic", "burden", (np.array([0.5, 0.2, 0.1, 0.4]),)),
    Program("fdtd_waves", "transmitted", (np.array([2.0, 3.0, 4.0, 4.0, 3.0, 2.0]),)),
    Program("gaussian_elimination", "bridge_current", (np.array([1.0, 100.0, 220.0, 105.0, 218.0, 50.0]),)),
    Program("gaussian_process", "log_evidence", (np.log([1.0, 1.0, 0.1]),)),
    Program("heat_gauss_seidel", "discomfort", (np.array([80.0, 10.0, 25.0, 5.0]),)),
    Program("hmc", "spread", (1.2, 0.6)),
    Program("hmm_forward", "log_likelihood", _from("hmm_forward", lambda m: (m.TRANSITIONS, m.EMISSIONS))),
    Program("ising", "difference", (1.0, 0.1, 2.5)),
    Program("kalman_filter", "negative_log_likelihood", (np.log([0.02, 0.3]),)),
    Program("kepler", "chi_squared", ([13.0, 0.3, 0.4, 38.0],)),
    Program("kmeans", "inertia", (_from("kmeans", lambda m: m.points()),)),
    Program("kmeans", "entropy", (_from("kmeans", lambda m: m.points()),)),
    Program("lens", "spot_size", ([100.0, -110.0, 6.0, 1.52],)),
    Program("metropolis_swaps", "coldest_energy", (2.0, 0.6)),
    Program("moving_average", "log_wealth", (_from("moving_average", lambda m: m.prices()),)),
    Program("nbody", "closest_approach", (_from("nbody", lambda m: m.VELOCITIES),)),
    Program("neural_net", "cross_entropy", (_from("neural_net", lambda m: m.initial_weights()),)),
    Program("predator_prey", "misfit", (np.array([0.55, 0.028, 0.84, 0.026, 33.0, 6.0]),)),
    Program("projectile", "distance", (500.0, 0.7)),
    Program("robot_arm", "miss", (np.radians([30.0, -20.0, 45.0, 10.0]),)),
    Program("schroedinger", "transmission", (1.5, 0.8, 2.0)),
    Program("thin_films", "mean_reflectance", (np.array([100.0, 60.0, 95.0, 65.0]),)),
    Program("truss", "cost", (np.linspace(0.7, 1.3, 7),)),
]


def flat(x: Any) -> np.ndarray:
    """The numbers of an argument, or of a gradient: of an array, a number, or a list or dict of these."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return np.concatenate([flat(part) for part in x])
    return np.ravel(np.asarray(x, dtype=float))


def rebuilt(x: Any, numbers: list[float]) -> Any:
    """The same as `x`, made of other numbers, which are taken from the end of the list."""
    if isinstance(x, dict):
        return {name: rebuilt(part, numbers) for name, part in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)([rebuilt(part, numbers) for part in x])
    if isinstance(x, np.ndarray):
        return np.array([numbers.pop() for _ in range(x.size)]).reshape(x.shape)
    return numbers.pop()


def differences(program: Program) -> np.ndarray:
    """The gradient by central differences of fourth order."""
    function, x = program.load(), flat(program.arguments)

    def at(i: int, shift: float) -> float:
        moved = x.copy()
        moved[i] += shift
        return float(function(*rebuilt(program.arguments, moved[::-1].tolist())))

    slopes = np.empty_like(x)
    for i, step in enumerate(1e-5 * np.maximum(np.abs(x), 1.0)):
        near, far = at(i, step) - at(i, -step), at(i, 2 * step) - at(i, -2 * step)
        slopes[i] = (8 * near - far) / (12 * step)
    return slopes


def seconds(call: Callable[[], Any]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each program that was asked for, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="program", help="the programs to run; all by default")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw what the gradients say into this folder")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {program.module for program in PROGRAMS}:
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    with pb.adopt():
        show(asked.names)
        if asked.pictures:
            from pictures import draw

            for path in draw(asked.pictures):
                print(path)


def show(names: list[str]) -> None:
    """Print a line for each of these programs, or for all."""
    print(f"{'program':45}{'value':>12}{'slopes':>8}{'largest error':>15}{'time, in runs of it':>21}")
    for program in PROGRAMS:
        if names and program.module not in names:
            continue
        name = f"{program.module}.{program.function}"
        value, gradient = program.gradient()
        found, expected = flat(gradient), differences(program)
        error = np.abs(found - expected).max() / np.abs(expected).max()
        cost = seconds(program.gradient) / seconds(lambda program=program: program.load()(*program.arguments))
        print(f"{name:45}{float(value):12.5g}{found.size:8}{error:15.1e}{cost:21.1f}")


if __name__ == "__main__":
    main()
