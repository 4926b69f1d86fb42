"""The reentrant checkpoint with its limits, and checkpoint_sequential in both ways."""

import numpy as np
import pytest

import pullback as pb
from pullback.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.2, 1.0, shape or (3, 3)), requires_grad=True)


def layer(x, w):
    return (x @ w).sin().exp() * x


def close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12)


class Counted:
    """A function that counts its calls, and how many of them came to their end."""

    def __init__(self, function):
        self.function, self.calls, self.ends = function, 0, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        result = self.function(*args, **kwargs)
        self.ends += 1
        return result


def reentrant(*args, **options):
    return checkpoint(*args, use_reentrant=True, **options)


def test_reentrant_gradients():
    x, w, p = leaf(), leaf(seed=1), leaf(seed=2)

    def function(x, w, number):
        return layer(x, w) * p * number, x.exp()

    def leaves_after(call):
        for t in (x, w, p):
            t.grad = None
        first, second = call(function, x, w, 2.0)
        (first.sum() + second.sum()).backward()
        return x.grad, w.grad, p.grad

    want = leaves_after(lambda f, *args: f(*args))
    close(leaves_after(reentrant), want)
    close(leaves_after(lambda f, *args: reentrant(lambda *a: reentrant(f, *a), *args)), want)
    close(leaves_after(lambda f, *args: checkpoint(lambda *a: reentrant(f, *a), *args)), want)
    close(leaves_after(lambda f, *args: reentrant(lambda *a: checkpoint(f, *a), *args)), want)


def test_reentrant_records_nothing_in_forward_and_runs_to_the_end():
    function = Counted(lambda x: x.sin().exp() + 1)
    out = reentrant(function, leaf())
    assert out.grad_fn.name() == "CheckpointFunctionBackward"
    out.sum().backward()
    assert function.ends == 2


def test_reentrant_is_refused_by_grad_and_by_inputs():
    x = leaf()
    for run in (
        lambda out: pb.autograd.grad(out, x),
        lambda out: out.backward(inputs=[x]),
    ):
        with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\).*use_reentrant=False"):
            run(reentrant(layer, x, x).sum())
    reentrant(layer, x, x).sum().backward()
    assert x.grad is not None


def test_reentrant_needs_an_input_that_requires_grad():
    x, w = leaf().detach(), leaf(seed=1)
    with pytest.warns(UserWarning, match="none of the inputs have requires_grad=True.*use_reentrant=False"):
        out = reentrant(lambda x: layer(x, w), x)
    assert not out.requires_grad


def test_reentrant_needs_an_output_that_requires_grad():
    out = reentrant(lambda x: x.detach(), leaf())
    with pytest.raises(RuntimeError, match=r"none of the outputs has requires_grad=True.*not necessary"):
        out.sum().backward()


def test_reentrant_has_no_second_derivative():
    x = leaf()
    reentrant(layer, x, x).sum().backward(create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice through CheckpointFunctionBackward"):
        x.grad.sum().backward()


def test_reentrant_notices_modified_inputs():
    x = leaf()
    y = x * 1
    out = reentrant(layer, y, x).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match=r"CheckpointFunctionBackward saved .* but zero_ has modified it"):
        out.backward()


# -- checkpoint_sequential ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("segments", [1, 2, 3, 7, 10, "sqrt"])
def test_sequential(segments, use_reentrant):
    ws = [leaf(seed=i) for i in range(10)]
    functions = [Counted(lambda x, w=w: (x @ w).tanh()) for w in ws]
    x = leaf(seed=11)
    out = checkpoint_sequential(functions, segments, x, use_reentrant=use_reentrant)
    out.sum().backward()
    got = [t.grad for t in (x, *ws)]
    assert functions[-1].calls == 1  # the last segment is not checkpointed
    expected = {1: 10, 10: 19, "sqrt": 17}  # in segments of 4, 3 and 3
    if segments in expected:
        assert sum(f.calls for f in functions) == expected[segments]
    y = x
    for w in ws:
        y = (y @ w).tanh()
    close(got, pb.autograd.grad(y.sum(), (x, *ws)))


def test_sequential_counts_its_segments():
    x = leaf()
    for segments in (0, -1, 4, 2.0, "many", None):
        with pytest.raises(ValueError, match="segments must be a number from 1 to that of the functions, 3, or 'sqrt'"):
            checkpoint_sequential([pb.sin] * 3, segments, x)
    assert checkpoint_sequential([], "sqrt", x) is x


class Keeping:
    kept = None

    def __init__(self, keep):
        self.p, self.keep, self.mean = pb.tensor(2.0, requires_grad=True), keep, pb.zeros(3)

    def __call__(self, x, data):
        self.kept = self.keep(self.p * x, data)
        self.mean[:] = x.detach()
        return 3 * x


@pytest.mark.parametrize("keep", [lambda y, data: y, lambda y, data: {"y": [y]}, lambda y, data: y[:2]])
def test_what_the_function_leaves_behind_is_refused_in_backward(keep):
    function, x = Keeping(keep), leaf(3)
    y = reentrant(function, x, pb.ones(3))
    kept = function.kept["y"][0] if isinstance(function.kept, dict) else function.kept
    with pytest.raises(pb.extend.GradientError, match="left a tensor behind in the attribute 'kept' of a Keeping"):
        (y.sum() + kept.sum()).backward()
    x.grad = None
    (reentrant(function, x, pb.ones(3)).sum() + kept.detach().sum() + function.mean.sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0, 3.0])


@pytest.mark.parametrize("keep", [lambda y, data: data, lambda y, data: data[:2], lambda y, data: y.sum().item()])
def test_what_is_left_behind_has_no_graph_where_it_is_none_of_the_functions(keep):
    function, data = Keeping(keep), pb.ones(3)
    reentrant(function, leaf(3), data)
    assert not data.requires_grad
    assert not isinstance(function.kept, pb.Tensor) or not function.kept.requires_grad
    with pb.no_grad():
        reentrant(Keeping(lambda y, data: y), leaf(3), data)
    assert not data.requires_grad


def test_a_cache_of_the_first_run_does_not_hide_a_gradient():
    p, x, cache = leaf(3), leaf(3), {}

    def function(x):
        if "y" not in cache:
            cache["y"] = p * p
        return cache["y"] * x

    reentrant(function, x).sum().backward()
    close([p.grad], [2 * p * x])
