"""Calls of scipy.spatial."""

from importlib.util import find_spec

import numpy as np
from scipy import spatial
from scipy.spatial import distance, transform

from tests.scipy.calls import M, v

U = np.array([True, False, True, True])
W = np.array([True, True, False, True])


def points(x):
    """Four points of the space."""
    return np.stack([x, np.sin(x) + 2, x**2], -1)


Q = points(v)[:3] + 0.1
D = np.diag([1.0, 2.0, 0.5]) + 0.1
PLAIN = ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "sqeuclidean")
NAMED = (*PLAIN, "jensenshannon", "minkowski", "seuclidean", "mahalanobis")
WEIGHED = ("braycurtis", "canberra", "cityblock", "correlation", "cosine", "euclidean", "sqeuclidean", "minkowski")


def of_pairs(name):
    """Calls of cdist with this metric; the matrix of covariances of seven points is far from singular."""
    more = [lambda x: distance.cdist(points(x), Q, name, w=x[:3])] if name in WEIGHED else []
    return [lambda x: distance.cdist(points(x), Q, name), lambda x: distance.cdist(Q, points(x), name), *more]


def of_one(name):
    """Calls of pdist."""
    many = np.cos(np.arange(9.0)).reshape(3, 3) + 3
    more = [lambda x: distance.pdist(Q, name, w=x[:3])] if name in WEIGHED else []
    return [lambda x: distance.pdist(np.concatenate([points(x), many]), name), *more]


def simple(name):
    """Calls of a distance with weights."""
    weighed = [lambda x: getattr(distance, name)(v, v**2, w=x)] if name in WEIGHED else []
    return [lambda x: getattr(distance, name)(x, v), lambda x: getattr(distance, name)(v, x), *weighed]


CALLS = {
    **{f"scipy.spatial.distance.{name}": simple(name) for name in PLAIN},
    "scipy.spatial.distance.hamming": [lambda x: distance.hamming(U, W, x)],
    "scipy.spatial.distance.cdist": [
        *(call for name in NAMED for call in of_pairs(name)),
        lambda x: distance.cdist(points(x), Q, "minkowski", p=3),
        lambda x: distance.cdist(points(v), Q, "seuclidean", V=x[:3]),
        lambda x: distance.cdist(points(v), Q, "mahalanobis", VI=D * x[0]),
        lambda x: distance.cdist(points(x), Q, lambda a, b: np.sum(a * b**2)),
    ],
    "scipy.spatial.distance.pdist": [
        *(call for name in NAMED for call in of_one(name)),
        lambda x: distance.pdist(points(x), lambda a, b: np.sum(a * b**2)),
    ],
    "scipy.spatial.distance.directed_hausdorff": [
        lambda x: distance.directed_hausdorff(points(x), Q, rng=0)[0],
        lambda x: distance.directed_hausdorff(Q, points(x), rng=0)[0],
    ],
    "scipy.spatial.distance.jensenshannon": [
        lambda x: distance.jensenshannon(x, v),
        lambda x: distance.jensenshannon(v.reshape(2, 2), np.reshape(x, (2, 2)), 2.0, axis=1, keepdims=True),
    ],
    "scipy.spatial.distance.mahalanobis": [lambda x: distance.mahalanobis(x[:2], v[:2], M(x))],
    "scipy.spatial.distance.minkowski": [
        lambda x: distance.minkowski(x, v, 3),
        lambda x: distance.minkowski(v, v**2, 3, w=x),
        lambda x: distance.minkowski(x, v, 1.5, w=v),
    ],
    "scipy.spatial.distance.seuclidean": [
        lambda x: distance.seuclidean(x, v, v),
        lambda x: distance.seuclidean(v, v**2, x),
    ],
    "scipy.spatial.distance.squareform": [
        lambda x: distance.squareform(x[:3]),
        lambda x: distance.squareform(np.stack([x[0] * 0, x[1], x[1], x[0] * 0]).reshape(2, 2)),
        lambda x: distance.squareform(np.reshape(x, (2, 2)), checks=False),
    ],
    "scipy.spatial.distance_matrix": [
        lambda x: spatial.distance_matrix(points(x), Q),
        lambda x: spatial.distance_matrix(Q, points(x), 3),
        lambda x: spatial.distance_matrix(Q, points(x), np.inf),
    ],
    "scipy.spatial.geometric_slerp": [
        lambda x: spatial.geometric_slerp(x / np.sqrt(np.sum(x**2)), v / np.sqrt(v @ v), np.array([0.2, 0.5]))
    ],
    "scipy.spatial.minkowski_distance": [
        lambda x: spatial.minkowski_distance(x, v, 3),
        lambda x: spatial.minkowski_distance(v, points(x).T, np.inf),
    ],
    "scipy.spatial.minkowski_distance_p": [lambda x: spatial.minkowski_distance_p(x, v, 3)],
    "scipy.spatial.procrustes": [
        lambda x: spatial.procrustes(points(x), points(v)),
        lambda x: spatial.procrustes(points(v), points(x)),
    ],
}


P = np.arange(6.0).reshape(2, 3)
ROTATIONS = {
    "scipy.spatial.transform.Rotation": [
        lambda x: transform.Rotation.from_rotvec(x[:3]).as_matrix(),
        lambda x: transform.Rotation.from_rotvec(x[:3] - x[:3]).as_quat(),
        lambda x: transform.Rotation.from_rotvec(x[:3]).apply(P),
        lambda x: transform.Rotation.from_rotvec(0.5 * x[:3]).as_rotvec(),
        lambda x: transform.Rotation.from_rotvec([[0.0, 0, 1], [1, 0, 0.2]]).apply(np.outer([1.0, 2], x[:3])),
        lambda x: transform.Rotation.from_quat(x).as_euler("xyz"),
        lambda x: transform.Rotation.from_quat(x).as_matrix(),
        lambda x: transform.Rotation.from_euler("zyx", x[:3]).as_quat(),
        lambda x: transform.Rotation.from_euler("XYZ", 20 * x[:3], degrees=True).as_euler("zyx", degrees=True),
        lambda x: transform.Rotation.from_euler("x", x[0]).apply(x[1:]),
        lambda x: transform.Rotation.from_matrix(transform.Rotation.from_rotvec(x[:3]).as_matrix()).as_rotvec(),
        lambda x: transform.Rotation.from_matrix(np.eye(3) + 0.1 * np.outer(x[:3], v[:3])).as_quat(),
        lambda x: (transform.Rotation.from_rotvec(x[:3]) * transform.Rotation.from_euler("x", x[3])).inv().as_quat(),
        lambda x: (transform.Rotation.from_rotvec(x[:3]) * transform.Rotation.from_euler("x", 0.3)).as_quat(),
        lambda x: (transform.Rotation.from_euler("x", 0.3) * transform.Rotation.from_rotvec(x[:3])).as_quat(),
        lambda x: transform.Rotation.from_rotvec(x[:3]).magnitude(),
        lambda x: (transform.Rotation.from_rotvec(x[:3]) ** x[3]).as_quat(),
        lambda x: transform.Rotation.from_mrp(x[:3]).as_mrp(),
        lambda x: transform.Rotation.from_rotvec(np.outer(v, x[:3])).mean().as_quat(),
        lambda x: transform.Rotation.from_rotvec(np.outer(v, x[:3]))[1].as_quat(),
        lambda x: transform.Rotation.concatenate(
            [transform.Rotation.from_rotvec(x[:3]), transform.Rotation.from_rotvec(x[1:])]
        ).as_quat(),
        lambda x: transform.Rotation.from_davenport([[1.0, 0, 0], [0, 1, 0]], "extrinsic", x[:2]).as_quat(),
        lambda x: transform.Rotation.align_vectors(P + np.outer([1, 2], x[:3]), P)[0].as_matrix(),
        lambda x: transform.Rotation(x).as_matrix(),
    ],
    "scipy.spatial.transform.Slerp": [
        lambda x: transform.Slerp([0.0, 1, 2], transform.Rotation.from_rotvec(np.outer(v[:3], x[:3])))(
            [0.3, 1.2]
        ).as_quat(),
        lambda x: transform.Slerp([0.0, 1, 2], transform.Rotation.from_rotvec(np.outer(v[:3], v[:3])))(x[:2]).as_quat(),
    ],
}
if find_spec("scipy.spatial.transform._rotation_xp") is not None:
    CALLS |= ROTATIONS
