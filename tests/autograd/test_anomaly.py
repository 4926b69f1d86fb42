"""Anomaly detection: what PyTorch's does, with the tracebacks as notes on the error."""

import asyncio
import threading
import traceback

import numpy as np
import pytest

import pullback as pb
from pullback import autograd
from pullback.core.errors import NonFiniteError, SavedTensorModifiedError


def leaf(*values):
    return pb.tensor(values, requires_grad=True)


def notes(error):
    return "\n".join(getattr(error, "__notes__", ()))


class Fails(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no derivative today")


def users_function(x):
    return Fails.apply(x)  # the line that a note must show


def test_nan_in_backward_raises_naming_the_node_and_the_output():
    with autograd.detect_anomaly(), np.errstate(invalid="ignore"):
        y = leaf(1.0, -1.0).sqrt()
        with pytest.raises(
            RuntimeError, match=r"^Function 'SqrtBackward0' returned nan values in its 0th output\."
        ) as e:
            y.sum().backward()
    assert str(e.value).endswith("output.")
    assert isinstance(e.value, NonFiniteError)
    assert "y = leaf(1.0, -1.0).sqrt()" in notes(e.value)


def test_without_check_nan_gradients_may_be_nan():
    x = leaf(-1.0)
    with autograd.detect_anomaly(check_nan=False), np.errstate(invalid="ignore"):
        x.sqrt().sum().backward()
    assert np.isnan(x.grad.item())


def test_an_error_shows_the_forward_call_and_no_frame_of_pullback():
    with autograd.detect_anomaly():
        y = users_function(leaf(1.0))
        with pytest.raises(ValueError, match="no derivative today") as e:
            y.sum().backward()
    text = notes(e.value)
    assert text.startswith("Error detected in FailsBackward. Traceback of forward call that caused the error:\n")
    assert "return Fails.apply(x)  # the line" in text
    assert text.rstrip().endswith("return Fails.apply(x)  # the line that a note must show")
    assert "pullback/autograd" not in text.replace("tests/autograd", "")
    assert text in "".join(traceback.format_exception(e.value))


def test_without_forward_information_the_note_says_what_to_do():
    y = users_function(leaf(1.0)).sum()
    with autograd.detect_anomaly(), pytest.raises(ValueError, match="today") as e:
        y.backward()
    assert "No forward pass information available. Enable anomaly detection during the forward pass" in notes(e.value)


def test_errors_in_hooks_count_as_their_nodes():
    def hook(grad):
        raise KeyError("hook")

    with autograd.detect_anomaly():
        y = leaf(1.0).exp()
        y.register_hook(hook)
        with pytest.raises(KeyError) as e:
            y.sum().backward()
    assert "Error detected in ExpBackward0." in notes(e.value)


def test_double_backward_shows_both_generations():
    with autograd.detect_anomaly():
        x = leaf(2.0)
        y = x.exp()  # first generation
        (g,) = autograd.grad(y, x, create_graph=True)
        g.register_hook(lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError) as e:
            g.sum().backward()
    text = notes(e.value)
    assert "Error detected in MulBackward0." in text
    assert "It was recorded by the backward of ExpBackward0. Traceback of forward call that induced it:" in text
    assert text.rstrip().endswith("y = x.exp()  # first generation")
    assert g.grad_fn.metadata["parent_"] is y.grad_fn


def test_metadata_has_the_traceback_as_strings():
    with autograd.detect_anomaly():
        y = leaf(1.0) * 2
    lines = y.grad_fn.metadata["traceback_"]
    assert all(isinstance(line, str) for line in lines)
    assert lines[-1].endswith("y = leaf(1.0) * 2\n")
    assert "parent_" not in y.grad_fn.metadata


def test_saved_tensor_modified_names_both_lines():
    with autograd.detect_anomaly():
        y = leaf(1.0).exp()
        y.mul_(3)
        y.add_(1)  # the last one
        with pytest.raises(SavedTensorModifiedError, match=r"ExpBackward0 saved 'result'.*add_ has modified it") as e:
            y.sum().backward()
    assert "y = leaf(1.0).exp()" in e.value.saved_at
    assert "y.add_(1)  # the last one" in e.value.modified_at
    text = str(e.value)
    assert (
        text.index("It was saved by\n") < text.index("It was modified last by\n") < text.index("Use the out-of-place")
    )


@pytest.mark.parametrize(
    "write",
    [lambda y: y.__setitem__(0, 1.0), lambda y: y[:1].zero_(), lambda y: pb.add(y.detach(), 1, out=y.detach())],
    ids=["setitem", "view", "out"],
)
def test_every_way_of_writing_is_located(write):
    with autograd.detect_anomaly():
        y = leaf(1.0, 2.0).exp()
        loss = (y * y).sum()
        write(y)
        with pytest.raises(SavedTensorModifiedError) as e:
            loss.backward()
    assert "lambda y:" in e.value.modified_at


def test_without_anomaly_mode_there_are_no_lines():
    y = leaf(1.0).exp()
    y.add_(1)
    with pytest.raises(SavedTensorModifiedError) as e:
        y.sum().backward()
    assert e.value.saved_at is None
    assert e.value.modified_at is None
    assert type(y._counter.culprit) is str


def test_in_place_on_views_is_named_with_what_it_runs():
    with autograd.detect_anomaly():
        y = leaf(0.0, 2.0) * 1
        y[:1].sqrt_()
        assert "traceback_" in y.grad_fn.metadata
        with pytest.raises(RuntimeError, match=r"Function 'CopySlices \(of SqrtBackward0\)' returned nan") as e:
            (y * pb.tensor([0.0, 1.0])).sum().backward()
    assert "y[:1].sqrt_()" in notes(e.value)


def test_deep_stacks_are_abridged():
    def deep(n, x):
        return deep(n - 1, x) if n else Fails.apply(x)

    with autograd.detect_anomaly():
        y = deep(100, leaf(1.0))
        with pytest.raises(ValueError, match="today") as e:
            y.sum().backward()
    text = notes(e.value)
    assert "outer frames left out" in text
    assert len(text.splitlines()) < 30
    assert len(y.grad_fn.metadata["traceback_"]) > 100


def test_backwards_inside_backwards_add_few_notes():
    class Nested(autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            with pb.enable_grad():
                inner = leaf(1.0)
                y = Nested.apply(inner, ctx.depth - 1) if ctx.depth else Fails.apply(inner)
                y.sum().backward()
            return grad, None

    with autograd.detect_anomaly():
        y = Nested.apply(leaf(1.0), 6)
        with pytest.raises(ValueError, match="today") as e:
            y.sum().backward()
    assert [note.partition(".")[0] for note in e.value.__notes__] == [
        "Error detected in FailsBackward",
        "Error detected in NestedBackward",
        "Error detected in NestedBackward",
    ]


def test_switches_nest_and_return():
    assert not pb.is_anomaly_enabled()
    with autograd.detect_anomaly(check_nan=False):
        assert pb.is_anomaly_enabled()
        assert not pb.is_anomaly_check_nan_enabled()
        with autograd.detect_anomaly():
            assert pb.is_anomaly_check_nan_enabled()
        assert not pb.is_anomaly_check_nan_enabled()
        with autograd.set_detect_anomaly(False):
            assert not pb.is_anomaly_enabled()
        assert pb.is_anomaly_enabled()
    assert not pb.is_anomaly_enabled()


def test_set_detect_anomaly_works_at_once_as_a_block_and_as_a_decorator():
    autograd.set_detect_anomaly(True)
    try:
        assert pb.is_anomaly_enabled()
    finally:
        autograd.set_detect_anomaly(False)
    assert not pb.is_anomaly_enabled()
    with autograd.set_detect_anomaly(True, check_nan=False):
        assert pb.is_anomaly_enabled()
        assert not pb.is_anomaly_check_nan_enabled()
    assert not pb.is_anomaly_enabled()

    @autograd.set_detect_anomaly(True)
    def decorated():
        return pb.is_anomaly_enabled()

    assert not pb.is_anomaly_enabled()
    assert decorated()
    assert not pb.is_anomaly_enabled()


def test_detect_anomaly_decorates_functions_and_generators():
    @autograd.detect_anomaly()
    def function():
        return pb.is_anomaly_enabled()

    @autograd.detect_anomaly()
    def generator():
        yield pb.is_anomaly_enabled()

    assert function()
    steps = generator()
    assert next(steps)
    assert not pb.is_anomaly_enabled()


def test_it_belongs_to_the_thread_and_the_task():
    seen = []
    with autograd.detect_anomaly():
        thread = threading.Thread(target=lambda: seen.append(pb.is_anomaly_enabled()))
        thread.start()
        thread.join()

    async def inside():
        with autograd.detect_anomaly():
            await asyncio.sleep(0)
            seen.append(pb.is_anomaly_enabled())

    async def outside():
        await asyncio.sleep(0)
        seen.append(pb.is_anomaly_enabled())

    async def both():
        await asyncio.gather(inside(), outside())

    asyncio.run(both())
    assert seen == [False, True, False]


def test_gradients_are_the_same_as_without():
    def gradients():
        x = leaf(0.5, 1.5)
        y = x.exp() * 1
        y[0] *= 2
        (y.sin() * x).sum().backward()
        return x.grad.tolist()

    plain = gradients()
    with autograd.detect_anomaly():
        assert gradients() == plain


def test_levels_of_transforms_are_watched_too():
    with autograd.detect_anomaly(), np.errstate(invalid="ignore"), pytest.raises(NonFiniteError, match="SqrtBackward0"):
        pb.func.grad(lambda x: x.sqrt().sum())(np.array([-1.0]))
