"""A backward of few numbers runs without masks, and again with them where a NaN shows: `engine.execution.execute`."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.engine import execution
from pullback.autograd.engine.run import Run, RunWithoutMasks


@pytest.fixture
def runs(monkeypatch):
    """The classes of the runs from here on."""
    made, go = [], execution.go

    def noted(run, ends):
        made.append(type(run))
        go(run, ends)

    monkeypatch.setattr(execution, "go", noted)
    return made


def masked(x):
    return np.where(x > 0, np.sqrt(x), x * 0.0)


def test_without_a_nan_there_is_one_run(runs):
    np.testing.assert_allclose(pb.func.jacrev(masked)(np.array([4.0, 1.0])), np.diag([0.25, 0.5]))
    assert runs == [RunWithoutMasks]


def test_where_a_zero_meets_an_infinite_slope_masks_decide(runs):
    found = pb.func.jacrev(masked)(np.array([4.0, 0.0]))
    np.testing.assert_array_equal(found, [[0.25, 0.0], [0.0, 0.0]])
    assert runs == [RunWithoutMasks, Run]


def test_a_batch_of_cotangents_and_a_graph_that_stays_do_the_same(runs):
    x = pb.tensor([4.0, 0.0], requires_grad=True)
    y = pb.where(x > 0, x.sqrt(), 0.0)
    (rows,) = pb.autograd.grad(y, x, pb.eye(2), retain_graph=True, is_grads_batched=True)
    (alone,) = pb.autograd.grad(y, x, pb.tensor([1.0, 1.0]), retain_graph=True)
    np.testing.assert_array_equal(rows, [[0.25, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(alone, [0.25, 0.0])
    assert runs == [RunWithoutMasks, Run] * 2


def test_users_see_no_nan_that_a_mask_takes_away(runs):
    seen = []
    x = pb.tensor([4.0, 0.0], requires_grad=True)
    root = x.sqrt()
    root.register_hook(seen.append)
    (found,) = pb.autograd.grad(pb.where(x > 0, root, 0.0), x, pb.ones(2), retain_graph=True)
    np.testing.assert_array_equal(found, [0.25, 0.0])
    assert len(seen) == 1
    assert runs == [Run]


def test_rules_of_users_get_clean_gradients_alone(runs):
    seen = []

    @pb.custom_vjp
    def doubled(x):
        return 2 * x

    def backward(_, cotangent):
        seen.append(np.asarray(cotangent))
        return (2 * cotangent,)

    doubled.defvjp(lambda x: (doubled(x), None), backward)
    (found,) = pb.func.vjp(lambda x: masked(doubled(x)), np.array([2.0, 0.0]))[1](np.ones(2))
    np.testing.assert_array_equal(found, [0.5, 0.0])
    np.testing.assert_array_equal(seen, [[0.25, 0.0]])
    assert runs == [Run]


def test_a_nan_of_the_function_stays(runs):
    found = pb.func.jacrev(lambda x: np.sqrt(x) * np.array([1.0, np.nan]))(np.array([4.0, 1.0]))
    np.testing.assert_array_equal(found, [[0.25, 0.0], [0.0, np.nan]])
    assert runs == [RunWithoutMasks, Run]


def test_many_numbers_have_masks_at_once(runs, monkeypatch):
    monkeypatch.setattr(execution, "_FEW", 4)
    np.testing.assert_allclose(pb.func.jacrev(masked)(np.array([4.0, 1.0])), np.diag([0.25, 0.5]))
    assert runs == [Run]


def test_what_another_transform_differentiates_has_masks_at_once(runs):
    found = pb.func.jacrev(pb.func.jacrev(lambda x: np.where(x > 0, x**2.5, 0.0)))(np.array([4.0, 0.0]))
    assert np.isfinite(found).all()
    assert runs == [Run, RunWithoutMasks]
