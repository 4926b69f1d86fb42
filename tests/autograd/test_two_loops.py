"""The engine has a fast loop and a plain one: the same gradients, nodes in the same order, the same errors."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.engine import execution
from pullback.core.errors import BackwardTwiceError


@pytest.fixture
def plainly(monkeypatch):
    """Run every backward of a test in the plain loop from the call on."""
    return lambda: monkeypatch.setattr(execution, "run_fast", execution.run_plainly)


STEPS = [
    lambda a, b: a * b,
    lambda a, b: a + b,
    lambda a, _: a.sin(),
    lambda a, b: pb.cat([a, b], 1)[:, 1:4],
    lambda a, b: a.sum(0) + b,
    lambda a, b: pb.where(a > b, a, b),
    lambda a, b: a.split(1, 1)[1] - b,
    lambda a, b: pb.max(a, 1, keepdim=True)[0] * b,
    lambda a, _: (a / 2).exp().relu().tanh(),
]


def random_program(seed, numbers):
    """Three leaves, a loss, and all tensors between: diamonds, views, several outputs, masks, broadcasting."""
    rng = np.random.default_rng(seed)
    leaves = [pb.tensor(n, requires_grad=True) for n in numbers]
    made = list(leaves)
    for kind in rng.integers(0, len(STEPS), 25):
        a, b = (made[i] for i in rng.integers(0, len(made), 2))
        made.append(STEPS[kind](a, b))
    return leaves, made, sum(t.sum() for t in made)


def results(seed, way):
    """Gradients of a random program, and the order in which its hooked nodes run."""
    numbers = np.random.default_rng(seed + 1).standard_normal((3, 2, 3))
    leaves, made, loss = random_program(seed, numbers)
    order = []
    if way == "hooks":
        for nr, tensor in enumerate(made[3:]):
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(lambda *_, nr=nr: order.append(nr))
            tensor.register_hook(lambda g, nr=nr: order.append(-nr) or g * 2)
    if way == "retain":
        for tensor in made[3:]:
            tensor.retain_grad()
    if way == "captures":
        grads = pb.autograd.grad(loss, [leaves[0], made[9], leaves[2]], allow_unused=True)
    elif way == "create_graph":
        first = pb.autograd.grad(loss, leaves, create_graph=True)
        grads = pb.autograd.grad(sum((g * g).sum() for g in first), leaves, allow_unused=True)
    elif way == "func":
        grads = pb.func.grad(lambda n: random_program(seed, numbers)[2] + random_loss(seed, n))(pb.tensor(numbers))
        grads = [grads]
    else:
        loss.backward()
        grads = [t.grad for t in (made if way == "retain" else leaves)]
    return [None if g is None else g.numpy(force=True) for g in grads], order


def random_loss(seed, n):
    return ((n[0] * n[1]).sin() + n[2].exp() * (seed + 1)).sum()


@pytest.mark.parametrize("way", ["backward", "hooks", "retain", "captures", "create_graph", "func"])
@pytest.mark.parametrize("seed", range(8))
def test_both_loops_give_the_same_bits_in_the_same_order(seed, way, plainly):
    fast, order = results(seed, way)
    plainly()
    plain, plain_order = results(seed, way)
    assert order == plain_order
    for a, b in zip(fast, plain, strict=True):
        assert (a is None) == (b is None)
        assert a is None or a.tobytes() == b.tobytes()


def test_both_loops_raise_the_same_errors(plainly):
    def message():
        x = pb.ones(3, requires_grad=True)
        y = (x.sin() * x).sum()
        y.backward()
        with pytest.raises(BackwardTwiceError) as twice:
            y.backward()
        z = x.exp()
        w = z.sin()
        z += 1
        with pytest.raises(RuntimeError) as written:
            w.sum().backward()
        return str(twice.value), str(written.value), x.grad.tolist()

    fast = message()
    plainly()
    assert message() == fast


def test_the_fast_loop_reads_what_is_saved_through_unpack(monkeypatch):
    """An `unpack` of another kind, as that of a compiled backward, is asked for every saved tensor."""
    from pullback.autograd.engine import run

    asked = []

    def unpack(saved, *args):
        asked.append(saved)
        return unpack_raw(saved, *args)

    unpack_raw = run.unpack_raw
    monkeypatch.setattr(run, "unpack_raw", unpack)
    x = pb.ones(3, requires_grad=True)
    x.sin().sin().sin().sum().backward()
    assert len(asked) == 3
