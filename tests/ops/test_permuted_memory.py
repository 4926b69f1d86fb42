"""Views by strides of what was computed from a permuted array: dense memory, in another order of dimensions."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck


def permuted(x):
    """(2, 3, 4) -> (3, 4, 2), in memory as x is; neither C nor Fortran order."""
    y = x.permute(1, 2, 0).exp() * 1
    assert not y.numpy(force=True).flags.forc
    return y


VIEWS = {
    "unfold": (lambda y: y.unfold(1, 2, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 1)),
    "view_as_real": (lambda y: pb.view_as_real(y * (1 + 1j)).sum(-1), lambda a: 2 * a),
    "diagonal": (lambda y: y.diagonal(0, 0, 1), lambda a: np.diagonal(a, 0, 0, 1)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_the_elements_and_is_differentiated(name):
    view, reference = VIEWS[name]
    x = pb.arange(24.0).reshape(2, 3, 4).div(24).requires_grad_()
    np.testing.assert_allclose(view(permuted(x)).numpy(force=True), reference(permuted(x).numpy(force=True)))
    assert gradcheck(lambda x: view(permuted(x)), x)


def test_as_strided_counts_in_the_order_of_memory():
    x = pb.arange(24.0).reshape(2, 3, 4).requires_grad_()
    y = permuted(x)
    row = y.as_strided((24,), (1,))
    assert row._base is y
    np.testing.assert_array_equal(row.numpy(force=True), np.exp(np.arange(24.0)))
    y.as_strided((2,), (5,), 1).zero_()
    assert [place for place, value in enumerate(row.tolist()) if value == 0] == [1, 6]
    row.sum().backward()
    assert (x.grad.reshape(-1) == 0).nonzero().reshape(-1).tolist() == [1, 6]


def test_memory_with_gaps_is_refused():
    y = pb.from_numpy(np.lib.stride_tricks.as_strided(np.ones(12), (3, 2), (32, 8)))
    with pytest.raises(RuntimeError, match=r"has gaps of its own; call contiguous\(\) first"):
        y.as_strided((2,), (1,))


X = np.arange(24.0).reshape(2, 3, 4)
AT = np.array([0, -1, 0])
PICKED = {
    "an index behind a slice": (lambda x: x[:, AT], X[:, AT]),
    "an index behind two slices": (lambda x: x[:, :, AT], X[:, :, AT]),
    "an index behind an ellipsis": (lambda x: x[..., AT], X[..., AT]),
    "a list": (lambda x: x[:, [0, 2]], X[:, [0, 2]]),
    "a matrix of indices": (lambda x: x[:, AT[:, None]], X[:, AT[:, None]]),
    "two indices": (lambda x: x[:, AT, AT], X[:, AT, AT]),
    "an index and a slice": (lambda x: x[:, AT, 1:3], X[:, AT, 1:3]),
    "a mask": (lambda x: x[:, [True, False, True]], X[:, [0, 2]]),
    "a strided base": (lambda x: x[:, ::2][:, [1, 0]], X[:, [2, 0]]),
    "index_select": (lambda x: x.index_select(1, AT), X[:, AT]),
    "index_select of small integers": (lambda x: x.index_select(2, AT.astype("int8")), X[:, :, AT]),
    "index_select of a transposed tensor": (lambda x: x.mT.index_select(1, AT), X.swapaxes(1, 2)[:, AT]),
}


@pytest.mark.parametrize("name", PICKED)
def test_what_an_index_picks_is_contiguous_so_that_its_flat_view_is_one(name):
    pick, expected = PICKED[name]
    y = pick(pb.from_numpy(X.copy()))
    np.testing.assert_array_equal(y.numpy(), expected)
    y.reshape(-1).mul_(10)
    np.testing.assert_array_equal(y.numpy(), 10 * expected)
    assert y.view(-1).shape == (expected.size,)


def test_an_index_out_of_range_behind_a_slice_raises():
    for pick in (lambda x: x[:, np.array([3])], lambda x: x.index_select(1, np.array([3]))):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
            pick(pb.from_numpy(X))
