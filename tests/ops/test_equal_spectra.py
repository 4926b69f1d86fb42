"""Derivatives where eigenvalues or singular values are equal or 0: right as far as they are determined, else refused.

`ops/formulas/decompositions/equal_values.py` says which are. Expected gradients are in closed form, by the matrix
itself.
"""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import LinAlgError
from pullback.ops.formulas.decompositions.spectra_in_use import in_use
from pullback.testing import assert_close

RNG = np.random.default_rng(3)
WEIGHTS = RNG.standard_normal((3, 3))
SYMMETRIC = WEIGHTS + WEIGHTS.T
OFF_DIAGONAL = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
ONES_ALONG = np.array([[1.0, 5, 2], [5, 1, 3], [2, 3, 1]])
UNITARY = np.linalg.qr(RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3)))[0]
ROTATION = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
TWICE, COMPLEX = ((Q * [1, 1, 4]) @ Q.conj().T for Q in (ROTATION, UNITARY))
HERMITIAN = {
    "2 I": 2 * np.eye(3),
    "diagonal": np.diag([1.0, 1.0, 3.0]),
    "rotated": (TWICE + TWICE.T) / 2,
    "complex": (COMPLEX + COMPLEX.conj().T) / 2,
    "batch": np.stack([2 * np.eye(3), np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1.0, 3.0])]),
    "zero": np.zeros((3, 3)),
}
each_matrix = pytest.mark.parametrize("a", HERMITIAN.values(), ids=HERMITIAN)


def gradient(f, a):
    """The gradient of the sum of f at a."""
    x = pb.tensor(a, requires_grad=True)
    return pb.autograd.grad(f(x).sum(), x)[0].numpy()


def second(f, a, direction):
    """The derivative of f's gradient along a direction, by two backward passes."""
    x = pb.tensor(a, requires_grad=True)
    (slope,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
    return pb.autograd.grad((slope * direction).sum(), x)[0].numpy()


def by_eigh(f):
    """V f(W) V^H, as users of NumPy write it."""

    def function(x):
        values, vectors = pb.linalg.eigh(x)
        return (vectors * f(values).unsqueeze(-2)) @ vectors.mH

    return function


def by_svd(x):
    """U S V^H again."""
    U, S, Vh = pb.linalg.svd(x, full_matrices=False)
    return (U * S.unsqueeze(-2)) @ Vh


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


# -- what is determined ------------------------------------------------------------------------------------------


@each_matrix
@pytest.mark.parametrize("values", [pb.linalg.eigvalsh, lambda x: pb.linalg.eigh(x)[0]], ids=["eigvalsh", "eigh"])
def test_symmetric_functions_of_eigenvalues(a, values):
    assert_close(gradient(lambda x: values(x) ** 3, a), 3 * a @ a, rtol=1e-12, atol=1e-12)
    (tangent,) = (pb.func.jvp(lambda x: (pb.linalg.eigvalsh(x) ** 3).sum(), (a,), (a,))[1:],)
    assert_close(tangent[0], 3 * np.trace(a @ a @ a, axis1=-2, axis2=-1).real.sum(), rtol=1e-12, atol=1e-12)


@each_matrix
def test_symmetric_functions_of_singular_values(a):
    assert_close(gradient(lambda x: pb.linalg.svdvals(x) ** 2, a), 2 * a, rtol=1e-12, atol=1e-12)
    assert_close(gradient(lambda x: pb.linalg.svd(x)[1] ** 2, a), 2 * a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["2 I", "diagonal", "complex"])
def test_symmetric_functions_of_eigenvalues_of_normal_matrices(name):
    a = HERMITIAN[name] * (1 + 0.5j)
    expected = adjoint(3 * a @ a)
    assert_close(gradient(lambda x: (pb.linalg.eigvals(x) ** 3).sum().real, a), expected, rtol=1e-11, atol=1e-11)
    assert_close(gradient(lambda x: (pb.linalg.eig(x)[0] ** 3).sum().real, a), expected, rtol=1e-11, atol=1e-11)


def test_a_projector_on_whole_eigenspaces():
    """d P = sum over pairs in and out of the space (V_j V_j^T dA V_k V_k^T + ...) / (w_j - w_k): Kato II.2."""

    def projector(x):
        vectors = pb.linalg.eigh(x)[1][:, :2]
        return (vectors @ vectors.mT) * SYMMETRIC

    a = HERMITIAN["diagonal"]
    expected = np.zeros((3, 3))
    expected[:2, 2] = expected[2, :2] = SYMMETRIC[:2, 2] / (1 - 3)
    assert_close(gradient(projector, a), expected, rtol=1e-13, atol=1e-14)
    assert_close(gradient(lambda x: pb.linalg.eigh(x)[1] @ pb.linalg.eigh(x)[1].mT * SYMMETRIC, 2 * np.eye(3)),
                 np.zeros((3, 3)), rtol=0, atol=1e-14)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_a_spectral_projector_of_a_matrix_far_from_normal(seed):
    """Rounding parts its equal eigenvalues by the condition of its vectors. d P = P dA S + S dA P, S = (w - A)^+."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((3, 3))
    W, weights = np.linalg.inv(V), rng.standard_normal((3, 3))
    x = pb.tensor((V * [1.0, 1.0, 3.0]) @ W, requires_grad=True)
    values, vectors = pb.linalg.eig(x)
    chosen = np.flatnonzero(abs(values.detach().numpy() - 1) < 1e-8).tolist()
    projector = vectors[:, chosen] @ pb.linalg.inv(vectors)[chosen]
    (found,) = pb.autograd.grad((projector.real * weights).sum(), x)
    P, S = V[:, :2] @ W[:2], np.outer(V[:, 2], W[2]) / (1 - 3)
    expected = P.T @ weights @ S.T + S.T @ weights @ P.T
    assert_close(found, expected, rtol=1e-7, atol=1e-8 * abs(expected).max())


def test_the_largest_pairs_of_a_matrix_of_low_rank():
    """Vectors of the repeated value 0 that a loss leaves out keep it from nothing: w v v^T is the matrix itself."""
    v = np.array([1.0, 2.0, 2.0])

    def truncated(x):
        values, vectors = pb.linalg.eigh(x)
        return (vectors[:, 2:] * values[2:]) @ vectors[:, 2:].mT * SYMMETRIC

    P = np.outer(v, v) / 9
    expected = P @ SYMMETRIC + SYMMETRIC @ P - P @ SYMMETRIC @ P
    assert_close(gradient(truncated, np.outer(v, v)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2, 3)])
def test_the_polar_factor_of_equal_singular_values(shape):
    """With B = U^T dA V at A = s U V^T: d(U V^T) = U skew(B) V^T / s, and dA / s outside of both spaces."""
    a, direction = 2 * np.eye(*shape), WEIGHTS[: shape[0], : shape[1]]

    def polar(x):
        U, _, Vh = pb.linalg.svd(x, full_matrices=False)
        return (U @ Vh) * direction

    expected = direction / 2
    expected[:2, :2] = (direction[:2, :2] - direction[:2, :2].T) / 4
    assert_close(gradient(polar, a), expected, rtol=1e-13, atol=1e-14)


def test_one_of_several_equal_values_has_a_generalised_gradient():
    found = gradient(lambda x: pb.linalg.eigvalsh(x)[-1], HERMITIAN["2 I"])
    assert_close(np.linalg.eigvalsh(found), [0, 0, 1], rtol=0, atol=1e-14)  # u u^T
    assert_close(gradient(lambda x: pb.linalg.matrix_norm(x, 2), np.eye(2)), np.eye(2) / 2, rtol=1e-14, atol=1e-14)


# -- functions of the matrix -------------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": (pb.exp, np.exp, np.exp, np.exp),
    "sqrt": (np.sqrt, np.sqrt, lambda w: 0.5 * w**-0.5, lambda w: -0.25 * w**-1.5),
    "inverse sqrt": (lambda w: w**-0.5, lambda w: w**-0.5, lambda w: -0.5 * w**-1.5, lambda w: 0.75 * w**-2.5),
    "log": (pb.log, np.log, lambda w: 1 / w, lambda w: -(w**-2.0)),
}


@pytest.mark.parametrize(("f", "value", "slope", "curve"), FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("w", [0.5, 1.0, 4.0])
def test_matrix_function_at_a_multiple_of_the_identity(f, value, slope, curve, w):
    """f(w I + E) = f(w) I + f'(w) E + f''(w) E^2 / 2 + ..."""
    a = w * np.eye(3)

    def weighted(x):
        return pb.linalg.matrix_function(x, f) * SYMMETRIC

    assert_close(pb.linalg.matrix_function(a, f), value(w) * np.eye(3), rtol=1e-14, atol=1e-13)
    assert_close(gradient(weighted, a), slope(w) * SYMMETRIC, rtol=1e-12, atol=1e-14)
    mixed = (SYMMETRIC @ OFF_DIAGONAL + OFF_DIAGONAL @ SYMMETRIC) / 2
    assert_close(second(weighted, a, OFF_DIAGONAL), curve(w) * mixed, rtol=1e-11, atol=1e-13)
    tangent = pb.func.jvp(lambda x: pb.linalg.matrix_function(x, f), (a,), (SYMMETRIC,))[1]
    assert_close(tangent, slope(w) * SYMMETRIC, rtol=1e-12, atol=1e-14)


@each_matrix
@pytest.mark.parametrize("gap", [0, 1e-14, 1e-10, 1e-6, 1e-3])
def test_matrix_function_is_a_polynomial_where_that_is_one(a, gap):
    """Also where eigenvalues are nearly equal: for f(w) = w^3 by products of matrices."""
    a = a + gap * np.diag([0.0, 1.0, 2.0])

    def cube(x):
        return pb.linalg.matrix_function(x, lambda w: w**3) * SYMMETRIC

    def products(x):
        x = (x + x.mH) / 2
        return x @ x @ x * SYMMETRIC

    def real(f):
        return lambda x: f(x).sum().real

    assert_close(gradient(real(cube), a), gradient(real(products), a), rtol=1e-10, atol=1e-11)
    if not np.iscomplexobj(a):
        assert_close(second(cube, a, OFF_DIAGONAL), second(products, a, OFF_DIAGONAL), rtol=1e-7, atol=1e-7)


def test_matrix_function_of_nearly_equal_eigenvalues_keeps_its_digits():
    a = np.diag([1.0, 1.0 + 1e-9, 1.0 + 1e-4])
    w = np.diag(a)
    gaps = w[:, None] - w
    ratio = np.where(gaps == 0, 1, gaps)
    expected = np.where(gaps == 0, 1, np.expm1(gaps) / ratio) * np.exp(w)  # (e^x - e^y) / (x - y)
    found = gradient(lambda x: pb.linalg.matrix_function(x, pb.exp) * ONES_ALONG, a)
    assert_close(found, expected * ONES_ALONG, rtol=1e-11, atol=1e-13)


def test_matrix_function_refuses_what_it_cannot_differentiate():
    p = pb.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="depends on something differentiated"):
        pb.linalg.matrix_function(np.eye(2), lambda w: w**p)
    with pytest.raises(RuntimeError, match=r"complex128\[2\].* one real number for each"):
        pb.linalg.matrix_function(np.eye(2), lambda w: pb.exp(1j * w))
    with pytest.raises(RuntimeError, match=r"float64\[\] for eigenvalues of shape \[2\]"):
        pb.linalg.matrix_function(np.eye(2), lambda w: w.sum())


# -- what is not determined --------------------------------------------------------------------------------------

REFUSED = [
    ("one vector", lambda x: pb.linalg.eigh(x)[1][:, 0] * WEIGHTS[0], "2 I", "linalg.eigh: eigenvalues 0"),
    ("exp", lambda x: by_eigh(pb.exp)(x) * WEIGHTS, "2 I", "linalg.eigh: eigenvalues 0"),
    # The values' cotangents are all 0, or all equal: as if the loss were of the vectors, or of the trace.
    ("exp beside the diagonal", lambda x: by_eigh(pb.exp)(x)[0, 1], "2 I", "linalg.eigh: eigenvalues 0"),
    ("exp, equal slopes", lambda x: by_eigh(pb.exp)(x) * ONES_ALONG, "2 I", "linalg.eigh: eigenvalues 0"),
    # f is 0 there, and with it all that reaches the vectors.
    ("f of value 0", lambda x: by_eigh(lambda w: pb.log(w / 2))(x) * ONES_ALONG, "2 I", "linalg.eigh: eigenvalues 0"),
    ("in a batch", lambda x: by_eigh(pb.exp)(x), "batch", r"linalg.eigh \(batch element 0\): eigenvalues 0"),
    ("complex", lambda x: by_eigh(pb.exp)(x).real * WEIGHTS, "complex", "linalg.eigh: eigenvalues 0"),
    ("U S V^H", lambda x: by_svd(x) * WEIGHTS, "2 I", "linalg.svd: singular values 0"),
    ("eig", lambda x: (pb.linalg.eig(x)[1].real * WEIGHTS), "2 I", "linalg.eig: eigenvalues 0"),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "name", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_undetermined_losses_are_refused_with_values_and_remedy(loss, name, message):
    x = pb.tensor(HERMITIAN[name], requires_grad=True)
    value = loss(x).sum()
    with pytest.raises(np.linalg.LinAlgError, match=rf"{message} .* and 1 .* are equal.* not determined there. Write"):
        value.backward()
    assert x.grad is None


def test_an_output_that_nobody_used_is_told_from_a_gradient_of_zeros():
    """A loss of vectors alone, and one with f'(w) = 0 for all that is known: only the graph tells them apart."""
    x = pb.tensor(2 * np.eye(3), requires_grad=True)
    values, vectors = pb.linalg.eigh(x)
    whole = (vectors @ vectors.mT)[0, 1]
    assert not pb.autograd.grad(whole, x, retain_graph=True)[0].any()
    with pytest.raises(np.linalg.LinAlgError, match=r"vectors and values together"):
        pb.autograd.grad(whole + 0 * values.sum(), x)


def test_values_that_only_rounding_tells_apart_are_equal():
    x = pb.tensor(np.diag([1.0, 1.0 + 2e-16, 3.0]), requires_grad=True)
    with pytest.raises(np.linalg.LinAlgError, match=r"0 \(1\) and 1 \(1\) are equal but for what rounding"):
        by_eigh(pb.exp)(x).sum().backward()


def test_what_zero_singular_values_leave_open_is_refused():
    x = pb.tensor(np.diag([1.0, 0.0])[:, :1] @ np.ones((1, 2)), requires_grad=True)  # square of rank 1
    pb.linalg.svdvals(x).sum().backward()
    tall = pb.tensor(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), requires_grad=True)
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg.svd: singular value 1 \(0\) is 0"):
        (by_svd(tall) * WEIGHTS[:, :2]).sum().backward()


def test_defective_matrices_are_refused():
    a = pb.tensor([[1.0, 1.0], [0.0, 1.0]], requires_grad=True)
    with pytest.raises(np.linalg.LinAlgError, match=r"linalg\.eigvals: the matrix is defective"):
        (pb.linalg.eigvals(a) ** 2).sum().real.backward()


SECOND = [
    ("eigvalsh", lambda x: pb.linalg.eigvalsh(x) ** 3, 2 * np.eye(3), "linalg.eigvalsh: eigenvalues 0"),
    ("eigh", lambda x: pb.linalg.eigh(x)[0] ** 3, 2 * np.eye(3), "linalg.eigvalsh: eigenvalues 0"),
    ("eigvals", lambda x: (pb.linalg.eigvals(x) ** 3).real, 2 * np.eye(3), "linalg.eigvals: eigenvalues 0"),
    ("svdvals", lambda x: pb.linalg.svdvals(x) ** 2, 2 * np.eye(3), "linalg.svdvals: singular values 0"),
    ("svd", lambda x: pb.linalg.svd(x)[1] ** 2, 2 * np.eye(3), "linalg.svdvals: singular values 0"),
    ("a value of 0", lambda x: pb.linalg.svdvals(x) ** 2, np.diag([2.0, 1.0, 0.0]), "singular value 2 .0. is 0"),
]


@pytest.mark.parametrize(("f", "a", "message"), [s[1:] for s in SECOND], ids=[s[0] for s in SECOND])
def test_second_derivatives_of_functions_of_equal_values_are_refused(f, a, message):
    direction = SYMMETRIC if "are" not in message else OFF_DIAGONAL
    with pytest.raises(np.linalg.LinAlgError, match=f"{message}.*second derivative"):
        second(f, a, direction)
    with pytest.raises(np.linalg.LinAlgError, match=r"are equal|is 0"):
        pb.func.jvp(pb.func.grad(lambda x: f(x).sum()), (a,), (direction,))


def test_second_derivatives_that_are_determined():
    a, diagonal = 2 * np.eye(3), np.diag([1.0, 2.0, 3.0])
    assert_close(second(lambda x: pb.linalg.eigvalsh(x) ** 3, a, diagonal), 12 * diagonal, rtol=1e-13, atol=1e-13)
    assert_close(second(lambda x: pb.linalg.svdvals(x) ** 2, a, diagonal), 2 * diagonal, rtol=1e-13, atol=1e-13)
    # The slopes of a sum are constants, whatever the direction.
    assert_close(second(pb.linalg.eigvalsh, a, SYMMETRIC), np.zeros((3, 3)), rtol=0, atol=1e-13)
    trace = second(lambda x: pb.linalg.matrix_function(x, lambda w: w**3).diagonal(0, -2, -1), a, SYMMETRIC)
    assert_close(trace, 12 * SYMMETRIC, rtol=1e-12, atol=1e-13)
    lengths = second(pb.linalg.svdvals, a, WEIGHTS)
    assert_close(lengths, (WEIGHTS - WEIGHTS.T) / 4, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("vectors", "name"), [(lambda x: pb.linalg.eigh(x)[1], "eigh"),
                                               (lambda x: pb.linalg.eig(x)[1].real, "eig"),
                                               (lambda x: pb.linalg.svd(x)[0], "svd")])  # fmt: skip
def test_tangents_of_vectors_of_equal_values_are_refused(vectors, name):
    with pytest.raises(np.linalg.LinAlgError, match=rf"linalg.{name}: .* are equal, and the tangents of their vectors"):
        pb.func.jvp(vectors, (2 * np.eye(3),), (OFF_DIAGONAL,))
    # Along a direction that is diagonal in the basis at hand, all that is determined at all stays as it is.
    tangent = pb.func.jvp(lambda x: by_eigh(pb.exp)(x), (2 * np.eye(3),), (np.diag([1.0, 2.0, 3.0]),))[1]
    assert_close(tangent, np.exp(2) * np.diag([1.0, 2.0, 3.0]), rtol=1e-13, atol=1e-13)


# -- what one call refuses, in several ---------------------------------------------------------------------------


def several_calls(values, vectors, inverse=None):
    """V f(W) V^-1 with each part from a call of its own."""

    def function(x):
        last = vectors(x).mH if inverse is None else inverse(x)
        return (vectors(x) * values(x).exp().unsqueeze(-2)) @ last

    return function


def thin_svd(x):
    return pb.linalg.svd(x, full_matrices=False)


def left(x):
    return thin_svd(x)[0]


def first_pairs(x):
    return pb.lobpcg(x, k=2)


IN_PARTS = {
    "eigh": several_calls(lambda x: pb.linalg.eigh(x)[0], lambda x: pb.linalg.eigh(x)[1]),
    "eigvalsh": several_calls(pb.linalg.eigvalsh, lambda x: pb.linalg.eigh(x)[1]),
    "recomputed": several_calls(lambda x: pb.linalg.eigvalsh(x * 1), lambda x: pb.linalg.eigh(x * 1)[1]),
    "NumPy": several_calls(np.linalg.eigvalsh, lambda x: np.linalg.eigh(x)[1]),
    "eig": several_calls(
        lambda x: pb.linalg.eig(x)[0], lambda x: pb.linalg.eig(x)[1], lambda x: pb.linalg.inv(pb.linalg.eig(x)[1])
    ),
    "eigvals": several_calls(pb.linalg.eigvals, lambda x: pb.linalg.eigh(x)[1]),
    "svd": several_calls(lambda x: thin_svd(x)[1], left, lambda x: thin_svd(x)[2]),
    "svdvals": several_calls(pb.linalg.svdvals, left, lambda x: thin_svd(x)[2]),
}


@pytest.mark.parametrize("function", IN_PARTS.values(), ids=IN_PARTS)
@pytest.mark.parametrize("a", [np.eye(3), HERMITIAN["diagonal"], HERMITIAN["batch"]], ids=["I", "diagonal", "batch"])
def test_values_and_vectors_of_several_calls_are_refused_as_of_one(function, a):
    with pytest.raises(LinAlgError, match=r"are equal.*(several calls have found|vectors and values together)"):
        gradient(lambda x: function(x).real, a)
    if a.ndim == 2:
        with pytest.raises(LinAlgError, match="are equal"):
            pb.func.grad(lambda x: function(x).real.sum())(a)
    assert not in_use
    distinct = np.diag([1.0, 2.0, 3.0])
    expected = gradient(lambda x: pb.linalg.matrix_function(x, np.exp), distinct)
    if function is IN_PARTS["NumPy"]:  # which reads the lower triangle alone
        expected = np.tril(expected) + np.tril(expected, -1)
    assert_close(gradient(lambda x: function(x).real, distinct), expected, rtol=1e-10, atol=1e-10)


def test_values_and_vectors_of_several_calls_of_lobpcg():
    a = np.diag([6.0, 6, 1, 1, 1, 1, 1, 1])
    with pytest.raises(LinAlgError, match="equal"):
        gradient(several_calls(lambda x: first_pairs(x)[0], lambda x: first_pairs(x)[1]), a)


def test_calls_of_other_backwards_and_other_matrices_do_not_count():
    x = pb.tensor(2 * np.eye(3), requires_grad=True)
    values, vectors = pb.linalg.eigvalsh(x), pb.linalg.eigh(x)[1]
    assert_close(pb.autograd.grad((values**2).sum(), x)[0], 4 * np.eye(3), rtol=1e-14, atol=0)
    assert_close(pb.autograd.grad((vectors @ vectors.mT).sum(), x)[0], np.zeros((3, 3)), rtol=0, atol=1e-14)
    y = pb.tensor(3 * np.eye(3), requires_grad=True)
    projector = pb.linalg.eigh(y)[1]
    loss = (pb.linalg.eigvalsh(x) ** 2).sum() + (projector @ projector.mT).sum()
    assert_close(pb.autograd.grad(loss, x)[0], 4 * np.eye(3), rtol=1e-14, atol=0)


def test_a_backward_inside_another_has_calls_of_its_own():
    x = pb.tensor(2 * np.eye(3), requires_grad=True)

    def inner(grad):
        with pb.enable_grad():
            pb.linalg.eigvalsh(x.detach().requires_grad_()).sum().backward()

    vectors = pb.linalg.eigh(x)[1]
    vectors.register_hook(inner)
    loss = (vectors @ vectors.mT).sum()
    loss.backward()
    later = pb.linalg.eigh(x)[0]
    later.register_hook(inner)
    with pytest.raises(LinAlgError, match="several calls"):
        (pb.linalg.eigh(x)[1] * later.unsqueeze(-2)).sum().backward()
    assert not in_use


# -- single vectors along the axes, where the slope along a rotation is 0 by chance ------------------------------
SINGLE = {
    "eigh": lambda x: pb.linalg.eigh(x)[1][0, 0],
    "np.linalg.eigh": lambda x: np.linalg.eigh(x)[1][0, 0],
    "a column": lambda x: (np.linalg.eigh(x)[1][:, 1] ** 2).sum(),
    "the diagonal": lambda x: np.trace(np.linalg.eigh(x)[1]),
    "eig": lambda x: np.linalg.eig(x)[1][0, 0].real,
    "U": lambda x: np.linalg.svd(x)[0][0, 0],
    "Vh": lambda x: np.linalg.svd(x)[2][1, 1],
    "scipy.linalg.eigh": lambda x: pb.scipy.linalg.eigh(x)[1][0, 0],
    "scipy.linalg.svd": lambda x: pb.scipy.linalg.svd(x)[0][0, 0],
    "eigh_tridiagonal": lambda x: pb.scipy.linalg.eigh_tridiagonal(x.diagonal(), np.zeros(2))[1][0, 0],
}
by_every_single = pytest.mark.parametrize("f", SINGLE.values(), ids=SINGLE)


@by_every_single
def test_single_vectors_along_axes_are_refused(f):
    with pytest.raises(LinAlgError, match=r"values 0 \(1.*\) and 1 \(1.*\) are equal"):
        pb.func.grad(f)(np.eye(3))
    assert np.isfinite(pb.func.grad(f)(np.diag([1.0, 2.0, 3.0]))).all()


@pytest.mark.parametrize(
    "transform",
    [lambda f: pb.func.vmap(pb.func.grad(f)), pb.func.hessian, pb.func.jacrev],
    ids=["vmap", "hessian", "jacrev"],
)
def test_single_vectors_along_axes_are_refused_by(transform):
    gradient_of = transform(lambda x: np.linalg.eigh(x)[1][..., 0, 0].sum())
    with pytest.raises(LinAlgError, match="are equal"):
        gradient_of(np.stack([np.diag([1.0, 2.0, 3.0]), np.eye(3)]))


@pytest.mark.parametrize("f", [lambda V: (V @ V.T)[0, 0], lambda V: (V[0] * V[0]).sum()], ids=["product", "row"])
def test_elements_of_a_projector_along_axes_have_gradients(f):
    assert_close(pb.func.grad(lambda x: f(np.linalg.eigh(x)[1]))(np.eye(3)), np.zeros((3, 3)))


@pytest.mark.parametrize("a", [np.eye(3)[:, :1], WEIGHTS[:, :1]], ids=["axis", "rotated"])
def test_single_vectors_that_belong_to_no_singular_value_are_refused(a):
    null = {"U": lambda x: np.linalg.svd(x)[0][1, 2], "Vh": lambda x: np.linalg.svd(x.T)[2][1, 1]}
    for f in null.values():
        with pytest.raises(LinAlgError, match="past the first 1, which belong to no singular value"):
            pb.func.grad(f)(a)

    def projector(x):
        N = np.linalg.svd(x)[0][:, 1:]
        return (N @ N.T * WEIGHTS).sum()

    u = a / np.linalg.norm(a)
    expected = -((WEIGHTS + WEIGHTS.T) @ u - u * (u.T @ (WEIGHTS + WEIGHTS.T) @ u)) / np.linalg.norm(a)
    assert_close(pb.func.grad(projector)(a), expected, rtol=1e-12, atol=1e-12)
