"""Least squares by Gauss and Newton: J comes as two linear maps, J v and J^T w, and is never formed."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

import pullback as pb

TRUE = {"height": np.array([2.0, 1.0]), "centre": np.array([-1.0, 1.5]), "width": np.array([0.6, 0.9])}


def spectrum(p, t):
    """A sum of peaks."""
    return np.sum(p["height"] * np.exp(-(((t[:, None] - p["centre"]) / p["width"]) ** 2)), 1)


def measured(seed=0):
    """A spectrum with noise."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-4, 4, 200)
    return t, spectrum(TRUE, t) + 0.02 * rng.standard_normal(t.size)


def as_vector(p):
    """The parameters one after the other."""
    return np.concatenate(list(p.values()))


def as_tree(v, like):
    """And back."""
    ends = np.cumsum([x.size for x in like.values()])
    return dict(zip(like, np.split(v, ends[:-1]), strict=True))


def fit(p, t, y, damping=1e-3, most=50):
    """Levenberg's and Marquardt's method; gives the parameters and the number of steps."""
    residuals = lambda p: spectrum(p, t) - y  # noqa: E731
    for n in range(most):
        r, push = pb.func.linearize(residuals, p)
        _, pull = pb.func.vjp(residuals, p)
        J = LinearOperator(
            (r.size, as_vector(p).size),
            matvec=lambda v, push=push, p=p: push(as_tree(np.ravel(v), p)),
            rmatvec=lambda w, pull=pull: as_vector(pull(np.ravel(w))[0]),
            dtype=float,
        )
        s = lsmr(J, -r, damp=np.sqrt(damping), atol=1e-12, btol=1e-12)[0]
        moved = {name: p[name] + d for name, d in as_tree(s, p).items()}
        if np.sum(residuals(moved) ** 2) < np.sum(r**2):
            p, damping = moved, damping / 10
            if np.linalg.norm(s) < 1e-8:
                return p, n
        else:
            damping *= 10
    return p, most


def main():
    """Fit the peaks from a rough guess."""
    t, y = measured()
    guess = {"height": np.ones(2), "centre": np.array([-0.5, 1.0]), "width": np.ones(2)}
    p, steps = fit(guess, t, y)
    for name, x in p.items():
        print(f"{name:7} {x.round(3)}   true {TRUE[name]}")
    return p, steps


if __name__ == "__main__":
    main()
