"""A deep equilibrium layer: its output is the fixed point of a layer, z = tanh(z W + x U + b), not the end of a chain.

The loop that finds z is not recorded: the gradient is that of the fixed point, by one linear system that GMRES solves
with products of vectors with the layer's Jacobian. So memory does not grow with the number of iterations.

    python examples/implicit/deep_equilibrium.py
"""

import numpy as np
import scipy.optimize

import pullback as pb
from pullback.utils.pytree import tree_flatten, tree_unflatten

WIDTH = 10


def spirals(n=60, seed=0):
    """Points on two spirals, one inside the other, and on which one each is."""
    rng = np.random.default_rng(seed)
    angle = np.sqrt(rng.uniform(0.1, 1, n)) * 2 * np.pi
    one = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1) / 6
    points = np.concatenate([one, -one]) + 0.02 * rng.standard_normal((2 * n, 2))
    return points, np.repeat([0.0, 1.0], n)


def layer(z, x, p):
    """One pass. The weights are scaled such that it is a contraction, which has one fixed point."""
    W = 0.95 * p["W"] / (1 + np.sqrt(np.sum(p["W"] ** 2)))
    return np.tanh(z @ W + x @ p["U"] + p["b"])


@pb.func.custom_fixed_point(layer, tol=1e-6)
def equilibrium(z, x, p):
    """The fixed point, by going round until nothing moves."""
    for _ in range(500):
        before, z = z, layer(z, x, p)
        if np.abs(z - before).max() < 1e-10:
            break
    return z


def logits(p, x):
    """For each point, how much rather it is on the second spiral."""
    return equilibrium(np.zeros((len(x), WIDTH)), x, p) @ p["out"]


def loss(p, x, y):
    """Cross-entropy, with a little of weight decay."""
    score = logits(p, x)
    return np.mean(np.logaddexp(0, score) - y * score) + 1e-5 * sum(np.sum(w**2) for w in p.values())


def train(x, y, iterations=150):
    """(the parameters, the loss before, the loss after)."""
    rng = np.random.default_rng(1)
    shapes = {"U": (2, WIDTH), "W": (WIDTH, WIDTH), "b": (WIDTH,), "out": (WIDTH,)}
    leaves, form = tree_flatten({name: rng.standard_normal(shape) for name, shape in shapes.items()})
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def as_tree(flat):
        parts = zip(np.split(flat, ends), leaves, strict=True)
        return tree_unflatten([part.reshape(leaf.shape) for part, leaf in parts], form)

    def value_and_gradient(flat):
        value, gradient = pb.func.value_and_grad(loss)(as_tree(flat), x, y)
        return value, np.concatenate([g.ravel() for g in tree_flatten(gradient)[0]])

    start = np.concatenate([leaf.ravel() for leaf in leaves])
    found = scipy.optimize.minimize(
        value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )
    return as_tree(found.x), value_and_gradient(start)[0], found.fun


def main(iterations=150):
    """Train, and print and return how many points are classified right."""
    x, y = spirals()
    p, before, after = train(x, y, iterations)
    right = np.mean((logits(p, x) > 0) == (y > 0.5))
    print(f"loss {before:.3f} -> {after:.4f}, {right:.0%} right")
    return right


if __name__ == "__main__":
    main()
