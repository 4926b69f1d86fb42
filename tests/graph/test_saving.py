"""Nodes keep what their class writes down, and let go of it."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import BackwardTwiceError
from pullback.graph.node import MultiNode, Node
from pullback.graph.saved import Fingerprint, Form, Released, unpack_raw
from pullback.graph.saving import Saves


def node_of(words, edges=(None, None), others=(), base=Node):
    """A node with these edges, of a class that keeps this."""
    cls = type("Trial", (base,), {"__slots__": Saves(words, *others)}, inputs=tuple(range(len(edges))))
    node = cls()
    node._nexts = None if len(edges) <= 2 else edges
    node._next0, node._next1 = [*edges, None][:2]
    return node


def kept(words, *args, edges=(None, None), out=None):
    """The slots that are filled, after these arguments were saved."""
    node = node_of(words, edges)
    node.save(out, *args)
    return {slot: getattr(node, slot) for slot in type(node).__slots__ if hasattr(node, slot)}


def test_tensor_is_kept_with_its_version():
    x, base = pb.tensor([1.0, 2.0]), pb.tensor([1.0, 2.0])
    view = base[:1]
    base += 1
    assert kept("self other", x, view) == {
        "saved_self": x, "version_self": None, "saved_other": view, "version_other": 1
    }  # fmt: skip


@pytest.mark.parametrize("constant", [2.0, 3, None, np.float32(1.5)])
def test_constant_is_kept_as_it_is(constant):
    assert kept("self _", constant, 0) == {"saved_self": constant, "version_self": None}


def test_array_without_a_gradient_is_copied_whatever_its_size():
    x = np.zeros(10**5)
    assert kept("self", x)["saved_self"] is x
    assert kept("self!", x)["saved_self"] is not x


@pytest.mark.parametrize(
    ("dtype", "size"), [("f4", 5001), ("f8", 5000), ("i2", 30003), ("u1", 40001), ("f4", 509 * 16)]
)
@pytest.mark.parametrize("place", [0, -1])
def test_fingerprint_of_an_array_tells_of_every_element(dtype, size, place):
    x = np.ones(size, dtype)
    before = Fingerprint(x)
    assert before.fits(x)
    x[place] = 7
    assert not before.fits(x)


def test_what_a_gradient_needs_is_kept_where_that_gradient_flows():
    edge = pb.tensor(1.0, requires_grad=True).exp().grad_fn
    words = "a:0|2 b:1 c:0&1"
    for edges, names in (((edge, None, None), "a"), ((None, edge, edge), "ab"), ((edge, edge, None), "abc")):
        assert "".join(slot[-1] for slot in kept(words, 1.0, 2.0, 3.0, edges=edges) if slot[0] == "s") == names


def test_form_stands_in_for_a_tensor_whose_values_nobody_needs():
    x, edge = pb.tensor([[1.0, 2.0]]), pb.tensor(1.0, requires_grad=True).exp().grad_fn
    found = kept("x:1/form", x, edges=(edge, None))["saved_x"]
    assert type(found) is Form
    assert found.shape == (1, 2)
    assert kept("x:1/form", x, edges=(None, edge))["saved_x"] is x
    assert kept("x:1/form:0", x) == {}


def test_edges_of_a_list_have_its_name():
    node = node_of("x:xs* xs*", others=("_edges_x", "_edges_xs"))
    node._edges_x, node._edges_xs = None, (None, None)
    node.save(None, 1.0, [2.0])
    assert not hasattr(node, "saved_x")
    assert (node.saved_xs, node.version_xs) == ((2.0,), (None,))
    node._edges_xs = (None, pb.tensor(1.0, requires_grad=True).exp().grad_fn)
    node.save(None, 1.0, [2.0])
    assert node.saved_x == 1.0


def test_shapes_arguments_and_copies():
    dims, x = [0, 1], pb.tensor([[1.0, 2.0]])
    found = kept("x.shape xs*.shape keep= dims=copy y.dtype+y.ndim", x, [x, 1.0], True, dims, 2.0)
    dims.append(2)
    assert found == {
        "x_shape": (1, 2), "xs_shape": ((1, 2), ()), "arg_keep": True, "arg_dims": (0, 1), "y_dtype": np.dtype(float),
        "y_ndim": 0,
    }  # fmt: skip


def test_outputs_are_kept_as_data():
    outs = [pb.tensor([1.0]), pb.tensor([2.0])]
    node = node_of("_ -> _ second", (None,), base=MultiNode)
    node.save(outs, 1.0)
    assert node.saved_second is outs[1]._array
    assert kept("_ -> result.shape", 1.0, out=outs[0]) == {"result_shape": (1,)}


def test_release_lets_go_of_tensors_and_of_indices_with_arrays():
    node = node_of("self index=index dim=copy -> result", (None,))
    out = pb.tensor([1.0])
    node.save(out, pb.tensor([1.0]), (np.array([0]), slice(2)), 3)
    node.release()
    assert (node.saved_self, node.saved_result, node.arg_index, node.arg_dim) == (None, None, Released, 3)
    with pytest.raises(BackwardTwiceError):
        unpack_raw(node.saved_self, node.version_self, node)


def test_methods_are_made_once_for_all_that_keep_the_same():
    first, second = node_of("trial other=", (None,)), node_of("trial other=", (None,))
    stand_in = type(first).save
    for node in (first, second):
        node.save(None, 1.0, 2)
    assert type(first).save is type(second).save is not stand_in
    assert type(first).release is type(second).release


def test_subclass_keeps_what_its_base_does():
    base = type(node_of("self", (None,)))
    node = type("Further", (base,), {"__slots__": ()})()
    node.save(None, 4.0)
    assert node.saved_self == 4.0
    assert base.saves_self
    assert not type(node_of("_ self", (None, None))).saves_self


def test_class_with_a_keyword_that_no_node_has_is_refused():
    with pytest.raises(TypeError, match="'pointwize', which is no attribute of a Node"):
        type("Wrong", (Node,), {}, pointwize=True)
