"""NumPy's Hermitian decompositions read one triangle, and the derivative lies there, whatever the other is."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jvp, vmap

rng = np.random.default_rng(0)
REAL = rng.normal(size=(3, 3)) + 9 * np.diag([1.0, 1.3, 1.7])  # of which either triangle makes a positive matrix
COMPLEX = REAL + 1j * rng.normal(size=(3, 3))  # on the diagonal too, where no imaginary part is read
WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)

READ_LOWER = {
    "cholesky": lambda np, a: np.sum(WEIGHTS * np.abs(np.linalg.cholesky(a)) ** 2),
    "eigvalsh": lambda np, a: np.sum(WEIGHTS[0] * np.linalg.eigvalsh(a)),
    "eigh": lambda np, a: np.sum(WEIGHTS * np.abs(np.linalg.eigh(a)[1]) ** 2),
    "pinv": lambda np, a: np.sum(WEIGHTS * np.abs(np.linalg.pinv(a, hermitian=True)) ** 2),
    "svd": lambda np, a: np.sum(WEIGHTS[0] * np.linalg.svd(a, hermitian=True).S),
}
READ_UPPER = {
    "cholesky": lambda np, a: np.sum(WEIGHTS * np.abs(np.linalg.cholesky(a, upper=True)) ** 2),
    "eigvalsh": lambda np, a: np.sum(WEIGHTS[0] * np.linalg.eigvalsh(a, UPLO="U")),
    "eigh": lambda np, a: np.sum(WEIGHTS * np.abs(np.linalg.eigh(a, "U").eigenvectors) ** 2),
}
CALLS = [
    pytest.param(call, read, a, id=f"{name}-{read.__name__}-{a.dtype}")
    for calls, read in ((READ_LOWER, np.tril), (READ_UPPER, np.triu))
    for name, call in calls.items()
    for a in (REAL, COMPLEX)
]


def differences(f, a, step=1e-6):
    """df/d(real part) + i df/d(imaginary part)."""
    found = np.zeros_like(a)
    for at in np.ndindex(a.shape):
        for unit in (1, 1j) if a.dtype.kind == "c" else (1,):
            e = np.zeros_like(a)
            e[at] = unit * step
            found[at] += unit * (f(a + e) - f(a - e)) / (2 * step)
    return found


@pytest.mark.parametrize(("call", "read", "a"), CALLS)
def test_the_gradient_lies_in_the_triangle_that_is_read(call, read, a):
    expected = differences(lambda a: call(np, a), a)
    np.testing.assert_array_equal(expected, read(expected))
    found = grad(lambda a: call(np, a))(a)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found, grad(lambda a: call(np, a))(read(a)))  # the rest says nothing
    t = pb.tensor(a, requires_grad=True)
    call(np, t).backward()
    np.testing.assert_allclose(t.grad, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(vmap(grad(lambda a: call(np, a)))(np.stack([a, read(a)])), np.stack([found, found]))


@pytest.mark.parametrize(("call", "read", "a"), CALLS)
def test_forward_mode_and_the_second_order_agree(call, read, a):
    direction = np.sin(np.arange(9.0)).reshape(3, 3).astype(a.dtype)
    slope = grad(lambda a: call(np, a))
    _, moved = jvp(lambda a: call(np, a), (a,), (direction,))
    np.testing.assert_allclose(moved, np.sum(slope(a).conj() * direction).real, rtol=1e-10)
    _, turned = jvp(slope, (a,), (direction,))
    np.testing.assert_allclose(
        turned, (slope(a + 1e-6 * direction) - slope(a - 1e-6 * direction)) / 2e-6, rtol=1e-5, atol=1e-7
    )
    if a.dtype.kind == "f":
        np.testing.assert_allclose(
            np.einsum("ijkl,kl", hessian(lambda a: call(np, a))(a), direction), turned, atol=1e-12
        )


@pytest.mark.parametrize("name", ["cholesky", "eigvalsh", "eigh", "pinv"])
def test_of_a_symmetric_matrix_the_gradient_is_that_of_the_operators_of_pytorch(name):
    def through(linalg):
        face = type("face", (), {"linalg": linalg, "sum": np.sum, "abs": np.abs})
        return lambda b: READ_LOWER[name](face, (b + b.T) / 2)

    np.testing.assert_allclose(grad(through(np.linalg))(REAL), grad(through(pb.linalg))(REAL), atol=1e-12)


def test_operators_of_pytorch_give_half_to_each_triangle():
    t = pb.tensor(REAL, requires_grad=True)
    slope = grad(lambda a: np.sum(np.linalg.cholesky(a)))(REAL)
    (found,) = pb.autograd.grad(pb.linalg.cholesky(t).sum(), t)
    np.testing.assert_allclose(found, (slope + slope.T) / 2, atol=1e-14)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_what_is_no_square_matrix_is_refused_by_the_name_that_was_called(shape):
    for name in ("cholesky", "eigh", "eigvalsh"):
        with pytest.raises(np.linalg.LinAlgError, match=rf"np\.linalg\.{name}.*{re.escape(str(shape))}"):
            getattr(np.linalg, name)(pb.ones(*shape))


def test_the_hermitian_pseudoinverse_of_pytorch_is_differentiated_at_the_matrix_that_was_read():
    read = np.tril(REAL) + np.tril(REAL, -1).T
    slope = grad(lambda a: np.sum(WEIGHTS * pb.linalg.pinv(a, hermitian=True)))
    np.testing.assert_allclose(slope(REAL), slope(read), rtol=1e-12)
    np.testing.assert_allclose(slope(read), grad(lambda a: np.sum(WEIGHTS * pb.linalg.pinv(a)))(read), rtol=1e-10)
