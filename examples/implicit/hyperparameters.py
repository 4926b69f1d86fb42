"""Penalties of a regression, one a feature, chosen by the gradient of the validation loss through the fit.

The fit is a minimum that SciPy finds. Its derivative by the penalties is that of the condition that the gradient of the
objective is zero there, so nothing of the optimizer's way is recorded.

    python examples/implicit/hyperparameters.py
"""

import numpy as np
import scipy.optimize

import pullback as pb

FEATURES, USEFUL = 12, 3


def samples(n, seed):
    """Features, of which a few matter, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, FEATURES))
    chance = 1 / (1 + np.exp(-2 * X[:, :USEFUL].sum(axis=1)))
    return X, (rng.uniform(size=n) < chance).astype(float)


def cross_entropy(w, X, y):
    """The mean loss of a logistic regression."""
    score = X @ w
    return np.mean(np.logaddexp(0, score) - y * score)


def objective(w, logs, X, y):
    """What the fit makes small: the loss, and a penalty for each weight."""
    return cross_entropy(w, X, y) + np.sum(np.exp(logs) * w**2) / 2


@pb.func.custom_minimum(objective, tol=1e-5)
def fit(w0, logs, X, y):
    """The weights, by SciPy's Newton-CG with our gradients and products with the Hessian."""
    gradient = pb.func.grad(objective)

    def product(w, direction, *args):
        return pb.func.jvp(lambda w: gradient(w, *args), (w,), (direction,))[1]

    return scipy.optimize.minimize(
        objective, w0, (logs, X, y), jac=gradient, hessp=product, method="Newton-CG", options={"xtol": 1e-9}
    ).x


def main(steps=20):
    """Choose the penalties, and print and return the validation loss before and after, and the penalties."""
    train, validation = samples(60, 0), samples(400, 1)

    def validation_loss(logs):
        return cross_entropy(fit(np.zeros(FEATURES), logs, *train), *validation)

    start = np.full(FEATURES, np.log(1e-2))
    found = scipy.optimize.minimize(
        pb.func.value_and_grad(validation_loss), start, jac=True, method="L-BFGS-B",
        bounds=[(-8, 3)] * FEATURES, options={"maxiter": steps},
    )  # fmt: skip
    before = validation_loss(start)
    print(f"validation loss {before:.4f} -> {found.fun:.4f}")
    print("log penalties of useful features", found.x[:USEFUL].round(1), "and of others", found.x[USEFUL:].round(1))
    return before, found.fun, found.x


if __name__ == "__main__":
    main()
