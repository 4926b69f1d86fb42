"""`explain()` says what has become of a compiled function; its source, text and picture show the programs."""

import linecache
import re
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning, Explanation
from pullback.compiler.footprint import footprint
from pullback.compiler.program import Record
from pullback.viz import layout

X = np.array([0.5, 1.0, 2.0])
RATE = 2.0


@pytest.fixture(autouse=True)
def not_slower(monkeypatch):
    """Programs of little work are not given up for their time."""
    monkeypatch.setattr(Record, "is_slower", False)


def warmed(f, *args, calls=6, **kwargs):
    compiled = pb.compile(f)
    for _ in range(calls):
        compiled(*args, **kwargs)
    return compiled


def branching(x):
    y = np.sin(x) * RATE
    if y.sum() > 0:
        return y * 2.0
    return y


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def fused(x):
    return np.sum(np.sin(x) * np.exp(-x * x / 2))


# -- the text ----------------------------------------------------------------------------------------------------------
def test_a_function_that_has_not_been_called_has_nothing_to_tell():
    assert str(pb.compile(branching).explain()) == (
        "compile(branching): 0 signatures, 0 programs, 0 watches\n  not called yet"
    )


def test_one_run_is_no_program():
    said = str(warmed(branching, X, calls=1).explain())
    assert "branching(float64 (3,))\n  no program yet: 1 run recorded, and two that do the same make one" in said


def test_each_program_says_what_it_looked_at_where_and_what_it_found():
    compiled = warmed(branching, X)
    for _ in range(2):
        compiled(-X)
    said = str(compiled.explain())
    assert said.startswith("compile(branching): 1 signature, 2 programs, ")
    guards = re.findall(r"guard: bool\(\).* found (\w+) at (.*)", said)
    assert {found for found, _ in guards} == {"True", "False"}
    line = branching.__code__.co_firstlineno + 2
    assert {where for _, where in guards} == {f"test_explanation.py:{line}, `if y.sum() > 0:`"}
    assert repr(compiled.explain()) == said


def test_it_counts_steps_calls_and_bytes_and_has_both_times():
    compiled = warmed(pb.func.value_and_grad(rosenbrock), np.linspace(-1.0, 1.0, 10))
    said = str(compiled.explain())
    steps, recorded = map(int, re.search(r"program 1: (\d+) steps of (\d+) recorded; 4 calls", said).groups())
    assert steps < recorded
    assert re.search(r"memory: about \d+ B in arrays that it makes, \d+ B of them at once", said)
    assert re.search(r"time: [\d.]+ [um]s, the function [\d.]+ [um]s", said)


def test_it_says_which_steps_run_block_by_block_and_that_masks_are_left_out():
    said = str(warmed(pb.func.value_and_grad(fused), np.linspace(-1.0, 1.0, 100_000)).explain())
    assert re.search(r"\d+ steps run block by block, in 1 group", said)
    careful = warmed(pb.func.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))), np.array([1.0, 2.0]))
    assert "fast form: without masks" in str(careful.explain())
    for _ in range(2):
        np.testing.assert_allclose(careful(np.array([0.0, 1.0])), [0.0, 0.5])
    assert "careful form: with the masks for infinite slopes, which a NaN has asked for" in str(careful.explain())


def test_forward_and_backward_are_counted_apart():
    compiled = pb.compile(lambda w, x: ((w * x).sin() ** 2).sum())
    for _ in range(6):
        w = pb.tensor(X, requires_grad=True)
        compiled(w, pb.tensor(X)).backward()
    said = str(compiled.explain())
    assert "<lambda>(Tensor float64 (3,), requires grad, Tensor float64 (3,))" in said
    assert re.search(r"program 1: \d+ steps of \d+ recorded, [1-9]\d* of them in backward; 4 calls", said)
    assert ", backward\ndef plan" in compiled.explain().source


def test_arguments_are_told_as_they_are_written():
    compiled = warmed(lambda tree, n, flag=False: tree["a"] * n, {"a": X, "b": [X, None]}, 2, flag=True)
    assert "<lambda>({'a': float64 (3,), 'b': [float64 (3,), None]}, 2, flag=True)" in str(compiled.explain())


def test_watches_are_counted_and_named_on_demand():
    compiled = warmed(branching, X)
    count = len(compiled._reach.watches)
    assert f"{count} watches" in str(compiled.explain())
    assert "the global `RATE` of" not in str(compiled.explain())
    assert "\n  the global `RATE` of test_explanation.py" in str(compiled.explain(watches=True))


def test_what_runs_only_while_it_is_recorded_is_told(capsys):
    def f(x):
        print("recorded")
        return np.sin(x) * 2.0

    said = str(warmed(f, X).explain())
    assert re.search(
        r"only while recording: the built-in `print` test_explanation.py:\d+, `print\(\"recorded\"\)`", said
    )


def test_why_all_calls_run_eagerly_is_told_with_the_line_and_the_remedy():
    rng = np.random.default_rng(0)

    def f(x):
        return x + rng.normal()

    with pytest.warns(CompileWarning):
        compiled = warmed(f, X)
    said = str(compiled.explain())
    assert "all calls run eagerly: " in said
    assert re.search(r"at test_explanation.py:\d+, `return x \+ rng.normal\(\)`", said)
    assert "instead, draw with pullback's own functions" in said


def test_why_some_calls_run_eagerly_is_told():
    class Opaque:
        pass

    compiled = pb.compile(lambda x, y=None: x * 2.0)
    with pytest.warns(CompileWarning):
        compiled(X, Opaque())
    for _ in range(6):
        compiled(X)
    said = str(compiled.explain())
    assert "calls have run eagerly: it is given an argument of type Opaque" in said
    assert "pb.utils.pytree registers classes" in said
    assert "1 program" in said


def test_a_program_that_is_not_faster_is_said_to_be_so(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(Record, "is_slower", True)
    said = str(warmed(branching, X).explain())
    assert "runs eagerly: its program is not faster than the function itself" in said


def test_audits_are_told():
    assert "audits: at call 16" in str(warmed(branching, X, calls=20).explain())


# -- source, text, picture ---------------------------------------------------------------------------------------------
def test_the_source_names_operators_forms_and_lines():
    source = warmed(branching, X).explain().source
    assert source.startswith("# program 1 of branching(float64 (3,))\ndef plan(v0):\n")
    assert re.search(r"v1 = sin_\(v0\) +# sin: float64 \(3,\); test_explanation.py:\d+\n", source)
    assert re.search(r"multiply_\(.*# mul: float64 \(3,\); test_explanation.py:\d+; x\d+ = 2.0\n", source)
    assert re.search(r"raise LeftError.*# bool\(\).* found True\n", source)
    compile(source, "source", "exec")  # it is Python


def test_every_step_of_a_block_has_its_comment():
    compiled = warmed(pb.func.value_and_grad(fused), np.linspace(-1.0, 1.0, 100_000))
    source = compiled.explain().source
    (program,) = (p for v in compiled._by_signature.values() for p in v.programs)
    for step in program.plan.steps:
        assert f"# {step.name}: {step.results[0].dtype} {step.results[0].shape}" in source
    assert "block by block, (100000,):\n    %" in compiled.explain().text


def test_the_text_is_the_graph():
    text = warmed(lambda x: np.stack([x[1:], x[:-1]]) * 2.0, X).explain().text
    lines = [re.split(r"  +", line)[0] for line in text.splitlines()]
    begin = ["program 1 of <lambda>(float64 (3,))", "%0 = input", "%1 = slice_view(%0, 1:)"]
    assert lines[:3] == begin
    assert [re.sub(r"%\d+", "%", line) for line in lines[3:]] == [
        "% = slice_view(%, :-1)", "% = stack([%, %], 0)", "% = mul(%, 2.0)", "return %",
    ]  # fmt: skip


def test_a_line_stays_known_when_its_file_is_gone(monkeypatch):
    compiled = warmed(branching, X)
    monkeypatch.setattr(linecache, "getline", lambda *_: "")
    assert re.search(r"found True at test_explanation.py:\d+\n", str(compiled.explain()) + "\n")


def test_the_picture_has_a_box_for_each_step_and_one_for_a_group():
    compiled = warmed(pb.func.value_and_grad(fused), np.linspace(-1.0, 1.0, 100_000))
    drawing = compiled.explain().picture()
    (group,) = (box for box in drawing.vertices if box.kind == "fused")
    assert {"sin", "exp", "sum"} <= set(group.detail.splitlines())
    assert {box.kind for box in drawing.vertices} >= {"leaf", "fused", "result"}
    keys = {box.key for box in drawing.vertices}
    assert len(keys) == len(drawing.vertices)
    assert all({arrow.tail, arrow.head} <= keys for arrow in drawing.arrows)
    assert sum(box.kind == "result" for box in drawing.vertices) == 2


def test_the_picture_of_forward_and_backward_has_both():
    compiled = pb.compile(lambda w: (w.sin() ** 2).sum())
    for _ in range(6):
        compiled(pb.tensor(X, requires_grad=True)).backward()
    labels = [box.label for box in compiled.explain().picture().vertices]
    assert labels.count("gradient") == 1
    assert labels.count("cotangent") == 1
    assert labels.count("result") == 1


def test_the_picture_is_saved(tmp_path):
    explanation = warmed(branching, X).explain()
    explanation.picture(tmp_path / "program.dot")
    assert (tmp_path / "program.dot").read_text().startswith("digraph")
    if layout.available():
        explanation.picture(tmp_path / "program.svg")
        assert "<svg" in (tmp_path / "program.svg").read_text()


def test_there_must_be_a_program_to_draw():
    with pytest.raises(ValueError, match="no program 1; there is none: two calls that do the same make one"):
        pb.compile(branching).explain().picture()
    with pytest.raises(ValueError, match="no program 2; there are 1"):
        warmed(branching, X).explain().picture(program=2)


# -- memory ------------------------------------------------------------------------------------------------------------
def test_memory_is_that_of_the_arrays_it_makes():
    n = 5000
    compiled = warmed(lambda x: np.exp(np.sin(x[::2])) * 2.0, np.linspace(0, 1, 2 * n))
    (program,) = (p for v in compiled._by_signature.values() for p in v.programs)
    assert footprint(program.plan) == (8 * n, 8 * n)  # the sine's, in which all that follows is written; no view counts
    compiled = warmed(lambda x: np.sin(x).sum() * np.cos(x), np.linspace(0, 1, n))
    (program,) = (p for v in compiled._by_signature.values() for p in v.programs)
    assert 8 * n <= footprint(program.plan).most <= 8 * n + 64 <= footprint(program.plan).made + 64


def test_it_is_an_explanation_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(warmed(branching, X).explain(), Explanation)
