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
