"""Rates of predators and prey, fitted to counts: the gradient comes from the adjoint equation.

That is solved backward in time, so that nothing of the way forward is kept.

    python examples/implicit/ode_fit.py
"""

import numpy as np
import scipy.optimize

import pullback as pb

RATES = np.array([1.0, 0.1, 0.075, 1.5])  # births, being eaten, growth by eating, deaths
START = np.array([10.0, 5.0])
TIMES = np.linspace(0, 6, 13)


def lotka_volterra(y, t, rates):
    """What changes in prey and predators."""
    prey, predators = y[0], y[1]
    births, eaten, growth, deaths = rates[0], rates[1], rates[2], rates[3]
    return np.stack([births * prey - eaten * prey * predators, growth * prey * predators - deaths * predators])


def counts(rates):
    """Prey and predators at the times."""
    return pb.func.odeint(lotka_volterra, START, TIMES, rates, method="RK45", rtol=1e-6, atol=1e-8)


def main():
    """Fit, and print and return the rates and their standard errors."""
    rng = np.random.default_rng(0)
    data = counts(RATES) * np.exp(0.02 * rng.standard_normal((len(TIMES), 2)))

    def misfit(logs):
        return np.sum((np.log(counts(np.exp(logs))) - np.log(data)) ** 2) / 2

    first = np.log(RATES) + 0.2 * np.array([1, -1, 1, -1])
    found = scipy.optimize.minimize(pb.func.value_and_grad(misfit), first, jac=True, method="BFGS", tol=1e-4)

    # The Gauss-Newton matrix, a column by one solution of the variational equation.
    columns = [pb.func.jvp(lambda logs: np.log(counts(np.exp(logs))), (found.x,), (e,))[1] for e in np.eye(4)]
    J = np.stack([column.ravel() for column in columns], axis=1)
    variance = 2 * found.fun / (J.shape[0] - 4)
    errors = np.exp(found.x) * np.sqrt(variance * np.diag(np.linalg.inv(J.T @ J)))
    rates, names = np.exp(found.x), ("births", "eaten", "growth", "deaths")
    for name, true, rate, error in zip(names, RATES, rates, errors, strict=True):
        print(f"{name:7} {rate:.4f} +- {error:.4f}  (true {true})")
    return rates, errors


if __name__ == "__main__":
    main()
