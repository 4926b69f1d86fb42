"""Functions with custom rules under vmap: compiled code one sample after the other, or a rule for all at once."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.core.errors import GradientError
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

RNG = np.random.default_rng(0)
A = RNG.standard_normal((5, 3, 3)) + 3 * np.eye(3)
B, V = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 3, 3))


def made(all_at_once=False):
    """A solver in compiled code, with a rule that calls it again."""

    @pb.custom_vjp
    def solve(a, b):
        assert type(a) is type(b) is np.ndarray
        return scipy.linalg.solve(a, b)

    @solve.defvjp
    def solve_vjp(cotangent, x, a, b):
        y = solve(a.T, cotangent)
        return -np.outer(y, x), y

    if all_at_once:

        @solve.defvmap
        def solve_all(info, in_dims, a, b):
            a, b = (
                x if d == 0 else np.broadcast_to(x, (info.batch_size, *x.shape))
                for x, d in zip((a, b), in_dims, strict=True)
            )
            return np.linalg.solve(a, b[..., None])[..., 0], 0

    return solve


def loop(function, *batches):
    return np.stack([function(*sample) for sample in zip(*batches, strict=True)])


@pytest.mark.filterwarnings("ignore:vmap.*one sample after the other")
@pytest.mark.filterwarnings("ignore:.*which has custom rules")
@pytest.mark.parametrize("all_at_once", [False, True])
class TestAgainstALoop:
    def test_values(self, all_at_once):
        solve = made(all_at_once)
        np.testing.assert_allclose(vmap(solve)(A, B), loop(np.linalg.solve, A, B))
        np.testing.assert_allclose(vmap(solve, in_dims=(None, 0))(A[0], B), np.linalg.solve(A[0], B.T).T)
        nested = vmap(vmap(solve, in_dims=(None, 0)))(A, np.stack([B, B], 1))
        np.testing.assert_allclose(nested[:, 1], loop(np.linalg.solve, A, B))
        assert type(vmap(solve)(A, B)) is np.ndarray
        assert type(vmap(solve)(pb.tensor(A), pb.tensor(B))) is pb.Tensor

    def test_derivatives(self, all_at_once):
        solve = made(all_at_once)
        f = lambda a, b: np.sum(solve(a, b) ** 2)  # noqa: E731
        expected = loop(grad(f), A, B)
        np.testing.assert_allclose(vmap(grad(f))(A, B), expected)
        np.testing.assert_allclose(grad(lambda a: np.sum(vmap(f)(a, B)))(A), expected)
        second = lambda a, b: np.sum(grad(f)(a, b) ** 2)  # noqa: E731
        np.testing.assert_allclose(vmap(grad(second))(A, B), loop(grad(second), A, B))
        pushed = lambda a, b, v: jvp(lambda a: solve(a, b), (a,), (v,))[1]  # noqa: E731
        np.testing.assert_allclose(vmap(pushed)(A, B, V), loop(pushed, A, B, V))

    def test_jacobians(self, all_at_once):
        solve, inverse = made(all_at_once), np.linalg.inv(A[0])
        np.testing.assert_allclose(jacrev(lambda b: solve(A[0], b))(B[0]), inverse)
        np.testing.assert_allclose(jacfwd(lambda b: solve(A[0], b))(B[0]), inverse)
        np.testing.assert_allclose(hessian(lambda b: np.sum(solve(A[0], b) ** 2))(B[0]), 2 * inverse.T @ inverse)


@pytest.mark.filterwarnings("ignore:.*which has custom rules")
def test_trees_numbers_and_what_is_no_array():
    @pb.custom_jvp
    def cubed(p, power=3):
        return {"value": float(p["x"]) ** power, "name": "cubed"}

    @cubed.defjvp
    def cubed_jvp(tangents, result, p, power=3):
        return {"value": power * p["x"] ** (power - 1) * tangents[0]["x"], "name": None}

    x = np.arange(3.0)
    np.testing.assert_array_equal(vmap(lambda x: cubed({"x": x})["value"])(x), x**3)
    np.testing.assert_array_equal(vmap(grad(lambda x: cubed({"x": x})["value"]))(x), 3 * x**2)


def test_it_says_once_that_it_loops():
    solve = made()
    with pytest.warns(UserWarning, match=r"solve, which has custom rules, runs on one sample.*@solve\.defvmap") as said:
        vmap(grad(lambda a, b: np.sum(solve(a, b))))(A, B)
    assert len(said) == 1
    assert said[0].filename == __file__


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda info, in_dims, x: x, r"must return \(output, out_dims\)"),
        (lambda info, in_dims, x: (x[:2], 0), r"has no 5 samples"),
    ],
)
def test_rules_that_do_not_fit(rule, words):
    doubled = pb.custom_vjp(lambda x: 2 * x, lambda g, y, x: 2 * g)
    doubled.defvmap(rule)
    with pytest.raises(GradientError, match=words):
        vmap(doubled)(B)


@pytest.mark.filterwarnings("ignore:.*which has custom rules")
def test_no_samples():
    with pytest.raises(GradientError, match="there is none"):
        vmap(pb.custom_vjp(lambda x: 2 * x, lambda g, y, x: 2 * g))(np.zeros((0, 2)))
