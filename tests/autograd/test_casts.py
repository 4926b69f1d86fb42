"""Casts and copies: to, the casts by name, clone, contiguous; gradients come back in the dtype of the input."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.gradcheck import gradcheck
from pullback.core.errors import ComplexToRealWarning

FLOATS = [np.dtype(t) for t in (np.float16, np.float32, np.float64, np.longdouble)]
COMPLEX = [np.dtype(t) for t in (np.complex64, np.complex128, np.clongdouble)]
INTS = [np.dtype(t) for t in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.bool)]


def leaf(*values, dtype=None):
    return pb.tensor(values or (1.0, 2.0, 3.0), dtype=dtype, requires_grad=True)


# -- to(dtype) -------------------------------------------------------------------------------------------------------


def test_a_cast_is_recorded_as_in_pytorch():
    x = leaf(dtype=pb.float32)
    y = x.to(pb.float64)
    assert y.grad_fn.name() == "ToCopyBackward0"
    assert y.dtype == pb.float64
    assert y.grad_fn.next_functions[0][0].variable is x


def test_nothing_to_change_gives_the_tensor_itself():
    x = leaf()
    for same in (
        x.to(pb.float64),
        x.to(),
        x.to(None),
        x.to("cpu"),
        x.to("cpu:0"),
        x.to(x),
        x.double(),
        x.cpu(),
        x.type_as(x),
        x.to(pb.float64, memory_format=pb.contiguous_format),
        pb.to(x, pb.float64),
    ):
        assert same is x


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to(pb.float64, copy=True),
        lambda x: x.to(pb.float64, False, True),
        lambda x: x.to("cpu", copy=True),
        lambda x: x.to("cpu", pb.float64, False, True),
        lambda x: x.to(x, False, True),
        lambda x: x.to(copy=True),
        lambda x: x.astype(float),
    ],
)
def test_copy_copies_although_nothing_changes(call):
    x = leaf()
    y = call(x)
    assert y.grad_fn.name() == "ToCopyBackward0"
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to(pb.float32),
        lambda x: x.to("float32"),
        lambda x: x.to(np.float32),
        lambda x: x.to(dtype=pb.float32),
        lambda x: x.to("cpu", pb.float32),
        lambda x: x.to(pb.ones(1, dtype=pb.float32)),
        lambda x: x.to(device="cpu", dtype="f4"),
        lambda x: x.float(),
        lambda x: x.type(pb.float32),
        lambda x: x.type_as(pb.ones(1, dtype=pb.float32)),
        lambda x: x.astype(np.float32),
        lambda x: pb.to(x, pb.float32),
        lambda x: x.to(pb.float32, True),
    ],
)
def test_ways_to_say_it(call):
    x = leaf()
    y = call(x)
    assert (y.dtype, y.grad_fn.name()) == (pb.float32, "ToCopyBackward0")
    y.sum().backward()
    assert x.grad.dtype == pb.float64


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: x.to("cuda"), RuntimeError, "'cuda' is not available.*only 'cpu'.*pass 'cpu'"),
        (lambda x: x.to("cuda:1", pb.float32), RuntimeError, "'cuda:1' is not available"),
        (lambda x: x.to(device="mps"), TypeError, "'mps' is not available"),
        (lambda x: x.to("meta"), RuntimeError, "'meta' is not available"),
        (lambda x: x.to("cpu:1"), RuntimeError, "'cpu:1' is not available"),
        (lambda x: x.cuda(), RuntimeError, "'cuda' is not available"),
        (lambda x: x.cuda(3), RuntimeError, "'cuda:3' is not available"),
        (lambda x: x.to("float63"), TypeError, "'float63' is not a dtype; write pullback.float64"),
        (lambda x: x.to(object), TypeError, "cannot have dtype object"),
        (lambda x: x.to(pb.float32, pb.float64), TypeError, "takes a dtype, a device or a Tensor"),
        (lambda x: x.to(pb.float32, True, True, True), TypeError, "non_blocking and copy"),
        (lambda x: x.type(), TypeError, r"needs a dtype.*t\.dtype"),
        (
            lambda x: x.clone(memory_format="channels_last"),
            TypeError,
            "memory_format.*contiguous_format.*'channels_last'",
        ),
        (lambda x: x.to(pb.float32, memory_format=1), TypeError, "memory_format.*got 1"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call(leaf())


# -- gradients have the dtype of the input ---------------------------------------------------------------------------


@pytest.mark.parametrize("to", FLOATS + COMPLEX, ids=str)
@pytest.mark.parametrize("start", FLOATS, ids=str)
def test_gradient_of_a_cast_has_the_dtype_of_the_input(start, to):
    x = leaf(dtype=start)
    y = x.to(to) * 2
    y.backward(pb.ones_like(y))
    assert x.grad.dtype == start
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("to", COMPLEX, ids=str)
@pytest.mark.parametrize("start", COMPLEX, ids=str)
def test_gradient_of_a_complex_cast(start, to):
    z = leaf(1 + 1j, 2j, dtype=start)
    y = z.to(to) * 2j
    y.backward(pb.ones_like(y))
    assert z.grad.dtype == start
    assert z.grad.tolist() == [-2j, -2j]


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_several_precisions_meet_in_the_dtype_of_the_leaf(create_graph):
    x = leaf(dtype=pb.float16)
    (x.float() + x.double() * 2 + x.to(np.longdouble)).sum().backward(create_graph=create_graph)
    assert x.grad.dtype == pb.float16
    assert x.grad.tolist() == [4, 4, 4]
    x.grad = None
    (x.double() * 3).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.dtype == pb.float16
    assert x.grad.tolist() == [5, 5, 5]


def test_promotion_by_an_operator_casts_the_gradient_back_too():
    x, y = leaf(dtype=pb.float32), leaf(dtype=pb.float64)
    z = x * y
    assert z.dtype == pb.float64
    z.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (pb.float32, pb.float64)


def test_a_hook_sees_the_gradient_in_the_dtype_of_its_tensor():
    x, seen = leaf(dtype=pb.float32), []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.dtype))
    y.double().sum().backward()
    assert seen == [pb.float32]


def test_second_derivatives_go_through_casts():
    x = leaf(dtype=pb.float32)
    (g,) = pb.autograd.grad((x.double() ** 3).sum(), x, create_graph=True)
    assert g.dtype == pb.float32
    (h,) = pb.autograd.grad(g.sum(), x)
    assert h.dtype == pb.float32
    assert h.tolist() == [6, 12, 18]
    assert gradcheck(lambda x: x.to(pb.complex128).to(pb.complex128, copy=True) * 1j, leaf())


# -- whole numbers cut the graph -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_casts_to_whole_numbers_cut_the_graph(dtype):
    x = leaf()
    y = x.to(dtype)
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf
    (y.double() * x).sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_casts_by_name_cut_it_too():
    x = leaf()
    for y in (x.long(), x.int(), x.short(), x.char(), x.byte(), x.bool()):
        assert not y.requires_grad
    for y in (x.half(), x.float(), x.cfloat(), x.cdouble()):
        assert y.grad_fn.name() == "ToCopyBackward0"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, d: x.sum(dtype=d),
        lambda x, d: x.cumsum(0, dtype=d),
        lambda x, d: x.prod(dtype=d),
        lambda x, d: x.sum(0, dtype=d),
        lambda x, d: x.cumprod(0, dtype=d),
    ],
)
def test_so_do_operators_with_a_whole_dtype(call):
    y = call(leaf(), pb.int64)
    assert (y.dtype, y.requires_grad, y.grad_fn) == (pb.int64, False, None)
    y = call(leaf(), pb.float32)
    assert (y.dtype, y.requires_grad) == (pb.float32, True)


def test_a_cast_to_whole_numbers_under_observers():
    x = leaf()
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.long()
    assert not y.requires_grad


def test_whole_numbers_become_constants():
    y = pb.tensor([1, 2]).to(pb.float64)
    assert not y.requires_grad
    assert y.grad_fn is None


# -- complex to real ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [pb.float64, pb.float32, pb.int64], ids=str)
def test_complex_to_real_warns_as_pytorch_and_numpy_do(dtype):
    z = pb.tensor([1 + 2j])
    for category in (UserWarning, np.exceptions.ComplexWarning, ComplexToRealWarning):
        with pytest.warns(category, match=rf"discards the imaginary part: complex128 becomes {dtype}.*\.real") as said:
            x = z.to(dtype)
        assert said[0].filename == __file__  # the caller's line
    assert (x.tolist(), x.dtype) == ([1], dtype)


def test_gradient_of_complex_to_real():
    z = leaf(1 + 2j, 3j)
    with pytest.warns(ComplexToRealWarning):
        y = z.to(pb.float32)
    (y * 2).sum().backward()
    assert z.grad.dtype == pb.complex128
    assert z.grad.tolist() == [2, 2]


def test_complex_to_bool_does_not_warn():
    assert pb.tensor([0j, 1j]).to(pb.bool).tolist() == [False, True]


def test_gradients_drop_imaginary_parts_without_a_warning():
    x = leaf()
    (x * (1 + 2j)).abs().sum().backward()  # the suite makes errors of warnings
    assert x.grad.dtype == pb.float64


# -- clone, contiguous and the order of memory -------------------------------------------------------------------------


def test_clone_is_recorded_and_shares_nothing():
    x = leaf()
    y = x.clone()
    assert y.grad_fn.name() == "CloneBackward0"
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())
    assert y._base is None
    y.mul_(3)
    y.sum().backward()
    assert x.tolist() == [1, 2, 3]
    assert x.grad.tolist() == [3, 3, 3]


# Strides before, and of PyTorch's clone(): its own where elements lie without gaps or repetition, dense otherwise.
@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda x: x, (12, 4, 1)),
        (lambda x: x.permute(2, 0, 1), (1, 12, 4)),
        (lambda x: x.permute(2, 0, 1)[:, :, ::2], (1, 8, 4)),
        (lambda x: x[:, ::2], (8, 4, 1)),
        (lambda x: x[:1].expand(2, 3, 4), (12, 4, 1)),
        (lambda x: x[:, :1].expand(2, 3, 4), (12, 4, 1)),
        (lambda x: x.transpose(0, 1), (4, 12, 1)),
    ],
)
def test_order_of_memory_of_copies(view, strides):
    x = pb.ones(2, 3, 4, requires_grad=True)
    v = view(x)
    assert v.clone().stride() == strides
    assert v.clone(memory_format=pb.preserve_format).stride() == strides
    assert v.to(pb.float32).stride() == strides
    dense = v.clone(memory_format=pb.contiguous_format)
    assert dense.is_contiguous()
    assert dense.grad_fn.name() == "CloneBackward0"
    assert v.to(pb.float32, memory_format=pb.contiguous_format).is_contiguous()
    assert v.float(memory_format=pb.contiguous_format).grad_fn.name() == "ToCopyBackward0"
    (v.clone() * 2).sum().backward()
    assert x.grad.shape == x.shape


def test_contiguous_gives_the_tensor_itself_or_a_clone():
    x = leaf()
    assert x.contiguous() is x
    m = pb.ones(2, 3, requires_grad=True)
    y = m.t().contiguous()
    assert y.is_contiguous()
    assert y.grad_fn.name() == "CloneBackward0"
    (y * pb.tensor([[1.0, 2.0]])).sum().backward()
    assert m.grad.tolist() == [[1, 1, 1], [2, 2, 2]]


# -- copy_ ---------------------------------------------------------------------------------------------------------


def test_copy_is_a_node_with_pytorchs_name():
    x, y = leaf(), pb.zeros(3)
    y.copy_(x)
    assert y.grad_fn.name() == "CopyBackwards"
    assert [type(node).__name__ for node, _ in y.grad_fn.next_functions] == ["NoneType", "AccumulateGrad"]


def test_copy_over_a_computed_tensor_gives_that_no_gradient():
    x, w = leaf(), leaf()
    y = w * 2
    y.copy_(x)
    assert y.grad_fn.name() == "CopyBackwards"
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    assert w.grad is None or w.grad.tolist() == [0, 0, 0]


def test_copy_casts_and_broadcasts_and_so_does_its_gradient():
    x = leaf(2.0, dtype=pb.float32)
    y = pb.zeros(3).copy_(x)
    assert y.dtype == pb.float64
    y.sum().backward()
    assert x.grad.dtype == pb.float32
    assert x.grad.tolist() == [3]
    whole = pb.zeros(1, dtype=pb.int64).copy_(x)
    assert not whole.requires_grad
