"""A network that solves a differential equation of third order: the boundary layer on a plate (Blasius, 1908).

    2 f''' + f f'' = 0,    f(0) = f'(0) = 0,    f'(infinity) = 1

The network is fitted to the equation itself at some points. Its derivatives up to the third come from one run in Taylor
mode, their Jacobian in all parameters from forward or reverse mode around that.
"""

import numpy as np
from scipy.optimize import least_squares

import pullback as pb

HIDDEN, FAR = 12, 8.0
POINTS = np.linspace(0, FAR, 60)


def solution(w, eta):
    """f at an array of points: 0 at 0 with slope 0, the rest is the network's."""
    weight, shift, out = w.reshape(3, HIDDEN)
    return eta**2 * np.exp(np.tanh(eta[:, None] * weight + shift) @ out) / (1 + eta)


def with_derivatives(w, eta):
    """f, f', f'', f''' at each point: all move at speed 1, and none depends on another."""
    f, derivatives = pb.func.jet(lambda x: solution(w, x), (eta,), ([np.ones_like(eta), None, None],))
    return f, *derivatives


def residuals(w):
    """What should vanish: the equation at each point, and the condition far away."""
    f, slope, curvature, third = with_derivatives(w, POINTS)
    return np.concatenate([2 * third + f * curvature, 3 * (slope[-1:] - 1)])


def main():
    """Solve, and compare the friction f''(0) with the literature."""
    start = 0.3 * np.random.default_rng(0).standard_normal(3 * HIDDEN)
    found = least_squares(residuals, start, jac=pb.func.jacobian(residuals), method="lm", max_nfev=400)
    friction = float(with_derivatives(found.x, np.zeros(1))[2][0])
    print(f"f''(0) = {friction:.4f}, literature 0.3321; the equation holds to {np.abs(found.fun).max():.1e}")
    return friction


if __name__ == "__main__":
    main()
