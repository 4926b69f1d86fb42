"""JAX's functions here and ours there, to the second order and through every transform; where JAX is installed."""

import numpy as np
import pytest

import pullback as pb

jax = pytest.importorskip("jax")

x = np.array([0.3, 1.2, -0.7])
v = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pb.jax_function
@jax.jit
def theirs(x, y):
    return {"tanh": jax.numpy.tanh(x) * y.sum(), "where": jax.numpy.argmax(x)}


def ours(x, y):
    return {"tanh": np.tanh(x) * y.sum(), "where": np.argmax(x)}


TRANSFORMS = {
    "grad": pb.func.grad,
    "hessian": pb.func.hessian,
    "jacfwd": pb.func.jacfwd,
    "third": lambda h: pb.func.grad(lambda x: pb.func.hessian(h)(x).sum()),
    "jvp": lambda h: lambda x: pb.func.jvp(h, (x,), (v,))[1],
    "vmap": lambda h: lambda x: pb.vmap(pb.func.grad(h))(np.stack([x, 2 * x])),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_every_transform_takes_them(transform):
    found, expected = (transform(lambda x, f=f: np.sum(f(x, x * x)["tanh"] * v))(x) for f in (theirs, ours))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_lost_precision_is_refused():
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="jax_enable_x64"):
        theirs(x, x)


def test_complex_numbers_follow_one_convention():
    f = pb.jax_function(lambda z: (z * z.conj()).real.sum() + (z**2).imag.sum())
    z = np.array([1 + 2j, -0.5 + 0.3j])
    expected = pb.func.grad(lambda z: np.sum((z * np.conj(z)).real) + np.sum((z**2).imag))(z)
    np.testing.assert_allclose(pb.func.grad(f)(z), expected, rtol=1e-14)
    tangent = pb.func.jvp(f, (z,), (1j * z,))[1]
    assert tangent == pytest.approx(np.sum((np.conj(expected) * 1j * z).real))


def test_ours_in_their_transforms():
    f = pb.for_jax(lambda x, p: (np.sum(np.sin(x) * p["y"]), np.argmax(x)))
    a, b = jax.numpy.array([0.1, 0.2]), jax.numpy.array([3.0, 4.0])

    def first(a):
        return f(a, {"y": b})[0]

    slopes, curves = np.cos(a) * b, np.diag(-np.sin(a) * b)
    np.testing.assert_allclose(jax.grad(first)(a), slopes)
    np.testing.assert_allclose(jax.jit(jax.grad(first))(a), slopes)
    np.testing.assert_allclose(jax.jacrev(jax.grad(first))(a), curves)
    np.testing.assert_allclose(jax.vmap(jax.grad(first))(jax.numpy.stack([a, a])), [slopes, slopes])
    assert f(a, {"y": b})[1] == 1


def test_complex_numbers_in_their_transforms():
    def g(z):
        return np.sum((z * np.conj(z)).real) + np.sum((z**2).imag)

    def h(z):
        return (z * z.conj()).real.sum() + (z**2).imag.sum()

    z = jax.numpy.array([1 + 2j, -0.5 + 0.3j])
    np.testing.assert_allclose(jax.grad(pb.for_jax(g))(z), jax.grad(h)(z))


def test_the_page(run_page):
    run_page("jax")


def test_a_function_that_writes_into_its_argument_has_one_of_its_own():
    def f(a):
        a[0] = a[0] * 3
        return np.sum(a**2)

    np.testing.assert_allclose(jax.grad(pb.for_jax(f))(jax.numpy.array([1.0, 2.0])), [18.0, 4.0], rtol=1e-6)


def test_functions_that_take_no_ones_are_tried_otherwise():
    inverse = pb.for_jax(lambda a: np.linalg.inv(a))
    matrix = jax.numpy.array([[2.0, 0.3], [0.1, 3.0]])
    np.testing.assert_allclose(inverse(matrix), np.linalg.inv(matrix))
    expected = jax.grad(lambda a: jax.numpy.linalg.inv(a).sum())(matrix)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda a: inverse(a).sum()))(matrix), expected, rtol=1e-12)
    with pytest.raises(ZeroDivisionError) as caught:
        jax.jit(pb.for_jax(lambda a: 1 / 0))(matrix)
    assert any("before there are numbers" in note for note in caught.value.__notes__)


def test_what_is_not_wrapped_says_how():
    with pytest.raises(RuntimeError, match=r"pullback\.jax_function\(f\)"):
        pb.func.grad(lambda x: jax.numpy.sin(x).sum())(x)
