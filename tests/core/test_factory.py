"""Tensors from data: what is copied, what is shared, which dtype comes out, what is refused."""

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1.0, "f8"),
        (1, "i8"),
        (True, "?"),
        (1j, "c16"),
        ([1, 2.0], "f8"),
        ([], "f8"),
        ([True, 2], "i8"),
        ([[1], [2]], "i8"),
    ],
)
def test_python_data_gets_the_default_dtypes(data, dtype):
    assert pb.tensor(data).dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "i4", "u2", "?"])
def test_an_array_keeps_its_dtype(dtype):
    array = np.ones(2, np.dtype(dtype))
    assert pb.tensor(array).dtype == array.dtype
    assert pb.from_numpy(array).dtype == array.dtype


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(2)
    copied, shared, too = pb.tensor(array), pb.from_numpy(array), pb.asarray(array)
    array[0] = 1
    assert copied.tolist() == [0, 0]
    assert shared.tolist() == [1, 0]
    assert too.tolist() == [1, 0]


def test_tensor_of_a_tensor_is_a_detached_copy():
    x = pb.ones(2, requires_grad=True)
    assert pb.tensor(x.detach()).tolist() == [1, 1]
    with pytest.warns(UserWarning, match=r"out of the graph.*detach\(\)\.clone\(\)"):
        y = pb.tensor(x)
    assert not y.requires_grad
    y.add_(1)
    assert x.tolist() == [1, 1]


def test_nested_sequences_may_hold_plain_tensors():
    assert pb.tensor([pb.tensor(1.0), 2.0]).tolist() == [1, 2]
    assert pb.tensor([[pb.tensor(1.0)], (2.0,)]).tolist() == [[1], [2]]
    assert pb.tensor([pb.tensor([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]


def test_a_list_of_tensors_that_require_grad_is_refused():
    x = pb.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"detach.*pullback\.stack"):
        pb.tensor([x, 2.0])
    with pytest.raises(RuntimeError, match=r"pullback\.stack"):
        pb.asarray([[x * 2]])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1], [1, 2]], ValueError),
        ("text", TypeError),
        ([None, 1], TypeError),
        (object(), TypeError),
        (np.array(["a"]), TypeError),
        (np.array(["2020-01-01"], "M8[D]"), TypeError),
        ({"a": 1}, TypeError),
        (None, TypeError),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(data, error):
    for make in (pb.tensor, pb.asarray):
        with pytest.raises(error):
            make(data)


@pytest.mark.parametrize("data", [[1.0], 1.0, pb.ones(1), "x"])
def test_from_numpy_takes_arrays_alone(data):
    with pytest.raises(TypeError, match="expected an ndarray"):
        pb.from_numpy(data)


def test_from_numpy_of_a_subclass_gives_a_plain_array_inside():
    t = pb.from_numpy(np.ma.masked_array([1.0, 2.0]))
    assert type(t.numpy()) is np.ndarray


def test_foreign_byte_order_becomes_native():
    t = pb.tensor(np.array([1.0, 2.0], ">f8"))
    assert t.dtype.isnative
    assert t.tolist() == [1, 2]


def test_asarray_copies_only_where_needed():
    array = np.zeros(2)
    assert pb.asarray(array, copy=True).numpy() is not array
    with pytest.raises(ValueError, match="copy"):
        pb.asarray([1.0], copy=False)
    t = pb.zeros(2)
    assert pb.asarray(t) is t
    assert pb.asarray(t, dtype=pb.float32).dtype == np.float32
    assert pb.asarray(t, copy=True) is not t


def test_asarray_of_a_tensor_stays_in_the_graph():
    x = pb.ones(2, requires_grad=True)
    pb.asarray(x, dtype=pb.float32).sum().backward()
    assert x.grad.tolist() == [1, 1]
    assert x.grad.dtype == np.float64


def test_asarray_honours_requires_grad():
    assert pb.asarray(np.ones(2), requires_grad=True).requires_grad
    assert pb.asarray(pb.ones(2), requires_grad=True).requires_grad


def test_other_devices_are_refused():
    for make in (pb.tensor, pb.asarray):
        with pytest.raises(RuntimeError, match=r"'cuda'.*'cpu'"):
            make([1.0], device="cuda")


def test_a_read_only_array_comes_in_without_a_copy_and_cannot_be_written():
    array = np.zeros(3)
    array.flags.writeable = False
    t = pb.from_numpy(array)
    assert (t + 1).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="read-only"):
        t.add_(1)
    assert t.tolist() == [0, 0, 0]
    assert t._version == 0
