"""Which tensors may be written into in place, by how they were made; and what those that may not be say."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function

pytestmark = pytest.mark.usefixtures("both_paths")


def leaf():
    return pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


def refused(call, *words):
    """The call raises a RuntimeError that says all these words."""
    with pytest.raises(RuntimeError) as caught:
        call()
    for word in words:
        assert word in str(caught.value), f"{word!r} not in {caught.value}"


# -- operators that return several views -------------------------------------------------------------------------

SEVERAL = {
    "unbind": lambda t: pb.unbind(t)[0],
    "iteration": lambda t: next(iter(t)),
    "split": lambda t: t.split(1)[0],
    "split_with_sizes": lambda t: t.split([1, 1])[0],
    "chunk": lambda t: t.chunk(2)[0],
    "a view of one": lambda t: t.chunk(2)[0][:, 1:],
}


@pytest.mark.parametrize("view", SEVERAL.values(), ids=SEVERAL)
def test_one_of_several_views_is_not_written_into_while_recording(view):
    y = leaf() * 1
    v = view(y)
    refused(lambda: v.mul_(2), "mul_", "returns multiple views", "t[i]", "narrow", "out-of-place")
    assert (y.tolist(), y._version) == ([[1, 2, 3], [4, 5, 6]], 0)
    v.sum().backward()  # it may be read


@pytest.mark.parametrize("view", SEVERAL.values(), ids=SEVERAL)
def test_one_of_several_views_is_of_no_use_after_its_base_was_written_into(view):
    y = leaf() * 1
    v = view(y)
    y.mul_(2)
    refused(lambda: v.sum(), "modified inplace", "returns multiple views", "t[i]")
    assert "Invalid" in repr(v)
    assert v.detach().sum().item() > 0


def test_several_views_of_what_nothing_is_recorded_of_may_be_written_into():
    y = pb.zeros(2, 3)
    for row in y:
        row.add_(1)
    assert y.tolist() == [[1] * 3] * 2
    x = leaf()
    with pb.no_grad():
        for row in x:
            row.mul_(2)
    assert x.tolist() == [[2, 4, 6], [8, 10, 12]]
    refused(lambda: pb.unbind(y)[0].add_(leaf()[0]), "returns multiple views")


def test_tensor_split_makes_its_views_one_by_one():
    x = leaf()
    y = x * 1
    y.tensor_split(2)[0].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [[2] * 3, [1] * 3]


# -- views made where nothing is recorded ------------------------------------------------------------------------


@pytest.mark.parametrize("outer", [lambda v: v, lambda v: v[1:], lambda v: v.detach()[:1]], ids=["", "view", "detach"])
def test_a_view_made_under_no_grad_is_a_constant(outer):
    y = leaf() * 1
    with pb.no_grad():
        v = outer(y[0])
    assert not v.requires_grad
    assert v.grad_fn is None
    assert v._is_view()


def test_a_view_made_under_no_grad_is_not_written_into_while_recording():
    y = leaf() * 1
    with pb.no_grad():
        v = y[0]
        v.mul_(2)  # both here
    text = ("mul_", "made under no_grad()", "both under no_grad(), or neither")
    refused(lambda: v.mul_(2), *text)
    refused(lambda: v[1:].mul_(2), *text)


def test_a_view_made_under_no_grad_of_a_constant():
    base, w = pb.zeros(2, 3), pb.ones(3, requires_grad=True)
    with pb.no_grad():
        v, u = base[0], base[1]
    v.add_(1)  # of no interest to any graph
    refused(lambda: v.mul_(w), "made under no_grad()")
    assert not base.requires_grad
    base.mul_(w)
    refused(lambda: u.sum(), "modified inplace", "made under no_grad()", "neither")


def test_a_view_made_in_inference_mode():
    y = leaf() * 1
    with pb.inference_mode():
        v = y[0]
        v.mul_(2)
    assert not v.is_inference()  # as its base
    assert y._version == 1
    refused(lambda: v.mul_(2), "mul_", "made in inference_mode()", "both into inference_mode(), or neither")
    with pb.no_grad():
        v.mul_(2)


def test_a_view_of_an_inference_tensor_is_one():
    with pb.inference_mode():
        t = pb.ones(2, 3)
        inside = t[0]
    outside = t[1][:2]
    assert inside.is_inference()
    assert outside.is_inference()
    for write in (lambda: t.add_(1), lambda: inside.add_(1), lambda: outside.add_(1), lambda: outside.t_()):
        refused(write, "inference tensor outside InferenceMode", "clone()")
        with pb.no_grad():
            refused(write, "inference tensor outside InferenceMode", "clone()")
    assert t.tolist() == [[1] * 3] * 2


def test_an_operand_that_is_of_no_use_is_refused_before_anything_is_written():
    y, z = leaf() * 1, pb.zeros(3)
    v = pb.unbind(y)[0]
    y.mul_(2)
    refused(lambda: z.add_(v), "modified inplace", "returns multiple views")
    assert (z.tolist(), z._version, z.requires_grad) == ([0, 0, 0], 0, False)


# -- views of leaves ---------------------------------------------------------------------------------------------


def test_a_view_that_was_made_before_its_base_required_grad():
    base = pb.ones(2, 3)
    v = base[0]
    base.requires_grad_()
    refused(lambda: v.mul_(2), "view of a leaf Variable that requires grad", "no_grad()", "out-of-place")
    refused(lambda: v.mul_(base[1]), "view of a leaf Variable")


def test_a_view_that_requires_grad_itself_is_a_leaf_until_its_base_is_written_into():
    base, w = pb.ones(2, 3), pb.full((3,), 2.0, requires_grad=True)
    v = base[0]
    v.requires_grad_()
    assert v.is_leaf
    refused(lambda: v.mul_(2), "a leaf Variable that requires grad")
    base.mul_(2)
    assert v.is_leaf
    base.mul_(w)
    assert not v.is_leaf
    v.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_writing_by_index_into_a_leaf():
    x = leaf()
    for index in (0, (0, slice(1)), [0, 1], np.array([True, False])):
        refused(lambda index=index: x.__setitem__(index, 0.0), "leaf Variable that requires grad", "no_grad()")
    assert x._version == 0


# -- custom Functions --------------------------------------------------------------------------------------------


class Inner(Function):
    @staticmethod
    def forward(ctx, x):
        return (x * 2)[0]

    @staticmethod
    def backward(ctx, g):
        return pb.stack([g * 2, g * 0])


class Rows(Function):
    @staticmethod
    def forward(ctx, x):
        return x[0], x[1]

    @staticmethod
    def backward(ctx, g, h):
        return pb.stack([g, h])


@pytest.mark.parametrize("view", [Inner.apply, lambda t: Rows.apply(t)[0]], ids=["of its own", "several"])
def test_a_view_that_a_custom_function_returns_is_not_written_into(view):
    x = leaf()
    v = view(x * 1)
    refused(lambda: v.mul_(2), "mul_", "custom Function", "Backward", "clone()")
    refused(lambda: v[1:].mul_(2), "custom Function", "clone()")
    v.clone().mul_(3).sum().backward()
    assert x.grad[0].tolist() in ([6, 6, 6], [3, 3, 3])


# -- one memory for several elements -----------------------------------------------------------------------------

OVERLAPPING = {
    "expand": lambda t: t[:, :1].expand(2, 3),
    "unfold": lambda t: t.unfold(1, 2, 1),
    "as_strided": lambda t: t.as_strided((5, 2), (1, 1)),
}


WRITES = [lambda t: t[0].mul_(2), lambda t: t.__setitem__(0, 2), lambda t: t[1:2].zero_(), lambda t: t[:, 0].fill_(2)]


@pytest.mark.parametrize("write", WRITES[:3])
def test_a_row_of_an_expanded_tensor_is_written_into_outside_of_a_graph(write):
    t, row = pb.ones(3).expand(4, 3), pb.ones(1, 3)
    write(t)
    write(row if write is not WRITES[2] else row.expand(2, 3))
    assert t._version == 1
    assert t.tolist() == row.tolist() * 4


@pytest.mark.parametrize("write", WRITES)
def test_what_shows_one_place_twice_or_is_meant_to_be_read_only_is_not_written_into(write):
    fixed = np.ones((4, 3))
    fixed.flags.writeable = False
    y = (pb.ones(3, requires_grad=True) * 1).expand(4, 3)
    refused(lambda: write(pb.from_numpy(fixed)), "assignment destination is read-only", "copy")
    refused(lambda: write(pb.from_numpy(np.broadcast_to(np.ones(3), (4, 3)))), "cannot write into")
    refused(lambda: write(y), "more than one element", "single memory location", "clone()")
    refused(lambda: pb.ones(3).expand(4, 3).mul_(2), "single memory location", "clone()")
    refused(lambda: WRITES[3](pb.ones(3).expand(4, 3)), "single memory location", "clone()")


@pytest.mark.parametrize("view", OVERLAPPING.values(), ids=OVERLAPPING)
def test_a_view_that_overlaps_itself_is_not_written_into_while_recording(view):
    y = leaf() * 1
    refused(lambda: view(y).mul_(2), "mul_", "more than one element", "single memory location", "shape", "clone()")
    assert y._version == 0


@pytest.mark.parametrize("view", OVERLAPPING.values(), ids=OVERLAPPING)
def test_a_view_that_overlaps_itself_may_be_read_and_follows_its_base(view):
    x = leaf()
    y = x * 1
    v = view(y)
    y.mul_(2)
    v.sum().backward()
    places = np.zeros((2, 3))
    counted = view(pb.from_numpy(np.arange(6.0).reshape(2, 3))).numpy()
    np.add.at(places.reshape(-1), counted.astype(int).reshape(-1), 2.0)
    assert x.grad.tolist() == places.tolist()


def test_unfold_without_overlap_may_be_written_into():
    x = leaf()
    y = x * 1
    y.unfold(1, 1, 2).mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 1, 2], [2, 1, 2]]


# -- other ways to change a tensor -------------------------------------------------------------------------------


def test_detach_shares_memory_and_version_and_is_no_view():
    y = leaf() * 1
    d = y.detach()
    assert not d._is_view()
    d.mul_(2)
    assert y.tolist() == [[2, 4, 6], [8, 10, 12]]
    assert (y._version, d._version) == (1, 1)
    refused(lambda: y[0].detach_(), "Can't detach views in-place", "detach()")


def test_assigning_data_leaves_the_old_views_behind():
    x = pb.ones(3, requires_grad=True)
    v = x[:1]
    z = (x * x).sum()
    x.data = pb.zeros(3)
    assert v._base is x
    assert v.tolist() == [1]
    refused(z.backward, "MulBackward0 saved", "at version 0", "assigning to .data", "now version 1")
    x.data = pb.zeros(4)
    assert v.tolist() == [1]
    refused((v * 2).sum().backward, "gradient of shape (3,)", "another shape", "assigning to .data")


@pytest.mark.parametrize("call", [lambda t: t.resize_(7), lambda t: t.resize_((2, 4)), lambda t: t.set_(pb.ones(2))])
def test_other_memory_cannot_be_taken_in_place(call):
    for t in (leaf(), leaf() * 1):
        refused(lambda t=t: call(t), "_: ", "shape (2, 3)", "views", ".data =", "new tensor")
    refused(lambda: pb.ones(2, 3).resize_(7), "resize_: ", "shape (2, 3)", "views", ".data =", "new tensor")
    refused(lambda: leaf().resize_(2), "cannot resize variables that require grad")


def test_fewer_elements_of_the_same_memory_are_shown_in_place():
    t = pb.arange(6.0).reshape(2, 3)
    row = t[0]
    assert t.resize_(2, 2) is t
    assert t.tolist() == [[0, 1], [2, 3]]
    row.add_(10)
    assert t.tolist() == [[10, 11], [12, 3]]
    assert t._version == row._version
    assert t.resize_as_(pb.ones(3)).tolist() == [10, 11, 12]


def test_a_parameter_can_be_set_to_a_part_of_itself():
    p = pb.arange(4.0).requires_grad_()
    for left in (3, 2):
        p.grad = None
        with pb.no_grad():
            p.set_(p[1:])
        pb.cat((p, p)).sum().backward()
        assert p.grad.tolist() == [2.0] * left
    assert p.tolist() == [2, 3]


def test_operands_that_share_memory_with_what_is_written_keep_their_old_values():
    """Values that a node saves after the write would be the new ones."""
    programs = {
        "itself, twice": (lambda t: t.addcmul_(t, t), lambda t: t + t * t),
        "a view": (lambda t: t.mul_(t[0]), lambda t: t * t[0]),
        "a transposed view": (lambda t: t.mul_(t.T), lambda t: t * t.T),
    }
    for name, (in_place, out_of_place) in programs.items():
        grads = []
        for program in (in_place, out_of_place):
            x = pb.tensor([[0.5, 2.0], [-1.0, 3.0]], requires_grad=True)
            out = program(x * 1)
            (out * pb.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
            grads.append((out.tolist(), x.grad.tolist()))
        assert np.allclose(grads[0][0], grads[1][0]), name
        assert np.allclose(grads[0][1], grads[1][1]), name


def test_a_complex_view_that_begins_with_an_imaginary_part():
    numbers = np.array([1 + 2j, 3 + 4j, 5 + 6j])
    z = pb.tensor(numbers, requires_grad=True)
    y = z * 1
    v = pb.view_as_complex(pb.view_as_real(y).reshape(-1)[1:-1].reshape(-1, 2))
    assert v.tolist() == [2 + 3j, 4 + 5j]
    v.mul_(2)
    y.backward(pb.tensor([1 + 1j, 1 + 1j, 1 + 1j]))
    assert z.grad.tolist() == [1 + 2j, 2 + 2j, 2 + 1j]
