"""What is asked of a tensor by a method: sizes, place in memory, kind; and of dtypes."""

import numpy as np
import pytest

import pullback as pb


def test_sizes_and_place_in_memory():
    x = pb.zeros((3, 4), dtype=pb.float32)
    assert (x.nelement(), x.ndimension(), x.element_size()) == (12, 2, 4)
    part = x[1:, 2:]
    assert (x.storage_offset(), part.storage_offset()) == (0, 6)
    assert part.data_ptr() == x.data_ptr() + 6 * 4
    assert part.data_ptr() == part.numpy().ctypes.data


def test_devices_and_layouts_are_the_only_ones():
    x = pb.ones(2)
    assert (x.is_cpu, x.is_cuda, x.is_sparse, x.get_device()) == (True, False, False, -1)


def test_a_device_is_a_checked_text():
    here = pb.device("cpu")
    assert here == pb.device("cpu", 0) == pb.device("cpu:0") == "cpu"
    assert (here.type, here.index, repr(here)) == ("cpu", None, "device(type='cpu')")
    x = pb.ones(2, device=here)
    assert x.device == here
    assert x.to(here) is x
    assert x.new_tensor([1.0], device=here).device == "cpu"
    assert pb.tensor([1.0], device=here).device == "cpu"
    for name in ("cuda", "cuda:1"):
        with pytest.raises(RuntimeError, match=f"device '{name}' is not available.*or pass 'cpu'"):
            pb.device(name)
    with pytest.raises(RuntimeError, match="device 'cuda:1' is not available"):
        pb.device("cuda", 1)


@pytest.mark.parametrize("call", ["method", "function"])
def test_questions_are_methods_and_functions(call):
    def ask(name, x, *args):
        return getattr(x, name)(*args) if call == "method" else getattr(pb, name)(x, *args)

    x = pb.ones((2, 3))
    assert ask("is_same_size", x, pb.zeros((2, 3)))
    assert not ask("is_same_size", x, pb.zeros((3, 2)))
    for dtype, signed in {"float64": True, "int8": True, "complex64": True, "uint8": False, "bool": False}.items():
        assert ask("is_signed", pb.ones(1, dtype=dtype)) is signed
    assert ask("is_nonzero", pb.tensor([0.5]))
    assert not ask("is_nonzero", pb.tensor(0))
    with pytest.raises(RuntimeError, match=r"one element, and this tensor has 6 \(shape \(2, 3\)\); use \.any\(\)"):
        ask("is_nonzero", x)


def test_new_tensor_copies_data_in_the_dtype_of_the_tensor():
    x, data = pb.ones(2, dtype=pb.float32, requires_grad=True), np.array([1.0, 2.0])
    made = x.new_tensor(data, requires_grad=True)
    assert made.dtype == pb.float32
    assert made.is_leaf
    assert made.requires_grad
    data[0] = 9
    assert made.tolist() == [1, 2]
    assert x.new_tensor([1], dtype=pb.int8).dtype == pb.int8
    assert not x.new_tensor([1]).requires_grad


# -- dtypes -------------------------------------------------------------------------------------------------------


def test_limits_of_dtypes():
    assert pb.finfo(pb.float32).eps == np.finfo("f4").eps
    assert pb.finfo().max == np.finfo("f8").max
    assert pb.iinfo(pb.int8).min == -128


def test_promotion_is_numpys_and_pythons_numbers_give_way():
    assert pb.promote_types(pb.float32, pb.int64) == pb.float64
    x = pb.ones(2, dtype=pb.float32)
    assert pb.result_type(x, 2) == pb.result_type(x, 2.5) == pb.float32 == (x * 2.5).dtype
    assert pb.result_type(x, 1j) == pb.complex64 == (x * 1j).dtype
    assert pb.result_type(x, pb.tensor(1.0)) == pb.float64 == (x * pb.tensor(1.0)).dtype


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("float64", "float32", True), ("int64", "uint8", True), ("bool", "int8", True), ("int8", "complex64", True),
        ("complex64", "float64", False), ("float32", "int64", False), ("int8", "bool", False),
    ],
)  # fmt: skip
def test_can_cast_keeps_the_kind(source, target, allowed):
    assert pb.can_cast(source, target) is allowed


def test_the_default_dtype_is_float64_and_stays_it():
    pb.set_default_dtype(pb.float64)
    assert pb.get_default_dtype() == pb.float64 == pb.tensor(1.5).dtype
    with pytest.raises(RuntimeError, match=r"set_default_dtype\(float32\): .*Pass dtype="):
        pb.set_default_dtype(pb.float32)


def test_short_names_of_dtypes():
    assert (pb.float, pb.double, pb.int, pb.long, pb.short) == ("f4", "f8", "i4", "i8", "i2")


def test_the_storage_is_what_all_views_share():
    x = pb.arange(6.0)
    part = x[2:].reshape(2, 2)
    assert len(part.storage()) == part.storage().size() == 6
    assert part.storage().data_ptr() == x.data_ptr() == x.detach().storage().data_ptr()
    assert part.clone().storage().data_ptr() != x.data_ptr()
    assert part.storage().nbytes() == 48
    assert "size=6" in repr(part.storage())
