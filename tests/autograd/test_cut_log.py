"""why_no_grad and watch_cuts: every way out of the graph is named with its line."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.core import cuts


def here() -> int:
    return sys._getframe(1).f_lineno


def x():
    return pb.tensor([1.0, 2.0], requires_grad=True)


def under_no_grad(t):
    with pb.no_grad():
        return t * 2


def in_inference_mode(t):
    with pb.inference_mode():
        return t * 2


def written_whole(t):
    y = pb.zeros(2)
    y[:] = t.detach()
    return y


def written_in_part(t):
    y = pb.zeros(2)
    y[1:].copy_(t.detach()[1:])
    return y * 2


class Steps(pb.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        steps = pb.floor(t)
        ctx.mark_non_differentiable(steps)
        return steps

    @staticmethod
    def backward(ctx, grad):
        return None


@pytest.mark.parametrize(
    ("way", "reason", "what"),
    [
        (lambda t: t.detach() * 2, "detach", "detach()"),
        (lambda t: t.data + 1, "detach", "data"),
        (lambda t: (t * 1).detach_(), "detach", "detach_()"),
        (under_no_grad, "no_grad", "mul under no_grad"),
        (in_inference_mode, "no_grad", "mul under inference_mode"),
        (lambda t: (t > 0) * 1.0, "comparison", "gt"),
        (lambda t: t.argmax(), "no derivative", "argmax"),
        (lambda t: t.to(pb.int64).to(pb.float64), "integer", "the cast to int64"),
        (lambda t: pb.tensor(t[0].item() * 2) + 1, "item", "item()"),
        (lambda t: pb.tensor(t.tolist()), "item", "tolist()"),
        (lambda t: pb.from_numpy(t.detach().numpy()) * 2, "detach", "detach()"),
        (lambda t: pb.asarray(t.detach().numpy()), "detach", "detach()"),
        (lambda t: pb.stack([t.detach(), pb.ones(2)]), "detach", "detach()"),
        (lambda t: copy.deepcopy(t.detach()) * 2, "detach", "detach()"),
        (written_whole, "detach", "detach()"),
        (written_in_part, "detach", "detach()"),
        (lambda t: Steps.apply(t) * 2, "no derivative", "mark_non_differentiable of Steps"),
    ],
)
def test_the_cut_is_named_with_its_line(way, reason, what):
    t = x()
    with pb.watch_cuts() as log:
        made = way(t)
    line = way.__code__.co_firstlineno
    why = pb.why_no_grad(made)
    assert not why.requires_grad
    cut = next(cut for cut in why.cuts if cut.reason != "created")
    assert cut.reason == reason
    assert cut.what.startswith(what)
    assert cut.file == __file__
    assert line <= cut.line <= line + 2
    assert cut in log.cuts
    assert f"{__file__}:{cut.line}" in str(why)
    with pytest.raises(RuntimeError, match=rf"does not require grad.*test_cut_log.py:{cut.line}"):
        made.backward(pb.ones_like(made))


def test_what_is_recorded_remembers_nothing():
    t = x()
    with pb.watch_cuts() as log:
        y = (t * pb.ones(2)).sum()
    assert log.cuts == []
    why = pb.why_no_grad(y)
    assert why.requires_grad
    assert why.cuts == ()
    assert "SumBackward0" in str(why)
    y.backward()
    assert t.grad.tolist() == [1.0, 1.0]


def test_a_number_that_was_printed_is_no_sure_cut():
    """A tensor that is made later may hold it or not."""
    t = x()
    with pb.watch_cuts():
        str(t.sum().item())
        made = pb.ones(2) * 2
    why = pb.why_no_grad(made)
    assert [(cut.what, cut.sure) for cut in why.cuts] == [("item()", False), ("a tensor made", True)]
    assert "no tensor that it was computed from does" in str(why)
    assert "perhaps item() at" in str(why)
    with pytest.raises(RuntimeError, match=r"\(perhaps item\(\)\)"):
        made.backward(pb.ones(2))
    assert not any(cut.sure for cut in pb.why_no_grad(np.ones(2)).cuts[1:])


def test_a_deepcopy_is_no_constant_operator():
    t = x()
    with pb.watch_cuts():
        made = copy.deepcopy(t) * 2
    assert ("deepcopy", "item") in [(cut.what, cut.reason) for cut in pb.why_no_grad(made, t).cuts]


def test_a_leaf_that_was_forgotten():
    with pb.watch_cuts():
        w = pb.tensor([1.0])
        line = here() - 1
        y = w * 2
    assert [(cut.reason, cut.line) for cut in pb.why_no_grad(y).cuts] == [("created", line)]
    assert "requires_grad_()" in str(pb.why_no_grad(y))


def test_an_input_that_was_not_used():
    t, other = x(), x()
    with pb.watch_cuts():
        y = (other * t.detach()).sum()
        line = here() - 1
    why = pb.why_no_grad(y, t)
    assert [cut.reason for cut in why.cuts] == ["unused", "detach"]
    assert why.cuts[1].line == line
    assert pb.why_no_grad(y, other).cuts == ()
    assert pb.why_no_grad(y, pb.ones(2)).cuts[0].reason == "created"
    with pytest.raises(RuntimeError, match="why_no_grad"):
        pb.autograd.grad(y, t)


def test_without_a_log_it_says_how_to_learn_more():
    made = x().detach() * 2
    assert "watch_cuts" in str(pb.why_no_grad(made))
    assert pb.why_no_grad(pb.tensor([1, 2])).cuts[0].reason == "integer"
    with pytest.raises(RuntimeError, match="watch_cuts"):
        made.sum().backward()
    assert "not a Tensor" in str(pb.why_no_grad(np.ones(2)))
    with pytest.raises(TypeError, match="input must be a Tensor"):
        pb.why_no_grad(made, np.ones(2))


def test_a_transform_within_the_log_and_the_log_within_a_transform():
    seen = []

    def f(v):
        y = v.detach() * 2
        seen.append(pb.why_no_grad(y))
        return np.sum(v * y)

    with pb.watch_cuts():
        assert pb.func.grad(f)(np.ones(2)).tolist() == [2.0, 2.0]
    assert pb.func.grad(pb.watch_cuts()(f))(np.ones(2)).tolist() == [2.0, 2.0]
    for why in seen:
        assert [(cut.reason, cut.line) for cut in why.cuts] == [("detach", f.__code__.co_firstlineno + 1)]


def test_values_and_adopted_code_stay_as_they_are():
    def f(v):
        y = np.zeros(2)
        y[0] = v[0]
        y[1] = v[1] * v[0]
        return np.sum(y)

    with pb.adopt():
        without = type(np.zeros(2))
        with pb.watch_cuts():
            assert type(np.zeros(2)) is without is np.ndarray  # no buffer: no transform runs
            inside = pb.func.grad(f)(np.array([2.0, 3.0]))
    assert inside.tolist() == [4.0, 2.0]


def test_an_error_inside_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), pb.watch_cuts():
        1 / 0
    assert cuts.WATCHED == []
    assert pb.is_grad_enabled()


def test_what_is_remembered_goes_with_the_tensor():
    from pullback.autograd import cut_log

    before = len(cut_log._origins)
    with pb.watch_cuts():
        made = [x().detach() * i for i in range(10)]
    assert len(cut_log._origins) > before
    del made
    assert len(cut_log._origins) == before


def test_the_forward_of_a_function_is_no_cut():
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.detach() * 2 + a.numpy(force=True) * 0

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with pb.watch_cuts() as log:
        made = Double.apply(x())
    assert log.cuts == []
    assert pb.why_no_grad(made).requires_grad


def test_an_input_that_was_not_used_is_told_the_cuts_behind_the_tensor_alone():
    x, w = pb.ones(3, requires_grad=True), pb.ones(3, requires_grad=True)
    with pb.watch_cuts():
        x.sin().detach().mean()
        alone = w * 2
        scaled = (w * x.detach()).exp()
    assert [cut.reason for cut in pb.why_no_grad(alone, x).cuts] == ["unused"]
    assert "watch_cuts" not in str(pb.why_no_grad(alone, x))
    assert [cut.reason for cut in pb.why_no_grad(scaled, x).cuts] == ["unused", "detach"]


def test_a_line_is_told_once_and_a_write_as_it_is_written():
    x = pb.ones(3, requires_grad=True)
    with pb.watch_cuts():
        with pb.no_grad():
            b = x.clone()
            b[1:] = x[1:] * 2
            c = x[1:] * 2 + x[:2]
        d = pb.zeros(3, dtype=pb.int64)
        d[0] = x[0]
    for t in b, c:
        assert "slice_view" not in str(pb.why_no_grad(t))
    assert len(str(pb.why_no_grad(c)).splitlines()) == 2
    assert pb.why_no_grad(d).cuts[0].reason == "integer"
    assert "the write into int64" in str(pb.why_no_grad(d))
