"""The page that `viz.explore` writes: what is in it. How it behaves in a browser: test_explore_browser.py."""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace
from unittest.mock import ANY

import numpy as np
import pytest

import pullback as pb
from pullback import viz
from pullback.viz.formulas import rule_of


def written(tmp_path, *args, **options):
    text = viz.explore(*args[:1], tmp_path / "graph.html", *args[1:], **options).read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(found)


def by_name(data):
    return {node["name"]: node for node in data["nodes"]}


def test_page_needs_nothing_else(tmp_path):
    text = viz.explore(pb.ones(2, requires_grad=True).sum(), tmp_path / "folder" / "graph.html").read_text()
    assert text.startswith("<!doctype html>")
    assert text.count("<script") == 2
    assert not re.findall(
        r'(?:src|href)=|@import|url\(|fetch\(|(?<!www\.w3\.org/2000/svg")https?://(?!www\.w3\.org)', text
    )
    assert "/*style*/" not in text
    assert "/*scripts*/" not in text


def test_nodes_have_names_shapes_edges_and_what_is_saved(tmp_path):
    W = pb.ones(3, 2, requires_grad=True)
    data = written(tmp_path, (pb.ones(4, 3) @ W).tanh().sum(), {"W": W}, title="A layer")
    assert (data["title"], data["results"][0]["shape"], data["results"][0]["dtype"]) == ("A layer", [], "float64")
    nodes = by_name(data)
    assert set(nodes) == {"SumBackward0", "TanhBackward0", "MatmulBackward0", "W"}
    assert nodes["W"]["kind"] == "leaf"
    tanh = nodes["TanhBackward0"]
    assert tanh["outputs"] == [{"dtype": "float64", "shape": [4, 2], "bytes": 64}]
    assert [data["nodes"][source]["name"] for source, _ in tanh["from"]] == ["MatmulBackward0"]
    assert [(held["name"], held["text"], held["bytes"]) for held in tanh["saved"]] == [("result", "float64 (4, 2)", 64)]
    assert "flow" not in tanh
    assert "times" not in tanh
    assert "stack" not in tanh


def test_leaves_have_the_names_of_the_callers_variables(tmp_path):
    rate = pb.ones(2, requires_grad=True)
    text = viz.explore((rate * 2).sum(), tmp_path / "graph.html").read_text()
    assert '"name":"rate"' in text


def test_memory_that_is_shared_has_one_number(tmp_path):
    x = pb.ones(5, 2, requires_grad=True)
    y = x.exp()
    data = written(tmp_path, (y * y[:, :1]).sum())
    saved = {held["memory"]: held for node in data["nodes"] for held in node.get("saved", ()) if "memory" in held}
    assert [(held["whole"]) for held in saved.values()] == [80]
    column = next(held for held in by_name(data)["MulBackward0"]["saved"] if held["text"] == "float64 (5, 1)")
    assert (column["bytes"], column["whole"]) == (40, 80)


def test_recorded_nodes_have_lines_calls_times_and_gradients(tmp_path):
    def layer(x):
        return x.exp()

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with viz.recording():
        y = (layer(x) + layer(x)).sum()
        y.backward()
    data = written(tmp_path, y)
    first, second = (node for node in data["nodes"] if node["name"] == "ExpBackward0")
    (frames, calls), (others, other_calls) = data["stacks"][first["stack"]], data["stacks"][second["stack"]]
    assert data["frames"][frames[-1]][1:] == [layer.__code__.co_firstlineno + 1, "layer", "return x.exp()"]
    assert data["frames"][frames[-1]] == data["frames"][others[-1]]
    assert calls[-1] != other_calls[-1]
    assert calls[:-1] == other_calls[:-1]
    assert first["flow"] == {"norm": pytest.approx(2**0.5), "size": 2, "nan": 0, "inf": 0, "zero": 0}
    assert all(time > 0 for time in first["times"])
    assert first["saved"][0]["bytes"] == 16  # as backward found it, though it has been released since
    assert by_name(data)["leaf"]["flow"]["norm"] == pytest.approx(np.linalg.norm(2 * np.exp([1, 2])))


def test_custom_functions_have_times_and_what_backward_found_saved(tmp_path):
    class Scale(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.by = 3
            return pb.sum(x * ctx.by)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.by * pb.ones_like(ctx.saved_tensors[0])

    with viz.recording():
        y = Scale.apply(pb.ones(5, requires_grad=True)) * 2
        y.backward()
    node = by_name(written(tmp_path, y))["ScaleBackward"]
    assert [(held["name"], held["text"]) for held in node["saved"]] == [("tensor 0", "float64 (5,)"), ("ctx.by", "3")]
    assert all(time > 0 for time in node["times"])


def test_gradients_that_are_kept_are_shown_without_recording(tmp_path):
    x = pb.ones(4, requires_grad=True)
    h = x * 3
    h.retain_grad()
    y = h.sin().sum()
    y.backward()
    nodes = by_name(written(tmp_path, y))
    assert nodes["MulBackward0"]["flow"]["norm"] == pytest.approx(2 * abs(np.cos(3)))
    assert "flow" not in nodes["SinBackward0"]
    assert nodes["leaf"]["flow"]["size"] == 4


def test_what_is_no_number_is_text(tmp_path):
    x = pb.ones(2, requires_grad=True)
    with viz.recording():
        y = x.sum()
        y.backward(pb.tensor(np.nan))
    flow = by_name(written(tmp_path, y))["SumBackward0"]["flow"]
    assert flow == {"norm": "nan", "size": 1, "nan": 1, "inf": 0, "zero": 0}


def test_anomaly_detection_gives_lines_too(tmp_path):
    x = pb.ones(2, requires_grad=True)
    with pb.autograd.detect_anomaly():
        y = x.exp()
    data = written(tmp_path, y)
    frames, calls = data["stacks"][data["nodes"][0]["stack"]]
    assert data["frames"][frames[-1]][3] == "y = x.exp()"
    assert not calls


def test_texts_cannot_end_the_script(tmp_path):
    x = pb.ones(2, requires_grad=True)
    name = "</script><!-- <script> \u2028 /*style*/"
    data = written(tmp_path, x.sum(), {name: x}, title=name)
    assert data["title"] == name
    assert name in by_name(data)


def test_frames_of_files_with_any_name(tmp_path):
    x = pb.ones(2, requires_grad=True)
    scope = {"x": x}
    file = 'folder/a\nb", line 3, in c.py'
    with viz.recording():
        exec(compile("y = x.exp()", file, "exec"), scope)
    data = written(tmp_path, scope["y"])
    assert data["frames"][data["stacks"][0][0][-1]] == [file, 1, "<module>", ""]


def test_cells_of_notebooks_have_the_numbers_that_a_person_sees(tmp_path, monkeypatch):
    cells = SimpleNamespace(
        format_code_name=lambda file: ("Cell", "In[3]") if file == "/tmp/ipykernel_1/2.py" else None
    )
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=cells))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    scope = {"x": pb.ones(2, requires_grad=True)}
    with viz.recording():
        exec(compile("y = x.exp()", "/tmp/ipykernel_1/2.py", "exec"), scope)
    data = written(tmp_path, scope["y"])
    assert [frame[:2] for frame in data["frames"][-2:]] == [[__file__, ANY], ["In[3]", 1]]


def test_names_that_the_graph_does_not_reach_are_told(tmp_path):
    x, w = pb.ones(2, requires_grad=True), pb.ones(2, requires_grad=True)
    h = x.exp()
    data = written(tmp_path, h.sum(), {"x": x, "h": h, "w": w, "other": w * 2, "constant": pb.ones(2)})
    assert data["unused"] == ["w", "other", "constant"]


def test_several_outputs_and_results(tmp_path):
    x = pb.ones(4, requires_grad=True)
    a, b = x.exp().split(2)
    data = written(tmp_path, [a.sin(), b], {"b": b})
    assert [data["nodes"][result["node"]]["name"] for result in data["results"]] == ["SinBackward0", "SplitBackward0"]
    assert data["results"][1]["output"] == 1
    assert by_name(data)["SplitBackward0"]["outputs"][1]["name"] == "b"


def test_writes_into_views_have_the_rule_of_the_operator(tmp_path):
    y = pb.ones(4, requires_grad=True) * 2
    y[:2].mul_(3.0)
    data = written(tmp_path, y)
    node = by_name(data)["CopySlices: MulBackward0"]
    where, text = data["rules"][node["rule"]]
    assert where == "derivatives.yaml"
    assert "self: grad * conj(other)" in text


def test_rules_are_the_entries_as_they_are_written():
    x = pb.ones(3, requires_grad=True)
    assert rule_of(x.tanh().grad_fn) == (
        "derivatives.yaml",
        "- name: tanh(Tensor self) -> Tensor\n  self: grad * conj(1 - result * result)\n  result: auto_element_wise",
    )
    where, text = rule_of((x / x).grad_fn)
    assert text.startswith("# No other * other: it overflows")
    where, text = rule_of(pb.scipy.linalg.solve_sylvester(*(pb.eye(2, requires_grad=True) for _ in range(3))).grad_fn)
    assert where == "declarations.yaml"
    assert "A, B, Q: sylvester_backward" in text


def test_rule_of_a_custom_function_is_its_backward():
    class Cube(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad * ctx.saved_tensors[0] ** 2

    where, text = rule_of(Cube.apply(pb.ones(2, requires_grad=True)).grad_fn)
    assert where.startswith("test_rule_of_a_custom_function_is_its_backward.<locals>.Cube.backward, line ")
    assert text.splitlines()[-1] == "    return 3 * grad * ctx.saved_tensors[0] ** 2"
    Cube.backward = staticmethod(eval("lambda ctx, grad: grad"))
    assert "whose source is not at hand" in rule_of(Cube.apply(pb.ones(2, requires_grad=True)).grad_fn)[1]


def test_writing_the_page_changes_nothing(tmp_path):
    x = pb.ones(2, requires_grad=True)
    y = x.exp().sum()
    viz.explore(y, tmp_path / "graph.html")
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.e)


def test_what_cannot_be_explored_is_refused(tmp_path):
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"explore: the tensor of shape \(2,\) is a leaf"):
        viz.explore(x, tmp_path / "a.html")
    with pytest.raises(TypeError, match="explore: expected a Tensor"):
        viz.explore(3.0, tmp_path / "a.html")
    with pytest.raises(TypeError, match=r"explore: params\['w'\] must be a Tensor"):
        viz.explore(x.sum(), tmp_path / "a.html", {"w": 1})
    with pytest.raises(ValueError, match=r"explore: there are more than limit=2 nodes.*takes long to open"):
        viz.explore(x.exp().sin().sum(), tmp_path / "a.html", limit=2)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("name", ["g.svg", "g", "g.html.png"])
def test_a_name_that_no_browser_opens_is_refused(tmp_path, name):
    loss = pb.ones(2, requires_grad=True).sum()
    with pytest.raises(ValueError, match=rf"as '{name}'.*explore\(loss, '.*\.html'\).*viz\.graph\(loss\)\.save"):
        viz.explore(loss, tmp_path / name)
    assert not list(tmp_path.iterdir())
    assert viz.explore(loss, tmp_path / "g.HTM").exists()
