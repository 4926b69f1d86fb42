"""The nodes that belong to no operator, and what every node offers."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.basic_nodes import DelayedError, Error, GraphRoot, Identity, NotImplemented, UndefinedGrad
from pullback.autograd.graph import Node
from pullback.core.tensor import wrap
from pullback.graph.node import AccumulateGrad


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


def after(x, node):
    """`x` as the output of `node`."""
    out = wrap(x.detach().numpy())
    out._fn, out._requires_grad = node, True
    return out


def entry(x):
    return x.grad_fn or x.view_as(x).grad_fn.next_functions[0][0]


def test_identity_passes_the_gradient_on():
    x = leaf()
    y = x * 2
    z = after(y, Identity((y.grad_fn,), y.shape, y.dtype))
    (z * 3).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_error_raises_when_reached_and_not_before():
    x = leaf()
    y = x * 2
    node = Error("not this way", (y.grad_fn,))
    node._shape, node._dtype = y.shape, y.dtype
    z = after(y, node)
    total = (z * 3).sum()
    with pytest.raises(RuntimeError, match="not this way"):
        total.backward()
    assert x.grad is None


def test_graph_root_feeds_gradients():
    x = leaf()
    y = x * 2
    root = GraphRoot((y.grad_fn,), (np.array([1.0, 10.0]),))
    assert root.next_functions == ((y.grad_fn, 0),)
    assert [g.tolist() for g in root.apply(None, None, None)] == [[1.0, 10.0]]


def test_delayed_error_marks_tensors_that_cannot_be_differentiated():
    a, b = leaf(), leaf()
    x, y = DelayedError("no second derivative")(a * 2, b)
    assert x.tolist() == [2, 4]
    assert x.grad_fn.name() == "Error"
    with pytest.raises(RuntimeError, match="no second derivative"):
        (x + y).sum().backward()


def test_undefined_grad_ends_the_gradient():
    a, b = leaf(), leaf()
    (x,) = UndefinedGrad()(a * 2)
    assert x.grad_fn.name() == "UndefinedGradBackward"
    (x * b).sum().backward()
    assert a.grad is None
    assert b.grad.tolist() == [2, 4]


def test_not_implemented_names_the_operator():
    x = leaf()
    y = x * 1
    node = NotImplemented((y.grad_fn,), y.shape, y.dtype)
    node.operator = "frobnicate"
    z = after(y, node)
    with pytest.raises(NotImplementedError, match="'frobnicate' is not implemented"):
        z.sum().backward()
    with pytest.raises(RuntimeError):  # which it is as well
        z.sum().backward()


def test_accumulate_grad_is_one_per_leaf_while_a_graph_needs_it():
    x = leaf()
    y, z = x * 2, x * 3
    node = y.grad_fn.next_functions[0][0]
    assert isinstance(node, AccumulateGrad)
    assert node.name() == "AccumulateGrad"
    assert node.variable is x
    assert z.grad_fn.next_functions[0][0] is node
    assert node.next_functions == ()


def test_next_functions_show_the_graph():
    x, c = leaf(), pb.ones(2)
    y = x * c
    assert y.grad_fn.next_functions[1] == (None, 0)
    z = y.exp()
    assert z.grad_fn.next_functions == ((y.grad_fn, 0),)
    values, _ = pb.sort(x)
    first = values.sum()
    assert first.grad_fn.next_functions == ((values.grad_fn, 0),)
    assert isinstance(z.grad_fn, Node)


def test_saved_values_can_be_looked_at():
    x = leaf(0.0, 1.0)
    y = x.exp()
    assert np.allclose(y.grad_fn._saved_result.tolist(), np.exp([0.0, 1.0]))
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert (x * x).grad_fn._saved_self is x
    assert x.sin().grad_fn._saved_self is x
    with pytest.raises(AttributeError, match="_saved_nothing"):
        _ = y.grad_fn._saved_nothing
    with pytest.raises(AttributeError, match="surprise"):
        _ = y.grad_fn.surprise
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = y.grad_fn._saved_result


def test_a_node_can_be_run_by_hand():
    x = leaf(2.0, 3.0)
    a, b = (x * x).grad_fn(pb.tensor([1.0, 10.0]))
    assert a.tolist() == b.tolist() == [2, 30]
    assert a.requires_grad  # recorded, since grad mode is on
    node = (x * x).grad_fn
    with pb.no_grad():
        a, _ = node(pb.tensor([1.0, 10.0]))
    assert not a.requires_grad
    (g,) = x.sum().grad_fn(pb.tensor(5.0))
    assert g.tolist() == [5, 5]


def test_a_node_of_several_outputs_can_be_run_by_hand():
    x = leaf(2.0, 3.0)
    values, _ = pb.sort(x)
    (g,) = values.grad_fn(pb.tensor([1.0, 10.0]), None)
    assert g.tolist() == [1, 10]


@pytest.mark.parametrize(
    ("gradients", "error", "match"),
    [
        ((), TypeError, "expected 1 arguments"),
        ((1.0,), TypeError, "float"),
        ((pb.ones(3),), RuntimeError, r"\(3,\).*\(2,\)"),
    ],
)
def test_a_node_run_by_hand_checks_its_gradients(gradients, error, match):
    with pytest.raises(error, match=match):
        (leaf() * 2).grad_fn(*gradients)


def test_public_names_are_where_pytorch_has_them():
    assert callable(pb.autograd.gradcheck)  # the function, although a package of that name holds it
    assert callable(pb.autograd.gradgradcheck)
    assert pb.autograd.graph.Node is Node
    assert pb.autograd.function.Function is pb.autograd.Function
    for name in ("backward", "grad", "no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
        assert callable(getattr(pb.autograd, name))
