"""How many activations of a chain are alive at once: n without checkpoints, O(sqrt(n)) in sqrt(n) segments."""

import gc
import math
import sys
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.utils.checkpoint import checkpoint, checkpoint_sequential


class Census:
    """Layers whose results are counted while they live; `most` is the largest count."""

    def __init__(self):
        self.alive = self.most = 0

    def layer(self, x):
        y = x.sin()  # saves its input, the result of the layer before
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(y._array, self.gone)
        return y

    def gone(self):
        self.alive -= 1


@pytest.fixture(autouse=True)
def no_garbage_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def most_alive(run, n):
    """The largest number of results alive in a forward and backward, and the gradient."""
    census = Census()
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    out = run([census.layer] * n, x)
    out.sum().backward()
    del out
    assert census.alive == 0
    return census.most, x.grad.tolist()


def plainly(layers, x):
    for layer in layers:
        x = layer(x)
    return x


def in_sqrt_segments(layers, x):
    return checkpoint_sequential(layers, "sqrt", x)


def halving(layers, x):
    """Checkpoints within checkpoints: the first half is recomputed for the second, and so on."""
    if len(layers) == 1:
        return layers[0](x)
    middle = len(layers) // 2
    return halving(layers[middle:], checkpoint(halving, layers[:middle], x))


SIZES = [16, 36, 100, 256, 400, 1024]


@pytest.mark.parametrize("n", SIZES)
def test_a_chain_keeps_every_activation_without_checkpoints(n):
    assert most_alive(plainly, n)[0] == n


@pytest.mark.parametrize("n", [*SIZES, 17, 50, 999])
def test_a_chain_in_sqrt_segments_keeps_two_square_roots_of_them(n):
    most, gradient = most_alive(in_sqrt_segments, n)
    assert most <= 2 * math.ceil(math.sqrt(n)) + 2
    np.testing.assert_allclose(gradient, most_alive(plainly, n)[1], rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_nesting_keeps_a_logarithm_of_them(n):
    most, gradient = most_alive(halving, n)
    assert most <= math.log2(n) + 4
    np.testing.assert_allclose(gradient, most_alive(plainly, n)[1], rtol=1e-12)


@pytest.mark.parametrize("segments", [2, 5, 25])
def test_other_numbers_of_segments_keep_what_arithmetic_says(segments):
    most, _ = most_alive(lambda layers, x: checkpoint_sequential(layers, segments, x), 100)
    assert most <= segments + math.ceil(100 / segments) + 2


def test_a_saved_activation_is_let_go_as_soon_as_its_node_has_run_even_in_a_retained_graph():
    census = Census()
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    out = checkpoint(plainly, [census.layer] * 50, x)
    assert census.alive == 1  # the result
    out.sum().backward(retain_graph=True)
    assert census.alive == 1


def test_arrays_made_inside_are_not_kept_either():
    gone = []

    def function(x):
        mask = np.arange(3.0)
        gone.append(weakref.ref(mask))
        return x * mask

    x = pb.ones(3, requires_grad=True)
    out = checkpoint(function, x)
    assert gone[0]() is None
    out.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("step", [in_sqrt_segments, halving])
def test_many_steps_leave_nothing_behind(step):
    x = pb.ones(4, requires_grad=True)

    def train(times):
        for _ in range(times):
            step([pb.sin] * 9, x).sum().backward()
            x.grad = None

    def grows():
        before = sys.getallocatedblocks()
        train(60)
        return sys.getallocatedblocks() - before

    # Less than one object a step, once Python has kept as many freed ones for later as it does.
    assert any(grows() < 60 for _ in range(25))
