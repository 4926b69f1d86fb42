"""The graph as an object: nodes, their names, links and saved values; gradient edges; versions; copies of tensors."""

import copy
import gc
import importlib
import pickle
import pkgutil
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import (
    GradientEdge,
    Node,
    get_gradient_edge,
    increment_version,
    will_engine_execute_node,
)
from pullback.graph.node import AccumulateGrad, MultiNode, OutputEdge
from pullback.graph.saved import Released


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


@pytest.fixture
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# -- nodes -----------------------------------------------------------------------------------------------------


class Twice(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


NAMES = {
    "AddBackward0": lambda x: x + x,
    "SubBackward0": lambda x: x - x,
    "MulBackward0": lambda x: x * x,
    "DivBackward0": lambda x: x / x,
    "PowBackward0": lambda x: x**2,
    "NegBackward0": lambda x: -x,
    "ExpBackward0": lambda x: x.exp(),
    "LogBackward0": lambda x: x.log(),
    "SinBackward0": lambda x: x.sin(),
    "TanhBackward0": lambda x: x.tanh(),
    "SigmoidBackward0": lambda x: x.sigmoid(),
    "ReluBackward0": lambda x: x.relu(),
    "AbsBackward0": lambda x: x.abs(),
    "SqrtBackward0": lambda x: x.sqrt(),
    "SumBackward0": lambda x: x.sum(),
    "MeanBackward0": lambda x: x.mean(),
    "ProdBackward0": lambda x: x.prod(),
    "CumsumBackward0": lambda x: x.cumsum(0),
    "SoftmaxBackward0": lambda x: x.softmax(0),
    "LogSoftmaxBackward0": lambda x: x.log_softmax(0),
    "LogsumexpBackward0": lambda x: x.logsumexp(0),
    "AmaxBackward0": lambda x: x.amax(0),
    "SortBackward0": lambda x: x.sort(0)[0],
    "ViewBackward0": lambda x: x.view(4),
    "TransposeBackward0": lambda x: x.transpose(0, 1),
    "PermuteBackward0": lambda x: x.permute(1, 0),
    "TBackward0": lambda x: x.t(),
    "UnsqueezeBackward0": lambda x: x.unsqueeze(0),
    "ExpandBackward0": lambda x: x.expand(3, 2, 2),
    "SelectBackward0": lambda x: x.select(0, 0),
    "UnbindBackward0": lambda x: x.unbind()[0],
    "SplitBackward0": lambda x: x.split(1)[0],
    "DiagonalBackward0": lambda x: x.diagonal(),
    "CloneBackward0": lambda x: x.clone(),
    "CatBackward0": lambda x: pb.cat([x, x]),
    "StackBackward0": lambda x: pb.stack([x, x]),
    "WhereBackward0": lambda x: pb.where(x > 1, x, x * 2),
    "GatherBackward0": lambda x: x.gather(0, pb.tensor([[0, 1]])),
    "IndexSelectBackward0": lambda x: x.index_select(0, pb.tensor([0])),
    "BmmBackward0": lambda x: pb.bmm(x.unsqueeze(0), x.unsqueeze(0)),
    "DotBackward0": lambda x: x[0].dot(x[1]),
    "Atan2Backward0": lambda x: pb.atan2(x, x),
    "MseLossBackward0": lambda x: pb.nn.functional.mse_loss(x, x * 2),
    "TwiceBackward": Twice.apply,
}


@pytest.mark.parametrize(("name", "operator"), NAMES.items(), ids=NAMES)
def test_nodes_are_named_as_in_pytorch(name, operator):
    node = operator(pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)).grad_fn
    assert type(node).__name__ == node.name() == name
    assert isinstance(node, Node)
    assert issubclass(type(node), Node)


def test_the_node_of_a_tensor_is_one_object():
    x = leaf()
    y = x * 2
    assert y.grad_fn is y.grad_fn
    assert y.exp().grad_fn.next_functions[0][0] is y.grad_fn
    assert y.grad_fn == y.grad_fn
    assert len({y.grad_fn, y.grad_fn, (x * 2).grad_fn}) == 2
    y.add_(1)
    assert y.grad_fn is y.grad_fn
    assert not isinstance(x, Node)


def test_the_node_of_a_view_is_one_object_until_its_base_changes():
    y = leaf() * 2
    v = y[0:1]
    before = v.grad_fn
    assert v.grad_fn is before
    y.mul_(2)
    after = v.grad_fn
    assert after is not before
    assert v.grad_fn is after


def test_a_leaf_and_a_constant_have_no_function():
    x = leaf()
    assert x.grad_fn is None
    assert pb.ones(2).grad_fn is None
    assert (x * 2).detach().grad_fn is None


def test_the_whole_graph_can_be_walked():
    x, w = leaf(), leaf()
    loss = ((x * w).sin() * x).sum()
    names, stack, seen = [], [loss.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        names.append(node.name())
        stack += [following for following, _ in node.next_functions]
    assert sorted(names) == ["AccumulateGrad"] * 2 + ["MulBackward0"] * 2 + ["SinBackward0", "SumBackward0"]
    assert {id(n.variable) for n in seen if isinstance(n, AccumulateGrad)} == {id(x), id(w)}


def test_next_functions_say_which_output():
    parts = pb.unbind(leaf(1.0, 2.0, 3.0) * 1)
    assert [p.output_nr for p in parts] == [0, 1, 2]
    node = (parts[2] * parts[1]).grad_fn
    assert node.next_functions == ((parts[0].grad_fn, 2), (parts[0].grad_fn, 1))


def test_metadata_belongs_to_the_node():
    y = leaf() * 2
    y.grad_fn.metadata["who"] = "me"
    assert y.grad_fn.metadata == {"who": "me"}
    assert y.exp().grad_fn.next_functions[0][0].metadata is y.grad_fn.metadata
    assert (y * 1).grad_fn.metadata == {}


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_node_is_not_copied_out_of_its_graph(duplicate):
    node = (leaf() * 2).grad_fn
    for part in (node, node.next_functions[0][0], Twice.apply(leaf()).grad_fn):
        with pytest.raises(TypeError, match=rf"cannot pickle or copy {part.name()}.*the leaves, or t.detach\(\)"):
            duplicate(part)


# -- what nodes saved ------------------------------------------------------------------------------------------


def generated_nodes():
    package = importlib.import_module("pullback.ops.generated")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Node) and value.__module__ == module.name:
                yield value


def slots_of(cls, prefix):
    return [slot[len(prefix) :] for c in cls.__mro__ for slot in getattr(c, "__slots__", ()) if slot.startswith(prefix)]


GENERATED = sorted(generated_nodes(), key=lambda cls: cls.__name__)


def test_there_are_generated_nodes_that_save_tensors():
    assert sum(bool(slots_of(cls, "saved_")) for cls in GENERATED) > 80


@pytest.mark.parametrize(
    "cls", GENERATED, ids=[f"{cls.__module__.rpartition('.')[2]}-{cls.__name__}" for cls in GENERATED]
)
def test_every_generated_node_shows_what_it_saved_and_lets_go_of_it(cls):
    node = object.__new__(cls)
    node._extra = None
    if issubclass(cls, MultiNode):
        node._output_metadata = ((), None), ((), None)
    tensors = {name: pb.ones(2) for name in slots_of(cls, "saved_")}
    assert {f"version_{name}" for name in tensors} <= {f"version_{n}" for n in slots_of(cls, "version_")}
    for name, tensor in tensors.items():
        setattr(node, f"saved_{name}", tensor)
        setattr(node, f"version_{name}", None)
        assert getattr(node, f"_saved_{name}") is tensor
        assert f"_saved_{name}" in dir(node)
    for name in slots_of(cls, "arg_"):
        setattr(node, f"arg_{name}", 7)
        if name not in tensors:
            assert getattr(node, f"_saved_{name}") == 7
            assert f"_saved_{name}" in dir(node)
    node.release()
    for name in tensors:
        assert getattr(node, f"saved_{name}") is None
        assert getattr(node, f"version_{name}") is Released
        with pytest.raises(RuntimeError, match=f"second time .*{cls.__name__} has already released.*retain_graph=True"):
            getattr(node, f"_saved_{name}")


def test_saved_lists_of_tensors_and_arguments_are_shown():
    x = leaf()
    y = pb.softmax(x, 0)
    assert y.grad_fn._saved_dim == 0
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    assert x.sum(0).grad_fn._saved_dim in (0, (0,))
    assert (x**2).grad_fn._saved_exponent == 2


def test_a_saved_input_is_the_tensor_itself_and_a_saved_output_a_tensor_of_the_graph():
    x = leaf()
    product, power = x * x, x.exp()
    assert product.grad_fn._saved_self is x
    assert product.grad_fn._saved_other is x
    assert power.grad_fn._saved_result is not power
    assert power.grad_fn._saved_result.grad_fn is power.grad_fn
    assert pb.autograd.grad(power.grad_fn._saved_result.sum(), x)[0].tolist() == power.tolist()


def test_a_saved_tensor_that_was_modified_is_not_shown():
    x = leaf()
    y = x * 1
    z = y.sin()
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"SinBackward0 saved 'self'.*mul_"):
        _ = z.grad_fn._saved_self


def test_retained_tensors_can_still_be_looked_at():
    y = leaf().exp()
    y.sum().backward(retain_graph=True)
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    y.sum().backward()
    with pytest.raises(RuntimeError, match=r"second time .*ExpBackward0"):
        _ = y.grad_fn._saved_result


# -- gradient edges --------------------------------------------------------------------------------------------


def test_an_edge_names_a_node_and_an_output():
    x = leaf()
    y = x * 2
    edge = get_gradient_edge(y)
    assert edge == (y.grad_fn, 0, None)
    assert edge._fields == ("node", "output_nr", "ownership_token")
    assert edge.node is y.grad_fn
    assert get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]
    second = pb.unbind(y)[1]
    assert get_gradient_edge(second) == (second.grad_fn, 1, None)


@pytest.mark.parametrize("create_graph", [False, True])
def test_edges_as_inputs_of_grad(create_graph):
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    edges = [get_gradient_edge(x), get_gradient_edge(y)]
    gx, gy = pb.autograd.grad(z, edges, create_graph=create_graph, retain_graph=True)
    assert (gx.tolist(), gy.tolist()) == ([8, 16], [4, 8])
    assert gx.requires_grad == create_graph
    assert pb.autograd.grad(z, edges[1], retain_graph=True)[0].tolist() == [4, 8]
    assert [g.tolist() for g in pb.autograd.grad(z, [x, edges[1], y, edges[0]])] == [[8, 16], [4, 8], [4, 8], [8, 16]]


def test_edges_of_a_node_with_several_outputs():
    parts = pb.unbind(leaf() * 1)
    edge = get_gradient_edge(parts[1])
    assert pb.autograd.grad(parts[0] + 5 * parts[1], edge)[0].item() == 5


def test_edges_of_custom_functions():
    x = leaf()
    y = Twice.apply(x)
    edge = get_gradient_edge(y)
    assert pb.autograd.grad((y * 3).sum(), edge, retain_graph=True)[0].tolist() == [3, 3]
    assert pb.autograd.grad(edge, x, pb.ones(2))[0].tolist() == [2, 2]


def test_edges_as_outputs():
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    ey, ez = get_gradient_edge(y), get_gradient_edge(z)
    assert pb.autograd.grad(ez, x, retain_graph=True)[0].tolist() == [8, 16]  # of one element: 1 is filled in
    assert pb.autograd.grad(ey, x, pb.tensor([1.0, 10.0]), retain_graph=True)[0].tolist() == [2, 20]
    (g,) = pb.autograd.grad([z, ey], [get_gradient_edge(x)], [None, pb.ones(2)], retain_graph=True)
    assert g.tolist() == [10, 18]
    pb.autograd.backward(ez, retain_graph=True)
    assert x.grad.tolist() == [8, 16]
    pb.autograd.backward([ey], [pb.ones(2)])
    assert x.grad.tolist() == [10, 18]


def test_a_leaf_edge_as_output():
    x = leaf()
    pb.autograd.backward(get_gradient_edge(x), pb.tensor([1.0, 2.0]))
    assert x.grad.tolist() == [1, 2]


def test_edges_as_inputs_of_backward():
    x, w = leaf(), leaf()
    y = x * w
    y.sum().backward(inputs=get_gradient_edge(x), retain_graph=True)
    assert x.grad.tolist() == [1, 2]
    assert w.grad is None
    y.sum().backward(inputs=[w, get_gradient_edge(x)], retain_graph=True)
    assert (x.grad.tolist(), w.grad.tolist()) == ([2, 4], [1, 2])
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward(inputs=[get_gradient_edge(y)])  # has no .grad to fill: the hooks are all that happens
    assert seen == [[1, 1]]
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None
    assert x.grad.tolist() == [2, 4]


def test_an_edge_keeps_the_graph_and_not_the_tensor(no_garbage_collector):
    x = leaf()
    y = x.exp()
    edge, gone = get_gradient_edge(y), weakref.ref(y)
    z = (y * 3).sum()
    del y
    assert pb.autograd.grad(z, edge, retain_graph=True)[0].tolist() == [3, 3]
    node = weakref.ref(edge.node)
    del z
    assert gone() is None
    assert node() is not None
    assert pb.autograd.grad(edge, x, pb.ones(2))[0].tolist() == np.exp([1.0, 2.0]).tolist()
    del edge
    assert node() is None


def test_an_edge_of_a_tensor_names_its_value_at_the_time():
    x = leaf()
    y = x * 1
    before = get_gradient_edge(y)
    y.mul_(3)
    z = (y * 2).sum()
    assert pb.autograd.grad(z, before, retain_graph=True)[0].tolist() == [6, 6]
    assert pb.autograd.grad(z, get_gradient_edge(y))[0].tolist() == [2, 2]


def test_an_edge_that_is_not_used():
    x, u = leaf(), leaf(1.0, 2.0, 3.0)
    edge, computed = get_gradient_edge(u), get_gradient_edge(u * 2)
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match=r"inputs\[0\], shape \(3,\).*allow_unused=True"):
        pb.autograd.grad(y, edge)
    assert pb.autograd.grad(y, [edge, x], allow_unused=True, retain_graph=True)[0] is None
    zeros = pb.autograd.grad(y, [edge, computed], materialize_grads=True)
    assert [g.tolist() for g in zeros] == [[0, 0, 0]] * 2


def test_edges_inside_a_transform():
    def f(x):
        y = x * x
        (gy,) = pb.autograd.grad((y * y).sum(), get_gradient_edge(y), create_graph=True)  # 2 x**2
        (gx,) = pb.autograd.grad(get_gradient_edge(y), x, gy, create_graph=True)  # 4 x**3
        return gx.sum()

    assert np.allclose(pb.func.grad(f)(np.array([1.0, 2.0])), [12, 48])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x, y: get_gradient_edge(pb.ones(2)), RuntimeError, r"does not require gradients.*requires_grad_\(\)"),
        (lambda x, y: get_gradient_edge(3), TypeError, "takes a Tensor, got int"),
        (
            lambda x, y: pb.autograd.grad(y.sum(), (y.grad_fn, 0)),
            TypeError,
            r"inputs\[0\] must be a Tensor.*GradientEdge",
        ),
        (
            lambda x, y: pb.autograd.grad(y.sum(), GradientEdge(y.grad_fn, 5)),
            RuntimeError,
            "no output 5 of MulBackward0",
        ),
        (lambda x, y: pb.autograd.grad(y.sum(), GradientEdge(y, 0)), TypeError, "must be a Node, got Tensor.*get_grad"),
        (lambda x, y: pb.autograd.grad(get_gradient_edge(y), x), RuntimeError, r"scalar outputs.*shape \(2,\)"),
        (lambda x, y: pb.autograd.grad(get_gradient_edge(y), x, pb.ones(3)), RuntimeError, r"shape of \(3,\).*\(2,\)"),
        (
            lambda x, y: pb.autograd.grad(GradientEdge(Node(), 0), x),
            RuntimeError,
            "Node is not a tensor, or one without",
        ),
        (lambda x, y: pb.autograd.backward(3), TypeError, "must be a Tensor, a GradientEdge or a sequence"),
    ],
)
def test_errors_about_edges(call, error, match):
    x = leaf()
    with pytest.raises(error, match=match):
        call(x, x * 2)


# -- versions --------------------------------------------------------------------------------------------------


def test_increment_version_makes_backward_refuse_what_was_modified():
    x = leaf()
    y = x.exp()
    y.detach().numpy()[0] = 0
    increment_version(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match=r"ExpBackward0 saved 'result'.*a write announced by increment_version\(\)"):
        y.sum().backward()
    assert x.grad is None


def test_increment_version_takes_several_and_reaches_views_and_bases():
    a, b = pb.ones(2), pb.ones(2)
    view = b[0:1]
    increment_version([a, b])
    increment_version(x for x in (a,))
    assert (a._version, b._version, view._version) == (2, 1, 1)
    increment_version(view)
    assert b._version == 2
    increment_version([])


def test_increment_version_of_a_leaf_changes_nothing_else():
    x = leaf()
    y = x * 1
    v = y[0:1]
    increment_version(y)
    increment_version(x)
    (v * 3).sum().backward()
    assert x.grad.tolist() == [3, 0]


def test_increment_version_passes_over_inference_tensors():
    with pb.inference_mode():
        t = pb.ones(2)
    increment_version(t)
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = t._version


@pytest.mark.parametrize(("given", "match"), [(3, "got int"), ([pb.ones(1), "a"], "element 1 is of type str")])
def test_increment_version_takes_tensors_alone(given, match):
    for error in (RuntimeError, TypeError):
        with pytest.raises(error, match=match):
            increment_version(given)


# -- copies of tensors -----------------------------------------------------------------------------------------


def test_a_pickled_leaf_is_a_leaf_without_its_gradient():
    x = leaf()
    (x * 2).sum().backward()
    y = pickle.loads(pickle.dumps(x))
    assert (y.tolist(), y.requires_grad, y.is_leaf, y.grad) == ([1, 2], True, True, None)


def test_a_deep_copy_of_a_leaf_has_a_copy_of_its_gradient():
    x = leaf()
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert (y.tolist(), y.requires_grad, y.grad.tolist()) == ([1, 2], True, [2, 2])
    y.grad.mul_(5)
    assert x.grad.tolist() == [2, 2]
    (y * 1).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_shallow_copy_of_a_leaf_is_another_leaf_of_the_same_memory():
    x = leaf()
    y = copy.copy(x)
    (y * 2).sum().backward()
    assert x.grad is None
    with pb.no_grad():
        y.mul_(3)
    assert x.tolist() == [3, 6]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickle.dumps])
def test_a_computed_tensor_is_not_copied_with_its_graph(duplicate):
    y = leaf() * 2
    with pytest.raises(RuntimeError, match=r"computed by MulBackward0.*t.detach\(\)"):
        duplicate(y)
    duplicate(y.detach())


# -- no cycles -------------------------------------------------------------------------------------------------


class Keeper(pb.autograd.Function):
    """Keeps an input, an output and something of its own on ctx."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.note = Note()
        return y

    @staticmethod
    def backward(ctx, g):
        _, y = ctx.saved_tensors
        return g * y


class Note:
    pass


@pytest.mark.parametrize("then", ["drop", "backward", "retained", "double", "walked", "hooked", "edge"])
def test_graphs_contexts_and_hooks_are_freed_by_reference_counting(then, no_garbage_collector):
    x, note = leaf(), Note()
    y = Keeper.apply(x)
    z = (y * y.sin()).sum()
    nodes = [y.grad_fn, z.grad_fn, z.grad_fn.next_functions[0][0]]
    gone = [weakref.ref(o) for o in (*nodes, y, z, y.grad_fn.note, note)]
    if then == "backward":
        z.backward()
    elif then == "retained":
        z.backward(retain_graph=True)
    elif then == "double":
        (g,) = pb.autograd.grad(z, x, create_graph=True)
        g.sum().backward()
        del g
    elif then == "walked":
        assert [n._saved_self for n in nodes[2:] if hasattr(type(n), "saved_self")]
        assert y.grad_fn.saved_tensors[1].grad_fn is y.grad_fn
    elif then == "hooked":
        for node in nodes:
            node.register_hook(lambda ins, outs, note=note: None)
            node.register_prehook(lambda outs, note=note: None)
            node.metadata["note"] = note
        y.register_hook(lambda g, note=note: None)
        y.retain_grad()
        pb.autograd.graph.register_multi_grad_hook([x, y, z], lambda grads, note=note: None)
        z.backward()
        for hooks in (x._extra.hooks,):
            hooks.clear()  # the leaf lives on, and so would its hooks
    elif then == "edge":
        edge = get_gradient_edge(y)
        pb.autograd.grad(z, edge)
        del edge
    x.grad = None
    nodes = node = None
    del y, z, note
    assert [r() for r in gone] == [None] * len(gone)


def test_hooks_of_a_leaf_go_with_it(no_garbage_collector):
    x, note = leaf(), Note()
    x.register_hook(lambda g, note=note: None)
    x.register_post_accumulate_grad_hook(lambda p, note=note: None)
    accumulator = (x * 1).grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda outs, note=note: None)
    accumulator.register_hook(lambda ins, outs, note=note: None)
    (x * 2).sum().backward()
    gone = [weakref.ref(o) for o in (x, note, accumulator)]
    del x, note, accumulator
    assert [r() for r in gone] == [None] * 3


def test_ports_are_no_nodes():
    assert not issubclass(OutputEdge, Node)
    assert isinstance(pb.unbind(leaf() * 1)[0].grad_fn, Node)


# -- which nodes a backward comes to ---------------------------------------------------------------------------


def comes_to(*nodes):
    return [will_engine_execute_node(node) for node in nodes]


def test_a_hook_learns_which_nodes_its_backward_comes_to():
    x, w = leaf(), leaf()
    y = x * w
    unused, z = y.cos(), y.sin()
    nodes = [get_gradient_edge(t).node for t in (x, w, y, unused, z)]
    seen = []
    y.register_hook(lambda grad: seen.append(comes_to(*nodes)))
    z.sum().backward(retain_graph=True)
    pb.autograd.backward(z.sum(), inputs=(x, unused), retain_graph=True)
    pb.autograd.grad(z.sum(), y)  # whose node hands its gradient out
    assert seen[:2] == [[True, True, True, False, True], [True, False, True, False, True]]
    assert seen[2] == [False, False, True, False, True]


def test_the_node_of_a_leaf_has_no_plain_answer_in_grad():
    x, w = leaf(), leaf()
    y = x * w
    node, other = get_gradient_edge(x).node, get_gradient_edge(w).node
    seen = []
    y.register_hook(lambda grad: seen.append(comes_to(other)) or comes_to(node))
    with pytest.raises(RuntimeError, match=r"we are currently running autograd\.grad\(\).*backward\(inputs="):
        pb.autograd.grad(y.sum(), x)
    assert seen == [[False]]


def test_the_backward_inside_a_hook_is_the_one_that_is_asked_and_the_outer_one_afterwards():
    x = leaf()
    y, other = x * 2, (x * 3).sum()
    nodes, seen = (y.grad_fn, other.grad_fn), []

    def inner(grad):
        seen.append(comes_to(*nodes))

    def outer(grad):
        other.grad_fn.register_prehook(inner)
        other.backward()
        inner(grad)

    y.register_hook(outer)
    y.sum().backward()
    assert seen == [[False, True], [True, False]]


def test_it_is_known_in_threads_that_a_deep_nest_of_backwards_goes_on_in():
    x = leaf()
    seen = []

    @pb.enable_grad()
    def nested(depth):
        y = x * 2
        y.register_hook(lambda grad: seen.extend(comes_to(y.grad_fn)) if not depth else nested(depth - 1))
        y.sum().backward()

    nested(40)
    assert seen == [True]


def test_only_a_backward_can_be_asked():
    x = leaf()
    y = x * 2
    said = "should only be called during the backward pass"
    with pytest.raises(RuntimeError, match=said):
        will_engine_execute_node(y.grad_fn)
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    with pytest.raises(RuntimeError, match=said):
        will_engine_execute_node(y.grad_fn)
    with pytest.raises(RuntimeError, match=r"expects an grad_fn, but got a Tensor; get_gradient_edge\(tensor\)\.node"):
        will_engine_execute_node(y)
