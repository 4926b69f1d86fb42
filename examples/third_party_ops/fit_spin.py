"""Which ion is it? Fits spin and g-factor to magnetization curves, with exact gradients.

The measurement is simulated: gadolinium (spin 7/2, g = 2) at four temperatures, with noise. Run it in this folder:

    python fit_spin.py
"""

import numpy as np
import paramagnet
from scipy.optimize import minimize

import pullback as pb

TEMPERATURES = np.array([1.3, 2.0, 3.0, 4.2])[:, None]  # kelvin
FIELDS = np.linspace(0.0, 5.0, 51)  # tesla
NOISE = 0.02  # Bohr magnetons


def simulate(spin, g, seed=0):
    """Moments per ion, one row a temperature."""
    exact = paramagnet.magnetization(FIELDS, TEMPERATURES, spin, g).numpy()
    return exact + NOISE * np.random.default_rng(seed).standard_normal(exact.shape)


def fit(measured):
    """Spin and g by least squares, from half of what gadolinium has."""

    def misfit(parameters):
        spin, g = parameters[0], parameters[1]
        model = paramagnet.magnetization(FIELDS, TEMPERATURES, spin, g)
        return ((model - measured) ** 2).sum() / NOISE**2

    found = minimize(pb.func.value_and_grad(misfit), x0=[1.75, 1.5], jac=True, method="BFGS")
    return found.x, np.sqrt(2 * np.diag(found.hess_inv))


if __name__ == "__main__":
    (spin, g), (spin_error, g_error) = fit(simulate(3.5, 2.0))
    print(f"spin = {spin:.3f} +- {spin_error:.3f}  (gadolinium: 3.5)")
    print(f"g    = {g:.3f} +- {g_error:.3f}  (free spin: 2.0)")
