"""What `viz.recording` notes of nodes, and that it changes nothing else."""

from __future__ import annotations

import sys
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback import viz
from pullback.autograd.anomaly.source_lines import line_of
from pullback.core import modes
from pullback.viz.places import frame_of, place_of
from pullback.viz.recording import Flow, flow, noted


def double(x):
    return x * 2


def test_nodes_have_lines_and_times():
    x = pb.ones(3, requires_grad=True)
    with viz.recording():
        y = double(x).sum()
    multiplied = y.grad_fn.next_functions[0][0]
    assert place_of(multiplied) == (f"test_recording.py:{double.__code__.co_firstlineno + 1}", "return x * 2")
    assert frame_of(line_of(multiplied)).function == "double"
    assert noted(multiplied).forward > 0
    assert noted(multiplied).backward is None
    y.backward()  # outside: nothing is noted
    assert noted(multiplied).flow is None
    assert noted((x * 2).grad_fn) is None
    assert not modes.current().observers


def test_backward_notes_gradients_times_and_what_was_saved():
    x = pb.tensor([3.0, 0.0, 4.0], requires_grad=True)
    with viz.recording():
        y = x * x
        y.backward(pb.tensor([1.0, np.inf, 2.0]))
    record = noted(y.grad_fn)
    assert record.flow == Flow(np.inf, 3, 0, 1, 0)
    assert record.backward > 0
    assert {held.name: held.text for held in record.saved} == {"self": "float64 (3,)", "other": "float64 (3,)"}
    assert all(held.value is None for held in record.saved)  # the memory is free
    np.testing.assert_array_equal(x.grad.numpy(), [6, np.nan, 16])


@pytest.mark.parametrize(
    ("gradient", "expected"),
    [
        ([3.0, -4.0], Flow(5.0, 2, 0, 0, 0)),
        ([0.0, 0.0, 0.0], Flow(0.0, 3, 0, 0, 3)),
        ([3e200, 4e200], Flow(5e200, 2, 0, 0, 0)),  # the squares overflow
        ([3e-200, 4e-200], Flow(5e-200, 2, 0, 0, 0)),
        ([3.0 + 4.0j], Flow(5.0, 1, 0, 0, 0)),
        ([], Flow(0.0, 0, 0, 0, 0)),
    ],
)
def test_flow(gradient, expected):
    found = flow(np.array(gradient))
    assert found.norm == pytest.approx(expected.norm, rel=1e-12)
    assert (found.size, found.nan, found.inf, found.zero) == (expected.size, expected.nan, expected.inf, expected.zero)


def test_flow_of_several_outputs_and_of_what_is_not_finite():
    found = flow([np.array([3.0, np.nan]), None, np.array([-np.inf, 0.0])])
    assert np.isnan(found.norm)
    assert (found.size, found.nan, found.inf, found.zero) == (4, 1, 1, 1)
    assert flow(np.array([60000.0, 60000.0], np.float16)).norm == pytest.approx(60000 * 2**0.5, rel=1e-3)
    assert flow(None) is None
    assert flow(np.array([1, 2])) is None  # no gradient is of whole numbers


def calls_of(y):
    return noted(y.grad_fn).calls


def test_two_calls_of_one_function_are_told_apart_and_one_call_is_one():
    def both(x):
        y = x.sin()
        return y, y.cos()

    x = pb.ones(2, requires_grad=True)
    with viz.recording():
        (first, also), (second, _) = both(x), both(x)
    assert calls_of(first) == calls_of(also)
    assert calls_of(first)[:-1] == calls_of(second)[:-1]
    assert calls_of(first)[-1] != calls_of(second)[-1]


def test_a_generator_is_one_call():
    def steps(x):
        for _ in range(3):
            yield x.sin()

    with viz.recording():
        results = [next(each) for each in [steps(pb.ones(2, requires_grad=True))] for _ in range(3)]
    assert len({calls_of(y) for y in results}) == 1


def test_a_debugger_is_left_alone():
    lines = []

    def trace(frame, event, arg):
        lines.append(event)
        return trace

    before = sys.gettrace()
    with viz.recording():
        try:
            sys.settrace(trace)
            first = double(pb.ones(2, requires_grad=True))
            second = double(pb.ones(2, requires_grad=True))
        finally:
            sys.settrace(before)
    assert lines.count("line") > 5
    assert calls_of(first)[-1] == calls_of(second)[-1]


def test_recursion_has_a_call_a_depth():
    @viz.recording()
    def down(x, depth):
        return down(x.sin(), depth - 1) if depth else x.cos()

    deep = down(pb.ones(2, requires_grad=True), 3)
    assert len(set(calls_of(deep))) == len(calls_of(deep))
    above = deep.grad_fn.next_functions[0][0]
    assert calls_of(deep)[: len(noted(above).calls)] == noted(above).calls


def test_nothing_of_the_program_is_kept_alive():
    class Thing:
        pass

    def work(x):
        thing = Thing()
        seen.append(weakref.ref(thing))
        return x.sin()

    seen = []
    with viz.recording():
        y = work(pb.ones(2, requires_grad=True))
        assert seen[0]() is None  # what holds an array decides whether it may be written into
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None  # no cycle


def test_it_works_with_other_observers_and_inside_itself():
    x = pb.ones(2, requires_grad=True)
    with viz.recording(), pb.autograd.profiler.profile() as taken, viz.recording(), pb.autograd.detect_anomaly():
        y = x.exp().sum()
        y.backward()
    assert noted(y.grad_fn).flow == Flow(1.0, 1, 0, 0, 0)
    assert {event.name for event in taken.function_events} >= {"exp", "SumBackward0"}


def test_second_derivatives_and_custom_functions():
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    x = pb.ones(2, requires_grad=True)
    with viz.recording():
        (g,) = pb.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
        g.sum().backward()
    assert noted(g.grad_fn).flow.norm == pytest.approx(2**0.5)
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2])
