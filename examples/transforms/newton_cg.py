"""Newton's method without a Hessian: each step solves H s = -g by conjugate gradients, which need H v alone."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

import pullback as pb


def rosenbrock(x):
    """A curved valley in many dimensions."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def step(function, x, gradient):
    """A direction of descent: that of Newton, as far as the curvature allows."""
    product = LinearOperator((x.size, x.size), lambda v: pb.func.hvp(function, x, v.ravel()), dtype=float)
    s, _ = cg(product, -gradient, rtol=min(0.1, np.sqrt(np.linalg.norm(gradient))), maxiter=2 * x.size)
    return s if s @ gradient < 0 else -gradient


def minimise(function, x, tolerance=1e-8, most=200, callback=None):
    """Newton-CG with a line search; gives the minimum and the number of steps. `callback(x)` sees each point."""
    value_and_grad = pb.func.value_and_grad(function)
    for n in range(most):
        value, gradient = value_and_grad(x)
        if np.linalg.norm(gradient) < tolerance:
            return x, n
        s, t = step(function, x, gradient), 1.0
        while not function(x + t * s) <= value + 1e-4 * t * (s @ gradient) and t > 1e-10:
            t /= 2
        x = x + t * s
        if callback is not None:
            callback(x)
    raise RuntimeError("no convergence")


def main(n=60):
    """Go down the valley."""
    x, steps = minimise(rosenbrock, np.full(n, 0.5))
    print(f"the minimum in {n} dimensions, |x - 1| = {np.abs(x - 1).max():.1e}, in {steps} steps of Newton")
    return x, steps


if __name__ == "__main__":
    main()
