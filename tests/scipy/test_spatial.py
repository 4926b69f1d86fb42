"""scipy.spatial on tensors: equal points, and what is refused."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

import pullback as pb
from tests.scipy.calls.spatial import NAMED, WEIGHED

X = np.array([1.37, 0.71])


@pytest.fixture(autouse=True)
def adopting():
    with pb.adopt():
        yield


@pytest.mark.parametrize("name", ["euclidean", "cityblock", "chebyshev", "minkowski", "jensenshannon", "canberra"])
def test_equal_points_have_a_finite_slope(name):
    """cdist(x, x) has them on its diagonal."""
    points = np.array([[1.0, 2.0, 0.5], [0.3, 0.8, 1.5]])
    gradient = pb.func.grad(lambda x: np.sum(distance.cdist(x, x, name)))(points)
    apart = pb.func.grad(lambda x: 2 * np.sum(distance.pdist(x, name)))(points)
    np.testing.assert_allclose(gradient, apart)


@pytest.mark.parametrize("name", NAMED)
def test_vmap_and_values(name):
    stacks = np.abs(np.cos(np.arange(36.0) ** 2)).reshape(2, 6, 3)
    together = pb.func.vmap(lambda x: distance.cdist(x, stacks[1], name))(stacks)
    expected = [distance.cdist(x, stacks[1], name) for x in stacks]
    np.testing.assert_allclose(together, expected, rtol=1e-9, atol=1e-7)  # the square root of what is 0 but for digits


def test_squareform_in_vmap():
    vectors = np.arange(1.0, 7.0).reshape(2, 3)
    matrices = pb.func.vmap(distance.squareform)(vectors)
    np.testing.assert_array_equal(matrices, [distance.squareform(x) for x in vectors])
    np.testing.assert_array_equal(pb.func.vmap(distance.squareform)(matrices), vectors)


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_move_the_distance(name):
    weights = np.array([0.5, 1.0, 2.0])
    points = np.abs(np.cos(np.arange(9.0))).reshape(3, 3)
    jacobian = pb.func.jacrev(lambda w: distance.pdist(points, name, w=w))(weights)
    h = 1e-6
    for k, e in enumerate(h * np.eye(3)):
        expected = (distance.pdist(points, name, w=weights + e) - distance.pdist(points, name, w=weights - e)) / (2 * h)
        np.testing.assert_allclose(jacobian[:, k], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: distance.cdist(np.outer(x, x), np.eye(2), "hamming"), "counts where points differ"),
        (lambda x: distance.cdist(np.outer(x, x), np.eye(2), "bogus"), "Unknown Distance Metric"),
        (lambda x: distance.cdist(np.outer(x, x), np.eye(2), out=np.empty((2, 2))), "out"),
        (lambda x: distance.cdist(x, np.eye(2)), "2-dimensional"),
        (lambda x: distance.cdist(np.outer(x, x), np.eye(3)), "columns"),
        (lambda x: distance.squareform(np.outer(x, x)), "zeros|diagonal"),
        (lambda x: distance.dice([True, False], [True, True], x), "dice has no rule"),
        (lambda x: spatial.KDTree(np.outer(x, x)).query([0, 0])[0], "KDTree"),
        (lambda x: spatial.ConvexHull(np.outer([1, 2, 3, 5.0], x)).volume, "ConvexHull"),
    ],
)
def test_refusals(call, match):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=match):
        pb.func.grad(lambda x: np.sum(call(x)))(X)


@pytest.mark.skipif(find_spec("scipy.spatial.transform._rotation_xp") is None, reason="SciPy's rotations are compiled")
def test_rotations_are_smooth_at_the_identity_to_any_order():
    """Of exp(v) p in v at 0: the first derivative is -[p], the second (e_i p_j + e_j p_i) / 2 - p delta_ij."""
    p = np.array([0.3, -1.2, 2.0])

    def turned(v):
        return Rotation.from_rotvec(v).apply(p)

    curves = pb.func.hessian(turned)(np.zeros(3))
    unit = np.eye(3)
    expected = [[[(unit[k, i] * p[j] + unit[k, j] * p[i]) / 2 - p[k] * unit[i, j] for j in range(3)]
                 for i in range(3)] for k in range(3)]  # fmt: skip
    np.testing.assert_allclose(pb.func.jacrev(turned)(np.zeros(3)), np.cross(unit, p).T, atol=1e-12)
    np.testing.assert_allclose(curves, expected, atol=1e-12)
    around = pb.func.hessian(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3))
    np.testing.assert_allclose(around, 0.0, atol=1e-12)


def test_distances_are_of_double_precision_as_those_of_scipy():
    points = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    for f in (lambda x: distance.cdist(x, x), distance.pdist):
        found, vjp = pb.func.vjp(f, points)
        assert found.dtype == f(points).dtype == np.float64
        np.testing.assert_allclose(found, f(points), rtol=1e-14)
        assert vjp(np.ones_like(found))[0].dtype == np.float32
