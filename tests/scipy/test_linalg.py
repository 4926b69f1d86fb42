"""scipy.linalg on tensors: special points, stacks, and what is refused."""

import numpy as np
import pytest
from scipy import linalg

import pullback as pb
from tests.scipy.test_calls import differences

X = np.array([1.37, 0.71, 2.2, 0.5])


@pytest.fixture(autouse=True)
def adopting():
    with pb.adopt():
        yield


def square(x):
    return np.reshape(x, (2, 2)) + 3 * np.eye(2)


def slope_is_right(f, x, rtol=2e-6):
    expected = differences(f, x)
    np.testing.assert_allclose(pb.func.grad(f)(x), expected, rtol=rtol, atol=rtol * max(1, np.abs(expected).max()))


class TestEqualEigenvalues:
    """Functions that are smooth there have their gradient; others are refused."""

    @pytest.mark.parametrize("function", ["sqrtm", "logm", "expm", "cosm", "signm"])
    def test_functions_of_a_matrix(self, function):
        def f(x):
            A = 4 * np.eye(2) + np.reshape(x, (2, 2))
            return np.sum(getattr(linalg, function)(A) * np.array([[1.0, 2.0], [3.0, 4.0]]))

        slope_is_right(f, np.zeros(4), rtol=1e-5)

    def test_polar(self):
        slope_is_right(
            lambda x: np.sum(linalg.polar(2 * np.eye(2) + x.reshape(2, 2))[0] * [[1, 2], [3, 4]]), np.zeros(4)
        )
        slope_is_right(
            lambda x: np.sum(linalg.polar(2 * np.eye(2) + x.reshape(2, 2))[1] * [[1, 2], [3, 4]]), np.zeros(4)
        )

    def test_single_vectors_are_refused(self):
        def f(x):
            return linalg.eigh(np.eye(2) + np.reshape(x, (2, 2)) + np.reshape(x, (2, 2)).T)[1][0, 1]

        with pytest.raises(np.linalg.LinAlgError, match="equal"):
            pb.func.grad(f)(np.zeros(4))

    def test_a_function_of_the_eigenvalues_is_refused(self):
        with pytest.raises(np.linalg.LinAlgError):
            pb.func.grad(lambda x: np.sum(linalg.funm(np.eye(2) + np.reshape(x, (2, 2)) * 0, np.sin)[0]))(X)


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (lambda A: linalg.sqrtm(A - 20 * np.eye(2)), "negative real axis"),
            (lambda A: linalg.logm(A - 20 * np.eye(2)), "negative real axis"),
            (lambda A: linalg.qr(np.concatenate([A, A])), "economic"),
            (lambda A: linalg.qr(A, mode="raw"), "economic"),
            (lambda A: linalg.schur(A, "complex"), "phases"),
            (lambda A: linalg.schur(A * 0 + np.eye(len(A))), "an eigenvalue of the matrix is repeated"),
            (lambda A: linalg.schur(A * 0 + np.array([[1.0, 2.0], [-2.0, 1.0]])), "in every basis"),
            (lambda A: linalg.hessenberg(A), "scipy.linalg.hessenberg"),
            (lambda A: linalg.eig(A, homogeneous_eigvals=True), "homogeneous"),
            (lambda A: linalg.ldl(np.array([[0.0, 1.0], [1.0, 0.0]]) * A), "blocks"),
            (lambda A: linalg.expm_cond(A), "expm_cond"),
            (lambda A: linalg.solve_banded((1, 1), A, np.ones(2)), "diagonals"),
            (lambda A: linalg.lu_solve(linalg.lu_factor(A), np.ones(3)), "incompatible"),
            (lambda A: linalg.get_lapack_funcs(("gesv",), (A,)), "get_lapack_funcs"),
        ],
    )
    def test_an_error_says_what_to_do(self, call, words):
        def f(x):
            call(square(x))
            return x.sum()

        with pytest.raises(Exception, match=words):
            pb.func.grad(f)(X)

    def test_a_loss_of_the_phase_of_complex_vectors(self):
        def f(x):
            A = square(x) + 1j * square(x[::-1])
            return np.sum(np.real(linalg.eigh(A @ A.conj().T)[1]))

        with pytest.raises(np.linalg.LinAlgError, match="phase"):
            pb.func.grad(f)(X)


class TestStacks:
    def test_a_vector_beside_a_stack_is_one_vector_for_all(self):
        A = np.stack([square(X), square(X[::-1])])
        b = np.array([1.0, 2.0])
        for solve in (linalg.solve, linalg.solve_triangular):
            found = pb.func.vjp(lambda b, solve=solve: solve(A, b), b)[0]
            np.testing.assert_allclose(found, solve(A, b), rtol=1e-12)

    def test_gradients_of_a_stack_are_those_of_its_matrices(self):
        A = np.stack([square(X), square(X[::-1])])
        for f in (linalg.logm, linalg.pinv, lambda a: linalg.qr(a)[1], lambda a: linalg.eigvals(a).real):
            whole = pb.func.grad(lambda A, f=f: np.sum(f(A) ** 2))(A)
            parts = [pb.func.grad(lambda A, f=f: np.sum(f(A) ** 2))(a) for a in A]
            np.testing.assert_allclose(whole, parts, rtol=1e-10)

    def test_vmap(self):
        batch = np.stack([square(X), square(X[::-1])])
        for f in (linalg.logm, linalg.expm, linalg.lu, lambda a: linalg.solve_sylvester(a, a, a), linalg.svdvals):
            single = [f(a) for a in batch]
            mapped = pb.func.vmap(f)(batch)
            mapped = mapped if isinstance(mapped, tuple) else (mapped,)
            for k, part in enumerate(mapped):
                wanted = [s[k] if isinstance(s, tuple) else s for s in single]
                np.testing.assert_allclose(part, wanted, rtol=1e-10)


class TestIdentities:
    """Derivatives that are known otherwise."""

    def test_the_riccati_equation_holds_to_second_order(self):
        A, B, Q, R = square(X), np.array([[1.0], [0.5]]), np.eye(2), np.array([[2.0]])

        def residual(t):
            At, Rt = A + t * np.ones((2, 2)), R * (1 + t)
            S = linalg.solve_continuous_are(At, B, Q, Rt)
            return At.T @ S + S @ At - S @ B @ np.linalg.inv(Rt) @ B.T @ S + Q

        first = pb.func.jacfwd(residual)
        np.testing.assert_allclose(first(0.0), np.zeros((2, 2)), atol=1e-9)
        np.testing.assert_allclose(pb.func.jacfwd(first)(0.0), np.zeros((2, 2)), atol=1e-8)

    def test_log_det_by_factors(self):
        def by_lu(x):
            lu, _ = linalg.lu_factor(square(x))
            return np.sum(np.log(np.abs(np.diag(lu))))

        expected = np.linalg.inv(square(X)).T.ravel()
        np.testing.assert_allclose(pb.func.grad(by_lu)(X), expected, rtol=1e-12)

    def test_a_large_tridiagonal_system_stays_a_band(self):
        n = 100_000
        band = np.stack([np.full(n, -1.0), np.full(n, 4.0), np.full(n, -1.0)])
        gradient = pb.func.grad(lambda band: np.sum(linalg.solve_banded((1, 1), band, np.ones(n))))(band)
        assert gradient.shape == band.shape
        assert gradient[0, 0] == gradient[2, -1] == 0.0  # elements outside of the matrix
        middle = n // 2  # far from the ends x = 1/2 and so is the adjoint
        np.testing.assert_allclose(gradient[:, middle], [-0.25, -0.25, -0.25], rtol=1e-12)

    def test_sqrtm_of_a_real_matrix_with_complex_eigenvalues(self):
        def f(x):
            return np.sum(linalg.sqrtm(np.array([[x[0], -x[2]], [x[2], x[1]]])) ** 3)

        slope_is_right(f, X)


def test_a_circulant_of_tensors_whose_methods_are_those_of_pytorch():
    c, b = np.array([4.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])
    t = pb.tensor(c, requires_grad=True)
    np.sum(linalg.solve_circulant(t, pb.tensor(b))).backward()
    np.testing.assert_allclose(t.grad.numpy(), -b.sum() / c.sum() ** 2)  # the sum of the solution is that of b over c's


@pytest.mark.parametrize("single", [np.float32, np.complex64])
def test_the_determinant_of_single_precision_is_double_as_scipys(single):
    a = np.array([[1.5, 2.0], [0.3, 1.1]], single)
    found, gradient = pb.func.vjp(linalg.det, a)[0], pb.func.grad(lambda a: np.real(linalg.det(a)))(a)
    expected = linalg.det(a)
    assert (found.dtype, found) == (expected.dtype, pytest.approx(expected, rel=1e-6))
    assert gradient.dtype == single
