"""Gradients of programs that were written for SciPy, with no line of them changed.

    python run.py                     every program: its value, a slope of its gradient, against a difference
    python run.py beam                the stiffest beam, by our gradient in place of the one derived by hand
    python run.py --pictures folder   what the gradients are good for, drawn (needs matplotlib)

Each file in `programs/` is a program of its own that does not mention pullback.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb

sys.path.insert(0, str(Path(__file__).parent))  # so that `programs` is found from anywhere


def program(name):
    """One of the programs."""
    return importlib.import_module(f"programs.{name}")


CASES: dict[str, Callable[[], tuple[Callable[..., Any], Any]]] = {}


def case(function):
    """Enter `_name`, a function that gives (what is differentiated, where), as a case `name`."""
    CASES[function.__name__[1:]] = function
    return function


@case
def _mbb_beam():
    elements = np.arange(1200.0).reshape(20, 60)
    return program("mbb_beam").compliance, 0.5 + 0.1 * np.sin(elements)


@case
def _conductivity():
    module = program("conductivity")
    measured = module.data()
    return lambda log_k: module.misfit(log_k, measured), 0.3 * np.sin(np.arange(576.0))


@case
def _lens_design():
    return program("lens_design").brightness, np.sin(np.arange(240.0))


@case
def _matern_process():
    return program("matern_process").negative_log_evidence, np.log([0.8, 0.7, 1.5, 0.1])


@case
def _matern_process_where():
    theta, module = np.log([0.8, 0.7, 1.5, 0.1]), program("matern_process")
    return lambda places: module.lowest(theta, places), np.array([1.0, 1.0, 2.0, 3.0, 2.4, 0.5])


@case
def _weather_hmm():
    module = program("weather_hmm")
    y = module.record()
    return lambda theta: module.negative_log_likelihood(theta, y), module.start(y)


@case
def _survival_weibull():
    return program("survival").weibull, np.array([2.1, 1.0, -0.2])


@case
def _survival_cox():
    module = program("survival")
    return lambda x: module.cox(x[0]), np.array([-1.2])


@case
def _registration():
    module = program("registration")
    images = module.pair()
    return lambda p: module.misfit(p, *images), module.IDENTITY + 0.03 * np.cos(np.arange(6.0))


@case
def _registration_of_the_image():
    module = program("registration")
    image, target = module.pair()
    return lambda image: module.misfit(module.TRUE + 0.01, image, target), image


@case
def _deblurring():
    module = program("deblurring")
    photo = module.photograph()
    return lambda image: module.objective(image, photo), photo.ravel()


@case
def _arma_filter():
    module = program("arma_filter")
    y = module.simulate()
    return lambda p: module.negative_log_likelihood(p, y), np.array([0.9, -0.3, 0.2, 0.1])


@case
def _arma_filter_of_the_record():
    module = program("arma_filter")
    return lambda y: module.forecast(module.TRUE, y)[3], module.simulate()


@case
def _bundle_adjustment():
    module = program("bundle_adjustment")
    seen, camera, point, start, _ = module.problem()
    return lambda x: np.sum(module.fun(x, module.CAMERAS, module.POINTS, camera, point, seen) ** 2), start


@case
def _phylogeny():
    module = program("phylogeny")
    return module.log_likelihood, module.START


@case
def _influence():
    return program("influence").prediction, np.ones(60)


@case
def _transport():
    module = program("transport")
    x, y = module.clouds()
    return lambda x: module.distance(x, y), x


@case
def _vibrating_truss():
    return program("vibrating_truss").lowest, 1e-3 * (1 + 0.3 * np.sin(np.arange(15.0)))


@case
def _heat_source():
    module = program("heat_source")
    seen = module.readings(module.TRUE)
    return lambda p: module.misfit(p, seen), np.array([0.5, 0.5, 1.0, 1.0, 1.1])


@case
def _solitons():
    module = program("solitons")
    seen = module.evolve(module.start(module.TRUE))
    return lambda p: module.misfit(p, seen), module.TRUE * 1.05


@case
def _regulator():
    module = program("regulator")
    return module.cost, module.PENDULUM


@case
def _titanium_spline():
    module = program("titanium_spline")
    return module.sum_of_squares, module.unknowns(module.START)


def slopes(name):
    """(value, slope along a direction by the gradient, by differences, seconds of a call, of a call with gradient)."""
    f, x = CASES[name]()
    direction = (np.abs(x) + 0.01) * np.cos(np.arange(x.size)).reshape(x.shape)
    with pb.adopt():
        start = time.process_time()
        value, gradient = pb.func.value_and_grad(f)(x)
        middle = time.process_time()
    f(x)
    end = time.process_time()
    ends = [(f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (1e-4, 5e-5)]
    return value, np.sum(gradient * direction), (4 * ends[1] - ends[0]) / 3, end - middle, middle - start


def stiffest_beam():
    """(its compliance, steps) by the gradient of pullback."""
    beam = program("mbb_beam")
    with pb.adopt():
        x, steps = beam.optimise(pb.func.grad(beam.compliance))
    return beam.compliance(x), steps


def main():
    """Print a table, or the beam, or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("table", "beam"), default="table")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw what the gradients are good for")
    asked = parser.parse_args()
    if asked.pictures:
        from pictures import draw

        for path in draw(asked.pictures):
            print(path)
        return
    if asked.what == "beam":
        print("compliance {:.2f} after {} steps; published: 216.81".format(*stiffest_beam()))
        return
    print(f"{'program':26} {'value':>12} {'slope':>14} {'difference':>14} {'call':>8} {'+ gradient':>10}")
    for name in CASES:
        value, slope, difference, once, both = slopes(name)
        print(f"{name:26} {value:12.6g} {slope:14.8g} {difference:14.8g} {once:7.3f}s {both:9.3f}s")


if __name__ == "__main__":
    main()
