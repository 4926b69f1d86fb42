"""What leaves a compiled function for Python: texts of numbers are refused, all else leaves a guard."""

import numpy as np
import pytest

import pullback as pb
from pullback.compiler import CompileWarning
from pullback.core.errors import UntraceableError

POINTS = [np.array(x) for x in ([1.0, 2.0], [1.5, 1.0], [0.3, 0.5], [2.0, 2.5], [0.9, 1.1])]


def variants_of(f, points=POINTS):
    made = pb.compile(f)
    for x in points:
        np.testing.assert_allclose(made(x), f(x), rtol=1e-12)
    (variants,) = made._by_signature.values()
    return variants


@pytest.mark.parametrize("transform", [lambda f: f, pb.func.grad])
@pytest.mark.parametrize("text", [str, repr, lambda x: f"{x.sum():.3f}"], ids=["str", "repr", "format"])
def test_a_text_of_numbers_is_refused_at_once(transform, text):
    texts = []

    def f(x):
        y = x * 2
        texts.append(text(y))
        return (y * y).sum()

    made = pb.compile(transform(f))
    with pytest.warns(pb.compiler.CompileWarning, match="text of numbers"):
        made(POINTS[0])
    transform(f)(POINTS[0])
    assert texts[-2] == texts[-1]


@pytest.mark.parametrize(
    "leave",
    [lambda x: float(x.sum()), lambda x: x.tolist()[0], lambda x: int(x[0]), lambda x: x.sum().item(), bool],
    ids=["float", "tolist", "int", "item", "bool"],
)
def test_what_reads_numbers_leaves_a_guard_with_its_line(leave):
    def f(x):
        return x * leave(x if leave is not bool else x[0] > 1)

    made = pb.compile(f)
    for x in (POINTS[0], POINTS[0], POINTS[0], POINTS[1]):
        np.testing.assert_allclose(made(x), f(x))
    (variants,) = made._by_signature.values()
    guards = [step for step in variants.programs[0].trace.graph.steps if step.form == "guard"]
    assert guards
    assert all(step.line[0] == __file__ for step in guards)


def test_shapes_and_strides_leave_none():
    variants = variants_of(lambda x: x.reshape(x.shape[0], 1).sum() * len(x) * x.ndim * x.strides[0])
    assert not [step for step in variants.programs[0].trace.graph.steps if step.form == "guard"]


def test_the_line_is_said_where_no_two_traces_agree():
    made = pb.compile(lambda x: x * float(x[0]))

    def run():
        for i in range(10):
            made(np.full(2, float(i)))

    with pytest.warns(pb.compiler.CompileWarning, match=rf"float\(\) found .*{__name__.rpartition('.')[2]}.py:\d+"):
        run()


def test_a_refusal_from_outside_is_not_told_of_another_trace(monkeypatch):
    monkeypatch.setattr(UntraceableError, "first", "what was refused long ago")
    with pytest.warns(CompileWarning, match="makes an argument another view of its memory"):
        pb.compile(lambda x: x.t_() * 2)(pb.ones(2, 2))
    assert UntraceableError.first == "what was refused long ago"
