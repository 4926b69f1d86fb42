"""np.argsort inside a transform puts equal elements where NumPy's own sort of that kind puts them."""

import numpy as np
import pytest

import pullback as pb

KINDS = (None, "quicksort", "heapsort", "stable")


def ties(seed):
    """Numbers of which many are equal, NaN among them; long enough for sorts that move equal elements."""
    rng = np.random.default_rng(seed)
    shape = [(200,), (40, 6), (3, 90)][seed % 3]
    x = rng.integers(0, 5, size=shape).astype([float, np.float32][seed % 2])
    x.flat[rng.integers(x.size)] = np.nan
    return x


def order_inside(transform, f, x):
    found = []
    transform(lambda y: (found.append(np.asarray(f(y))), (y * 1.0).sum())[1], x)
    return found[0]


TRANSFORMS = {
    "grad": lambda f, x: pb.func.grad(f)(x),
    "jvp": lambda f, x: pb.func.jvp(f, (x,), (np.ones_like(x),)),
    "grad of grad": lambda f, x: pb.func.grad(lambda y: pb.func.grad(f)(y).sum())(x),
    "none": lambda f, x: f(pb.tensor(x, requires_grad=True)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_equal_elements_lie_as_numpys_sort_has_them(name, kind):
    for seed in range(6):
        x = ties(seed)
        for axis in (-1, 0, None):
            found = order_inside(TRANSFORMS[name], lambda y, axis=axis: np.argsort(y, axis, kind), x)
            assert np.array_equal(found, np.argsort(x, axis, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_each_sample_of_a_batch_is_ordered_as_alone(kind):
    x = ties(2)
    found = pb.func.vmap(lambda row: np.argsort(row, kind=kind))(x)
    assert np.array_equal(found, [np.argsort(row, kind=kind) for row in x])
    found = pb.func.vmap(lambda row: np.argsort(row, kind=kind), in_dims=1)(np.ascontiguousarray(x.T))
    assert np.array_equal(found, [np.argsort(row, kind=kind) for row in x])


def test_pytorchs_argsort_keeps_equal_elements_in_order():
    x = ties(0)
    assert np.array_equal(pb.argsort(pb.tensor(x)).numpy(), np.argsort(x, kind="stable"))


def test_kind_and_stable_together_are_refused_as_numpy_does():
    with pytest.raises(ValueError, match="can't be provided at the same time"):
        pb.func.grad(lambda x: np.argsort(x, kind="stable", stable=True).sum() * 1.0)(ties(0))


@pytest.mark.parametrize("function", [np.partition, np.argpartition])
@pytest.mark.parametrize("kth", [2, -1, [1, 4], np.array([3])])
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_a_partition_lies_as_numpys_where_numbers_are_hidden(function, kth, axis):
    x = np.random.default_rng(0).standard_normal((7, 20))
    expected = function(x, kth, axis)
    compiled = pb.compile(lambda x: function(x, kth, axis))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), expected)
    np.testing.assert_array_equal(pb.vmap(lambda x: function(x, kth, axis))(x[None]), expected[None])


def test_a_partition_at_no_place_is_refused_where_numbers_are_hidden():
    for function in (
        pb.compile(lambda x: np.partition(x, 3)),
        lambda x: pb.vmap(lambda x: np.partition(x, 3))(x[None]),
    ):
        with pytest.raises(ValueError, match=r"kth\(=3\) out of bounds \(2\)"):
            function(np.ones(2))
