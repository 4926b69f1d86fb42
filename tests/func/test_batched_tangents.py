"""Dual numbers of which the tangent alone is batched, as jacfwd makes them, in backwards and in-place operators."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import InplaceError
from pullback.func import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vhp, vjp, vmap

X = np.array([0.3, 0.7])
A = np.array([[2.0, 0.3], [0.4, 1.5]])

FUNCTIONS = {
    "sin": np.sin,
    "power": lambda z: z**3,
    "product": lambda z: z * z[::-1],
    "matrix": lambda z: A @ z,
    "solve": lambda z: np.linalg.solve(A + np.diag(z), z),
    "inv": lambda z: np.linalg.inv(A + np.diag(z)) @ z,
    "sum": lambda z: z + (z**2).sum(),
    "cumsum": lambda z: np.cumsum(z**2),
    "where": lambda z: np.where(z > 0.5, z**2, np.exp(z)),
    "index": lambda z: z[[1, 0]] ** 2,
    "slice": lambda z: np.concatenate([z[1:] ** 2, z[:1]]),
    "maximum": lambda z: np.maximum(z**2, 0.2),
    "clip": lambda z: np.clip(z, 0.4, 1.0) ** 2,
    "sort": lambda z: np.sort(-(z**2)),
    "pad": lambda z: np.pad(z**2, 1)[1:3],
    "stack": lambda z: np.stack([z, z**2]).sum(0),
    "norm": lambda z: z / np.linalg.norm(z),
    "outer": lambda z: np.outer(z, z)[0],
    "max": lambda z: z * z.max(),
    "prod": lambda z: z * z.prod(),
    "softmax": lambda z: pb.softmax(z, 0),
    "logsumexp": lambda z: z * pb.logsumexp(z, 0),
    "relu": lambda z: pb.nn.functional.relu(z - 0.5),
    "var": lambda z: z * z.var(),
    "einsum": lambda z: np.einsum("ij,j->i", A, z**2),
    "fft": lambda z: np.fft.rfft(z**2).real,
    "tile": lambda z: np.tile(z**2, 2)[1:3],
    "written": lambda z: _written(z),
}


def _written(z):
    y = z.copy()
    y[0] = z[1] ** 2
    return y * z


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_cotangent_with_a_batched_tangent(name):
    f = FUNCTIONS[name]

    def g(u):  # x and the zeros in the cotangent are constants
        return vjp(f, X)[1](u)[0]

    def h(x):
        return vjp(f, x)[1](np.sin(x))[0]

    def zeros(x):  # which touch nothing but in the direction of their tangents
        return vjp(f, x)[1](x - X)[0]

    for k in (g, h, zeros):
        want = jacrev(k)(X)
        assert np.allclose(jacfwd(k, chunk_size=1)(X), want)
        got = jacfwd(k)(X)
        assert got.shape == (2, 2)
        assert np.allclose(got, want, atol=1e-12)
        rows = vmap(lambda v, k=k: jvp(k, (X,), (v,))[1])(np.eye(2))
        assert np.allclose(rows, want.T, atol=1e-12)


def test_products_with_a_vector_that_has_a_batched_tangent():
    def quartic(z):
        return (z**4).sum()

    assert np.allclose(jacfwd(lambda x: vhp(quartic, x, x))(X), np.diag(36 * X**2))
    assert np.allclose(jacfwd(lambda x: hvp(quartic, x, x))(X), np.diag(36 * X**2))


def test_nested_columns():
    def f(x):
        return vjp(lambda z: z**3 * x, x)[1](np.sin(x))[0].sum()

    assert np.allclose(jacfwd(jacfwd(f))(X), jacrev(jacrev(f))(X))
    assert np.allclose(jacfwd(jacfwd(jacfwd(f)))(X), jacrev(jacrev(jacrev(f)))(X))


def test_a_number_for_a_cotangent():
    got = jacfwd(lambda x: vjp(lambda q: (q**2).sum(), x)[1](x[0])[0])(X)
    assert np.allclose(got, [[4 * X[0], 0], [2 * X[1], 2 * X[0]]])


def test_autograd_with_such_cotangents():
    functional = pb.autograd.functional

    def quartic(z):
        return (z**4).sum()

    def by_grad(x):
        z = pb.asarray(x) if not isinstance(x, pb.Tensor) else x
        w = pb.tensor(X, requires_grad=True)
        return pb.autograd.grad(w.sin(), w, grad_outputs=z)[0]

    x = pb.tensor(X)
    for name in ("vhp", "hvp"):
        found = jacfwd(lambda x, name=name: getattr(functional, name)(quartic, x, x)[1])(x)
        assert np.allclose(found.numpy(), np.diag(36 * X**2)), name
    found = jacfwd(lambda x: functional.vjp(lambda z: z.sin(), pb.tensor(X), x)[1])(x)
    assert np.allclose(found.numpy(), np.diag(np.cos(X)))
    assert np.allclose(jacfwd(by_grad)(x).numpy(), np.diag(np.cos(X)))


def test_zeros_touch_nothing_in_each_sample_alone():
    x = np.array([0.0, 4.0])

    def pulled(u):
        return vjp(np.sqrt, x)[1](u)[0]

    # The tangent moves the first element towards the infinite slope, or leaves it alone.
    got = jacfwd(pulled)(np.array([0.0, 1.0]))
    assert np.array_equal(got, [[np.inf, 0.0], [0.0, 0.25]])


# -- linearize of code that writes in place, inside other transforms ---------------------------------------------------
def _overwritten(x):
    y = x.copy()
    y[0] = x[1] ** 2
    return (y**2).sum()


def _filled(x):
    y = np.zeros_like(x)
    y[1] = x[0] * x[1]
    y[0] = y[1] * 2
    return (y**2).sum()


def _through_a_view(x):
    y = x * 1
    y += np.sin(x)
    y[::-1][0] = x[0]
    return (y**3).sum()


def _masked_and_out(x):
    y = x**2
    y[x > 0.5] = 1.0
    np.multiply(y, x, out=y)
    return (y**3).sum()


ONE = np.ones(2)
TWO = np.stack([X, 2 * X])
AROUND = {
    "grad": lambda push: grad(lambda x: push(x, ONE))(X),
    "grad of the tangent": lambda push: grad(lambda v: push(X, v))(ONE),
    "jvp": lambda push: jvp(lambda x: push(x, ONE), (X,), (X,))[1],
    "jacfwd": lambda push: jacfwd(lambda x: push(x, ONE))(X),
    "jacfwd of both": lambda push: jacfwd(lambda x: push(x, x))(X),
    "jacrev": lambda push: jacrev(lambda x: push(x, ONE))(X),
    "linearize": lambda push: linearize(lambda x: push(x, ONE), X)[1](X),
    "hessian": lambda push: hessian(lambda x: push(x, ONE))(X),
    "jacfwd of jacfwd": lambda push: jacfwd(jacfwd(lambda x: push(x, x)))(X),
    "vmap": lambda push: vmap(lambda x: push(x, ONE))(TWO),
    "vmap of the tangent": lambda push: vmap(lambda v: push(X, v))(np.eye(2)),
    "vmap of grad": lambda push: vmap(grad(lambda x: push(x, ONE)))(TWO),
    "grad of vmap": lambda push: grad(lambda z: vmap(lambda x: push(x, ONE))(z).sum())(TWO),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("f", [_overwritten, _filled, _through_a_view, _masked_and_out])
def test_linearize_of_code_that_writes(f, around):
    want = AROUND[around](lambda x, v: jvp(f, (x,), (v,))[1])
    got = AROUND[around](lambda x, v: linearize(f, x)[1](v))
    assert type(got) is type(want)
    assert np.shape(got) == np.shape(want)
    assert np.allclose(got, want)


def test_linearize_refuses_writes_that_a_tangent_cannot_hold():
    def push(x):
        def g(z):
            y = z.copy()
            y[0] = x[1] * z[0]
            return (y**2).sum()

        return linearize(g, ONE)[1](ONE)

    for run in (lambda: grad(push)(X), lambda: vmap(push)(TWO), lambda: jacfwd(push)(X)):
        with pytest.raises(InplaceError, match=r"func\.jvp can hold it"):
            run()


# -- what is seen outside of all transforms ----------------------------------------------------------------------------
STILL = {
    "remainder": lambda x: x % 1.5,
    "sum": np.sum,
    "constant": lambda x: x * 0 + 1,
    "floor": np.floor,
    "sign": np.sign,
    "square": lambda x: x**2,
}
SEEN = {
    "vmap of jvp": lambda g: vmap(lambda x: jvp(g, (x,), (ONE,))[1])(TWO),
    "vmap of linearize": lambda g: vmap(lambda x: linearize(g, x)[1](ONE))(TWO),
    "vmap of grad": lambda g: vmap(grad(lambda x: np.sum(g(x))))(TWO),
    "hessian": lambda g: hessian(lambda a: np.sum(g(a)), mode="forward-over-reverse")(X),
    "hessian of two": lambda g: hessian(
        lambda a, b: np.sum(g(a)) + np.sum(g(b)), argnums=(0, 1), mode="forward-over-reverse"
    )(X, X)[0][1],
    "jacfwd of jacrev": lambda g: jacfwd(jacrev(g))(X),
    "jacfwd of jacfwd": lambda g: jacfwd(jacfwd(g))(X),
}


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("g", STILL.values(), ids=STILL)
def test_ndarrays_in_ndarrays_out(name, g):
    assert type(SEEN[name](g)) is np.ndarray
    grown = hessian(lambda a: np.sum(g(a)), mode="forward-over-reverse")(0.7)
    assert type(grown) in (np.ndarray, np.float64)


def test_tensors_stay_tensors():
    x = pb.tensor(X)
    found = hessian(lambda a: pb.sum(a % 1.5), mode="forward-over-reverse")(x)
    assert type(found) is pb.Tensor
    assert type(vmap(lambda x: linearize(pb.sum, x)[1](pb.ones(2)))(pb.tensor(TWO))) is pb.Tensor


# -- in-place operators on what is not batched yet ---------------------------------------------------------------------
@pytest.mark.parametrize("f", [_overwritten, _filled, _through_a_view, _masked_and_out])
def test_writes_where_the_primal_or_the_tangent_alone_is_batched(f):
    def push(x, v):
        return jvp(f, (x,), (v,))[1]

    assert np.allclose(vmap(lambda v: push(X, v))(TWO), [push(X, v) for v in TWO])
    assert np.allclose(vmap(lambda x: push(x, ONE))(TWO), [push(x, ONE) for x in TWO])


@pytest.mark.parametrize("f", [_overwritten, _filled, _through_a_view])
def test_columns_of_code_that_writes(f):
    assert np.allclose(jacfwd(f)(X), jacrev(f)(X))
    assert np.allclose(jacfwd(f, chunk_size=1)(X), jacrev(f)(X))
