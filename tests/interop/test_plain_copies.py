"""What NumPy's arrays and SciPy's routines make of a Tensor: masks stay masks, and nobody writes into its memory."""

import operator

import numpy as np
import pytest
import scipy.linalg.lapack

import pullback as pb


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,)])
def test_a_bool_tensor_is_a_mask_for_an_ndarray(shape):
    mask = pb.full(shape, True)
    a = np.arange(float(mask.numel())).reshape(shape)
    assert np.array_equal(a[mask], a[mask.numpy()])
    a[mask] = 7
    assert (a == 7).all()
    b = np.zeros(4)
    if shape == ():
        assert b[mask].shape == (1, 4)
    elif shape == (1,):
        with pytest.raises(IndexError, match="boolean index did not match"):
            b[mask]
        with pytest.raises(IndexError, match="boolean index did not match"):
            b[mask] = 1
        assert (b == 0).all()


def test_an_integer_tensor_is_an_index_as_an_ndarray_is():
    a = np.arange(4.0)
    assert a[pb.tensor(2)] == 2
    assert a[pb.tensor([2])].tolist() == [2]
    assert a[pb.tensor([[2, 1]])].tolist() == [[2, 1]]
    assert operator.index(pb.tensor(2)) == 2
    assert list(range(pb.tensor(2))) == [0, 1]


@pytest.mark.parametrize("values", [True, [2], [True], 2.0])
def test_other_tensors_are_no_index(values):
    with pytest.raises(TypeError, match=r"only integer tensors of a single element .* write int\(t\)"):
        operator.index(pb.tensor(values))


def test_asarray_is_read_only_and_numpy_is_not():
    t = pb.ones(2, 2)
    for array in (np.asarray(t), np.asarray(t, copy=False), np.asanyarray(t), np.ascontiguousarray(t)):
        assert np.shares_memory(array, t.numpy())
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 5
    for array in (np.array(t), np.asarray(t, dtype="f4"), np.require(t, requirements="W"), np.asarray(t).copy()):
        assert not np.shares_memory(array, t.numpy())
        array[0, 0] = 5
    assert t.tolist() == [[1, 1], [1, 1]]
    t.numpy()[0, 0] = 5
    np.from_dlpack(t)[0, 1] = 6
    assert t.tolist() == [[5, 6], [1, 1]]


@pytest.mark.parametrize("name", ["dgesv", "dposv"])
def test_lapack_does_not_solve_in_the_memory_of_a_tensor(name):
    solve = getattr(scipy.linalg.lapack, name)
    matrix, right = pb.tensor([[2.0, 1.0], [1.0, 3.0]]), pb.tensor([[1.0], [2.0]])
    x = [part for part in solve(matrix, right) if np.shape(part) == (2, 1)][-1]
    for overwrite in ({}, {"overwrite_a": 1, "overwrite_b": 1}):
        solve(matrix, right, **overwrite)
        solve(matrix.numpy().copy(), right[:, 0], **overwrite)
        assert (matrix.tolist(), right.tolist()) == ([[2, 1], [1, 3]], [[1], [2]])
    np.testing.assert_allclose(x, [[0.2], [0.6]])


def test_memory_with_negative_strides_is_not_handed_out():
    """PyTorch ends the whole process where it is given such memory, by an ndarray too."""
    backwards = pb.from_numpy(np.arange(3.0)[::-1])
    with pytest.raises(BufferError, match=r"negative strides \(\(-1,\) elements\).*contiguous"):
        np.from_dlpack(backwards)
    np.testing.assert_array_equal(np.from_dlpack(backwards.contiguous()), [2.0, 1.0, 0.0])
