"""The nodes that belong to no operator, and what every node offers."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.basic_nodes import DelayedError, Error, GraphRoot, Identity, NotImplemented, UndefinedGrad
from pullback.autograd.graph import Node, call_node
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
    x = UndefinedGrad()(a * 2)
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
    g = x.sum().grad_fn(pb.tensor(5.0))
    assert g.tolist() == [5, 5]


def test_a_node_of_several_outputs_can_be_run_by_hand():
    x = leaf(2.0, 3.0)
    values, _ = pb.sort(x)
    g = values.grad_fn(pb.tensor([1.0, 10.0]), None)
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


def test_walking_the_graph_by_hand_fills_grad():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    todo = [((x * y + x).grad_fn, pb.ones(2))]
    while todo:
        node, grad = todo.pop()
        grads = call_node(node, [grad])
        todo += [(n, g) for (n, _), g in zip(node.next_functions, grads, strict=True) if n is not None]
    assert x.grad.tolist() == [4, 5]
    assert y.grad.tolist() == [1, 2]
    hooked = []
    x.register_hook(hooked.append)
    node = entry(x)
    assert node(None) == ()
    node(pb.ones(2))
    assert len(hooked) == 1
    assert x.grad.tolist() == [5, 6]


def test_nodes_by_hand_are_called_with_or_without_edges():
    grad = pb.ones(2)
    assert Identity()(grad) is grad
    y = leaf() * 2
    root = GraphRoot((y.grad_fn,), (np.array([1.0, 10.0]),), y.shape, y.dtype)
    assert root.input_metadata[0].shape == (2,)
    for found in (root(), root(grad)):
        assert found.tolist() == [1, 10]


def test_a_single_result_of_a_node_by_hand_is_no_tuple():
    x, g = leaf(2.0, 3.0), pb.tensor([1.0, 10.0])
    for y in (x.clone(), pb.cat([x])):
        assert y.grad_fn(g).tolist() == [1, 10]
    assert call_node(x.clone().grad_fn, [g])[0].tolist() == [1, 10]  # for programs that walk the graph
    assert [type(of(g, g)) for of in (DelayedError("no"), UndefinedGrad())] == [tuple, tuple]


def test_delayed_error_is_made_for_a_number_of_inputs():
    x = DelayedError("not twice", 1)(leaf())
    assert x.requires_grad
    with pytest.raises(TypeError, match="expected 1 inputs, as it was made for, got 2"):
        DelayedError("not twice", 1)(leaf(), leaf())


def test_not_implemented_is_an_error_node_that_names_its_function():
    node = NotImplemented()
    node.operator = "frobnicate"
    assert isinstance(node, Error)
    assert node.name() == "NotImplemented"
    assert "'frobnicate' is not implemented" in node.message


def test_a_gradient_edge_serves_as_an_edge():
    x = leaf()
    values, _ = (x * 2).sort()
    for y, expected in ((x * 2, [6, 6]), (values, [6, 6]), (x, [3, 3])):
        edge = pb.autograd.graph.get_gradient_edge(y)
        x.grad = None
        (after(y, Identity((edge,), y.shape, y.dtype)) * 3).sum().backward()
        assert x.grad.tolist() == expected
    with pytest.raises(RuntimeError, match="there is no output 3"):
        Identity((pb.autograd.graph.GradientEdge(values.grad_fn, 3),))
    x.grad = None
    pb.autograd.backward(pb.autograd.graph.get_gradient_edge(x * 2), pb.ones(2))
    assert x.grad.tolist() == [2, 2]


def test_old_kinds_of_functions_take_once_differentiable():
    for kind in (pb.autograd.function.InplaceFunction, pb.autograd.function.NestedIOFunction):

        class Twice(kind):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            @pb.autograd.function.once_differentiable
            def backward(ctx, grad):
                return 2 * grad

        x = leaf()
        Twice.apply(x).sum().backward()
        assert x.grad.tolist() == [2, 2]
