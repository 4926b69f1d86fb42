"""Losses that are no plain sums over data: `loss(total, w)`, where `total(f)` is the sum of f over all data."""

import numpy as np

import pullback as pb

ROWS, COLUMNS = 120, 3
_rng = np.random.default_rng(0)
X = _rng.standard_normal((ROWS, COLUMNS))
Y = np.sin(X @ [1.0, -0.5, 0.25]) + 0.1 * _rng.standard_normal(ROWS)
W = np.array([0.4, -0.3, 0.7])
V = np.array([1.0, -2.0, 0.5])  # the direction of Hessian-vector products


# -- what is summed: of the parameters, perhaps statistics of all data, and the data of one partition ------------------
def logistic(w, X, y):
    return np.sum(np.logaddexp(0.0, -np.sign(y) * (X @ w)))


def exponentials(w, X, y):
    return np.sum(np.exp(np.sin(X @ w)))


def moments(w, X, y):
    Z = np.tanh(X * w)
    return np.sum(Z, axis=0), np.sum(Z * Z, axis=0)


def of_normalised(w, mean, deviation, X, y):
    return np.sum(np.tanh((np.tanh(X * w) - mean) / deviation @ w) ** 2)


def gram(w, X, y):
    Z = np.sin(X * w)
    return Z.T @ Z


def pairs(w, X, y):
    """The Gram matrix of features, and the agreement of the features of two views of each sample."""
    Z, near = np.tanh(X * w), np.tanh((X + 0.1) * w)
    return {"gram": Z.T @ Z, "agreement": np.sum(Z * near)}


def mixture(means, spread, X, y):
    """log of a sum of Gaussians, for each sample."""
    z = (y[:, None] - means) / spread
    return np.sum(pb.logsumexp(-0.5 * z * z, -1)) - len(y) * pb.log(spread)


def residuals(w, X, y):
    """The cross products of the residuals of two equations."""
    R = np.stack([y - np.sin(X @ w), y**2 - np.cos(X @ w)], axis=1)
    return R.T @ R


def normal_equations(w, X, y):
    Z = np.exp(-np.abs(w) * X**2)
    return Z.T @ Z, Z.T @ y, np.sum(y * y)


def covariances(w, X, y):
    z = np.tanh(X @ w)
    return np.stack([np.sum(z), np.sum(y), np.sum(z * z), np.sum(y * y), np.sum(z * y)])


def soft_histogram(w, centres, X, y):
    z = X @ w
    return np.sum(np.exp(-2 * (z[:, None] - centres) ** 2), axis=0)


def network(p, X, y):
    return {"loss": np.sum((np.tanh(X @ p["hidden"]) @ p["out"] - y) ** 2), "size": len(y)}


def risk(w, X, y):
    """Sums over those that are later at risk, at fixed times."""
    rate = np.exp(X @ w)
    return pb.stack([pb.sum(pb.where(y >= t, rate, 0.0)) for t in (-0.5, 0.0, 0.5)])


# -- losses ------------------------------------------------------------------------------------------------------------
def normalised(total, w):
    s, squares = total(moments)(w)
    mean = s / ROWS
    return total(of_normalised)(w, mean, pb.sqrt(squares / ROWS - mean * mean))


def contrastive(total, w):
    found = total(pairs)(w)
    return pb.sum((found["gram"] / ROWS) ** 2) - 2 * found["agreement"] / ROWS


def ridge(total, w):
    A, b, square = total(normal_equations)(w)
    return square - pb.dot(b, pb.linalg.solve(A + 0.1 * pb.eye(COLUMNS, dtype=pb.float64), b))


def correlation(total, w):
    z, y, zz, yy, zy = total(covariances)(w)
    return (zy - z * y / ROWS) / pb.sqrt((zz - z * z / ROWS) * (yy - y * y / ROWS))


def entropy(total, w):
    counts = total(soft_histogram)(w, np.linspace(-2, 2, 5))
    p = counts / pb.sum(counts)
    return -pb.sum(p * pb.log(p))


def deep(total, w):
    p = {"hidden": w[:, None] * np.ones((COLUMNS, 4)), "out": pb.sin(w[0] * np.arange(1.0, 5.0))}
    found = total(network)(p)
    return pb.log(found["loss"] / found["size"])


PROGRAMS = {
    "logistic": lambda total, w: total(logistic)(w),
    "log of a sum": lambda total, w: pb.log(total(exponentials)(w)) + pb.sum(w * w),
    "normalised columns": normalised,
    "Gram determinant": lambda total, w: pb.linalg.slogdet(total(gram)(w))[1],
    "contrastive": contrastive,
    "mixture": lambda total, w: total(mixture)(w, pb.exp(w[0])),
    "generalised least squares": lambda total, w: pb.linalg.slogdet(total(residuals)(w))[1],
    "ridge, solved": ridge,
    "correlation": correlation,
    "entropy of a histogram": entropy,
    "network in a tree": deep,
    "Cox": lambda total, w: pb.sum(pb.log(total(risk)(w))),
    "largest eigenvalue": lambda total, w: pb.linalg.eigvalsh(total(gram)(w))[-1],
}


def derivatives(loss, total):
    """The value, the gradient and a Hessian-vector product, by Tensors."""
    w = pb.tensor(W, requires_grad=True)
    value = loss(total, w)
    (gradient,) = pb.autograd.grad(value, w, create_graph=True)
    (product,) = pb.autograd.grad(gradient, w, pb.tensor(V))
    return value.item(), gradient.detach().numpy(), product.numpy()
