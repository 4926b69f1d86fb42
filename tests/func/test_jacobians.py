"""jacrev, jacfwd, jacobian, hessian: what they take and give, against closed forms, differences and each other."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.extend import IndependentResultWarning
from pullback.func import grad, hessian, jacfwd, jacobian, jacrev, vmap
from pullback.utils.pytree import tree_leaves

X, Y = np.array([0.3, 0.8, 1.2]), np.array([2.0, -1.0])
BOTH = pytest.mark.parametrize("jac", [jacrev, jacfwd], ids=["jacrev", "jacfwd"])
ALL = pytest.mark.parametrize(
    "jac", [jacrev, jacfwd, jacobian, hessian], ids=["jacrev", "jacfwd", "jacobian", "hessian"]
)


def f(x):
    return x**3 * np.sin(x[::-1])


def by_differences(f, x, step=1e-6):
    columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(x.size).reshape(-1, *x.shape)]
    columns = np.stack(columns, axis=-1)
    return columns.reshape(*columns.shape[:-1], *x.shape)


FUNCTIONS = {
    "pointwise": np.sin,
    "mixed": f,
    "a matrix": lambda x: np.outer(x, x),
    "a number": lambda x: (x**3).sum(),
    "part": lambda x: x[1:] * 2,
    "repeated": lambda x: x[[0, 0, 2]] ** 2,
    "matrices": lambda x: np.linalg.inv(np.outer(x, x) + np.eye(3)) @ x,
    "solved": lambda x: np.linalg.solve(np.outer(x, x[::-1]) + np.diag(x), x**2),
    "sorted": lambda x: np.sort(-x).cumsum(),
    "einsum": lambda x: np.einsum("i,j,k->ij", x, x, x),
    "norm": lambda x: x / np.linalg.norm(x),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(),
    "in place": lambda x: _marched(x),
    "views of a buffer": lambda x: _buffered(x)[0],
    "gradient": grad(lambda x: x[0] * x[1] ** 2 * x[2] ** 3),
}


def _marched(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    for i in range(1, 3):
        y[i] = y[i - 1] * x[i] + np.sin(y[i - 1])
    return y


def _buffered(x):
    whole = np.zeros((2, 4), like=x)
    row, column = whole[1], whole[:, 2]
    row[:3] = x * x
    column += x[:2]
    return whole, row


@BOTH
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_against_differences(jac, function):
    J = jac(function)(X)
    np.testing.assert_allclose(J, by_differences(function, X), rtol=1e-6, atol=1e-8)
    assert type(J) is np.ndarray
    assert J.dtype == np.float64


@BOTH
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, lambda a: a[::-1], lambda a: a.T.copy().T])
def test_arguments_of_several_dimensions_and_any_layout(jac, layout):
    A, B = layout(np.arange(1.0, 7.0).reshape(3, 2)), np.arange(1.0, 5.0).reshape(2, 2)
    J = jac(lambda A: A @ B)(A)
    assert J.shape == (3, 2, 3, 2)
    np.testing.assert_allclose(J, np.einsum("ik,lj->ijkl", np.eye(3), B))


@BOTH
def test_shapes_without_dimensions_and_of_one(jac):
    assert jac(lambda x: x)(np.array(2.0)).shape == ()
    np.testing.assert_array_equal(jac(lambda x: x)(np.ones(1)), [[1.0]])
    np.testing.assert_array_equal(jac(lambda x: np.stack([x, x * x]))(3.0), [1.0, 6.0])
    np.testing.assert_array_equal(jac(np.sum)(np.ones(3)), np.ones(3))
    slope = jac(lambda x: x * x)(3.0)
    assert (type(slope), slope) == (np.float64, 6.0)


@BOTH
def test_arguments_and_results_without_elements(jac):
    assert jac(lambda x: x * 2)(np.zeros(0)).shape == (0, 0)
    assert jac(lambda x: x.sum())(np.zeros((0, 2))).shape == (0, 2)
    assert jac(lambda x: x[:0] * 2)(np.ones(3)).shape == (0, 3)


@BOTH
@pytest.mark.parametrize("argnums", [(0, 1), ("x", "y"), (-2, "y")])
def test_several_arguments_several_results(jac, argnums):
    J = jac(lambda x, y: (2 * x * y, {"s": x + 3 * y}), argnums=argnums)(X, X + 1)
    assert (type(J), type(J[0]), type(J[1]["s"])) == (tuple, tuple, tuple)
    np.testing.assert_allclose(J[0][0], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(J[0][1], np.diag(2 * X))
    np.testing.assert_allclose(J[1]["s"][0], np.eye(3))
    np.testing.assert_allclose(J[1]["s"][1], 3 * np.eye(3))


@BOTH
def test_argnums_decide_what_stands_in_each_place(jac):
    def product(x, y):
        return x * y

    assert type(jac(product, argnums=0)(X, X)) is np.ndarray
    assert type(jac(product, argnums=(0,))(X, X)) is tuple
    np.testing.assert_allclose(jac(product, argnums=1)(X, 2.0 * X), np.diag(X))
    second, first = jac(product, argnums=(1, 0))(X, 2.0 * X)
    np.testing.assert_allclose(second, np.diag(X))
    np.testing.assert_allclose(first, np.diag(2 * X))
    np.testing.assert_allclose(jac(product, argnums="y")(X, y=2.0 * X), np.diag(X))  # by keyword
    np.testing.assert_allclose(jac(product)(X, 3), 3 * np.eye(3))  # an int is a constant


@BOTH
def test_trees_in_trees_out(jac):
    J = jac(lambda d, n: {"c": np.sin(d["a"]), "d": [np.cos(d["b"][0]), d["a"].sum()]})({"a": X, "b": (Y, None)}, 3)
    np.testing.assert_allclose(J["c"]["a"], np.diag(np.cos(X)))
    np.testing.assert_array_equal(J["c"]["b"][0], np.zeros((3, 2)))
    assert J["c"]["b"][1] is None
    np.testing.assert_allclose(J["d"][0]["b"][0], -np.diag(np.sin(Y)))
    np.testing.assert_array_equal(J["d"][1]["a"], np.ones(3))
    assert (J["d"][1]["b"][0].shape, J["d"][0]["a"].shape) == ((2,), (2, 3))


@ALL
def test_aux(jac):
    def g(x):
        y = np.sin(x)
        return y.sum(), {"a": y, "b": ["text", 3]}

    J, aux = jac(g, has_aux=True)(X)
    np.testing.assert_allclose(J, np.diag(-np.sin(X)) if jac is hessian else np.cos(X))
    assert (type(aux["a"]), aux["b"]) == (np.ndarray, ["text", 3])
    np.testing.assert_allclose(aux["a"], np.sin(X))
    with pytest.raises(RuntimeError, match="with has_aux=True the function must return a pair"):
        jac(np.sum, has_aux=True)(X)


@BOTH
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 1000])
def test_chunks_change_nothing(jac, chunk_size):
    def g(x, y):
        return (np.sin(x), x.sum() * y), [y.sum()]

    whole, chunked = jac(g, argnums=(0, 1))(X, Y), jac(g, argnums=(0, 1), chunk_size=chunk_size)(X, Y)
    for (a, b), (c, d) in zip((*whole[0], whole[1][0]), (*chunked[0], chunked[1][0]), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-15)
        np.testing.assert_allclose(b, d, rtol=1e-15)


@pytest.mark.parametrize("jac", [jacrev, jacobian, hessian])
def test_the_function_runs_once_whatever_the_chunks(jac):
    runs = []
    jac(lambda x: runs.append(1) or (x**3).sum(), chunk_size=1)(X)
    assert runs == [1]


def test_dtypes():
    x, y = X.astype(np.float32), X.copy()
    assert [J.dtype for J in jacrev(lambda x, y: x * y, argnums=(0, 1))(x, y)] == [np.float32, np.float64]
    assert jacfwd(np.sin)(x).dtype == np.float32
    assert hessian(lambda x: (x**3).sum())(x).dtype == np.float32


@ALL
def test_tensors_in_tensors_out(jac):
    x = pb.tensor(X, requires_grad=True)
    J = jac(lambda x: (x**4).sum())(x)
    assert type(J) is pb.Tensor
    slope = pb.autograd.grad(J.sum(), x)[0].numpy()
    np.testing.assert_allclose(slope, 24 * X if jac is hessian else 12 * X**2)
    assert not jac(lambda x: (x**4).sum())(pb.tensor(X)).requires_grad


@BOTH
def test_results_are_the_users_to_write_into(jac):
    def sums(x):
        return x.sum() * np.ones(2), x

    blocks = jac(sums)(X)
    assert all(b.flags.writeable for b in blocks)
    assert not np.shares_memory(*blocks)
    for b in blocks:
        b[...] = 5
    np.testing.assert_array_equal(jac(sums)(X)[0], np.ones((2, 3)))


# -- rows or columns ---------------------------------------------------------------------------------------------------
def test_jacobian_takes_the_fewer_and_says_which():
    tall, wide = jacobian(lambda t: np.stack([t, t * t])), jacobian(np.sum)
    assert (tall.mode(1.0), wide.mode(X), jacobian(np.sin).mode(X)) == ("forward", "reverse", "reverse")
    np.testing.assert_array_equal(tall(3.0), [1.0, 6.0])
    np.testing.assert_array_equal(wide(X), np.ones(3))
    assert jacobian(np.sum, mode="forward").mode(X) == "forward"
    assert hessian(np.sum).mode(X) == "reverse-over-reverse"
    assert hessian(lambda t: np.stack([t**2, t**3])).mode(1.0) == "forward-over-reverse"
    np.testing.assert_allclose(hessian(lambda t: np.stack([t**2, t**3]))(2.0), [2.0, 12.0])


class Cube(pb.autograd.Function):
    """It has no jvp."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def test_an_operator_without_forward_mode_is_differentiated_in_reverse():
    tall = jacobian(lambda t: Cube.apply(t) * np.ones(3))
    assert tall.mode(2.0) == "reverse"
    np.testing.assert_array_equal(tall(2.0), [12.0, 12.0, 12.0])
    np.testing.assert_array_equal(hessian(lambda x: Cube.apply(x).sum())(X), np.diag(6 * X))
    np.testing.assert_allclose(jacrev(Cube.apply)(X), np.diag(3 * X**2))
    for call in (jacfwd(Cube.apply), jacobian(Cube.apply, mode="forward")):
        with pytest.raises(NotImplementedError, match="Cube"):
            call(X)


@pytest.mark.parametrize("mode", ["auto", "forward-over-reverse", "reverse-over-reverse"])
def test_every_mode_of_a_hessian(mode):
    def rosenbrock(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = np.linspace(-1, 1, 6)
    H = hessian(rosenbrock, mode=mode)(x)
    diagonal = np.zeros(6)
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    expected = np.diag(diagonal) - 400 * (np.diag(x[:-1], 1) + np.diag(x[:-1], -1))
    np.testing.assert_allclose(H, expected, rtol=1e-13)


def test_a_hessian_of_trees_and_several_arguments():
    H = hessian(lambda p, q: (p["a"] * q**2).sum() + p["b"] ** 3, argnums=(0, 1))({"a": X, "b": 2.0}, X + 1)
    np.testing.assert_array_equal(H[0]["a"][0]["a"], np.zeros((3, 3)))
    np.testing.assert_allclose(H[0]["a"][1], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(H[1][0]["a"], np.diag(2 * (X + 1)))
    np.testing.assert_allclose(H[1][1], np.diag(2 * X))
    assert float(H[0]["b"][0]["b"]) == 12.0
    assert (H[1][0]["b"].shape, H[0]["b"][1].shape) == ((3,), (3,))


def test_a_hessian_of_a_function_that_writes_into_its_arguments():
    def pure(x, rest):
        y, w = x**2, np.concatenate([np.sin(x[:1]), x[1:] * rest["b"][0]]) * 2
        return np.sum(w**3) + np.sum(y * w) + np.sum(rest["b"] ** 2) * w[1]

    def writing(x, rest):
        y = x**2
        x[1:] = x[1:] * rest["b"][0]
        x[0] = np.sin(x[0])
        x *= 2.0
        rest["b"] **= 2
        return np.sum(x**3) + np.sum(y * x) + np.sum(rest["b"]) * x[1]

    x, rest = X.copy(), {"b": Y.copy()}
    found, expected = (hessian(function, (0, 1))(x, rest) for function in (writing, pure))
    for block, wanted in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        np.testing.assert_allclose(block, wanted, rtol=1e-12)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(rest["b"], Y)


def test_a_hessian_of_a_linear_function_is_zero_without_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(hessian(np.sum)(X), np.zeros((3, 3)))
        np.testing.assert_array_equal(jacrev(jacrev(lambda x: np.ones((2, 3)) @ x))(X), np.zeros((2, 3, 3)))


# -- nested ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outer", [jacrev, jacfwd, jacobian])
@pytest.mark.parametrize("inner", [jacrev, jacfwd, jacobian, lambda f: hessian(f)])
def test_one_inside_another(outer, inner):
    found = outer(inner(f))(X)
    np.testing.assert_allclose(found, by_differences(inner(f), X), rtol=1e-5, atol=1e-7)


@BOTH
def test_under_vmap(jac):
    batch = np.stack([X, X + 1])
    np.testing.assert_allclose(vmap(jac(f))(batch), [jac(f)(x) for x in batch], rtol=1e-14)
    np.testing.assert_allclose(
        vmap(hessian(lambda x: f(x).sum()))(batch), [hessian(lambda x: f(x).sum())(x) for x in batch]
    )
    found = vmap(jac(jac(f, chunk_size=2)))(batch)
    np.testing.assert_allclose(found, [jac(jac(f))(x) for x in batch], rtol=1e-13)


@BOTH
def test_vmap_inside(jac):
    batch = np.stack([X, X + 1])
    np.testing.assert_allclose(jac(lambda a: vmap(f)(a))(batch)[1, :, 1], jac(f)(X + 1), rtol=1e-14)


# -- zeros, complex numbers --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("jac", [jacrev, jacfwd, jacobian])
def test_no_row_or_column_sees_the_infinite_slope_of_another(jac):
    with np.errstate(divide="ignore"):
        J = jac(np.sqrt)(np.array([0.0, 1.0, 4.0]))
        np.testing.assert_array_equal(J, np.diag([np.inf, 0.5, 0.25]))
        J = jac(lambda x: np.sqrt(np.where(x > 0, x, 0)))(np.array([0.0, 1.0, 4.0]))
        np.testing.assert_array_equal(J, np.diag([0.0, 0.5, 0.25]))


@BOTH
def test_the_complex_derivative_of_a_holomorphic_function(jac):
    z = np.array([1 + 2j, 0.5 - 1j])

    def g(z):
        return z**3 * np.exp(z[::-1])

    J = jac(g, holomorphic=True)(z)
    np.testing.assert_allclose(J[0, 0], 3 * z[0] ** 2 * np.exp(z[1]))
    np.testing.assert_allclose(J[0, 1], z[0] ** 3 * np.exp(z[1]))
    np.testing.assert_allclose(jac(lambda z: z * 1j, holomorphic=True)(1 + 0j), 1j)
    with pytest.raises(RuntimeError, match="holomorphic=True needs complex arguments, got float64"):
        jac(g, holomorphic=True)(X)
    with pytest.raises(RuntimeError, match=r"Expected all arguments to be real, got complex128.*holomorphic=True"):
        jac(g)(z)


def test_complex_results_of_real_arguments_by_columns():
    np.testing.assert_allclose(jacfwd(lambda x: np.exp(1j * x))(X), np.diag(1j * np.exp(1j * X)))
    np.testing.assert_allclose(jacfwd(np.fft.fft)(X), np.fft.fft(np.eye(3)).T)
    with pytest.raises(RuntimeError, match=r"^func\.jacrev: Expected all results to be real, got complex128"):
        jacrev(lambda x: np.exp(1j * x))(X)


# -- what depends on nothing, and errors -------------------------------------------------------------------------------
@ALL
def test_what_depends_on_nothing_is_zeros_with_a_warning(jac):
    with pytest.warns(IndependentResultWarning, match=rf"func\.{jac.__name__}.*does not depend on 'x'"):
        J = jac(lambda x: np.ones(2))(X)
    np.testing.assert_array_equal(J, np.zeros((2, 3, 3) if jac is hessian else (2, 3)))


@BOTH
def test_a_result_of_several_that_depends_on_nothing(jac):
    J = jac(lambda x: (x * 2, np.ones(2), 3.0))(X)
    np.testing.assert_array_equal(J[0], 2 * np.eye(3))
    np.testing.assert_array_equal(J[1], np.zeros((2, 3)))
    np.testing.assert_array_equal(J[2], np.zeros(3))


@BOTH
def test_whole_numbers_among_the_results_do_not_move(jac):
    counts, slopes = jac(lambda x: ((x > 0.5).sum(), x * 2))(X)
    np.testing.assert_array_equal(counts, np.zeros(3))
    np.testing.assert_array_equal(slopes, 2 * np.eye(3))
    assert counts.dtype == np.float64


@BOTH
@pytest.mark.parametrize("mode", [pb.inference_mode, pb.no_grad])
@pytest.mark.parametrize("x", [X, pb.tensor(X, requires_grad=True)], ids=["array", "tensor"])
def test_modes_outside_do_not_reach_the_function(jac, mode, x):
    with mode():
        J = jac(lambda x: x**3)(x)
    np.testing.assert_allclose(np.asarray(J), np.diag(3 * X**2))
    assert type(J) is (np.ndarray if x is X else pb.Tensor)


CALLS = {
    "no function": (lambda jac: jac(3), TypeError, r"must be callable, got int\. Write func\.\w+\(f\)\(x\)"),
    "a float": (lambda jac: jac(np.sin, argnums=1.0), TypeError, "an int or a tuple of ints"),
    "a list": (lambda jac: jac(np.sin, argnums=[0]), TypeError, "an int or a tuple of ints"),
    "nothing": (lambda jac: jac(np.sin, argnums=()), ValueError, "an empty tuple"),
    "out of range": (lambda jac: jac(np.sin, argnums=2)(X), IndexError, "argument 2, but only 1 positional inputs"),
    "below": (lambda jac: jac(np.sin, argnums=-2)(X), IndexError, "argument -2, but"),
    "twice": (lambda jac: jac(np.multiply, argnums=(0, -2))(X, X), ValueError, "names an argument twice"),
    "an unknown name": (
        lambda jac: jac(f, argnums="y")(X),
        TypeError,
        r"'y', which the call does not give \(it gives 'x'\)",
    ),
    "chunks of zero": (lambda jac: jac(np.sin, chunk_size=0), ValueError, "`chunk_size` should be greater than 0"),
    "negative chunks": (lambda jac: jac(np.sin, chunk_size=-2), ValueError, "`chunk_size` should be greater than 0"),
    "whole numbers": (lambda jac: jac(np.sin)(np.ones(2, int)), (TypeError, RuntimeError), r"int64.*\.astype\(float\)"),
    "no result": (lambda jac: jac(lambda x: None)(X), RuntimeError, "Is a `return` missing"),
    "an empty tuple": (lambda jac: jac(lambda x: ())(X), RuntimeError, "Is a `return` missing"),
    "text": (lambda jac: jac(lambda x: "abc")(X), TypeError, "is a str|returned a str"),
}


@ALL
@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_wrong_calls_are_named(jac, call, error, said):
    with pytest.raises(error, match=rf"func\.{jac.__name__}.*({said})"):
        call(jac)


def test_modes_are_checked():
    with pytest.raises(
        ValueError, match=r"^func\.jacobian: mode must be one of 'auto', 'forward', 'reverse', got 'rows'"
    ):
        jacobian(np.sin, mode="rows")
    with pytest.raises(ValueError, match=r"^func\.hessian: mode must be one of 'auto', 'forward-over-reverse'"):
        hessian(np.sin, mode="forward")


@ALL
def test_errors_of_the_function_stay_as_they_are(jac):
    def g(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match=r"^'mine'$"):
        jac(g)(X)


def test_a_row_at_a_time_is_computed_without_vmap():
    """A backward that looks at its numbers, which vmap refuses."""

    class Positive(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3 if float(g.sum()) else pb.zeros_like(g)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(jacrev(Positive.apply, chunk_size=1)(x), 3 * np.eye(2))
    with pytest.raises(RuntimeError, match="batched"):
        jacrev(Positive.apply)(x)
    nested = jacrev(jacrev(lambda x: x**3, chunk_size=1), chunk_size=1)(x)
    np.testing.assert_allclose(nested, jacrev(jacrev(lambda x: x**3))(x))
    np.testing.assert_allclose(jacfwd(jacrev(lambda x: x**3, chunk_size=1))(x), nested)


@pytest.mark.parametrize("copies", [1, 2])
def test_complex_results_of_real_arguments_are_differentiated_forward(copies):
    """Whatever the sizes are; reverse mode takes them for holomorphic."""
    x = np.array([0.3, 0.7])

    def f(x):
        return np.concatenate([np.exp(1j * x)] * copies)

    np.testing.assert_allclose(jacobian(f)(x), np.vstack([np.diag(1j * np.exp(1j * x))] * copies))
    assert jacobian(f).mode(x) == "forward"
    with pytest.raises(RuntimeError, match="real"):
        jacobian(f)(x + 0j)
    np.testing.assert_allclose(jacobian(f, holomorphic=True)(x + 0j), jacobian(f)(x))
