"""NumPy's forms of Tensor's methods, beside PyTorch's."""

import numpy as np
import pytest

import pullback as pb

a = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])
cube = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.copy(), lambda x: x.copy(order="K"), lambda x: x.T, lambda x: x.transpose(),
        lambda x: x.transpose((1, 0)), lambda x: x.transpose(1, 0), lambda x: x.dot(a.T), lambda x: x.dot(2.0),
        lambda x: x[0].dot(x[1]), lambda x: x.dot(x[0]), lambda x: x.var(axis=0, ddof=1), lambda x: x.std(ddof=0),
        lambda x: x.cumsum(), lambda x: x.cumprod(axis=1), lambda x: x.cumsum(axis=None), lambda x: x.cumsum(0),
        lambda x: x.repeat(2, axis=0), lambda x: x.take([0, 2], axis=1), lambda x: x.compress([True, False], axis=0),
        lambda x: x.sum(axis=0, keepdims=True), lambda x: x.mean(axis=(0, 1)), lambda x: x.reshape(3, 2),
        lambda x: x.clip(2, 4), lambda x: x.swapaxes(0, 1), lambda x: x.astype(np.float32), lambda x: x.ravel(),
        lambda x: x.prod(axis=1), lambda x: x.diagonal(offset=1), lambda x: x.trace(), lambda x: x.squeeze(),
    ],
)  # fmt: skip
def test_numpys_forms(f):
    x = pb.tensor(a, requires_grad=True)
    found = f(x)
    np.testing.assert_array_equal(found.detach(), f(a))
    assert found.dtype == f(a).dtype
    assert found.requires_grad


def test_transpose_of_more_dimensions():
    x = pb.tensor(cube)
    assert x.transpose(2, 0, 1).shape == x.transpose((2, 0, 1)).shape == cube.transpose(2, 0, 1).shape
    assert x.transpose().shape == (4, 3, 2)
    assert x.transpose(0, 2).shape == (4, 3, 2)  # PyTorch's: two dimensions swapped


def test_pytorchs_meaning_is_kept():
    x = pb.tensor(a)
    assert x.repeat(2, 1).shape == (4, 3)
    assert x.std().item() == pytest.approx(a.std(ddof=1))
    assert x.var(0, correction=0).tolist() == a.var(0).tolist()
    assert x.take(pb.tensor([0, 4])).tolist() == [1.0, 3.0]
    with pytest.raises(RuntimeError, match="dot"):
        pb.dot(x, x)
