"""Programs that compute in arrays which they fill: gradients under `adopt()` are those of finite differences."""

import math

import numpy as np
import pytest

import pullback as pb

POINT = np.array([0.7, 1.3, 0.9, 1.6])


def elements_by_index_arrays(x):
    stiffness, load = np.zeros((5, 5)), np.zeros(5)
    for e in range(4):
        nodes = np.array([e, e + 1])
        stiffness[np.ix_(nodes, nodes)] += x[e] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        load[nodes] += 0.5 * x[e]
    return load[1:] @ np.linalg.solve(stiffness[1:, 1:], load[1:])


def elements_one_by_one(x):
    stiffness = np.zeros((5, 5))
    for e in range(4):
        element = np.empty((2, 2))
        element[0, 0] = element[1, 1] = x[e]
        element[0, 1] = element[1, 0] = -(x[e] ** 2) / 3
        for i in range(2):
            for j in range(2):
                stiffness[e + i, e + j] += element[i, j]
    stiffness[0, :] = stiffness[:, 0] = 0.0
    stiffness[0, 0] = 1.0
    return np.linalg.inv(stiffness).sum()


def elements_added_at(x):
    load = np.zeros(3)
    np.add.at(load, [0, 0, 1, 1, 1, 2], np.concatenate([x, 2 * x[:2]]))
    return (load**3).sum()


def time_warping(x):
    cost = np.full((5, 4), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, 5):
        for j in range(1, 4):
            step = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - 0.4 * j) ** 2 + step
    return cost[-1, -1]


def viterbi(x):
    moves = np.log(np.array([[0.7, 0.3], [0.4, 0.6]]))
    score, before = np.empty((4, 2)), np.zeros((4, 2), dtype=int)
    score[0] = np.log(x[:2])
    for t in range(1, 4):
        for s in range(2):
            ways = score[t - 1] + moves[:, s] * x[s]
            before[t, s] = np.argmax(ways)
            score[t, s] = ways[before[t, s]] + x[t]
    return score[-1].max()


def forward_algorithm(x):
    seen = np.array([[0.9, 0.1], [0.2, 0.8]])
    moves = np.zeros((2, 2))
    moves[0], moves[1] = [x[0], x[2]], [x[3], x[1]]
    moves /= moves.sum(1, keepdims=True)
    chance, likelihood = np.zeros((4, 2)), 0.0
    chance[0] = 0.5 * seen[:, 0]
    for t in range(1, 4):
        chance[t] = (chance[t - 1] @ moves) * seen[:, t % 2]
        likelihood += np.log(chance[t].sum())
        chance[t] /= chance[t].sum()
    return likelihood


def heat_with_out(x):
    u, change, both = np.zeros(6), np.zeros(6), np.empty(4)
    u[1:5] = x
    for _ in range(3):
        np.add(u[2:], u[:-2], out=both)
        np.multiply(u[1:-1], 2.0, out=change[1:-1])
        np.subtract(both, change[1:-1], out=change[1:-1])
        u += 0.1 * change
    return (u**3).sum()


def covariance(x):
    times, upper = np.linspace(0, 1, 4), np.zeros((3, 3))
    matrix = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            matrix[i, j] = x[0] * math.exp(-((times[i] - times[j]) ** 2) / (2 * x[1] ** 2))
    matrix[np.diag_indices(4)] += x[2]
    upper[np.triu_indices(3, 1)] = x[:3]
    upper += upper.T.copy()
    np.fill_diagonal(upper, 3 + x[3])
    return np.log(np.diag(np.linalg.cholesky(matrix))).sum() + np.linalg.det(upper)


def masks(x):
    y, mask = np.ones(4), np.array([True, False, True, True])
    y[mask] += x[:3] ** 2
    y[~mask] = x[3]
    y[y > 1.5] *= x[0]
    np.putmask(y, ~mask, 2 * x)
    return (y * np.arange(4)).sum()


def eliminations(x):
    a, b, y = 3 * np.eye(3), np.array([1.0, x[3], 2.0]), np.zeros(3)
    a[0, 1], a[1, 2], a[2, 0] = x[:3]
    for k in range(3):
        for i in range(k + 1, 3):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for i in (2, 1, 0):
        y[i] = (b[i] - a[i, i + 1 :] @ y[i + 1 :]) / a[i, i]
    a[[0, 1]] = a[[1, 0]]
    return y.sum() * a[0, 1]


def a_ring(x):
    ring, means = np.zeros(3), []
    for value in x:
        ring[:-1] = ring[1:]
        ring[-1] = value
        means.append(ring.mean() * ring[0])
    return np.array(means).sum() + np.asarray([x[0], means[-1]]).prod()


def views_and_parts(x):
    a, z = np.zeros((2, 2)), np.zeros(4, complex)
    a.reshape(-1)[:] = x
    first = a.T[0]
    first *= 2
    a.flat[3] = x[0] * x[1]
    for row in a:
        row[0] += row[1]
    z.real = x
    z.imag[:2] = x[2:]
    np.einsum("ii->i", a)[:] += x[:2]
    return np.linalg.det(a) + np.abs(z @ z)


def particles(x):
    place, speed, force = np.zeros((2, 2)), np.zeros((2, 2)), np.empty((2, 2))
    place[0, 0], place[1] = x[0], x[1:3]
    for _ in range(3):
        force[:] = 0
        for i in range(2):
            apart = place[1 - i] - place[i]
            force[i] += x[3] * apart / np.linalg.norm(apart) ** 3
        speed += 0.01 * force
        place += 0.01 * speed
    return (place**2).sum()


def out_of_reductions(x):
    outer, r = np.outer(x, x + 1), np.empty(4)
    np.sum(outer, axis=0, out=r)
    np.cumsum(r, out=r)
    np.matmul(outer, r.copy(), out=r)
    np.clip(r, 1.0, 60.0, out=r)
    np.sqrt(r, out=r, where=r > 10)
    return r @ r


PROGRAMS = (
    elements_by_index_arrays, elements_one_by_one, elements_added_at, time_warping, viterbi, forward_algorithm,
    heat_with_out, covariance, masks, eliminations, a_ring, views_and_parts, particles, out_of_reductions,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_finite_differences(program):
    expected = [(program(POINT + step) - program(POINT - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    with pytest.raises(RuntimeError, match=r"(?m)^Call pullback\.adopt\(\) once|Or call pullback\.adopt\(\) once"):
        pb.func.grad(program)(POINT)
    with pb.adopt():
        for derivative in (pb.func.grad, pb.func.jacfwd):
            np.testing.assert_allclose(derivative(program)(POINT), expected, rtol=1e-6, atol=1e-7)
