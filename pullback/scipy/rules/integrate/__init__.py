"""scipy.integrate."""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, is_refused, runs_as_it_stands
from pullback.scipy.rules.integrate import boundary_values, initial_values, quadrature, regions, samples

__all__ = ["boundary_values", "initial_values", "quadrature", "regions", "samples"]

runs_as_it_stands(
    "scipy.integrate.cumulative_trapezoid",
    "scipy.integrate.cumulative_simpson",
    "scipy.integrate.fixed_quad",
    "scipy.integrate.romb",
    "scipy.integrate.trapezoid",
)
gives_no_gradient("scipy.integrate.lebedev_rule")
is_refused("scipy.integrate.ode", "scipy.integrate.complex_ode", "scipy.integrate.nsum")
