"""What must not leak over the boundary of a transform: writes, random states, levels that have ended."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacfwd, jacrev, jvp, linearize, stop_gradient, vjp, vmap

X = np.array([0.3, 0.7])


@pytest.mark.parametrize("own", [False, True])
def test_the_same_numbers_in_every_chunk(own):
    generator = np.random.default_rng(0) if own else None
    f = vmap(lambda x: x + pb.rand(2, generator=generator), randomness="same", chunk_size=2)
    found = f(np.zeros(5))
    assert (found == found[0]).all()
    assert (f(np.zeros(5)) != found).all()  # the next call draws others


def test_jacfwd_in_chunks_draws_the_same():
    found = jacfwd(lambda x: x * pb.rand(()), randomness="same", chunk_size=1)(np.ones(3))
    assert len(set(np.diag(found))) == 1


def test_stop_gradient_of_an_array_is_a_copy():
    def f(x):
        y = stop_gradient(x)
        y[0] = 5.0
        return (x * x).sum() + y.sum()

    np.testing.assert_allclose(grad(f)(X), 2 * X)


def test_an_unmapped_ndarray_is_a_copy():
    w = np.zeros(2)

    def f(x, w):
        w[0] = 9.0
        return x + w

    np.testing.assert_array_equal(vmap(f, in_dims=(0, None))(np.ones((3, 2)), w), [[10, 1]] * 3)
    assert not w.any()


@pytest.mark.parametrize("outer", [lambda g: linearize(g, X), lambda g: jvp(g, (X,), (np.ones(2),))])
def test_a_vjp_kept_after_forward_mode_has_ended_is_refused(outer):
    box = {}

    def g(x):
        y, box["V"] = vjp(lambda z: z**3 * x, x)
        assert box["V"](np.ones(2))[0].shape == (2,)  # here it is good
        return y.sum()

    outer(g)
    v = lambda c: box["V"](c)[0]  # noqa: E731
    for use in (jacrev(v), jacfwd(v), v):
        with pytest.raises(RuntimeError, match="which has ended"):
            use(np.ones(2))
    with pytest.raises(RuntimeError, match="which has ended"):
        vmap(v)(np.eye(2))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x.sum() * len(range(n[0])),
        lambda x, n: x.sum() * [1, 1, 2][n[0]],
        lambda x, n: x[: n[0]].sum() * 2,
        lambda x, n: x.sum() * np.ones(n[0]).sum(),
    ],
)
def test_a_whole_number_that_is_not_mapped_is_a_place_and_a_count(f):
    np.testing.assert_array_equal(vmap(f, in_dims=(0, None))(np.ones((3, 2)), np.array([2])), [4] * 3)
    with pytest.raises((RuntimeError, TypeError), match=r"(?i)batched"):
        vmap(f)(np.ones((3, 2)), np.full((3, 1), 2))


def test_results_of_vmap_may_be_written_into():
    assert vmap(lambda x: np.broadcast_to(x, (2, 3)))(np.ones((2, 3))).flags.writeable


def test_no_arrays_for_jacfwd():
    with pytest.raises(RuntimeError, match=r"func\.jacfwd: .*the chosen arguments hold no array"):
        jacfwd(lambda x: X)({})
