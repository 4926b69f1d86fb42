"""Dual arrays under operators that choose, join, reduce lists or make views: which tangent goes on, and where to."""

import numpy as np
import pytest

import pullback as pb


def second_along(f, x):
    """(the tangent of f at x along ones, and the tangent of that)."""
    ones = np.ones_like(x)
    return pb.func.jvp(lambda x: pb.func.jvp(f, (x,), (ones,))[1], (x,), (ones,))


CUBE_AND_SQUARE = {  # each gives the cube where it is more than the square, and the square elsewhere
    "where": lambda x: pb.where(x > 1, x**3, x**2),
    "max of a stack": lambda x: pb.max(pb.stack([x**3, x**2]), 0)[0],
    "amax of a cat": lambda x: pb.amax(pb.cat([x**3, x**2]).reshape(2, -1), 0),
    "maximum": lambda x: pb.maximum(x**3, x**2),
    "parts": lambda x: pb.maximum(*pb.cat([x**3, x**2]).reshape(2, -1).unbind()),
    "sorted": lambda x: pb.sort(pb.stack([x**3, x**2]), 0)[0][1],
    "a constant beside": lambda x: pb.where(x > 1, x**3, 0.0) + pb.where(x > 1, np.zeros(3), x**2),
    "in columns": lambda x: pb.where(x > 1, *[c[:, 0] for c in pb.stack([x**3, x**2], 1).split(1, 1)]),
}


@pytest.mark.parametrize("f", CUBE_AND_SQUARE.values(), ids=CUBE_AND_SQUARE)
def test_choices_lists_and_several_results_at_two_levels(f):
    x = np.array([0.5, 2.0, -3.0])
    first, second = second_along(f, x)
    np.testing.assert_allclose(first, np.where(x > 1, 3 * x**2, 2 * x), rtol=1e-14)
    np.testing.assert_allclose(second, np.where(x > 1, 6 * x, 2), rtol=1e-14)


@pytest.mark.parametrize("f", [pb.max, pb.amax, pb.logsumexp], ids=["max", "amax", "logsumexp"])
def test_a_reduction_of_a_list_that_is_only_partly_dual(f):
    constant = pb.tensor([3.0, -1.0])

    def of(x):
        out = f(pb.stack([x, constant]), 0)
        return out[0] if isinstance(out, tuple) else out

    x, v = np.array([1.0, 2.0]), np.array([5.0, 7.0])
    _, tangent = pb.func.jvp(of, (x,), (v,))
    share = 1 / (1 + np.exp(np.array([2.0, -3.0]))) if f is pb.logsumexp else np.array([0.0, 1.0])
    np.testing.assert_allclose(tangent, share * v, rtol=1e-14)


@pytest.mark.parametrize("f", [pb.amax, pb.amin, lambda x, dim: pb.max(x) + pb.min(x)], ids=["amax", "amin", "both"])
@pytest.mark.parametrize("x", [[1.0, 3.0, 2.0], [3.0, 3.0, 3.0], [np.nan, 1.0, np.nan]], ids=["one", "ties", "nan"])
def test_extremes_that_tie_share_tangent_and_gradient_whether_numbers_are_known_or_not(f, x):
    x, v = np.array(x), np.array([1.0, 10.0, 100.0])
    _, tangent = pb.func.jvp(lambda x: f(x, 0), (x,), (v,))
    gradient = pb.func.grad(lambda x: f(x, 0))(x)
    batched = pb.func.vmap(pb.func.grad(lambda x: f(x, 0)))(np.stack([x, x[::-1]]))
    attained = [x == np.max(x), x == np.min(x)] if not np.isnan(x).any() else [np.isnan(x)] * 2
    shares = [mask / mask.sum() for mask in attained]
    wanted = shares[0] if f is pb.amax else shares[1] if f is pb.amin else shares[0] + shares[1]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-14)
    np.testing.assert_allclose(tangent, wanted @ v, rtol=1e-14)
    np.testing.assert_allclose(batched, [wanted, wanted[::-1]], rtol=1e-14)


def test_views_that_one_operator_makes_of_a_dual_share_what_is_written():
    x = np.arange(4.0)

    def f(x):
        y = x * 2
        left, right = y.split(2)
        left[0] = 7.0
        right *= x[:2]
        return y

    out, tangent = pb.func.jvp(f, (x,), (np.ones(4),))
    np.testing.assert_array_equal(out, [7, 2, 0, 6])
    np.testing.assert_array_equal(tangent, [0, 2, 4, 8])


def test_a_write_into_a_product_leaves_what_is_known_of_its_factor():
    def f(x):
        y = 2 * x
        y[...] = 3.0
        return x * 1

    x = np.array([np.nan, 0.0, -1.0])
    np.testing.assert_array_equal(pb.func.jvp(f, (x,), (x * 0.5,))[1], x * 0.5)
