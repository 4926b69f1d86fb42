"""The measurements, the model, and its least-squares fit by exact derivatives of first and second order."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

import pullback as pb


@dataclass(frozen=True)
class Data:
    """Measurements y at x."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Fit:
    """Parameters of least squares, their standard errors, and how the minimiser got there."""

    data: Data
    parameters: np.ndarray
    errors: np.ndarray  # from the exact Hessian
    gauss_newton_errors: np.ndarray  # from the Jacobian alone, as NIST and scipy.optimize.curve_fit do
    sum_of_squares: float
    iterations: int
    products: int  # with the Hessian

    @property
    def scatter(self) -> float:
        """Residual standard deviation."""
        return float(np.sqrt(self.sum_of_squares / (len(self.data.x) - len(self.parameters))))

    def curve(self, x: np.ndarray) -> np.ndarray:
        """The fitted model at x."""
        return np.asarray(model(self.parameters, x))


def load() -> Data:
    """The 37 measurements that come with the package; data/thurber.csv says where they are from."""
    text = (files("pullback.demo") / "data" / "thurber.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    x, y = ([float(row[column]) for row in rows] for column in ("log_density", "mobility"))
    return Data(np.array(x), np.array(y))


def model(b: Any, x: np.ndarray) -> Any:
    """Mobility at the log-density x: a quotient of two cubics. Plain NumPy: ndarrays and Tensors go through alike."""
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])))


def hessian_product(function: Callable[[Any], Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(x, v) -> H(x) v, by differentiating <gradient, v> once more; the Hessian is never formed."""

    def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        point = pb.tensor(x, requires_grad=True)
        (gradient,) = pb.autograd.grad(function(point), point, create_graph=True)
        (result,) = pb.autograd.grad((gradient * v).sum(), point)
        return result.numpy()

    return product


def jacobian(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """The derivatives of a vector-valued function, one row a backward."""
    point = pb.tensor(x, requires_grad=True)
    values = function(point)
    rows = (pb.autograd.grad(values, point, unit, retain_graph=True)[0] for unit in np.eye(len(values)))
    return np.stack([row.numpy() for row in rows])


def fit(data: Data, start: np.ndarray) -> Fit:
    """Least squares by a trust region with the exact Hessian, from the parameters `start`.

    The parameters differ by a factor of 40,000, so the minimiser works on their ratios to the start.
    """

    def residuals(ratios: Any) -> Any:
        return data.y - model(start * ratios, data.x)

    def sum_of_squares(ratios: Any) -> Any:
        return (residuals(ratios) ** 2).sum()

    product = hessian_product(sum_of_squares)
    found: OptimizeResult = minimize(
        pb.func.value_and_grad(sum_of_squares),
        np.ones_like(start),
        jac=True,
        hessp=product,
        method="trust-krylov",
        options={"gtol": 1e-4, "maxiter": 500},
    )
    if not found.success:
        raise RuntimeError(f"fit: scipy.optimize.minimize did not converge: {found.message}")
    variance = found.fun / (len(data.x) - len(start))
    hessian = np.stack([product(found.x, unit) for unit in np.eye(len(start))])
    slopes = jacobian(residuals, found.x)
    return Fit(
        data,
        parameters=start * found.x,
        errors=start * standard_errors(hessian / 2, variance),
        gauss_newton_errors=start * standard_errors(slopes.T @ slopes, variance),
        sum_of_squares=float(found.fun),
        iterations=found.nit,
        products=found.nhev,
    )


def standard_errors(information: np.ndarray, variance: float) -> np.ndarray:
    """Square roots of the diagonal of the covariance, which is the variance times the inverse of the information."""
    return np.sqrt(variance * np.diag(np.linalg.inv(information)))
