"""Selective checkpointing: what a policy keeps is not computed again, and everything still comes out right."""

from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import NUMPY
from pullback.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.2, 1.0, shape or (3, 3)), requires_grad=True)


def layer(x, w):
    return ((x @ w).sin() @ w).exp() * x


def keeping(policy, **options):
    return partial(create_selective_checkpoint_contexts, policy, **options)


def close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12)


@pytest.fixture
def computed(monkeypatch):
    """How often kernels compute."""
    counts = {}
    for name in ("matmul", "sin", "exp", "max_dim", "split", "native_dropout", "bernoulli", "mul", "reshape", "add"):

        def counting(*args, name=name, kernel=NUMPY.kernels[name]):
            counts[name] = counts.get(name, 0) + 1
            return kernel(*args)

        monkeypatch.setitem(NUMPY.kernels, name, counting)
    return counts


@pytest.mark.parametrize("listed", [["matmul"], [pb.matmul], [pb.matmul, "sin"], [pb.exp], []])
def test_a_list_keeps_these_and_recomputes_the_others(listed, computed):
    x, w = leaf(), leaf(seed=1)
    out = checkpoint(layer, x, w, context_fn=keeping(listed), early_stop=False).sum()
    names = {op if isinstance(op, str) else op.__name__ for op in listed}
    forward = dict(computed)
    assert forward == {"matmul": 2, "sin": 1, "exp": 1, "mul": 1}
    got = pb.autograd.grad(out, (x, w))
    again = {name: computed[name] - forward[name] for name in ("sin", "exp")}
    assert again == {"sin": 0 if "sin" in names else 1, "exp": 0 if "exp" in names else 1}
    close(got, pb.autograd.grad(layer(x, w).sum(), (x, w)))


@pytest.mark.parametrize("policy", [*CheckpointPolicy, True, False])
def test_every_policy(policy):
    x, w = leaf(), leaf(seed=1)
    out = checkpoint(layer, x, w, context_fn=keeping(lambda ctx, op, *args: policy)).sum()
    want = pb.autograd.grad(layer(x, w).sum(), (x, w))
    close(pb.autograd.grad(out, (x, w), retain_graph=True), want)
    close(pb.autograd.grad(out, (x, w)), want)  # and again


def test_what_a_policy_is_told():
    asked = []

    def policy(ctx, op, *args):
        asked.append((op, len(args), ctx.op_output, ctx.is_recompute))
        return CheckpointPolicy.PREFER_RECOMPUTE

    def function(x):
        y = x.reshape(9)[:4].reshape(2, 2).max(dim=0).values  # views are not asked for
        y = y * 2
        y += 1  # nor is this
        return y

    x = leaf()
    out = checkpoint(function, x, context_fn=keeping(policy))
    assert [(op, count) for op, count, _, _ in asked] == [("max.dim", 3), ("mul", 2)]
    assert asked[0][2].indices.shape == (2,)
    assert asked[1][2].shape == (2,)
    assert not any(recompute for *_, recompute in asked)
    out.sum().backward()
    assert len(asked) == 2


def test_results_of_several_arrays_views_and_in_place_operators(computed):
    def function(x):
        y = x.exp()
        parts = pb.split(y * y, 1)
        values, _ = parts[0].max(dim=1)
        z = y.reshape(9) * 2
        z[2:].mul_(values)
        return z * parts[1].sum()

    x = leaf()
    want = pb.autograd.grad(function(x).sum(), x)
    computed.clear()
    everything = keeping(lambda ctx, op, *args: op != "mul")
    out = checkpoint(function, x, context_fn=everything, early_stop=False).sum()
    close(pb.autograd.grad(out, x), want)
    assert (computed["exp"], computed["max_dim"]) == (1, 1)


def test_random_numbers_after_a_kept_draw_are_those_of_forward():
    def function(x):
        y = pb.nn.functional.dropout(x, 0.5).exp()
        return pb.nn.functional.dropout(y.sin(), 0.5) * pb.rand(3, 3)

    x = leaf()
    state = pb.get_rng_state()
    try:
        pb.manual_seed(3)
        want = pb.autograd.grad(function(x).sum(), x)
        chosen = iter([True, False] * 10)
        for policy in (lambda ctx, op, *args: True, lambda ctx, op, *args: op == "native_dropout" and next(chosen)):
            pb.manual_seed(3)
            close(pb.autograd.grad(checkpoint(function, x, context_fn=keeping(policy)).sum(), x), want)
    finally:
        pb.set_rng_state(state)


def test_second_derivatives_and_transforms():
    x, w = leaf(), leaf(seed=1)

    def kept(x, w):
        return checkpoint(layer, x, w, context_fn=keeping(["matmul", "sin"]))

    results = []
    for f in (kept, layer):
        (first,) = pb.autograd.grad(f(x, w).sum(), x, create_graph=True)
        nested = pb.func.grad(lambda a, f=f: (pb.func.grad(lambda b: f(b, a).sum())(a) ** 2).sum())(x.detach().numpy())
        results.append([*pb.autograd.grad(first.sum(), (x, w)), pb.from_numpy(nested)])
    close(*results)


def test_nested_in_another_checkpoint():
    x, w = leaf(), leaf(seed=1)

    def outer(x):
        return checkpoint(layer, x, w, context_fn=keeping([pb.matmul])).cos()

    close(
        pb.autograd.grad(checkpoint(outer, x, context_fn=keeping([pb.cos])).sum(), (x, w)),
        pb.autograd.grad(layer(x, w).cos().sum(), (x, w)),
    )


def test_with_a_backward_inside_the_function():
    def function(x, w):
        z = (x @ w).sin()
        (g,) = pb.autograd.grad(z.exp().sum(), x, retain_graph=True, create_graph=True)
        return (g @ w).sin() * z

    x, w = leaf(), leaf(seed=1)
    want = pb.autograd.grad(function(x, w).sum(), (x, w))
    for kept in (["matmul"], ["sin", "exp"], []):
        close(pb.autograd.grad(checkpoint(function, x, w, context_fn=keeping(kept)).sum(), (x, w)), want)


def test_a_kept_result_must_not_be_modified():
    def function(x):
        y = x.sin()
        z = y.exp()
        y.add_(1)
        return z * z

    x = leaf()
    with pytest.raises(
        RuntimeError, match=r"cached during selective activation checkpoint has been mutated.*sin.*add_"
    ):
        checkpoint(function, x, context_fn=keeping(["sin"])).sum().backward()
    assert x.grad is None
    allowed = keeping(["sin"], allow_cache_entry_mutation=True)
    checkpoint(function, x, context_fn=allowed).sum().backward()  # wrong numbers, as asked for
    out = checkpoint(pb.sin, x, context_fn=keeping(["sin"]), early_stop=False)
    out.mul_(2)
    with pytest.raises(RuntimeError, match="the result of sin, by mul_"):
        out.sum().backward()


def test_operators_that_were_not_there_at_first():
    calls = []

    def function(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x.cos()

    with pytest.raises(
        RuntimeError, match=r"the recomputation calls cos more often than the forward, which called it 0 times"
    ):
        checkpoint(function, leaf(), context_fn=keeping(["sin"])).sum().backward()


def test_what_cannot_be_a_policy_is_refused():
    with pytest.raises(TypeError, match="a policy function or a list of operators, got int"):
        create_selective_checkpoint_contexts(3)
    with pytest.raises(ValueError, match=r"dropout.* is not a primitive operator.*name these"):
        create_selective_checkpoint_contexts([pb.nn.functional.dropout])
    with pytest.raises(ValueError, match="'matmull' is not a primitive operator"):
        create_selective_checkpoint_contexts(["matmull"])
    with pytest.raises(TypeError, match="policy function returned a str for sin; expected a CheckpointPolicy"):
        checkpoint(lambda x: x.sin(), leaf(), context_fn=keeping(lambda ctx, op, *args: "save"))
