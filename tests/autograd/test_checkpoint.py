"""checkpoint: the gradients of the function itself, recomputed; and what is refused."""

import contextlib
from collections import namedtuple

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.autograd.graph import saved_tensors_hooks
from pullback.utils.checkpoint import (
    checkpoint,
    set_checkpoint_early_stop,
)

Pair = namedtuple("Pair", "first second")


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.2, 1.0, shape or (3, 3)), requires_grad=True)


class Counted:
    """A function that counts its calls, and how many of them came to their end."""

    def __init__(self, function):
        self.function, self.calls, self.ends = function, 0, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        result = self.function(*args, **kwargs)
        self.ends += 1
        return result


def layer(x, w):
    return (x @ w).sin().exp() * x


def close(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.detach().numpy(), w.detach().numpy(), rtol=1e-12)


@pytest.fixture
def generator_left_alone():
    before = pb.get_rng_state()
    yield
    pb.set_rng_state(before)


# -- gradients ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early_stop", [True, False])
def test_gradients_are_those_of_the_function_which_runs_once_more(early_stop):
    x, w = leaf(), leaf(seed=1)
    function = Counted(layer)
    out = checkpoint(function, x, w, early_stop=early_stop)
    assert (function.calls, out.grad_fn.name()) == (1, "MulBackward0")
    got = pb.autograd.grad(out.sum(), (x, w))
    assert function.calls == 2
    close(got, pb.autograd.grad(layer(x, w).sum(), (x, w)))


def test_recomputation_stops_once_everything_is_there():
    def function(x):
        y = x.sin().exp()
        reached.append("end")
        return y + 1  # saves nothing

    reached = []
    x = leaf()
    checkpoint(function, x).sum().backward()
    assert reached == ["end"]
    with set_checkpoint_early_stop(False):
        out = checkpoint(function, x)
    out.sum().backward()  # what was set in forward counts
    assert reached == ["end"] * 3
    with set_checkpoint_early_stop(True):
        out = checkpoint(function, x, early_stop=False)
    out.sum().backward()
    assert reached == ["end"] * 4


def test_several_backwards_recompute_each_time():
    x, w = leaf(), leaf(seed=1)
    function = Counted(layer)
    out = checkpoint(function, x, w).sum()
    want = pb.autograd.grad(layer(x, w).sum(), (x, w))
    close(pb.autograd.grad(out, w, retain_graph=True), want[1:])
    close(pb.autograd.grad(out, x, retain_graph=True), want[:1])
    close(pb.autograd.grad(out, (x, w), retain_graph=True), want)
    out.backward()
    close((x.grad, w.grad), want)
    assert function.calls <= 5
    with pytest.raises(RuntimeError, match="a second time"):
        out.backward()


def test_a_second_derivative():
    x, w = leaf(), leaf(seed=1)

    def second(f):
        (first,) = pb.autograd.grad(f(x, w).sum(), x, create_graph=True)
        return first, *pb.autograd.grad((first * first).sum(), (x, w))

    close(second(lambda *args: checkpoint(layer, *args)), second(layer))


def test_a_custom_function_may_ask_for_its_saved_tensors_again():
    class Twice(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1], grad * ctx.saved_tensors[0]

    x, w = leaf(), leaf(seed=1)
    got = pb.autograd.grad(checkpoint(lambda x, w: Twice.apply(x.sin(), w.cos()), x, w).sum(), (x, w))
    close(got, pb.autograd.grad((x.sin() * w.cos()).sum(), (x, w)))


def test_arguments_of_every_kind():
    x, w, b = leaf(), leaf(seed=1), leaf(3, seed=2)

    def function(x, number, pair, *, options, text="sin"):
        y = getattr(x * number, text)()
        return {"y": y @ pair.first, "z": [y + pair.second, options["deep"][0] * y, None]}

    def total(out):
        return out["y"].sum() + out["z"][0].exp().sum() + out["z"][1].sum()

    arguments = (x, 2.0, Pair(w, b)), {"options": {"deep": [b * 1, np.ones(3)]}, "text": "cos"}
    want = pb.autograd.grad(total(function(*arguments[0], **arguments[1])), (x, w, b), retain_graph=True)
    out = checkpoint(function, *arguments[0], **arguments[1])
    assert out["z"][2] is None
    close(pb.autograd.grad(total(out), (x, w, b)), want)


def test_parameters_of_the_function_itself():
    x, w = leaf(), leaf(seed=1)
    out = checkpoint(lambda y: layer(y, w), x.detach())  # no argument requires grad
    close(pb.autograd.grad(out.sum(), w), pb.autograd.grad(layer(x.detach(), w).sum(), w))


def test_outputs_that_are_detached_unused_or_the_input_itself():
    x = leaf()

    def function(x):
        y = x.sin()
        with pb.no_grad():
            hidden = y * y
        return y * y, y.detach(), hidden, x, (y > 0.5), y.exp()

    used, detached, hidden, same, positive, _ = checkpoint(function, x)
    assert not detached.requires_grad
    assert not hidden.requires_grad
    assert same is x
    assert positive.dtype == bool
    close(pb.autograd.grad(used.sum(), x), pb.autograd.grad((x.sin() ** 2).sum(), x))


def test_views_and_in_place_operators_inside():
    def function(x, w):
        y = x @ w
        y[0].mul_(x[1])
        y += w.T
        return y[1:].exp() * y.tanh_()[:2]

    x, w = leaf(), leaf(seed=1)
    want = pb.autograd.grad(function(x, w).sum(), (x, w))
    close(pb.autograd.grad(checkpoint(function, x, w).sum(), (x, w)), want)


@pytest.mark.parametrize("mode", [pb.no_grad, pb.inference_mode])
def test_without_recording_the_function_is_just_called(mode):
    x = leaf()
    function = Counted(layer)
    with mode():
        out = checkpoint(function, x, x)
    assert not out.requires_grad
    assert function.calls == 1


def test_grad_modes_are_those_of_the_call():
    x = leaf()
    seen = []

    def function(x):
        seen.append((pb.is_grad_enabled(), pb.is_inference_mode_enabled()))
        with pb.no_grad():
            scale = x.exp()
        return (x * scale).sin()

    out = checkpoint(function, x).sum()
    with pb.no_grad():
        out.backward()
    assert seen == [(True, False)] * 2
    close((x.grad,), pb.autograd.grad((x * x.exp().detach()).sin().sum(), x))


def test_under_transforms():
    w = leaf(seed=1)
    a = leaf().detach().numpy()

    def grads(f):
        first = pb.func.grad(lambda x: f(x, w.detach().numpy()).sum())(a)
        second = pb.func.grad(lambda x: (pb.func.grad(lambda y: f(y, x).sum())(x) ** 2).sum())(a)
        return first, second, pb.func.grad(lambda x: f(x, w).sum())(a).detach().numpy()

    for got, want in zip(grads(lambda *args: checkpoint(layer, *args)), grads(layer), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("early_stop", [True, False])
def test_a_backward_inside_the_function(early_stop, create_graph):
    def function(x, w):
        z = (x @ w).sin().exp()
        (g,) = pb.autograd.grad(z.sum(), x, retain_graph=True, create_graph=create_graph)
        return g * z

    x, w = leaf(), leaf(seed=1)
    want = pb.autograd.grad(function(x, w).sum(), (x, w))
    close(pb.autograd.grad(checkpoint(function, x, w, early_stop=early_stop).sum(), (x, w)), want)


def test_a_backward_inside_that_lets_go_of_its_part():
    def function(x):
        y = x.sin()
        (g,) = pb.autograd.grad(y.cos().sum(), x)
        return x.cos() * g

    x = leaf()
    want = pb.autograd.grad(function(x).sum(), x)
    for early_stop in (True, False):
        close(pb.autograd.grad(checkpoint(function, x, early_stop=early_stop).sum(), x), want)


# -- random numbers ----------------------------------------------------------------------------------------------


def noisy(x):
    y = pb.nn.functional.dropout(x.exp(), 0.5)
    return y * pb.rand(3, 3) * pb.nn.functional.dropout(y.sin(), 0.3)


@pytest.mark.usefixtures("generator_left_alone")
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_the_recomputation_draws_the_same_numbers_and_leaves_the_generator_where_it_was(use_reentrant):
    x = leaf()
    pb.manual_seed(1)
    want = noisy(x)
    after = pb.get_rng_state()
    want.sum().backward()
    expected, x.grad = x.grad, None
    pb.manual_seed(1)
    out = checkpoint(noisy, x, use_reentrant=use_reentrant)
    assert out.tolist() == want.tolist()
    assert pb.get_rng_state() == after
    pb.manual_seed(7)
    now = pb.get_rng_state()
    out.sum().backward()
    assert pb.get_rng_state() == now
    close((x.grad,), (expected,))


@pytest.mark.usefixtures("generator_left_alone")
def test_random_numbers_are_drawn_anew_if_the_state_is_not_preserved():
    x = leaf()
    drawn = []

    def function(x):
        drawn.append(pb.rand(3, 3).tolist())
        return x.sin()

    checkpoint(function, x, preserve_rng_state=False).sum().backward()
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_generators_among_the_arguments_are_preserved_too(use_reentrant):
    x, rng = leaf(), np.random.default_rng(3)
    checkpoint(lambda x, rng: x * rng.standard_normal(), x, rng, use_reentrant=use_reentrant).sum().backward()
    drawn = np.random.default_rng(3).standard_normal(2)
    np.testing.assert_array_equal(x.grad, np.full(x.shape, drawn[0]))
    assert rng.standard_normal() == drawn[1]


@pytest.mark.parametrize("outside", [None, lambda t: t.detach()])
def test_tangents_are_recomputed_too(outside):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    hooks = saved_tensors_hooks(outside, lambda t: t) if outside else contextlib.nullcontext()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, pb.tensor([1.0, 0.0]))
        with hooks:
            y = checkpoint(lambda z: (z * z) * z, dual)
        (gradient,) = pb.autograd.grad(y.sum(), x)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [3, 0]
        assert forward_ad.unpack_dual(gradient).tangent.tolist() == [6, 0]


GENERATOR = np.random.default_rng(3)
LEGACY = np.random.RandomState(3)


def of_a_closure():
    held = np.random.default_rng(5)
    return lambda x: (x * x * pb.tensor(held.normal(size=3))).exp()


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x * pb.randn(3)).exp(),
        lambda x: (x * x * pb.tensor(np.random.normal(size=3))).exp(),  # noqa: NPY002 - NumPy's global generator
        lambda x: (x * x * pb.tensor(GENERATOR.normal(size=3))).exp(),
        lambda x: (x * x * pb.tensor(LEGACY.randn(3))).exp(),
        of_a_closure(),
    ],
    ids=["pullback's", "NumPy's", "of the module", "a RandomState", "of a closure"],
)
def test_random_numbers_come_again(function, use_reentrant):
    x = pb.tensor([0.1, 0.2, 0.3], requires_grad=True)
    y = checkpoint(function, x, use_reentrant=use_reentrant)
    y.sum().backward()
    drawn = np.log(y.detach().numpy()) / x.detach().numpy() ** 2
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() * drawn * y.detach().numpy(), rtol=1e-9)


@pytest.mark.parametrize("part", ["primal", "tangent"])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "nested"])
@pytest.mark.parametrize("differentiate", ["backward", "grad", "hessian"])
def test_a_function_may_enter_forward_levels_of_its_own(differentiate, times, part):
    v = pb.tensor([1.0, 2.0])

    def run(a):
        with forward_ad.dual_level():
            outer = forward_ad.make_dual(a, v)
            with forward_ad.dual_level():
                found = getattr(forward_ad.unpack_dual(forward_ad.make_dual(outer, v) ** 3), part)
            return forward_ad.unpack_dual(found).tangent.sum()

    def checkpointed(function):
        return lambda a: checkpoint(function, a, use_reentrant=False)

    program = run
    for _ in range(times):
        program = checkpointed(program)
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    if differentiate == "backward":
        program(x).backward()
        assert x.grad.tolist() == [6.0, 24.0]  # 6 x v, or 6 v^2
    else:
        transform = getattr(pb.func, differentiate)
        assert transform(program)(x.detach()).tolist() == transform(run)(x.detach()).tolist()
