"""Tensor's attributes, and the rules about leaves, `requires_grad`, `grad`, detaching, copying and leaving."""

import copy
import pickle

import numpy as np
import pytest

import pullback as pb


def leaf(values=(1.0, 2.0, 3.0), **kwargs):
    return pb.tensor(values, requires_grad=True, **kwargs)


# -- what a tensor says of its array ---------------------------------------------------------------------------


def test_attributes_are_those_of_the_array():
    t = pb.tensor([[1, 2, 3], [4, 5, 6]], dtype=np.int32)
    assert (t.shape, t.dtype, t.ndim, t.dim(), t.size, t.numel()) == ((2, 3), np.dtype("int32"), 2, 2, 6, 6)
    assert (t.itemsize, t.nbytes, t.device, len(t)) == (4, 24, "cpu", 2)
    assert t.stride() == (3, 1)
    assert t.stride(1) == 1
    assert t.is_contiguous()
    assert not t.T.is_contiguous()


def test_size_is_a_number_and_a_function():
    t = pb.zeros(2, 3)
    assert t.size == 6
    assert isinstance(t.size, int)
    assert t.size() == (2, 3)
    assert t.size(0) == 2
    assert t.size(-1) == 3
    with pytest.raises(IndexError):
        t.size(2)


@pytest.mark.parametrize(
    ("dtype", "floating", "complex_"),
    [("f4", True, False), ("c8", False, True), ("i8", False, False), ("?", False, False)],
)
def test_kind_of_dtype(dtype, floating, complex_):
    t = pb.zeros(2, dtype=np.dtype(dtype))
    assert t.is_floating_point() is floating
    assert t.is_complex() is complex_


def test_len_of_a_scalar_is_refused():
    with pytest.raises(TypeError, match="0-d"):
        len(pb.tensor(1.0))


def test_calling_the_class_is_refused_and_says_what_to_do():
    for arguments in ((), ([1.0, 2.0],), (3,)):
        with pytest.raises(TypeError, match=r"pullback\.tensor"):
            pb.Tensor(*arguments)


def test_tensors_hash_by_identity_and_compare_by_element():
    a, b = leaf(), leaf()
    assert len({a, b, a}) == 2
    assert (a == b).tolist() == [True, True, True]


# -- requires_grad and leaves ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i8", "u1", "?"])
def test_only_floating_and_complex_tensors_can_require_grad(dtype):
    t = pb.zeros(2, dtype=np.dtype(dtype))
    for attempt in (
        t.requires_grad_,
        lambda: setattr(t, "requires_grad", True),
        lambda: pb.tensor([1, 0], dtype=np.dtype(dtype), requires_grad=True),
        lambda: pb.zeros(2, dtype=np.dtype(dtype), requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match=r"floating point and complex.*" + t.dtype.name):
            attempt()
    assert not t.requires_grad
    t.requires_grad_(False)  # changes nothing, so it is allowed


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_floating_and_complex_tensors_can_require_grad(dtype):
    t = pb.ones(2, dtype=np.dtype(dtype))
    assert t.requires_grad_() is t
    assert t.requires_grad
    assert t.is_leaf
    t.requires_grad = False
    assert not t.requires_grad


def test_results_require_grad_if_an_argument_does():
    x, c = leaf(), pb.ones(3)
    assert (x * c).requires_grad
    assert (c * x).requires_grad
    assert not (c * c).requires_grad
    assert not (x > 0).requires_grad  # a bool has no derivative


def test_leaves_have_no_grad_fn():
    x = leaf()
    y = x * 2
    assert x.is_leaf
    assert x.grad_fn is None
    assert pb.ones(2).is_leaf
    assert (pb.ones(2) * 2).is_leaf  # nothing recorded
    assert not y.is_leaf
    assert y.grad_fn.name() == "MulBackward0"
    assert y.detach().is_leaf


def test_requires_grad_of_a_computed_tensor_cannot_be_switched_off():
    y = leaf() * 2
    with pytest.raises(RuntimeError, match=r"leaf variables.*MulBackward0.*detach"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad = False
    assert y.requires_grad
    assert y.requires_grad_() is y


def test_switching_requires_grad_off_stops_accumulation_into_a_leaf():
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_output_nr_counts_the_outputs_of_a_node():
    first, second = pb.max(leaf([[1.0, 2.0], [4.0, 3.0]]), dim=1)
    assert first.output_nr == 0
    parts = pb.unbind(leaf())
    assert [p.output_nr for p in parts] == list(range(3)) or all(p.output_nr == 0 for p in parts)
    assert not second.requires_grad
    assert leaf().output_nr == 0


# -- grad ------------------------------------------------------------------------------------------------------


def test_grad_is_none_until_there_is_one():
    x = leaf()
    assert x.grad is None
    assert pb.ones(2).grad is None
    x.grad = pb.ones(3)
    assert x.grad.tolist() == [1, 1, 1]
    x.grad = None
    assert x.grad is None
    x.grad = pb.ones(3)
    del x.grad
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
        with pytest.raises(RuntimeError, match=f"{name} of a tensor cannot be deleted"):
            delattr(x, name)
    assert x.grad is None


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (np.ones(3), TypeError, "ndarray"),
        (1.0, TypeError, "float"),
        (pb.ones(2), RuntimeError, r"shape \(3,\).*\(2,\)"),
        (pb.ones(3, dtype=pb.float32), RuntimeError, "float64.*float32"),
        (pb.ones(3, dtype=pb.int64), RuntimeError, "float64.*int64"),
    ],
)
def test_grad_takes_only_a_tensor_like_the_leaf(value, error, match):
    x = leaf()
    x.grad = pb.full((3,), 7.0)
    with pytest.raises(error, match=match):
        x.grad = value
    assert x.grad.tolist() == [7, 7, 7]  # the old one is not lost


def test_a_tensor_cannot_be_its_own_grad():
    x = leaf()
    with pytest.raises(RuntimeError, match="its own grad"):
        x.grad = x


# -- detach, detach_, data -------------------------------------------------------------------------------------


def test_detach_shares_memory_and_version():
    x = leaf()
    y = x * 2
    d = y.detach()
    assert np.shares_memory(d.numpy(), y.detach().numpy())
    assert not d.requires_grad
    assert d.grad_fn is None
    d += 1
    assert y._version == d._version == 1
    assert y.tolist() == [3, 5, 7]


def test_a_change_through_a_detached_alias_is_noticed():
    y = leaf() * 2
    z = y * y
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_detached_tensor_does_not_bring_its_requires_grad_back():
    x = leaf()
    d = x.detach()
    d.requires_grad_()
    (d * 2).sum().backward()
    assert x.grad is None
    assert d.grad.tolist() == [2, 2, 2]


def test_detach_in_place_makes_a_leaf():
    x = leaf()
    y = x * 2
    z = y * 3
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None
    z.sum().backward()  # what was recorded before stays
    assert x.grad.tolist() == [6, 6, 6]


def test_detach_in_place_is_refused_for_a_view():
    y = leaf() * 2
    with pytest.raises(RuntimeError, match=r"detach views in-place.*detach\(\)"):
        y[0:2].detach_()


def test_data_shares_memory_but_not_the_version():
    x = leaf()
    d = x.data
    assert not d.requires_grad
    d *= 10
    assert x.tolist() == [10, 20, 30]
    assert (x._version, d._version) == (0, 1)


def test_assigning_data_changes_the_leaf_and_keeps_its_place():
    x = leaf()
    x.data = pb.full((3,), 5.0)
    assert x.tolist() == [5, 5, 5]
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [10, 10, 10]


def test_assigning_data_after_it_was_saved_is_noticed():
    x = leaf()
    y = x.sin()
    x.data = pb.full((3,), 5.0)
    with pytest.raises(RuntimeError, match=r"SinBackward0 saved 'self'.*data"):
        y.sum().backward()


def test_assigning_data_leaves_views_of_the_old_memory_alone():
    x = leaf()
    y = x * 1
    v = y[0:2]
    y.data = pb.full((3,), 5.0)
    with pb.no_grad():
        y.add_(1)
    assert v.tolist() == [1, 2]
    (v * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 0]


@pytest.mark.parametrize("value", [np.ones(3), 1.0])
def test_data_takes_only_a_tensor(value):
    x = leaf()
    with pytest.raises(TypeError, match=r"data has to be a tensor, but got (ndarray|float)"):
        x.data = value
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("value", [pb.ones(2), pb.ones(3, dtype=pb.float32)])
def test_data_of_a_computed_tensor_keeps_its_form(value):
    x = leaf() * 1
    with pytest.raises(RuntimeError, match=r"expected a Tensor of shape \(3,\)"):
        x.data = value
    assert x.tolist() == [1, 2, 3]


# -- numpy(), item(), tolist() and Python's conversions --------------------------------------------------------


def test_numpy_shares_memory():
    array = np.zeros(3)
    t = pb.from_numpy(array)
    assert t.numpy() is array
    array[0] = 5
    assert t.tolist() == [5, 0, 0]


def test_numpy_of_a_tensor_that_requires_grad_is_refused():
    for t in (leaf(), leaf() * 2, leaf()[0:1]):
        with pytest.raises(RuntimeError, match=r"numpy\(\) on Tensor that requires grad.*detach\(\)\.numpy\(\)"):
            t.numpy()
        assert isinstance(t.detach().numpy(), np.ndarray)
        assert isinstance(t.numpy(force=True), np.ndarray)


def test_becoming_a_plain_array_by_accident_is_refused():
    x = leaf()
    with pytest.raises(RuntimeError, match=r"(?s)lose its gradient.*detach\(\)\.numpy\(\)"):
        x.__array__()
    with pytest.raises(RuntimeError):
        np.array(x)
    with pytest.raises(RuntimeError):
        np.array([x, x])
    with pytest.raises(RuntimeError):
        np.zeros(3)[...] = x
    assert np.asarray(x.detach()).tolist() == [1, 2, 3]


def test_item_and_tolist_give_python_numbers():
    assert type(pb.tensor([[2.5]]).item()) is float
    assert type(pb.tensor(3).item()) is int
    assert type(pb.tensor(True).item()) is bool
    assert type(pb.tensor(1j).item()) is complex
    assert leaf().tolist() == [1.0, 2.0, 3.0]
    assert pb.tensor(4.0).tolist() == 4.0
    assert (leaf() * 2).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2)])
def test_item_of_anything_but_one_element_is_refused(shape):
    with pytest.raises(RuntimeError, match=r"cannot be converted to Scalar"):
        pb.zeros(*shape).item()


def test_python_numbers_from_one_element():
    t = pb.tensor([2.5])
    assert (float(t), int(t), complex(t), bool(t)) == (2.5, 2, 2.5 + 0j, True)
    assert [10, 20, 30][pb.tensor(1)] == 20
    with pytest.raises(TypeError, match="integer tensors"):
        [10, 20][pb.tensor(1.0)]
    with pytest.raises(RuntimeError, match="one element"):
        float(pb.ones(2))
    with pytest.raises(RuntimeError, match=r"ambiguous.*any\(\) or \.all\(\)"):
        bool(pb.ones(2))


def test_float_of_a_tensor_that_requires_grad_warns():
    with pytest.warns(UserWarning, match=r"out of the graph.*item\(\)"):
        assert float(leaf([4.0])) == 4.0


def test_iteration_gives_the_rows_differentiably():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = x
    (first * second).sum().backward()
    assert x.grad.tolist() == [[3, 4], [1, 2]]
    with pytest.raises(TypeError, match="0-d"):
        iter(pb.tensor(1.0))


# -- copying and pickling --------------------------------------------------------------------------------------


def test_deepcopy_of_a_leaf_copies_values_and_grad():
    x = leaf()
    x.grad = pb.full((3,), 2.0)
    y = copy.deepcopy(x)
    y.detach().add_(1)
    y.grad.add_(1)
    assert y.requires_grad
    assert y.is_leaf
    assert (x.tolist(), x.grad.tolist()) == ([1, 2, 3], [2, 2, 2])
    assert (y.tolist(), y.grad.tolist()) == ([2, 3, 4], [3, 3, 3])


def test_deepcopy_keeps_sharing_within_one_structure():
    x = leaf()
    a, b = copy.deepcopy([x, x])
    assert a is b
    assert a is not x


def test_copy_of_a_computed_tensor_depends_on_it():
    x = leaf()
    y = x * 2
    z = copy.copy(y)
    z += 1
    (z**2).sum().backward()
    assert y.tolist() == [2, 4, 6]
    assert x.grad.tolist() == [12, 20, 28]


def test_deepcopy_of_a_computed_tensor_is_refused():
    with pytest.raises(RuntimeError, match=r"graph leaves.*MulBackward0.*detach\(\)"):
        copy.deepcopy(leaf() * 2)
    assert copy.deepcopy((leaf() * 2).detach()).tolist() == [2, 4, 6]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_pickle_keeps_values_dtype_and_requires_grad(requires_grad):
    x = pb.tensor([[1.5, 2.5]], dtype=pb.float32, requires_grad=requires_grad)
    y = pickle.loads(pickle.dumps(x))
    assert (y.tolist(), y.dtype, y.requires_grad, y.is_leaf) == ([[1.5, 2.5]], x.dtype, requires_grad, True)


def test_pickling_a_computed_tensor_is_refused():
    with pytest.raises(RuntimeError, match=r"MulBackward0.*detach\(\)"):
        pickle.dumps(leaf() * 2)


# -- retain_grad -----------------------------------------------------------------------------------------------


def test_retain_grad_keeps_the_gradient_of_a_computed_tensor():
    x = leaf()
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8, 12]
    assert not x.retains_grad
    assert x.grad.tolist() == [8, 16, 24]


def test_retain_grad_does_nothing_on_a_leaf_and_is_refused_without_grad():
    x = leaf()
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        pb.ones(2).retain_grad()
