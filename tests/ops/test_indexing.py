"""Square brackets against NumPy's, on indices of every kind, with the gradients that follow from what NumPy does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices, integer_array_indices

import pullback as pb
from pullback.arrays.numpy.indexing import subscripts

SHAPE = (3, 4, 2)
X = np.arange(24.0).reshape(SHAPE)
MASKS = st.lists(st.booleans(), min_size=3, max_size=3).map(np.array)
MIXED = st.tuples(MASKS, st.slices(4)) | st.tuples(st.slices(3), st.lists(st.integers(0, 3), min_size=1, max_size=5))
INDICES = (
    basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=True)
    | integer_array_indices(SHAPE)
    | integer_array_indices(SHAPE[:2])
    | MASKS
    | MIXED
)


@given(INDICES)
def test_reading_gives_numpys_elements_and_adds_up_gradients(index):
    x = pb.tensor(X, requires_grad=True)
    y = x[index]
    assert np.array_equal(y.detach().numpy(), X[index])
    grad = np.cos(np.arange(y.detach().numpy().size)).reshape(y.shape)
    y.backward(pb.tensor(grad))
    expected = np.zeros(SHAPE)
    np.add.at(expected, index, grad)
    assert np.allclose(x.grad.numpy(), expected)


@given(INDICES)
def test_writing_gives_numpys_result_and_gradients_of_what_is_left(index):
    value = np.sin(np.arange(X[index].size)).reshape(np.shape(X[index]))
    weights = np.cos(X)
    x, v = pb.tensor(X, requires_grad=True), pb.tensor(value, requires_grad=True)
    y = x.clone()
    y[index] = v
    (y * pb.tensor(weights)).sum().backward()
    written, origin = X.copy(), np.full(SHAPE, -1)
    written[index] = value
    origin[index] = np.arange(value.size).reshape(value.shape)
    assert np.array_equal(y.detach().numpy(), written)
    assert np.array_equal(x.grad.numpy(), np.where(origin < 0, weights, 0))
    kept = origin[origin >= 0]
    expected = np.zeros(value.size)
    expected[kept] = weights[origin >= 0]
    assert np.array_equal(v.grad.numpy().reshape(-1), expected)


@given(integer_array_indices(SHAPE) | integer_array_indices(SHAPE[:2]) | MIXED)
def test_flat_positions_add_up_as_numpy_does(index):
    grad = np.ones(np.shape(X[index]))
    places = subscripts.flat_positions(SHAPE, index)
    assert np.array_equal(places, np.arange(24).reshape(SHAPE)[index])
    expected = np.zeros(SHAPE)
    np.add.at(expected, index, grad)
    assert np.array_equal(subscripts.index_accumulate(grad, SHAPE, index), expected)


def test_a_position_written_twice_keeps_the_last_value_in_any_memory_order():
    index = np.array([0, 1, 0, 1])
    for ordered in (index, index[::-1][::-1], np.asfortranarray(np.stack([index, index], 1))[:, 0]):
        x = pb.zeros(2)
        x[pb.from_numpy(ordered)] = pb.tensor([1.0, 2.0, 3.0, 4.0])
        assert x.tolist() == [3.0, 4.0]


def test_an_element_is_a_view():
    x = pb.zeros(2, 2)
    x[1, 0].add_(5)
    x[0][1].add_(7)
    assert x.tolist() == [[0.0, 7.0], [5.0, 0.0]]


def test_complex_values_do_not_lose_their_imaginary_part_silently():
    with pytest.raises(RuntimeError, match="complex"):
        pb.zeros(2)[0] = 1j


def test_a_tensor_of_one_element_is_an_index_array_and_no_number():
    x = pb.tensor(X)
    one = pb.tensor([1])
    assert x[one].shape == (1, 4, 2)
    assert pb.index_put(x, (one,), pb.zeros(1, 4, 2)).sum().item() == X.sum() - X[1].sum()


@pytest.mark.parametrize(
    ("index", "meant"),
    [
        ([slice(None), [2, 3]], np.s_[:, [2, 3]]),
        ([[2, 3], slice(None)], np.s_[[2, 3], :]),
        ([[1, 1, 3], [0]], np.s_[[1, 1, 3], [0]]),
        ([None, 1], np.s_[None, 1]),
        ([..., slice(2)], np.s_[..., :2]),
        ([pb.tensor([0, 2]), ...], np.s_[[0, 2], ...]),
        ([[1, 2], [0, 1]], np.s_[np.array([[1, 2], [0, 1]])]),  # of one length: NumPy's array
    ],
)
def test_a_list_that_makes_no_array_has_an_index_for_each_dimension(index, meant):
    x = pb.arange(16.0).reshape(4, 4).requires_grad_()
    expected = x.detach().numpy()[meant]
    found = x[index]
    assert (found.detach().numpy() == expected).all()
    found.sum().backward()
    counted = np.zeros((4, 4))
    np.add.at(counted, meant, 1)
    assert (x.grad.numpy() == counted).all()
    y = x * 1
    y[index] = 7
    assert (y.detach().numpy()[meant] == 7).all()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_means_of_whole_numbers_are_scattered(dtype):
    x, places = pb.tensor([1, 2, 4], dtype=dtype), pb.tensor([0, 0, 1])
    assert x.clone().scatter_reduce_(0, places, x, "mean").tolist() == [1, 3, 4]
    assert x.clone().index_reduce_(0, places, x, "mean").tolist() == [1, 3, 4]


BYTES = pb.tensor(np.array([1, 0, 1, 0], np.uint8))


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x[BYTES],
        lambda x: x.reshape(2, 4)[:, BYTES],
        lambda x: x.__setitem__(BYTES, 9.0),
        lambda x: x.reshape(2, 4).__setitem__((slice(None), BYTES), 9.0),
        lambda x: x.index_put((BYTES,), pb.tensor(1.0)),
    ],
)
def test_what_may_be_a_mask_of_bytes_is_not_an_index_without_a_word(use):
    x = pb.zeros(8) if "reshape" in use.__code__.co_names else pb.zeros(4)
    with pytest.warns(UserWarning, match=r"indexing with dtype uint8.*mask\.bool\(\).*index\.long\(\)") as warned:
        use(x)
    assert warned[0].filename == __file__


def test_small_integers_that_are_no_mask_index_as_in_numpy():
    palette, image = np.arange(768.0).reshape(256, 3), np.array([[1, 0], [255, 2]], np.uint8)
    assert np.array_equal(pb.tensor(palette)[pb.tensor(image)].numpy(), palette[image])
    assert pb.zeros(4)[BYTES.numpy()].shape == (4,)  # an ndarray means what it means to NumPy
    pb.func.grad(lambda x: x[np.array([1, 0, 1], np.uint8)].sum())(np.ones(3))
