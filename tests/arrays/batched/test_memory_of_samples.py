"""Strides inside vmap are those of a sample in memory of its own, wherever the batch dimension lies; or are refused."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.func import grad, jvp, vmap

X = np.random.default_rng(0).random((3, 4, 2))
FUNCTIONS = {
    "a view": lambda t: pb.as_strided(t, (2, 2), (1, 2)),
    "a copy": lambda t: pb.as_strided_copy(t, (2, 2), (1, 2)),
    "overlapping": lambda t: pb.as_strided(t, (3, 2), (1, 1), 1),
    "of a part": lambda t: pb.as_strided(t[1:], (2,), (1,)),
    "told the offset": lambda t: pb.as_strided(t, (2,), (1,), t[1:].storage_offset()),
    "of a result": lambda t: pb.as_strided(t * t, (2, 2), (1, 2)),
    "scattered": lambda t: pb.as_strided_scatter(t, (t[0] * t[1])[:2], (2,), (3,), 1),
    "written into": lambda t: written(t * 1),
}


def written(t):
    pb.as_strided(t, (2,), (2,), 1).mul_(t[0, 0])
    return t


def weighted(y):
    return (y * pb.arange(1.0, y.size + 1).reshape(y.shape)).sum()


def samples(dim):
    return [pb.tensor(np.ascontiguousarray(x)) for x in np.moveaxis(X, dim, 0)]


def derivatives(f):
    return {
        "values": f,
        "gradient": grad(lambda t: weighted(f(t))),
        "tangent": lambda t: jvp(f, (t,), (t.sin(),))[1],
        "second": grad(lambda t: (grad(lambda t: weighted(f(t).square()))(t) ** 2).sum()),
    }


@pytest.mark.parametrize("derivative", ["values", "gradient", "tangent", "second"])
@pytest.mark.parametrize("dim", [0, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides_are_those_of_a_sample_alone(name, dim, derivative):
    f = derivatives(FUNCTIONS[name])[derivative]
    expected = [f(t).numpy() for t in samples(dim)]
    np.testing.assert_allclose(vmap(f, in_dims=dim)(pb.tensor(X)).numpy(), expected)
    if derivative == "values":
        outer = grad(lambda x: vmap(lambda t: weighted(f(t)), in_dims=dim)(x).sum())(pb.tensor(X))
        inner = [derivatives(f)["gradient"](t).numpy() for t in samples(dim)]
        np.testing.assert_allclose(np.moveaxis(outer.numpy(), dim, 0), inner)


@pytest.mark.parametrize("dims", [(0, 0), (2, 0), (2, 1), (0, 1)])
def test_strides_inside_nested_vmaps(dims):
    f = derivatives(lambda t: pb.as_strided(t, (2, 1), (1, 1)) * t[0])["gradient"]
    outer, inner = dims
    found = vmap(vmap(f, in_dims=inner), in_dims=outer)(pb.tensor(X)).numpy()
    parts = np.moveaxis(np.moveaxis(X, outer, 0), 1 + inner, 1)
    expected = [[f(pb.tensor(np.ascontiguousarray(t))).numpy() for t in row] for row in parts]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_sample_among_the_elements_of_others_is_refused_or_copied(name):
    f, x = FUNCTIONS[name], pb.tensor(X)
    with pytest.raises((UnsupportedError, RuntimeError), match="contiguous"):
        vmap(f, in_dims=1)(x)

    def of_copy(t):
        return f(t.clone(memory_format="contiguous_format"))

    for of_copies, of_one in zip(derivatives(of_copy).values(), derivatives(f).values(), strict=True):
        np.testing.assert_allclose(vmap(of_copies, in_dims=1)(x).numpy(), [of_one(t).numpy() for t in samples(1)])


def test_parts_of_a_batch():
    f = derivatives(lambda t: pb.as_strided(t, (2,), (1,), 1))["gradient"]
    x = pb.tensor(X)
    np.testing.assert_allclose(vmap(f)(x[1:]).numpy(), vmap(f)(x).numpy()[1:])
    np.testing.assert_allclose(vmap(f)(x[::2]).numpy(), vmap(f)(x).numpy()[::2])


@pytest.mark.parametrize(
    ("f", "batch", "dim"),
    [
        (lambda t: pb.as_strided(t, (3,), (1,)), pb.tensor(np.arange(5.0)).unfold(0, 3, 1), 0),
        (lambda t: pb.as_strided(t, (2, 2), (1, 2)), pb.tensor(X)[:, ::2, :1].expand(3, 2, 2)[..., :1], 1),
        (lambda t: pb.as_strided(t, (2,), (1,)), pb.tensor(X)[:, :, None, :].movedim(1, 3)[..., 1:3], 3),
        (lambda t: pb.as_strided(t, (9,), (1,)), pb.tensor(X), 0),
        (lambda t: pb.as_strided(t[1:], (2,), (1,), 0), pb.tensor(X), 2),
    ],
    ids=["windows that overlap", "gaps", "a part of a larger batch", "beyond the sample", "beside a part, in columns"],
)
def test_memory_that_is_not_the_samples_is_not_shown(f, batch, dim):
    with pytest.raises(UnsupportedError, match="memory that is not this sample's"):
        vmap(f, in_dims=dim)(batch)


def test_a_part_of_a_sample_shows_what_is_before_it():
    f = derivatives(lambda t: pb.as_strided(t[1:], (2,), (1,), 0))
    for derivative in f.values():
        found = vmap(derivative)(pb.tensor(X)).numpy()
        np.testing.assert_allclose(found, [derivative(t).numpy() for t in samples(0)])
