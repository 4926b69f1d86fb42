"""A fit to 100,000 points: value and gradient are one compiled program, most of whose steps run block by block."""

from time import process_time

import numpy as np
from scipy.optimize import minimize

import pullback as pb

TRUE = np.array([1.5, 0.4, 3.0, 0.7])


def oscillation(p, t):
    """With the amplitude p[0], damped by p[1], of the frequency p[2] and the phase p[3]."""
    return p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t + p[3])


def data(n=100_000, seed=0):
    """Times, and what was measured."""
    t = np.linspace(0.0, 8.0, n)
    return t, oscillation(TRUE, t) + 0.1 * np.random.default_rng(seed).standard_normal(n)


def loss(p, t, y):
    """The mean square of what the curve misses."""
    return np.sum((oscillation(p, t) - y) ** 2) / t.size


def seconds(function, *args, calls=10):
    """Processor time of a call, the least of several."""
    times = []
    for _ in range(calls):
        begin = process_time()
        function(*args)
        times.append(process_time() - begin)
    return min(times)


def main(picture=None):
    """Fit, tell what was compiled, and draw the program if a path is given."""
    t, y = data()
    eager = pb.func.value_and_grad(loss)
    compiled = pb.compile(eager)
    start = np.array([1.0, 0.2, 2.8, 0.3])
    found = minimize(compiled, start, args=(t, y), jac=True, method="BFGS", options={"gtol": 1e-7})
    print(f"found {found.x.round(3)} in {found.nfev} calls; they were {TRUE}")
    print(f"a call takes {seconds(eager, start, t, y) / seconds(compiled, start, t, y):.1f} times as long uncompiled")
    print(compiled.explain())
    if picture is not None:
        compiled.explain().picture(picture)
    return found, compiled


if __name__ == "__main__":
    main("compiled_fit.svg")
