"""Sparse matrices of tensors: what they are, what they refuse, and that nothing of a gradient is lost silently."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError

GRID = np.array([[4.0, 0.7, 0, 0], [0, 5.0, -0.4, 0.2], [0.9, 0, 3.5, 0], [0, -1.0, 0.3, 6.0]])
ROWS, COLS = np.nonzero(GRID)
X = np.array([1.37, 0.71, 2.2, 0.5])


@pytest.fixture(autouse=True)
def adopting():
    pb.adopt()
    yield
    pb.release()


def made(x, kind="csr_array"):
    return getattr(sparse, kind)((x[COLS] * GRID[ROWS, COLS], (ROWS, COLS)), shape=(4, 4))


def recorded(kind="csr_array"):
    return made(pb.tensor(X, requires_grad=True), kind)


class TestWhatItIs:
    @pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "csr_matrix"])
    def test_it_is_of_the_class_that_it_stands_for(self, kind):
        A, plain = recorded(kind), made(X, kind)
        assert isinstance(A, getattr(sparse, kind))
        assert sparse.issparse(A)
        assert sparse.isspmatrix(A) == sparse.isspmatrix(plain)
        assert (A.shape, A.nnz, A.dtype, A.format, A.ndim) == (plain.shape, plain.nnz, plain.dtype, plain.format, 2)
        np.testing.assert_array_equal(A.data.detach().numpy(), plain.data)

    @pytest.mark.parametrize("kind", ["csr_array", "csc_array"])
    def test_its_index_arrays_are_scipys(self, kind):
        A, plain = recorded(kind), made(X, kind)
        np.testing.assert_array_equal(A.indices, plain.indices)
        np.testing.assert_array_equal(A.indptr, plain.indptr)

    def test_entries_of_one_place_are_added_up_where_scipy_does_it(self):
        x = pb.tensor(np.arange(1.0, 5.0), requires_grad=True)
        places = ([0, 1, 0, 0], [0, 1, 0, 1])
        assert sparse.coo_array((x, places), shape=(2, 2)).nnz == 4
        A = sparse.csr_array((x, places), shape=(2, 2))
        assert A.nnz == 3
        (A.power(2).sum()).backward()
        np.testing.assert_allclose(x.grad.numpy(), [8.0, 4.0, 8.0, 8.0])

    def test_a_stored_zero_stays_because_its_slope_is_not_zero(self):
        x = pb.tensor(np.array([0.0, 2.0]), requires_grad=True)
        A = sparse.csr_array((x, ([0, 1], [1, 0])), shape=(2, 2))
        A.eliminate_zeros()
        (A + A.T).toarray()[0, 1].backward()
        np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
        dense = pb.tensor(np.zeros((2, 2)), requires_grad=True)
        sparse.csr_matrix(dense).sum().backward()
        np.testing.assert_array_equal(dense.grad.numpy(), np.ones((2, 2)))

    def test_a_change_of_the_places_given_does_not_reach_it(self):
        rows, cols = ROWS.copy(), COLS.copy()
        x = pb.tensor(X, requires_grad=True)
        A = sparse.csr_array((x[COLS], (rows, cols)), shape=(4, 4))
        rows[:], cols[:] = 0, 0
        B = sparse.csr_array((x[COLS], (ROWS, COLS)), shape=(4, 4))
        np.testing.assert_array_equal(A.toarray().detach().numpy(), B.toarray().detach().numpy())
        C = sparse.csr_array((x[COLS], (rows, cols)), shape=(4, 4))
        assert C.nnz == 1

    def test_values_that_are_written_in_place_are_seen(self):
        def f(x):
            A = made(x)
            A.data[0] = 3.0 * x[1]
            return (A @ np.ones(4))[0]

        np.testing.assert_allclose(pb.func.grad(f)(X), [0.0, 3.0 + 0.7, 0.0, 0.0])


class TestGradients:
    def test_the_gradient_of_the_values_is_taken_at_the_entries_alone(self):
        n = 200_000  # dense, it would have 4e10 elements
        values, ones = pb.tensor(np.full(n, 2.0), requires_grad=True), np.ones(n)
        A = sparse.csr_array((values, (np.arange(n), np.arange(n))), shape=(n, n))
        sparse_linalg.spsolve(A.tocsc(), ones).sum().backward()
        np.testing.assert_allclose(values.grad.numpy(), np.full(n, -0.25))

    def test_vmap_over_values_and_over_sides(self):
        batch = np.stack([X, X + 1])
        A = sparse.csr_array(GRID)
        both = pb.func.vmap(lambda x: sparse_linalg.spsolve(made(x), x))(batch)
        np.testing.assert_allclose(both, [sparse_linalg.spsolve(made(x), x) for x in batch], rtol=1e-12)
        np.testing.assert_allclose(pb.func.vmap(lambda x: A @ x)(batch), batch @ GRID.T)
        per = pb.func.vmap(pb.func.grad(lambda x: np.sum(sparse_linalg.spsolve(made(x), x))))(batch)
        single = [pb.func.grad(lambda x: np.sum(sparse_linalg.spsolve(made(x), x)))(x) for x in batch]
        np.testing.assert_allclose(per, single, rtol=1e-9)

    def test_transforms_agree(self):
        def f(x):
            return sparse_linalg.spsolve(made(x) + sparse.eye_array(4), x**2)

        forward, backward = pb.func.jacfwd(f)(X), pb.func.jacrev(f)(X)
        np.testing.assert_allclose(forward, backward, rtol=1e-10, atol=1e-13)
        hessian = pb.func.hessian(lambda x: np.sum(f(x) ** 3))(X)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-8, atol=1e-10)

    def test_factors_are_computed_once_for_value_and_gradients(self, monkeypatch):
        calls = []
        genuine = sparse_linalg.splu.genuine

        def counted(*args, **kwargs):
            calls.append(1)
            return genuine(*args, **kwargs)

        monkeypatch.setattr("scipy.sparse.linalg.splu", counted)
        x = pb.tensor(X, requires_grad=True)
        loss = sparse_linalg.spsolve(made(x).tocsc(), np.ones(4)).sum()
        (first,) = pb.autograd.grad(loss, x, create_graph=True)
        pb.autograd.grad(first.sum(), x)
        assert len(calls) == 1

    def test_both_faces_go_through_scipys_own_matrices(self):
        A = sparse.csc_matrix(GRID)
        t = pb.tensor(X, requires_grad=True)
        (A @ t).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), GRID.sum(0))
        np.testing.assert_allclose(pb.func.grad(lambda x: (x @ A).sum())(X), GRID.sum(1))
        np.testing.assert_allclose(pb.func.grad(lambda x: (A * x).sum())(X), GRID.sum(0))
        np.testing.assert_allclose(pb.func.grad(lambda x: np.sum((2 * x[0] * A).toarray()))(X)[0], 2 * GRID.sum())

    def test_factors_stay_when_the_matrix_changes(self, monkeypatch):
        A = sparse.csc_array(GRID)
        factors = sparse_linalg.splu(A)
        A.data *= 2
        monkeypatch.setattr("scipy.sparse.linalg.splu", None)  # they are there already
        gradient = pb.func.grad(lambda x: np.sum(factors.solve(x)))(X)
        np.testing.assert_allclose(gradient, np.linalg.solve(GRID.T, np.ones(4)), rtol=1e-12)

    def test_a_constant_matrix_beside_a_nested_transform(self):
        operator = sparse_linalg.splu(sparse.csc_array(GRID))
        hessian = pb.func.hessian(lambda x: np.sum(operator.solve(x**3)))(X)
        expected = np.diag(np.linalg.solve(GRID.T, np.ones(4)) * 6 * X)
        np.testing.assert_allclose(hessian, expected, rtol=1e-10, atol=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda A: A.max(), "csr_array: max"),
            (lambda A: A.__setitem__((0, 0), 1.0), "build it at once"),
            (lambda A: 1.0 / A, "divides by 0"),
            (lambda A: A.power(-1), r"power\(-1\)"),
            (lambda A: sparse_linalg.onenormest(A), "onenormest"),
            (lambda A: sparse_linalg.spilu(A.tocsc()).solve(X), "use splu"),
            (lambda A: sparse_linalg.spsolve(A, sparse.csc_array(GRID)), "toarray"),
            (lambda A: sparse_linalg.splu(A.tocsc()).L, "scipy.linalg.lu"),
            (lambda A: sparse_linalg.eigsh(A, k=1, M=sparse.eye_array(4)), "with M"),
            (lambda A: sparse_linalg.eigs(A, k=1), "return_eigenvectors=False"),
            (lambda A: csgraph.shortest_path(A, unweighted=True), "unweighted"),
            (lambda A: sparse_linalg.expm_multiply(A * 1e7, X), "Taylor"),
            (lambda A: float(A.sum()), "requires grad"),
        ],
    )
    def test_what_has_no_rule_is_refused_by_an_error_that_says_what_to_do(self, call, words):
        def f(x):
            call(made(x))
            return x.sum()

        with pytest.raises(Exception, match=words) as caught:
            pb.func.grad(f)(X)
        assert type(caught.value).__module__.startswith("pullback.")

    def test_an_iteration_that_did_not_converge_has_no_derivative(self):
        def f(x):
            return np.sum(sparse_linalg.cg(made(x) @ made(x).T, x, maxiter=1, rtol=1e-14)[0])

        with pytest.raises(pb.extend.ConvergenceError, match="maxiter"):
            pb.func.grad(f)(X)

    def test_a_singular_matrix_is_a_linalg_error(self):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            pb.func.grad(lambda x: np.sum(sparse_linalg.spsolve(sparse.diags_array(x * [1, 1, 0, 1]).tocsc(), X)))(X)

    def test_an_eigenvector_of_equal_eigenvalues_is_refused_and_their_projector_is_not(self):
        def vectors(x, k):
            A = sparse.diags_array(x).tocsc()
            return sparse_linalg.eigsh(A, k=k, v0=np.ones(6))[1]

        x = np.array([1.0, 2.0, 3.0, 3.0 + 1e-15, 0.5, 0.2])
        with pytest.raises(np.linalg.LinAlgError):
            pb.func.grad(lambda x: np.sum(vectors(x, 1) ** 3 * np.arange(6.0)[:, None]))(x)

        def projector(x):
            V = vectors(x, 2)
            return np.sum((V @ V.T) * np.ones((6, 6)))

        np.testing.assert_allclose(pb.func.grad(projector)(x), np.zeros(6), atol=1e-10)

    def test_matrices_that_do_not_fit_are_refused(self):
        with pytest.raises(Exception, match="mismatch"):
            pb.func.grad(lambda x: np.sum(made(x) @ np.ones(3)))(X)
        with pytest.raises(Exception, match=r"inconsistent|shape"):
            pb.func.grad(lambda x: (made(x) + sparse.eye_array(3)).sum())(X)
        with pytest.raises(Exception, match="index"):
            pb.func.grad(lambda x: sparse.csr_array((x, ([0, 1, 2, 9], [0, 1, 2, 3])), shape=(4, 4)).sum())(X)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "coo_array"])
def test_scipys_classes_are_as_they_were_afterwards(kind):
    def patched():
        return [name for base in plain.__mro__ for name, x in vars(base).items() if hasattr(x, "genuine")]

    plain = type(made(X, kind))
    assert "__matmul__" in patched()
    pb.release()
    assert patched() == []


def test_an_entry_written_into_a_plain_matrix_is_refused_by_what_to_write():
    def f(x):
        A = sparse.lil_array((3, 3))
        A[0, 0] = x[0]
        return A.sum()

    with pytest.raises(RuntimeError, match=r"at once .*coo_array"):
        pb.func.grad(f)(X)


DENSE = np.arange(9.0).reshape(3, 3) + 1
OF_ONE_MATRIX = {
    "array * A": lambda A: DENSE * A,
    "array @ A": lambda A: DENSE @ A,
    "array + A": lambda A: DENSE + A,
    "array - A": lambda A: DENSE - A,
    "number * A": lambda A: np.float64(2) * A,
    "np.multiply": lambda A: np.multiply(2.0, A),
    "np.sqrt": np.sqrt,
    "np.expm1": np.expm1,
    "np.absolute": np.abs,
    "np.negative": np.negative,
    "==": lambda A: A == DENSE,
    "== itself": lambda A: A == A,
    "!= its double": lambda A: A != 2 * A,
    ">": lambda A: A > 2,
}


@pytest.mark.filterwarnings("ignore:Comparing two sparse")
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("name", OF_ONE_MATRIX)
def test_operators_and_functions_of_numpy_are_scipys(name, kind):
    values, places = np.array([1.0, 4.0, 9.0]), (np.array([0, 1, 2]), np.array([1, 2, 0]))
    genuine = getattr(sparse, kind)((values, places), shape=(3, 3))
    ours = getattr(pb.scipy.sparse, kind)((pb.tensor(values, requires_grad=True), places), shape=(3, 3))
    expected, found = (OF_ONE_MATRIX[name](A) for A in (genuine, ours))
    found = found.toarray() if hasattr(found, "toarray") else found
    assert name[0] in "=!>" or found.requires_grad
    np.testing.assert_array_equal(
        found.detach().numpy() if isinstance(found, pb.Tensor) else found,
        expected.toarray() if hasattr(expected, "toarray") else expected,
    )


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "dia_array"])
def test_a_tensor_in_front_of_a_plain_sparse_matrix(kind):
    A = getattr(sparse, kind)(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]]))
    t = pb.tensor(DENSE, requires_grad=True)
    for call in (lambda t, A: t @ A, lambda t, A: t + A, lambda t, A: t - A, lambda t, A: t.T @ A.T):
        np.testing.assert_allclose(call(t, A).detach(), np.asarray(call(DENSE, A)), rtol=1e-15)
        (slope,) = pb.autograd.grad(call(t, A).sum(), t)
        by_array = pb.func.grad(lambda x, call=call: np.sum(call(x, A)))(DENSE)
        np.testing.assert_allclose(slope, by_array, rtol=1e-15)
    pb.release()
    with pytest.raises(DetachingError, match=r"adopt\(\)"):
        t @ A
    pb.adopt()


def test_a_function_that_is_not_zero_at_zero_is_refused():
    A = recorded()
    with pytest.raises(UnsupportedError, match=r"np\.exp has no rule .*A\.toarray\(\)"):
        np.exp(A)


class Doubling(sparse_linalg.LinearOperator):
    def __init__(self):
        super().__init__(float, (3, 3))

    def _matvec(self, v):
        return 2 * v

    def _adjoint(self):
        return self


@pytest.mark.parametrize(("operator", "matrix"), [
    (sparse_linalg.LinearOperator((2, 3), lambda v: DENSE[:2] @ v, lambda v: DENSE[:2].T @ v), DENSE[:2]),
    (sparse_linalg.LinearOperator((3, 3), DENSE.dot, DENSE.T.__matmul__, DENSE.__matmul__,
                                  rmatmat=DENSE.T.__matmul__), DENSE),
    (sparse_linalg.aslinearoperator(DENSE), DENSE),
    (Doubling(), 2 * np.eye(3)),
], ids=["of vectors", "of matrices too", "of a matrix", "a class"])  # fmt: skip
def test_an_operator_takes_matrices(operator, matrix):
    m, n = matrix.shape
    x, y = np.arange(2.0 * n).reshape(n, 2) + 1, np.arange(2.0 * m).reshape(m, 2)
    for call, of_matrix, at in (
        (lambda x: operator @ x, lambda x: matrix @ x, x),
        (lambda x: operator.matmat(x), lambda x: matrix @ x, x),
        (lambda y: operator.rmatmat(y), lambda y: matrix.T @ y, y),
    ):
        expected = pb.func.grad(lambda x, f=of_matrix: np.sum(f(x) ** 3))(at)
        np.testing.assert_allclose(pb.func.grad(lambda x, f=call: np.sum(f(x) ** 3))(at), expected)
