"""Sparse Jacobians and Hessians: patterns, colorings, values, and what is refused."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import pullback as pb
from pullback.core.errors import GradientError
from pullback.func import (
    color_hessian,
    color_jacobian,
    grad,
    hessian_sparsity,
    jacobian_sparsity,
    jvp,
    sparse_hessian,
    sparse_jacobian,
)

RNG = np.random.default_rng(7)


def dense(function, x):
    """The Jacobian of a function of one array, column by column."""
    return np.stack([np.ravel(jvp(function, (x,), (e.reshape(x.shape),))[1]) for e in np.eye(x.size, dtype=x.dtype)], 1)


def tridiagonal(x):
    left, right = np.concatenate([x[:1] * 0, x[:-1]]), np.concatenate([x[1:], x[-1:] * 0])
    return np.exp(-x) + left * x - 2 * np.sin(right)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def arrow(x):
    """A full first row, a full first column, a diagonal."""
    rest = x[1:] ** 2 * x[0]
    return np.concatenate([np.sum(x**3).reshape(1), rest])


def brusselator(u, n=6, a=1.0, b=3.0, alpha=0.02):
    """The right-hand side of the two-dimensional Brusselator on a periodic grid of n by n."""
    w = u.reshape(2, n, n)

    def laplacian(z):
        return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z

    cubic = w[0] ** 2 * w[1]
    first = a + cubic - (b + 1) * w[0] + alpha * laplacian(w[0])
    second = b * w[0] - cubic + alpha * laplacian(w[1])
    return np.stack([first, second]).reshape(-1)


def rotated(angles, points):
    """Rodrigues' formula, row by row."""
    theta = np.sqrt(np.sum(angles**2, 1, keepdims=True))
    axis = angles / theta
    along = np.sum(axis * points, 1, keepdims=True)
    return points * np.cos(theta) + np.cross(axis, points) * np.sin(theta) + axis * along * (1 - np.cos(theta))


CAMERA, POINT = np.array([0, 0, 1, 1, 2, 2, 0]), np.array([0, 1, 1, 2, 2, 3, 3])
SEEN = RNG.standard_normal((7, 2))


def bundle_adjustment(parameters):
    """Reprojection errors of seven observations: three cameras of 11 parameters, four points."""
    cameras = parameters["cameras"][CAMERA]
    points, weights = parameters["points"][POINT], parameters["weights"]
    p = rotated(cameras[:, 0:3], points - cameras[:, 3:6])
    image = p[:, :2] / p[:, 2:3]
    squared = np.sum(image**2, 1, keepdims=True)
    distorted = image * (1 + cameras[:, 9:10] * squared + cameras[:, 10:11] * squared**2)
    projected = distorted * cameras[:, 6:7] + cameras[:, 7:9]
    return {"errors": (projected - SEEN) * weights[:, None], "priors": 1 - weights**2}


PARAMETERS = {
    "cameras": RNG.standard_normal((3, 11)),
    "points": RNG.standard_normal((4, 3)),
    "weights": RNG.uniform(0.5, 1, 7),
}
PROGRAMS = {
    "tridiagonal": (tridiagonal, RNG.standard_normal(9)),
    "arrow": (arrow, RNG.standard_normal(8)),
    "brusselator": (brusselator, RNG.uniform(0.5, 2, 72)),
    "outer": (lambda x: x[:, None] * x[None, :3], RNG.standard_normal(6)),
    "matrix product": (lambda x: x @ np.diag(np.arange(3.0)) @ x.T, RNG.standard_normal((4, 3))),
    "norms": (lambda x: np.linalg.norm(x, axis=1), RNG.standard_normal((5, 2))),
    "solve": (lambda x: np.linalg.solve(np.eye(2) * 3 + x[..., :2], x[..., 2:]), RNG.standard_normal((3, 2, 4))),
    "sorted": (lambda x: np.sort(x, axis=1), RNG.standard_normal((3, 3))),
    "cumulated": (lambda x: np.cumsum(x, axis=0), RNG.standard_normal((3, 2))),
    "fft": (lambda x: np.abs(np.fft.fft(x, axis=1)), RNG.standard_normal((2, 4))),
    "no input": (lambda x: np.ones(3), RNG.standard_normal(2)),
    "scalar": (lambda x: np.sum(x[::2]), RNG.standard_normal(5)),
    "float32": (lambda x: x[1:] * x[:-1], RNG.standard_normal(5).astype(np.float32)),
    "image": (lambda x: x[1:, 1:] + x[:-1, :-1] ** 2, RNG.standard_normal((3, 4))),
}


@pytest.mark.filterwarnings("ignore::pullback.extend.IndependentResultWarning")
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "both"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_the_dense_jacobian(name, mode):
    function, x = PROGRAMS[name]
    expected = dense(function, x)
    found = sparse_jacobian(function, mode=mode, check=True)(x)
    assert isinstance(found, sp.csr_array)
    tolerance = 1e-5 if x.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found.toarray(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["tridiagonal", "arrow", "brusselator", "outer", "norms", "image"])
def test_patterns_are_exact(name):
    function, x = PROGRAMS[name]
    np.testing.assert_array_equal(jacobian_sparsity(function)(x).toarray(), dense(function, x) != 0)


def test_a_factor_of_zero_is_no_reason():
    pattern = jacobian_sparsity(lambda x: x[1:] * x[:-1])(np.zeros(3))
    np.testing.assert_array_equal(pattern.toarray(), [[True, True, False], [False, True, True]])


def test_maxima_and_sorting_count_with_each_outcome():
    for function in (lambda x: np.max(x), lambda x: np.sort(x)[0], lambda x: np.where(x[0] > 1, x[0], x[1] * x[2])):
        assert jacobian_sparsity(function)(np.array([3.0, 2.0, 1.0])).toarray().all()


S = sp.random_array((6, 6), density=0.3, rng=np.random.default_rng(3), format="csr")
BANDED, LOWER, TALL = np.eye(6) - 2 * np.eye(6, k=1), np.tril(np.ones((6, 6))), np.eye(6)[:, :4]
OPERATOR, E3 = scipy.sparse.linalg.aslinearoperator(S), np.array([0.0, 0.0, 1.0])
CONSTANTS = {
    "S @ x": lambda x: S @ x,
    "S.dot(x)": lambda x: S.dot(x),
    "S.T @ x": lambda x: S.T @ x,
    "x @ S": lambda x: x @ S,
    "S @ X": lambda x: S[:3, :3] @ x.reshape(3, 2),
    "csc": lambda x: S.tocsc() @ x,
    "coo": lambda x: S.tocoo() @ x,
    "matrix": lambda x: sp.csr_matrix(S) * x,
    "values that move": lambda x: S.multiply(x[:, None]) @ x[::-1],
    "operator": lambda x: OPERATOR @ x,
    "transposed operator": lambda x: OPERATOR.rmatvec(x),
    "diagonal": lambda x: np.diag(x) @ BANDED,
    "banded": lambda x: BANDED @ x,
    "from the right": lambda x: x @ BANDED,
    "transposed": lambda x: BANDED.T @ x,
    "dot": lambda x: np.dot(BANDED, x),
    "einsum": lambda x: np.einsum("ij,j->i", BANDED, x),
    "tensordot": lambda x: np.tensordot(BANDED, x, 1),
    "matrices": lambda x: BANDED[:3, :3] @ x.reshape(3, 2),
    "twice": lambda x: BANDED @ (BANDED @ x),
    "triangular": lambda x: LOWER @ x,
    "no square": lambda x: x @ TALL,
    "cumsum": np.cumsum,
    "cumsum, along": lambda x: np.cumsum(x.reshape(2, 3), axis=0),
    "cumsum, backwards": lambda x: np.cumsum(x[::-1])[::-1],
    "cumprod": np.cumprod,
    "logcumsumexp": lambda x: pb.logcumsumexp(x, 0),
    "cross": lambda x: np.cross(x[:3], x[3:]),
    "cross with a constant": lambda x: np.cross(x.reshape(2, 3), E3),
    "diff and roll": lambda x: np.diff(np.roll(x, 2)),
    "tril": lambda x: np.tril(np.outer(x, x)).sum(0),
    "convolve": lambda x: np.convolve(x, E3 - 2, "same"),
}
# Of these a node saves a copy of a part, or of a constant, which may change later.
VALUED = [name for name in CONSTANTS if name not in ("matrices", "cross with a constant")]


def seen(derivative, shape, points=2):
    """Where a derivative was found to differ from zero, at some random points."""
    rng = np.random.default_rng(1)
    found = [np.reshape(derivative(rng.standard_normal(6)), shape) for _ in range(points)]
    return np.any([abs(x) > 1e-12 for x in found], axis=0)


@pytest.mark.parametrize("name", CONSTANTS)
def test_zeros_of_constants_and_of_running_sums_are_no_entries(name):
    function = CONSTANTS[name]
    with pb.adopt():
        pattern = jacobian_sparsity(function)(np.zeros(6)).toarray()
        np.testing.assert_array_equal(pattern, seen(pb.func.jacobian(function), pattern.shape))


@pytest.mark.parametrize("name", VALUED)
def test_they_are_none_in_hessians_either(name):
    def function(x):
        return np.sum(CONSTANTS[name](x) ** 3)

    with pb.adopt():
        pattern = hessian_sparsity(function)(np.ones(6)).toarray()
        np.testing.assert_array_equal(pattern, seen(pb.func.hessian(function), pattern.shape))


def test_large_matrices_of_zeros():
    n = 3000
    A = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    with pb.adopt():
        assert jacobian_sparsity(lambda x: A @ x**2)(np.ones(n)).nnz == A.nnz == 3 * n - 2
        assert sparse_hessian(lambda x: np.sum((A @ x) ** 3))(np.ones(n)).nnz == 5 * n - 6


def test_zeros_that_were_computed_may_be_others():
    x, mask = np.array([0.0, 1.0, -2.0, 0.5, 0.0, 3.0]), np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    for function in (
        lambda y: y @ y,
        lambda y: (y - x) @ y,
        lambda y: (y > 0) @ y,
        lambda y: np.where(y > 0, 1.0, 0.0) @ y,
        lambda y: np.sign(y) @ y + mask[0],
        lambda y: np.dot((y > 0).astype(float), y),
    ):
        assert jacobian_sparsity(function)(x).toarray().all()
        assert hessian_sparsity(lambda y, f=function: f(y) ** 2 + np.sum(y) ** 2)(x).toarray().all()


ORDERS = {
    "sort": lambda x: np.sort(x)[:2],
    "sort along": lambda x: np.sort(x.reshape(2, 3), axis=1)[:, 0],
    "median": np.median,
    "nanmedian": np.nanmedian,
    "quantile": lambda x: np.quantile(x, 0.3),
    "percentile": lambda x: np.percentile(x, [20, 60]),
    "topk": lambda x: pb.topk(x, 2).values,
    "kthvalue": lambda x: pb.kthvalue(x, 2).values,
    "cummax": lambda x: pb.cummax(x, 0).values,
    "cummin": lambda x: pb.cummin(x, 0).values,
    "maximum.accumulate": np.maximum.accumulate,
    "mode": lambda x: pb.mode(x).values,
    "max": lambda x: pb.max(x.reshape(2, 3), 1).values,
    "amax": np.max,
    "ptp": np.ptp,
    "msort": lambda x: pb.msort(x)[1:3],
    "max_pool": lambda x: pb.nn.functional.max_pool1d(x.reshape(1, 1, 6), 2),
    "clip": lambda x: np.clip(x, -0.5, 0.5) * x,
}


@pytest.mark.parametrize("name", ORDERS)
def test_patterns_of_hessians_hold_for_every_order(name):
    def function(x):
        y = np.ravel(ORDERS[name](x))
        return np.sum(np.arange(1.0, 1 + y.size) * y**3) + np.sum(y) ** 2

    for at in (np.arange(6.0), np.zeros(6)):
        pattern = hessian_sparsity(function)(at).toarray()
        assert not (seen(pb.func.hessian(function), pattern.shape, 4) & ~pattern).any()
        jacobian = jacobian_sparsity(ORDERS[name])(at).toarray()
        assert not (seen(pb.func.jacobian(ORDERS[name]), jacobian.shape, 4) & ~jacobian).any()


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "both"])
def test_what_is_auxiliary_comes_beside_the_matrix(mode):
    def function(x):
        return x[1:] * x[:-1], {"sum": np.sum(x), "of": "x"}

    x = np.arange(1.0, 4.0)
    for sparsity in (None, jacobian_sparsity(function, has_aux=True)(x)):
        matrix, aux = sparse_jacobian(function, has_aux=True, sparsity=sparsity, mode=mode)(x)
        np.testing.assert_array_equal(matrix.toarray(), [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
        assert aux == {"sum": 6.0, "of": "x"}
        assert not isinstance(aux["sum"], pb.Tensor)
    for pattern in (None, hessian_sparsity(lambda x: (np.sum(x**3), 1), has_aux=True)(x)):
        hessian, aux = sparse_hessian(lambda x: (np.sum(x**3), x[0]), has_aux=True, sparsity=pattern)(x)
        np.testing.assert_array_equal(hessian.toarray(), np.diag(6 * x))
        assert aux == 1.0
    with pytest.raises(RuntimeError, match="must return a pair"):
        sparse_jacobian(lambda x: x, has_aux=True)(x)


@pytest.mark.filterwarnings("ignore::pullback.extend.IndependentResultWarning")
def test_what_is_auxiliary_comes_beside_an_empty_matrix():
    matrix, aux = sparse_jacobian(lambda x: (np.ones(2), "aux"), has_aux=True)(np.ones(3))
    assert (matrix.shape, matrix.nnz, aux) == ((2, 3), 0, "aux")


@pytest.mark.parametrize(("diagonals", "colors"), [((0, 1), 2), ((-1, 0, 1), 3), ((-2, -1, 0, 1, 2), 5)])
def test_banded_matrices_of_200(diagonals, colors):
    pattern = sp.diags_array([1.0] * len(diagonals), offsets=diagonals, shape=(200, 200))
    assert color_jacobian(pattern).passes == colors


def test_a_banded_hessian_takes_three_colors():
    assert color_hessian(hessian_sparsity(rosenbrock)(np.ones(200))).passes == 3


def test_an_arrow_takes_three_passes_both_ways():
    pattern = jacobian_sparsity(arrow)(np.ones(50))
    assert [color_jacobian(pattern, mode).passes for mode in ("forward", "reverse", "both", "auto")] == [50, 50, 3, 3]
    assert color_hessian(pattern).passes == 2


def test_bundle_adjustment():
    jacobian = sparse_jacobian(bundle_adjustment, check=True)(PARAMETERS)
    pattern = jacobian_sparsity(bundle_adjustment)(PARAMETERS)
    assert jacobian.shape == (21, 33 + 12 + 7)
    keys = list(PARAMETERS)
    starts = np.cumsum([0, *[PARAMETERS[key].size for key in keys]])

    def of_vector(x):
        parts = {k: x[a:b].reshape(PARAMETERS[k].shape) for k, a, b in zip(keys, starts, starts[1:], strict=False)}
        found = bundle_adjustment(parts)
        return np.concatenate([found["errors"].reshape(-1), found["priors"]])

    x = np.concatenate([PARAMETERS[key].ravel() for key in keys])
    np.testing.assert_allclose(jacobian.toarray(), dense(of_vector, x), rtol=1e-10, atol=1e-10)
    assert (
        np.diff(pattern.indptr).max() == 10 + 3 + 1
    )  # each error: a camera (of its centre one half), a point, a weight
    assert color_jacobian(pattern, "forward").passes == 14


@pytest.mark.parametrize("seed", range(40))
def test_colorings_of_random_patterns(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 15, 2)
    matrix = sp.csr_array(sp.random_array((m, n), density=rng.uniform(0, 0.6), rng=rng))
    for mode in ("auto", "forward", "reverse", "both"):
        coloring = color_jacobian(matrix, mode)
        found = coloring.matrix(matrix @ coloring.seeds(), coloring.row_seeds() @ matrix)
        np.testing.assert_allclose(found.toarray(), matrix.toarray(), rtol=1e-15)
    square = sp.csr_array(sp.random_array((n, n), density=rng.uniform(0, 0.6), rng=rng))
    square = square + square.T
    coloring = color_hessian(square)
    np.testing.assert_allclose(coloring.matrix(square @ coloring.seeds(), None).toarray(), square.toarray())


@pytest.mark.parametrize(
    "function", [rosenbrock, lambda x: np.sum(x) ** 2, lambda x: np.sum(np.sin(x)), lambda x: x[0]]
)
def test_hessians(function):
    x = RNG.standard_normal(6)
    np.testing.assert_allclose(
        sparse_hessian(function, check=True)(x).toarray(), dense(grad(function), x), rtol=1e-12, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_hessians_behind_a_mask():
    found = sparse_hessian(lambda x: np.sum(x**2 * np.where(x > 0, np.sqrt(x), 0.0)))(np.array([-1.0, 0.0, 4.0]))
    np.testing.assert_allclose(found.toarray(), np.diag([0.0, 0.0, 7.5]))


def test_hessians_are_symmetric_to_the_last_bit():
    x = RNG.standard_normal(30)
    found = sparse_hessian(lambda x: np.sum(np.exp(x[1:] * np.sin(x[:-1])) * x[2] + x[0] * x[1:] ** 3))(x)
    assert abs(found - found.T).max() == 0


def test_buffers_filled_element_by_element():
    def steps(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, x.size):
            y[i] = x[i] * 2 - x[i - 1] ** 2
        y[1:3] *= 2
        return y

    with pb.adopt():
        x = RNG.standard_normal(6)
        np.testing.assert_array_equal(jacobian_sparsity(steps)(x).toarray(), dense(steps, x) != 0)
        np.testing.assert_allclose(sparse_jacobian(steps)(x).toarray(), dense(steps, x))


def test_tensors_and_keywords():
    x = pb.tensor([1.0, 2.0, 3.0])
    found = sparse_jacobian(lambda a, *, b: a * b.flip(0), "b")(2.0, b=x)
    np.testing.assert_array_equal(found.toarray(), 2 * np.eye(3)[::-1])


def quartic(y):
    return np.sum(y**4)


INSIDE = {
    "argument": lambda x: x * sparse_hessian(quartic)(x).diagonal(),
    "captured": lambda x: x * sparse_jacobian(lambda y: x * y**2)(np.ones(3)).diagonal(),
    "with a pattern": lambda x: x * sparse_jacobian(lambda y: y**2, sparsity=np.eye(3))(x).diagonal(),
}


@pytest.mark.parametrize("name", INSIDE)
def test_no_derivative_is_lost_in_a_sparse_matrix(name):
    function, x = INSIDE[name], np.ones(3)
    for call in (
        lambda: grad(lambda x: np.sum(function(x)))(x),
        lambda: jvp(function, (x,), (x,)),
        lambda: pb.func.vmap(function)(np.ones((2, 3))),
        lambda: pb.func.jet(function, (x,), ([x, None],)),
        lambda: pb.func.linearize(function, x),
    ):
        with pytest.raises(GradientError, match="holds no derivative"):
            call()


@pytest.mark.filterwarnings("ignore::pullback.extend.IndependentResultWarning")
def test_constants_inside_of_transforms():
    def newton(a):
        u = np.full(3, 2.0)
        for _ in range(30):
            r = lambda y: y**3 - 5.0  # noqa: E731
            u = u - np.linalg.solve(sparse_jacobian(r)(u).toarray(), r(u))
        held = pb.func.stop_gradient(a * u)
        return a * np.sum(u) * sparse_hessian(quartic)(held)[0, 0]

    root = 5 ** (1 / 3)
    with pb.adopt():
        assert grad(newton)(2.0) == pytest.approx(3 * root * 12 * (2 * root) ** 2)
    outer = jacobian_sparsity(lambda x: x * jacobian_sparsity(lambda y: x * y)(x.detach()).diagonal())
    np.testing.assert_array_equal(outer(np.ones(3)).toarray(), np.eye(3, dtype=bool))


def test_a_small_entry_beside_large_ones_is_missed_by_no_check():
    with pytest.raises(GradientError, match="lacks an entry in row 0"):
        sparse_jacobian(lambda x: x * 1e6 + x[::-1], sparsity=np.eye(3))(np.ones(3))
    rows = lambda x: np.stack([1e8 * x[0], x[1], 1e-9 * x[2] + 1e-9 * x[1]])  # noqa: E731
    with pytest.raises(GradientError, match="lacks an entry in row 2"):
        sparse_jacobian(rows, sparsity=np.eye(3))(np.ones(3))
    with pytest.raises(GradientError, match="lacks an entry in row 2"), np.errstate(all="ignore"):
        sparse_jacobian(lambda x: np.sqrt(x) + x[::-1], sparsity=np.eye(3))(np.array([0.0, 1.0, 1.0]))


def test_decompositions_have_full_patterns():
    def rebuilt(x):
        w, V = np.linalg.eigh(np.diag(np.arange(3.0)) + x[:, None] * x)
        return np.sum((V * w**2) @ V.T * np.arange(9.0).reshape(3, 3))

    x = RNG.standard_normal(3)
    np.testing.assert_allclose(sparse_hessian(rebuilt)(x).toarray(), pb.func.hessian(rebuilt)(x), rtol=1e-9)


def test_a_pattern_that_lacks_an_entry_is_refused():
    diagonal = sp.eye_array(9)
    with pytest.raises(GradientError, match="lacks an entry in row 0"):
        sparse_jacobian(tridiagonal, sparsity=diagonal)(PROGRAMS["tridiagonal"][1])
    with pytest.raises(GradientError, match="lacks an entry"):
        sparse_hessian(rosenbrock, sparsity=diagonal)(np.linspace(0.5, 1, 9))


def test_a_branch_not_taken_when_the_pattern_was_found_is_noticed():
    def function(x):
        return x * 2 if x[0] > 0 else x * x[::-1]

    jacobian = sparse_jacobian(function, sparsity=jacobian_sparsity(function)(np.ones(3)))
    np.testing.assert_array_equal(jacobian(np.ones(3)).toarray(), 2 * np.eye(3))
    with pytest.raises(GradientError, match="other branches"):
        jacobian(-np.ones(3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sparse_jacobian(np.sin, sparsity=np.eye(3))(np.ones(4)), GradientError, r"\(3, 3\).*has 4 elements"),
        (lambda: sparse_jacobian(np.sin, sparsity=np.eye(3, 4))(np.ones(4)), GradientError, r"\(3, 4\).*\(4, 4\)"),
        (lambda: sparse_jacobian(np.sin)(np.ones(3, int)), TypeError, "astype"),
        (lambda: sparse_jacobian(np.sin)(np.ones(3, complex)), TypeError, "real and imaginary"),
        (lambda: sparse_jacobian(np.sin, (0, 1))(np.ones(3), 1.0), TypeError, "one argument"),
        (lambda: color_jacobian(np.eye(3), "columns"), ValueError, "'forward'"),
        (lambda: color_jacobian("eye"), TypeError, "scipy.sparse"),
        (lambda: color_hessian(np.eye(3, 4)), ValueError, "square"),
        (lambda: sparse_hessian(rosenbrock, sparsity=color_jacobian(np.eye(3))), TypeError, "color_hessian"),
        (lambda: jacobian_sparsity(3), TypeError, "callable"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_errors_name_the_function_that_was_called():
    x = np.ones(2)
    with pytest.raises(pb.extend.GradientError, match=r"^func.sparse_jacobian: .*there are no primals"):
        pb.func.sparse_jacobian(lambda x: 1.0)(())
    with pytest.raises(pb.extend.GradientError, match=r"sparsity has shape \(3, 3\), but the argument has 2 elements"):
        pb.func.sparse_jacobian(np.sin, sparsity=np.eye(3))(x)
    for transform in (pb.func.jacfwd, pb.func.jacrev, pb.func.grad):
        with pytest.raises(pb.extend.GradientError, match=rf"^func\.{transform.__name__}: .*with has_aux=True"):
            transform(np.sum, has_aux=True)(x)


def test_products_that_are_not_the_colorings_are_refused():
    coloring = color_jacobian(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]), "forward")
    for products in ((None, None), (np.ones((5, 5)), None), (np.ones((2, 1)), None), ("a", None)):
        with pytest.raises(ValueError, match=r"Coloring.matrix: by_columns must be an array of shape \(2, 2\), got"):
            coloring.matrix(*products)


def test_a_custom_rule_has_no_pattern_and_takes_one():
    sine = pb.custom_vjp(lambda x: np.sin(x), lambda g, y, x: g * np.cos(x))
    said = r"the custom rule of <lambda> looks at the numbers of a derivative.*`sparsity` \(np.eye\(n\) for"
    for derivative in (pb.func.sparse_jacobian(sine), pb.func.sparse_hessian(lambda x: sine(x).sum())):
        with pytest.raises(RuntimeError, match=said):
            derivative(np.ones(3))
    given = pb.func.sparse_jacobian(sine, sparsity=np.eye(3))(np.arange(3.0))
    np.testing.assert_allclose(given.toarray(), np.diag(np.cos(np.arange(3.0))))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda y, x: operator.setitem(y, x > 0, 0.0), np.eye(3)),
        (lambda y, x: operator.setitem(y, x > 9, x[0]), [[1, 0, 0], [1, 1, 0], [1, 0, 1]]),
        (lambda y, x: operator.setitem(y[1:], x[1:] > 9, x[0]), [[1, 0, 0], [1, 1, 0], [1, 0, 1]]),
        (lambda y, x: np.putmask(y, x > 0, 0.0), np.eye(3)),
        (lambda y, x: np.place(y, x > 0, 0.0), np.eye(3)),
        (lambda y, x: np.copyto(y, 0.0, where=x > 0), np.eye(3)),
        (lambda y, x: operator.setitem(y, slice(2), 0.0), [[0, 0, 0], [0, 0, 0], [0, 0, 1]]),
    ],
)
def test_a_write_by_a_computed_mask_counts_with_every_outcome(write, expected):
    def f(x):
        y = x * 2
        write(y, x)
        return y

    assert np.array_equal(pb.func.jacobian_sparsity(f)(np.array([1.0, -1.0, 2.0])).toarray(), expected)


def test_a_computed_mask_of_masked_fill_counts_with_every_outcome():
    found = pb.func.jacobian_sparsity(lambda x: x.masked_fill(x > 0, 0.0) * 2)(pb.tensor([1.0, -1.0]))
    assert found.toarray().tolist() == [[True, False], [False, True]]
    mask = pb.tensor([True, False])
    found = pb.func.jacobian_sparsity(lambda x: x.masked_fill(mask, 0.0) * 2)(pb.tensor([1.0, -1.0]))
    assert found.toarray().tolist() == [[False, False], [False, True]]


INFINITE = {
    "running sums": lambda x: np.cumsum(np.sqrt(x)),
    "neighbours": lambda x: np.sqrt(x[:-1]) * x[1:],
    "sums with zeros": lambda x: np.array([[1.0, 0, 2, 0], [0, 3, 0, 1], [0, 0, 1, 1]]) @ np.sqrt(x),
    "a sum times a factor": lambda x: (np.array([[1.0, 0, 2, 0], [0, 3, 0, 1], [0, 0, 1, 1]]) @ np.sqrt(x)) * x[1:],
}


@pytest.mark.filterwarnings("ignore:.*(divide|invalid):RuntimeWarning")
@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("mode", ["forward", "reverse", "both"])
def test_an_infinite_slope_spoils_no_other_column_of_its_color(name, mode):
    f, x = INFINITE[name], np.array([4.0, 0.0, 1.0, 9.0])
    expected = pb.func.jacrev(f)(x) if mode == "reverse" else pb.func.jacfwd(f)(x)
    found = pb.func.sparse_jacobian(f, mode=mode)(x).toarray()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-13)
    np.testing.assert_array_equal(np.isinf(found)[~np.isnan(expected)], np.isinf(expected)[~np.isnan(expected)])
    expected = pb.func.hessian(lambda x: f(x).sum())(x)
    found = pb.func.sparse_hessian(lambda x: f(x).sum())(x).toarray()
    np.testing.assert_allclose(found[np.isfinite(expected)], expected[np.isfinite(expected)], rtol=1e-13)


@pytest.mark.parametrize("view", [pb.as_strided, pb.as_strided_copy])
def test_strided_views(view):
    def f(x):
        return view(x, (3, 2), (1, 2)) ** 2

    x = np.arange(1.0, 8)
    np.testing.assert_array_equal(pb.func.sparse_jacobian(f)(x).toarray(), pb.func.jacfwd(f)(x).reshape(6, 7))
    np.testing.assert_array_equal(
        pb.func.sparse_hessian(lambda x: f(x).sum())(x).toarray(), pb.func.hessian(lambda x: f(x).sum())(x)
    )


@pytest.mark.parametrize("function", [pb.scipy.linalg.logm, pb.scipy.linalg.sqrtm])
def test_functions_that_are_not_defined_at_0_have_full_patterns(function):
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    found = pb.func.sparse_jacobian(function)(A).toarray()
    np.testing.assert_allclose(found, pb.func.jacrev(function)(A).reshape(4, 4), atol=1e-14)
