"""vmap of jvp where a direction has zeros, and a slope is infinite: each sample is as its jvp alone."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacfwd, jvp, vmap

POINT = np.array([0.0, 4.0, 9.0])
DIRECTIONS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
MATRIX = np.array([[1.0, 2.0, 0.0], [0.5, 0.0, 1.0], [0.0, 0.0, 3.0]])

FUNCTIONS = {
    "steep": np.sqrt,
    "steep twice": lambda x: np.sqrt(np.sqrt(x)),
    "behind where": lambda x: np.sqrt(np.where(x > 0, x, 0.0)),
    "two that move": lambda x: np.sqrt(x) * x + np.sqrt(x) / (1 + x),
    "beside a constant": lambda x: np.sqrt(x) * np.array([0.0, 1.0, 2.0]),
    "taken and laid": lambda x: np.sqrt(np.concatenate([x[::-1], x[1:], np.zeros(2)])),
    "summed": lambda x: np.sqrt(x[:1] * x[1:]).sum(),
    "reshaped": lambda x: np.sqrt(x.reshape(3, 1) * np.ones((1, 2))).T,
    "behind a product": lambda x: np.sqrt((MATRIX - MATRIX) @ x),
    "a power": lambda x: x**0.5,
    "stacked": lambda x: np.sqrt(np.stack([x, x[::-1]])).sum(0),
}


def alone(f, points, directions):
    with np.errstate(all="ignore"):
        return np.stack([jvp(f, (x,), (v,))[1] for x, v in zip(points, directions, strict=True)])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_directions_at_one_point(name):
    f = FUNCTIONS[name]
    expected = alone(f, [POINT] * 4, DIRECTIONS)
    found = vmap(lambda v: jvp(f, (POINT,), (v,))[1])(DIRECTIONS)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_direction_at_many_points(name):
    f = FUNCTIONS[name]
    points = np.array([[0.0, 4.0, 9.0], [4.0, 0.0, 9.0], [1.0, 2.0, 3.0]])
    for v in DIRECTIONS:
        expected = alone(f, points, [v] * 3)
        np.testing.assert_allclose(vmap(lambda x, v=v: jvp(f, (x,), (v,))[1])(points), expected)


def test_some_of_these_would_be_nan_as_numbers():
    with np.errstate(all="ignore"):
        assert np.isnan(np.inf * DIRECTIONS[1]).any()
    assert (alone(np.sqrt, [POINT] * 4, DIRECTIONS)[1:, 0] == 0).all()


def test_a_zero_that_was_computed_has_no_value_there():
    def f(x):
        return np.sqrt((x - x) * 1.0)

    found = vmap(lambda v: jvp(f, (POINT,), (v,))[1])(np.ones((2, 3)))
    assert np.isnan(found).all()
    assert np.isnan(alone(f, [POINT] * 2, np.ones((2, 3)))).all()


def test_forward_ad_inside_vmap():
    def pushed(v):
        with pb.autograd.forward_ad.dual_level():
            x = pb.autograd.forward_ad.make_dual(pb.tensor(POINT), v)
            return pb.autograd.forward_ad.unpack_dual(x.sqrt()).tangent

    found = vmap(pushed)(pb.tensor(DIRECTIONS)).numpy()
    np.testing.assert_allclose(found, alone(np.sqrt, [POINT] * 4, DIRECTIONS))


def test_a_gradient_through_it():
    def total(x):
        return vmap(lambda v: jvp(lambda y: np.sqrt(y) * y, (x,), (v,))[1])(DIRECTIONS[1:3]).sum()

    # The derivative of 1.5 sqrt(y) v by y, summed over two directions; none of them moves the first.
    np.testing.assert_allclose(grad(total)(POINT)[1:], 0.75 / np.sqrt(POINT[1:]) * DIRECTIONS[1:3, 1:].sum(0))
    assert (
        grad(total)(POINT)[0]
        == grad(lambda x: jvp(lambda y: np.sqrt(y) * y, (x,), (DIRECTIONS[1],))[1].sum())(POINT)[0]
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "inside",
    [
        lambda x: np.prod(np.sqrt(x)),
        lambda x: np.sum(np.cumprod(np.sqrt(x))),
        lambda x: pb.logsumexp(pb.asarray(np.log(x)), 0),
        lambda x: pb.softmax(pb.asarray(np.log(x)), 0)[0],
    ],
    ids=["prod", "cumprod", "logsumexp", "softmax"],
)
def test_an_undefined_tangent_of_a_gradient_is_nothing_for_a_sample_that_chose_the_other_branch(inside):
    gradient = grad(lambda x: np.where(x[0] > 0, inside(x), 0.0))
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, 3.0]])
    directions = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    expected = [jvp(gradient, (x,), (v,))[1] for x, v in zip(rows, directions, strict=True)]
    np.testing.assert_allclose(jvp(vmap(gradient), (rows,), (directions,))[1], expected)
    np.testing.assert_array_equal(jacfwd(vmap(gradient))(rows)[:2], 0.0)
