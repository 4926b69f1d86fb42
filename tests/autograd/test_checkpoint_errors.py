"""Checkpointed functions that differ when they run again, inputs that have changed, options that do not fit."""

import numpy as np
import pytest

import pullback as pb
from pullback.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.2, 1.0, shape or (3, 3)), requires_grad=True)


def layer(x, w):
    return (x @ w).sin().exp() * x


def close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12)


class Changing:
    """Calls the first function, then the others, one each time."""

    def __init__(self, *functions):
        self.functions = list(functions)

    def __call__(self, x):
        return self.functions.pop(0)(x)


def test_fewer_tensors():
    x = leaf()
    out = checkpoint(Changing(lambda x: x.sin().exp() * x, lambda x: x.sin()), x)
    with pytest.raises(
        CheckpointError, match=r"(?s)Changing\): A different number of tensors.*: 4 and 1\..*debug=True"
    ):
        out.sum().backward()
    assert x.grad is None


def test_more_tensors():
    x = leaf()
    out = checkpoint(Changing(lambda x: x.sin(), lambda x: x.sin().cos()), x, early_stop=False)
    with pytest.raises(RuntimeError, match=r"trying to save more tensors during recomputation than the 1 of"):
        out.sum().backward()


def test_other_shapes_and_dtypes():
    x = leaf()
    for again, found in (
        (lambda x: x[0].sin(), r"recomputed shape \(3,\), dtype float64"),
        (lambda x: x.to(pb.float32).sin(), r"recomputed shape \(3, 3\), dtype float32"),
    ):
        out = checkpoint(Changing(lambda x: x.sin(), again), x)
        with pytest.raises(
            CheckpointError,
            match=rf"(?s)different metadata.*position 0: saved shape \(3, 3\), dtype float64, device 'cpu', {found}",
        ):
            out.sum().backward()


def test_a_recomputation_that_went_wrong_leaves_nothing_to_be_used_later():
    def right(x):
        return x.sin(), x.exp()

    def wrong(x):
        return (2 * x).sin(), None

    x = leaf()
    sine, exponential = checkpoint(Changing(right, wrong, right), x)
    with pytest.raises(CheckpointError, match="A different number"):
        exponential.sum().backward()
    sine.sum().backward()
    close((x.grad,), (x.cos(),))


def test_without_the_check_what_was_recomputed_is_taken():
    x = leaf(3)
    out = checkpoint(Changing(lambda x: x.sin(), lambda x: x.to(pb.float32).sin()), x, determinism_check="none")
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(x.detach().numpy()), rtol=1e-6)


@pytest.mark.parametrize("globally", [False, True])
def test_debug_lists_the_operators(globally):
    x = leaf()
    changing = Changing(lambda x: (x * 2).sin().exp(), lambda x: (x * 2).sum(0).sin().exp())
    with set_checkpoint_debug_enabled(True if globally else None):
        out = checkpoint(changing, x, debug=not globally)
    with pytest.raises(CheckpointError) as caught:
        out.sum().backward()
    text = str(caught.value)
    assert "0: mul(float64(3, 3), 2) at " in text
    assert "test_checkpoint_errors.py:" in text
    assert "1: forward      sin(float64(3, 3))" in text
    assert "recomputed   sum(float64(3, 3), " in text
    assert "The first difference: operator 1 was sin(float64(3, 3)) at" in text


def test_debug_can_be_forbidden_globally():
    x = leaf()
    with set_checkpoint_debug_enabled(False):
        out = checkpoint(Changing(lambda x: x.sin(), lambda x: x[0].sin()), x, debug=True)
    with pytest.raises(CheckpointError) as caught:
        out.sum().backward()
    assert "Operators that ran" not in str(caught.value)


def test_an_input_that_was_modified_raises():
    x = leaf()
    y = x * 1
    out = checkpoint(layer, y, x).sum()
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"checkpoint\(layer\) saved .* at version 0, but add_ has modified it since"
    ):
        out.backward()


def test_options_are_checked():
    x = leaf()
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got 'maybe'"):
        checkpoint(layer, x, x, determinism_check="maybe")
    with pytest.raises(ValueError, match="debug=True is incompatible with a context_fn"):
        checkpoint(layer, x, x, debug=True, context_fn=lambda: None)
    for options in ({"debug": True}, {"context_fn": lambda: None}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            checkpoint(layer, x, x, use_reentrant=True, **options)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: w"):
        checkpoint(layer, x, w=x, use_reentrant=True)
