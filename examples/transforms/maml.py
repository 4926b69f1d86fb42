"""Learning to learn (MAML): a start from which one step of gradient descent fits any sine wave of a family."""

import numpy as np

import pullback as pb

RATE = 0.05


def network(p, x):
    """A network with one hidden layer, on an array of points."""
    return np.tanh(x[:, None] * p["W"] + p["b"]) @ p["out"]


def loss(p, x, y):
    """The mean squared error."""
    return np.mean((network(p, x) - y) ** 2)


def adapted(p, x, y):
    """The parameters after one step for one task."""
    return {name: p[name] - RATE * g for name, g in pb.func.grad(loss)(p, x, y).items()}


def after_step(p, x, y, new_x, new_y):
    """What the meta-learner makes small: the loss on new points of a task after one step on the old ones."""
    return loss(adapted(p, x, y), new_x, new_y)


def tasks(rng, n=20, points=10):
    """Sine waves of random height and phase, at two sets of points each."""
    height, phase = rng.uniform(0.5, 2, (n, 1)), rng.uniform(0, np.pi, (n, 1))
    x = rng.uniform(-3, 3, (2, n, points))
    y = height * np.sin(x + phase)
    return x[0], y[0], x[1], y[1]


def meta_loss(p, batch):
    """The mean over the tasks, all at once."""
    return np.mean(pb.func.vmap(after_step, in_dims=(None, 0, 0, 0, 0))(p, *batch))


def start(rng):
    """Random parameters."""
    return {"W": rng.standard_normal(24), "b": rng.standard_normal(24), "out": 0.3 * rng.standard_normal(24)}


def train(steps=300, rate=0.02):
    """Train by Adam; the gradient goes through the inner step, second derivatives included."""
    rng = np.random.default_rng(0)
    p = start(rng)
    m, v = ({name: np.zeros(24) for name in p} for _ in range(2))
    gradient = pb.func.grad(meta_loss)
    for k in range(1, steps + 1):
        for name, g in gradient(p, tasks(rng)).items():
            m[name], v[name] = 0.9 * m[name] + 0.1 * g, 0.999 * v[name] + 0.001 * g**2
            p[name] = p[name] - rate * m[name] / (1 - 0.9**k) / (np.sqrt(v[name] / (1 - 0.999**k)) + 1e-8)
    return p


def main(steps=300):
    """Train, and print and return the error on new tasks before and after."""
    test = tasks(np.random.default_rng(1), 100)
    before, after = meta_loss(start(np.random.default_rng(0)), test), meta_loss(train(steps), test)
    print(f"error after one step on a new task: {before:.2f} before training, {after:.2f} after")
    return float(before), float(after)


if __name__ == "__main__":
    main()
