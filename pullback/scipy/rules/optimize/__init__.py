"""scipy.optimize."""

from pullback.interop.adopt.scipy.ways import gives_no_gradient, runs_as_it_stands
from pullback.scipy.rules.optimize import minima, roots, squares

__all__ = ["minima", "roots", "squares"]

runs_as_it_stands(
    "scipy.optimize.rosen",
    "scipy.optimize.rosen_der",
    "scipy.optimize.rosen_hess",
    "scipy.optimize.rosen_hess_prod",
)
gives_no_gradient("scipy.optimize.linear_sum_assignment")  # the costs that its indices choose are differentiable
