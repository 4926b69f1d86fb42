"""Which labels are wrong? Those whose gradients are long: the gradient of each sample, in one pass."""

import numpy as np

import pullback as pb

WRONG = 12  # labels that have been flipped


def data(n=300, seed=0):
    """Two clouds of points and their labels, 0 or 1, of which the first few are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.standard_normal((n, 2)) + 2.5 * np.where(y[:, None] == 1, 1.0, -1.0) * np.array([1.0, 0.4])
    y[:WRONG] = 1 - y[:WRONG]
    return x, y.astype(float)


def loss(p, x, y):
    """Cross entropy of one sample, under a network with one hidden layer."""
    score = np.tanh(x @ p["W"] + p["b"]) @ p["out"]
    return np.logaddexp(0.0, score) - y * score


def norms(p, x, y):
    """The length of the gradient of each sample."""
    gradients = pb.func.vmap(pb.func.grad(loss), in_dims=(None, 0, 0))(p, x, y)
    return np.sqrt(sum(np.sum(g.reshape(len(x), -1) ** 2, 1) for g in gradients.values()))


def norms_by_tape(p, x, y):
    """The same by one backward through an ordinary batch."""
    p = {name: pb.tensor(value, requires_grad=True) for name, value in p.items()}
    loss(p, pb.tensor(x), pb.tensor(y)).backward(per_sample=True)
    return np.sqrt(sum(np.sum(v.grad_sample.numpy().reshape(len(x), -1) ** 2, 1) for v in p.values()))


def train(x, y, steps=150, rate=0.05):
    """Gradient descent on the mean loss."""
    rng = np.random.default_rng(1)
    p = {"W": 0.5 * rng.standard_normal((2, 8)), "b": np.zeros(8), "out": 0.5 * rng.standard_normal(8)}
    gradient = pb.func.grad(lambda p: np.mean(pb.func.vmap(loss, in_dims=(None, 0, 0))(p, x, y)))
    for _ in range(steps):
        p = {name: p[name] - rate * g for name, g in gradient(p).items()}
    return p


def main():
    """Train, and look at the samples with the longest gradients."""
    x, y = data()
    p = train(x, y)
    suspects = np.argsort(-norms(p, x, y))[:WRONG]
    found = int(np.sum(suspects < WRONG))
    print(f"of the {WRONG} samples with the longest gradients {found} have a wrong label")
    return found


if __name__ == "__main__":
    main()
