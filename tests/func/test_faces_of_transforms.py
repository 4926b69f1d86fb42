"""What an inner transform gives to code for NumPy has NumPy's face: there x.std() means what it means in NumPy."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_face import ARRAYS, SCALAR_FACES

X, V = np.array([0.3, 0.7, 1.5]), np.array([1.0, 2.0, -1.0])


def filled(x):
    z = np.zeros_like(x)
    z[0] = x[1] * x[0]
    z[1:] = x[:2] ** 2
    return z


def written(x):
    y = x.copy()
    y[0] = x[1] * x[0]
    return y


def total(x):
    return np.sum(filled(x) ** 3)


INNER = {
    "the value of jvp": lambda x: pb.func.jvp(filled, (x,), (V,))[0],
    "a tangent": lambda x: pb.func.jvp(filled, (x,), (V,))[1],
    "a tangent that was a plain array": lambda x: pb.func.jvp(written, (x,), (V,))[1],
    "an auxiliary result": lambda x: pb.func.jvp(lambda x: (np.sum(x), filled(x)), (x,), (V,), has_aux=True)[2],
    "a gradient": pb.func.grad(total),
    "the tangent of a gradient": lambda x: pb.func.jvp(pb.func.grad(total), (x,), (V,))[1],
    "the gradient of a tangent": pb.func.grad(lambda x: pb.func.jvp(total, (x,), (V,))[1]),
}


@pytest.mark.parametrize("name", INNER)
def test_std_is_numpys(name):
    inner = INNER[name]
    expected = np.std(inner(X))
    for depth in (1, 2):
        for transforms in itertools.product("gj", repeat=depth):
            found = []

            def f(x):
                y = inner(x)
                found.append((type(y), y.std()))  # noqa: B023 - called at once
                return y.sum()

            for kind in transforms:
                f = pushed(f) if kind == "j" else pulled(f)
            f(X)
            kind, deviation = found[0]
            assert kind in ARRAYS, transforms
            assert float(deviation.detach()) == pytest.approx(expected, rel=1e-12)


def pushed(f):
    return lambda x: pb.func.jvp(f, (x,), (V,))[1]


def pulled(f):
    return lambda x: np.sum(pb.func.grad(f)(x) * V)


def test_numbers_are_scalars():
    found = []

    def f(s):
        value, slope = pb.func.jvp(np.sin, (s,), (1.0,))
        found.extend([value, slope, pb.func.grad(np.sin)(s)])
        return slope

    assert float(pb.func.grad(f)(0.5)) == pytest.approx(-np.sin(0.5))
    assert float(pb.func.jvp(f, (0.5,), (1.0,))[1]) == pytest.approx(-np.sin(0.5))
    assert len(found) == 6
    assert all(type(x) in SCALAR_FACES for x in found)


TAKING = {
    "grad": lambda f, x: pb.func.grad(f)(x),
    "vjp": lambda f, x: pb.func.vjp(f, x),
    "jvp": lambda f, x: pb.func.jvp(f, (x,), (x,)),
    "vmap": lambda f, x: pb.vmap(f)(x),
    "jacfwd": lambda f, x: pb.func.jacfwd(f)(x),
    "hessian": lambda f, x: pb.func.hessian(f)(x),
    "vmap of grad": lambda f, x: pb.vmap(pb.func.grad(f))(x),
}


@pytest.mark.parametrize("transform", TAKING)
def test_requires_grad__is_refused_inside_transforms(transform):
    captured = pb.ones(3)
    for wanted in (
        lambda x: x.requires_grad_(),
        lambda x: x.requires_grad_(False),
        lambda x: captured.requires_grad_(),
    ):
        with pytest.raises(RuntimeError, match=r"attempting to call Tensor.requires_grad_\(\) inside.*argnums"):
            TAKING[transform](lambda x, wanted=wanted: (wanted(x), x.sin().sum())[1], pb.rand(3))
    assert not captured.requires_grad
    made = TAKING[transform](lambda x: (x * pb.ones(x.shape, requires_grad=True)).sum(), pb.rand(3))
    assert made is not None
    assert captured.requires_grad_().requires_grad


WITH_AUX = {
    "grad": lambda f, x: pb.func.grad(f, has_aux=True)(x),
    "vjp": lambda f, x: pb.func.vjp(f, x, has_aux=True),
    "jvp": lambda f, x: pb.func.jvp(f, (x,), (x,), has_aux=True),
    "jacrev": lambda f, x: pb.func.jacrev(f, has_aux=True)(x),
    "jacfwd": lambda f, x: pb.func.jacfwd(f, has_aux=True)(x),
}


@pytest.mark.parametrize("transform", WITH_AUX)
@pytest.mark.parametrize("aux", [1, 1.0, "abc", object()])
def test_aux_of_code_for_tensors_is_a_tree_of_tensors(transform, aux):
    refused = pytest.raises(RuntimeError, match=r"Expected tensors, got unsupported type .* in aux")
    with refused:
        WITH_AUX[transform](lambda x: (x.sum(), aux), pb.tensor(X))
    with refused:
        WITH_AUX[transform](lambda x: (x.sum(), {"a": [x, aux]}), pb.tensor(X))
    assert WITH_AUX[transform](lambda x: (x.sum(), {"a": [x, aux]}), X)[-1]["a"][1] is aux
    assert WITH_AUX[transform](lambda x: (x.sum(), {"a": [x, np.ones(2)]}), pb.tensor(X))[-1]["a"][0].tolist() == [*X]


def test_a_batched_tensor_shows_where_its_batch_lies():
    shown = []
    for dim in (0, 1, 2):
        pb.vmap(lambda x: shown.append(repr(x)) or x, in_dims=dim)(pb.arange(24.0).reshape(2, 3, 4))
    assert [text[:29] for text in shown] == [f"BatchedTensor(lvl=1, bdim={dim}, " for dim in (0, 1, 2)]
    assert len({text[29:] for text in shown}) == 1


BESIDE_A_TENSOR = {
    "value_and_grad": lambda f, x: pb.func.value_and_grad(lambda x: f(x).sum())(x),
    "jvp": lambda f, x: pb.func.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: (pb.func.vjp(f, x)[0], *pb.func.vjp(f, x)[1](x)),
    "linearize": lambda f, x: (pb.func.linearize(f, x)[0], pb.func.linearize(f, x)[1](x)),
    "jacobian": lambda f, x: pb.func.jacobian(f)(x),
    "hessian": lambda f, x: pb.func.hessian(lambda x: f(x).sum())(x),
    "vmap": lambda f, x: pb.vmap(f)(x),
}


@pytest.mark.parametrize("transform", BESIDE_A_TENSOR)
def test_no_array_of_ours_leaves_a_transform_of_an_ndarray_beside_a_tensor(transform):
    captured = pb.from_numpy(V)
    found = BESIDE_A_TENSOR[transform](lambda x: x * x * captured, X)
    expected = BESIDE_A_TENSOR[transform](lambda x: x * x * V, X)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)


def test_the_gradient_of_a_sum_beside_a_tensor_is_an_ndarray_that_may_be_written_into():
    gradient = pb.func.grad(lambda x: (x - pb.ones(3)).sum())(X)
    assert type(gradient) is np.ndarray
    gradient[0] = 2.0
    assert gradient.tolist() == [2.0, 1.0, 1.0]
