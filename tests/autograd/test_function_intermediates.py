"""What a Function's forward saves on the way has its derivative in a second backward, or is refused there."""

import gc
from collections import deque
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, gradgradcheck
from pullback.autograd.function import once_differentiable


class Saved(Function):
    """x**3, with the slope computed by forward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


class BySetup(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(3 * inputs[0] ** 2)

    backward = staticmethod(Saved.backward)


class Attribute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 3 * x * x
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.slope


class InAContainer(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = {"slopes": [3 * x * x, 1], "input": x}
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.kept["slopes"][0] * ctx.kept["slopes"][1]


class AView(Function):
    """A view of the input, made where nothing records."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.reshape(1, -1))
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0][0] ** 2


class AViewOfTheOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.view = y.reshape(1, -1)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.view[0] / ctx.saved_tensors[0]


class Detached(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.detach())
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3 * ctx.saved_tensors[0] ** 2


class ByNumPy(Function):
    @staticmethod
    def forward(ctx, x):
        values = x.detach().numpy()
        ctx.save_for_backward(3 * values * values)
        return values**3

    backward = staticmethod(Saved.backward)


class ByChance(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x + 1e-3 * pb.rand_like(x))
        return x**3

    backward = staticmethod(Saved.backward)


class Dropped(Function):
    """A mask that does not depend on the input."""

    @staticmethod
    def forward(ctx, x):
        mask = (pb.rand(3, dtype="float64") < 0.5).to("float64")
        ctx.save_for_backward(x, mask)
        return x * x * mask

    @staticmethod
    def backward(ctx, grad):
        x, mask = ctx.saved_tensors
        return 2 * grad * x * mask


class Twofold(Function):
    """x y**2, of which the product with y is kept; and a list of what is no tensor."""

    @staticmethod
    def forward(ctx, x, y, power):
        kept = x * y
        ctx.save_for_backward(y, kept)
        ctx.power = power
        return kept * y, kept > 0

    @staticmethod
    def backward(ctx, grad, _):
        y, kept = ctx.saved_tensors
        return grad * y**ctx.power, 2 * grad * kept, None


def leaf(*values):
    return pb.tensor(values, requires_grad=True, dtype="float64")


def second(function, x):
    """d/dx of x f'(x)."""
    (slope,) = pb.autograd.grad(function(x).sum(), x, create_graph=True)
    return pb.autograd.grad((slope * x).sum(), x)[0].numpy()


@pytest.mark.parametrize("function", [Saved, BySetup, Attribute, InAContainer, AView, AViewOfTheOutput])
def test_second_derivatives_are_those_of_what_forward_computed(function):
    x = leaf(2.0, -1.0)
    np.testing.assert_allclose(second(function.apply, x), 9 * x.detach().numpy() ** 2)
    assert gradgradcheck(function.apply, (x,))
    assert gradgradcheck(lambda x: function.apply(x * x) * x, (x,))
    y = function.apply(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.detach().numpy() ** 2)


@pytest.mark.parametrize("function", [ByNumPy, ByChance, Detached])
def test_where_it_cannot_be_followed_the_second_derivative_is_an_error(function):
    x = leaf(2.0, -1.0)
    with pytest.raises(
        RuntimeError, match=rf"differentiate twice through {function.__name__}Backward.*Save the inputs"
    ):
        second(function.apply, x)
    (slope,) = pb.autograd.grad(function.apply(x).sum(), x, create_graph=True)  # which nobody differentiates
    np.testing.assert_allclose(slope.detach().numpy(), 3 * x.detach().numpy() ** 2, atol=1e-2)
    cotangent = leaf(1.0, 1.0)
    (slope,) = pb.autograd.grad(function.apply(x), x, cotangent, create_graph=True)
    (again,) = pb.autograd.grad(slope.sum(), cotangent)  # in which it is a constant
    np.testing.assert_allclose(again.numpy(), slope.detach().numpy())


def test_large_inputs_are_not_kept_alive_and_without_them_it_is_an_error():
    x = leaf(*np.ones(100_000))
    with pytest.raises(RuntimeError, match="or they are gone"):
        second(lambda x: Saved.apply(x * 1.0), x)
    z = x * 1.0
    np.testing.assert_allclose(second(lambda x: Saved.apply(z), x), 9.0)
    x = leaf(2.0, -1.0)
    z = x * 1.0
    y = Saved.apply(z)
    z += 1
    (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="writes into its inputs"):
        slope.sum().backward()


def test_what_does_not_depend_on_the_inputs_is_a_constant():
    x = leaf(2.0, -1.0, 3.0)
    pb.manual_seed(0)
    y = Dropped.apply(x)
    mask = (y.detach() != 0).numpy()
    state = pb.rand(1)
    (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    (found,) = pb.autograd.grad((slope * x).sum(), x)
    np.testing.assert_allclose(found.numpy(), 4 * x.detach().numpy() * mask)
    pb.manual_seed(0)
    Dropped.apply(x)
    assert pb.rand(1) == state
    following = pb.rand(1)
    pb.manual_seed(0)
    y = Dropped.apply(x)
    pb.rand(1)
    pb.autograd.grad(y.sum(), x, create_graph=True)
    assert pb.rand(1) == following  # running forward again has drawn nothing


def test_of_several_inputs_each_gets_its_part():
    x, y = leaf(2.0, -1.0), leaf(0.5, 3.0)
    assert gradgradcheck(lambda x, y: Twofold.apply(x, y, 2)[0], (x, y))


def test_backwards_that_are_marked_keep_their_own_error():
    class Once(Saved):
        backward = staticmethod(once_differentiable(Saved.backward))

    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        second(Once.apply, x)


def test_through_hooks_for_saved_tensors():
    x = leaf(2.0, -1.0)
    with pb.autograd.graph.save_on_cpu():
        y = Saved.apply(x)
    (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(pb.autograd.grad(slope.sum(), x)[0].numpy(), 6 * x.detach().numpy())


def test_no_cycle_is_made():
    x = leaf(2.0, -1.0)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            second(Attribute.apply, x)
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def keeping(what):
    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = what(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.kept[0]

    return Kept.apply


@pytest.mark.parametrize("outer", [pb.func.grad, lambda f: lambda x: pb.func.jvp(f, (x,), (pb.ones(()),))[1]])
def test_in_transforms_of_transforms_what_leaves_for_python_or_numpy_is_refused_by_name_and_line(outer):
    x = pb.tensor(2.0)
    for what in (
        lambda x: [3 * x.item() ** 2],
        lambda x: (3 * x.detach().numpy() ** 2,),
        lambda x: [3 * x.detach() ** 2],
    ):
        with pytest.raises(RuntimeError, match=rf"{__name__.rpartition('.')[2]}\.py:\d+ .*keeps as ctx\.kept"):
            outer(pb.func.grad(keeping(what)))(x)
    with pytest.raises(RuntimeError, match=r"detach\(\) at .* of what forward saves"):
        outer(pb.func.grad(Detached.apply))(x)
    assert outer(pb.func.grad(keeping(lambda x: [3 * x**2, 5.0])))(x).item() == 12


STORE, BUFFER, WEIGHTS, STACK = {}, np.zeros(2), np.array([3.0, 3.0]), []
KEPT = None


class Holder:
    kept = None


def into_a_global(ctx, x, slope):
    global KEPT
    KEPT = slope


def into_a_closure(ctx, x, slope):
    ctx.pull = lambda grad: grad * slope


def into_a_buffer(ctx, x, slope):
    BUFFER[:] = slope.numpy()


def into_a_numbered_store(ctx, x, slope):
    ctx.number = len(STORE)
    STORE[ctx.number] = slope


def saved_alone(ctx, x, slope):
    ctx.save_for_backward(x)


def without_recording(ctx, grad):
    with pb.no_grad():
        slope = 3 * ctx.saved_tensors[0] ** 2
    return grad * slope


# Where forward puts 3 x**2, and how backward reads that.
UNSEEN = {
    "an ndarray on ctx": (lambda ctx, x, k: setattr(ctx, "k", k.numpy()), lambda ctx, g: g * pb.tensor(ctx.k)),
    "a structured array": (
        lambda ctx, x, k: setattr(ctx, "k", np.array([(v,) for v in k.tolist()], [("a", "f8")])),
        lambda ctx, g: g * pb.tensor(ctx.k["a"]),
    ),
    "numbers on ctx": (lambda ctx, x, k: setattr(ctx, "k", k.tolist()), lambda ctx, g: g * pb.tensor(ctx.k)),
    "an object": (lambda ctx, x, k: setattr(ctx, "o", SimpleNamespace(k=k)), lambda ctx, g: g * ctx.o.k),
    "a deque": (lambda ctx, x, k: setattr(ctx, "o", deque([k])), lambda ctx, g: g * ctx.o[0]),
    "a closure": (into_a_closure, lambda ctx, g: ctx.pull(g)),
    "a global": (into_a_global, lambda ctx, g: g * KEPT),
    "a class": (lambda ctx, x, k: setattr(Holder, "kept", k), lambda ctx, g: g * Holder.kept),
    "an array of the module": (into_a_buffer, lambda ctx, g: g * pb.tensor(BUFFER)),
    "a store": (lambda ctx, x, k: STORE.update(k=k), lambda ctx, g: g * STORE["k"]),
    "a numbered store": (into_a_numbered_store, lambda ctx, g: g * STORE[ctx.number]),
    "a stack": (lambda ctx, x, k: STACK.append(k), lambda ctx, g: g * STACK.pop()),
    "detach in backward": (saved_alone, lambda ctx, g: g * 3 * ctx.saved_tensors[0].detach() ** 2),
    "numbers in backward": (saved_alone, lambda ctx, g: g * 3 * pb.tensor(ctx.saved_tensors[0].tolist()) ** 2),
    "no_grad in backward": (saved_alone, without_recording),
}
# The same where all that depends on x is x itself.
SEEN = {
    "constants": (
        lambda ctx, x, k: (saved_alone(ctx, x, k), setattr(ctx, "factor", 1.0), setattr(ctx, "w", np.ones(2))),
        lambda ctx, g: g * ctx.factor * pb.tensor(ctx.w * WEIGHTS) * ctx.saved_tensors[0] ** 2,
    ),
    "an object": (
        lambda ctx, x, k: setattr(ctx, "o", SimpleNamespace(x=x)),
        lambda ctx, g: (STACK.append(g.detach()), 3 * g * ctx.o.x**2)[1],
    ),
    "a closure": (lambda ctx, x, k: setattr(ctx, "f", lambda g: 3 * g * x**2), lambda ctx, g: ctx.f(g)),
    "a mask": (
        lambda ctx, x, k: (saved_alone(ctx, x, k), setattr(ctx, "m", 1.0 * (x.detach().numpy() > -5))),
        lambda ctx, g: g * pb.tensor(ctx.m) * 3 * ctx.saved_tensors[0] ** 2,
    ),
    "a shift that cancels": (
        saved_alone,
        lambda ctx, g: g * 3 * (ctx.saved_tensors[0] - g.detach() + g.detach().clone()) ** 2,
    ),
}


def cubed(keep, read, setup):
    if setup:

        class Cubed(Function):
            @staticmethod
            def forward(x):
                return x**3

            @staticmethod
            def setup_context(ctx, inputs, output):
                keep(ctx, inputs[0], 3 * inputs[0].detach() ** 2)

            @staticmethod
            def backward(ctx, grad):
                return read(ctx, grad)

    else:

        class Cubed(Function):
            @staticmethod
            def forward(ctx, x):
                keep(ctx, x, 3 * x.detach() ** 2)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                return read(ctx, grad)

    return Cubed


def nested(function, x):
    return pb.func.grad(lambda x: pb.func.grad(lambda x: function(x).sum())(x).sum())(x)


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize("way", UNSEEN)
def test_what_backward_reads_unseen_is_refused_in_a_second_derivative(way, setup):
    function = cubed(*UNSEEN[way], setup)
    x = leaf(2.0, -1.0)
    with pytest.raises(
        RuntimeError, match=r"twice through CubedBackward, whose backward .*\.py:\d+\).*Save the inputs"
    ):
        second(function.apply, x)
    if way != "no_grad in backward":  # which is about the inner level alone
        with pytest.raises(RuntimeError, match=r"\.py:\d+"):
            nested(function.apply, leaf(2.0, -1.0).detach())
    (slope,) = pb.autograd.grad(function.apply(x).sum(), x, create_graph=True)  # which nobody differentiates
    np.testing.assert_allclose(slope.detach().numpy(), 3 * x.detach().numpy() ** 2)
    function.double_backward = "exact"  # by the author's word, true or not
    assert second(function.apply, x) == pytest.approx(3 * x.detach().numpy() ** 2)
    function.backward = staticmethod(once_differentiable(function.backward))
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        second(function.apply, x)


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize("way", SEEN)
def test_what_does_not_depend_on_the_inputs_is_read_without_fuss(way, setup):
    x = leaf(2.0, -1.0)
    np.testing.assert_allclose(second(cubed(*SEEN[way], setup).apply, x), 9 * x.detach().numpy() ** 2)


# Tensors that forward keeps, of which no graph knows how they depend on x.
UNKNOWN = {
    "detach on ctx": (lambda ctx, x, k: setattr(ctx, "x", x.detach()), lambda ctx, g: g * 3 * ctx.x**2),
    "data on ctx": (lambda ctx, x, k: setattr(ctx, "x", x.data), lambda ctx, g: g * 3 * ctx.x**2),
    "a tensor of numbers": (
        lambda ctx, x, k: setattr(ctx, "k", pb.tensor(3 * x.detach().numpy() ** 2)),
        lambda ctx, g: g * ctx.k,
    ),
    "detach, saved": (
        lambda ctx, x, k: ctx.save_for_backward(x.detach()),
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
    ),
    "a tensor of numbers, saved": (
        lambda ctx, x, k: ctx.save_for_backward(pb.tensor(k.tolist())),
        lambda ctx, g: g * ctx.saved_tensors[0],
    ),
}


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize("way", UNKNOWN)
def test_tensors_of_which_no_graph_knows_are_refused_by_every_second_derivative(way, setup):
    function = cubed(*UNKNOWN[way], setup).apply
    total = lambda x: (function(x) + x**4).sum()  # noqa: E731
    x = leaf(0.7, -1.3)
    for transform in (
        lambda x: pb.func.hessian(total)(x.detach()),
        lambda x: pb.func.jacrev(pb.func.grad(total))(x.detach()),
        lambda x: nested(lambda x: function(x) + x**4, x.detach()),
        lambda x: pb.autograd.functional.hessian(total, x.detach()),
        lambda x: second(lambda x: function(x) + x**4, x),
        lambda x: gradgradcheck(lambda x: function(x) + x**4, x),
    ):
        with pytest.raises(RuntimeError, match=r"differentiate twice|leaves the graphs of all transforms"):
            transform(x)


def its_own_graph(keep, read, **how):
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            with pb.enable_grad():
                inner = x.detach().requires_grad_()
                y = inner**3
            keep(ctx, inner, y)
            return y.detach()

        @staticmethod
        def backward(ctx, grad):
            inner, y = read(ctx)
            return pb.autograd.grad(y, inner, grad, retain_graph=True, **how)[0]

    return Inner.apply


@pytest.mark.parametrize("how", [{}, {"create_graph": True}])
@pytest.mark.parametrize(
    ("keep", "read"),
    [
        (lambda ctx, x, y: (setattr(ctx, "x", x), setattr(ctx, "y", y)), lambda ctx: (ctx.x, ctx.y)),
        (lambda ctx, x, y: setattr(ctx, "both", (x, y)), lambda ctx: ctx.both),
        (lambda ctx, x, y: ctx.save_for_backward(x, y), lambda ctx: ctx.saved_tensors),
    ],
)
def test_a_graph_of_forwards_own_is_refused_in_a_second_derivative(keep, read, how):
    function = its_own_graph(keep, read, **how)
    total = lambda x: (function(x) + x**4).sum()  # noqa: E731
    x = leaf(0.7, -1.3)
    np.testing.assert_allclose(pb.autograd.grad(function(x).sum(), x)[0].numpy(), 3 * x.detach().numpy() ** 2)
    with pytest.raises(RuntimeError, match=r"differentiate twice through InnerBackward.*\.py:\d+"):
        second(lambda x: function(x) + x**4, x)
    for transform in (
        lambda x: pb.autograd.functional.hessian(total, x),
        lambda x: pb.autograd.functional.hvp(total, x, pb.ones_like(x)),
    ):
        with pytest.raises(RuntimeError, match="differentiate twice through InnerBackward"):
            transform(x.detach())


def test_parameters_that_forward_finds_and_saves_are_none_of_its_own():
    weight = leaf(3.0, 3.0)

    class Scaled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.weight = weight
            ctx.save_for_backward(x, weight)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            x, three = ctx.saved_tensors
            return grad * three * x**2 * ctx.weight / 3

    np.testing.assert_allclose(second(Scaled.apply, leaf(2.0, -1.0)), [36, 9])


def test_what_depends_on_an_argument_that_nobody_differentiates_is_a_constant():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, p):
            ctx.p = float(p.detach())
            ctx.save_for_backward(x, p)
            return p * x**3

        @staticmethod
        def backward(ctx, grad):
            x, _ = ctx.saved_tensors
            return 3 * ctx.p * x**2 * grad, (x**3 * grad).sum()

    np.testing.assert_allclose(second(lambda x: Scaled.apply(x, pb.tensor(1.0)), leaf(2.0, -1.0)), [36, 9])
    with pytest.raises(RuntimeError, match=r"reads ctx\.p"):
        second(lambda x: Scaled.apply(x, x[0]), leaf(2.0, -1.0))


def hidden(function, slope, pull=lambda ctx, g: g * pb.tensor(ctx.k)):
    class Hidden(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.k = slope(x.detach().numpy())
            return function(x)

        @staticmethod
        def backward(ctx, grad):
            return pull(ctx, grad)

    return Hidden.apply


def test_a_small_part_and_one_whose_first_derivative_is_zero_are_seen_from_further_away():
    small = hidden(lambda x: 1e6 * x + 1e-4 * x**2, lambda v: 2e-4 * v, lambda ctx, g: g * (1e6 + pb.tensor(ctx.k)))
    for function, x in ((small, leaf(0.7, -1.3)), (hidden(pb.sin, np.cos), leaf(0.0, 0.0))):
        with pytest.raises(RuntimeError, match=r"reads ctx\.k"):
            second(function, x)


def test_masks_of_many_numbers_are_constants():
    x = leaf(*np.random.default_rng(0).standard_normal(20_000))
    relu = hidden(lambda x: x.relu(), lambda v: 1.0 * (v > 0))
    np.testing.assert_allclose(second(relu, x), 1.0 * (x.detach().numpy() > 0))
    near = hidden(lambda x: x * (x > 0.5), lambda v: 1.0 * (v > 0.5))
    np.testing.assert_allclose(second(near, x), 1.0 * (x.detach().numpy() > 0.5))


class Largest(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.i = int(x.argmax())
        ctx.save_for_backward(x)
        return x[ctx.i] ** 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        found = pb.zeros(2, dtype=x.dtype)
        found[ctx.i] = 3 * x[ctx.i] ** 2 * grad
        return found


def test_backward_may_fill_a_tensor_that_it_makes_in_every_transform():
    x = leaf(0.7, -1.3)
    assert pb.func.grad(Largest.apply)(x.detach()).numpy() == pytest.approx([3 * 0.7**2, 0])
    np.testing.assert_allclose(nested(Largest.apply, x.detach()).numpy(), [4.2, 0])
    np.testing.assert_allclose(pb.func.hessian(Largest.apply)(x.detach()).numpy(), [[4.2, 0], [0, 0]])
    np.testing.assert_allclose(pb.autograd.functional.hessian(Largest.apply, x.detach()).numpy(), [[4.2, 0], [0, 0]])


class Again(Function):
    """A checkpoint: backward runs the function again."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with pb.enable_grad():
            (found,) = pb.autograd.grad(ctx.function(x), x, grad, create_graph=True)
        return None, found


def test_enable_grad_in_a_backward_is_about_the_level_that_it_serves():
    x = leaf(0.7, -1.3).detach()
    total = lambda x: Again.apply(lambda x: x**3, x).sum()  # noqa: E731
    want = np.diag(6 * x.numpy())
    np.testing.assert_allclose(pb.func.jacrev(total)(x).numpy(), 3 * x.numpy() ** 2)
    for hessian in (
        pb.func.hessian(total),
        pb.func.jacrev(pb.func.jacrev(total)),
        pb.func.jacfwd(pb.func.jacrev(total)),
    ):
        np.testing.assert_allclose(hessian(x).numpy(), want)


class SlopeByNumPy(Function):
    @staticmethod
    def forward(ctx, x, grad):
        ctx.save_for_backward(x, grad)
        return pb.tensor(3 * x.detach().numpy() ** 2 * grad.detach().numpy())

    @staticmethod
    def backward(ctx, again):
        x, grad = ctx.saved_tensors
        return 6 * x * grad * again, 3 * x**2 * again


class CubeByNumPy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.tensor(x.detach().numpy() ** 3)

    @staticmethod
    def backward(ctx, grad):
        return SlopeByNumPy.apply(ctx.saved_tensors[0], grad)


def test_a_backward_that_is_another_function_of_the_module_has_its_second_derivative():
    x = leaf(0.7, -1.3)
    found = pb.autograd.functional.hessian(lambda x: CubeByNumPy.apply(x).sum(), x.detach())
    np.testing.assert_allclose(found.numpy(), np.diag(6 * x.detach().numpy()))
    assert gradgradcheck(CubeByNumPy.apply, x)


class IgnoringAnOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y, slope = x**3, 3 * x * x
        ctx.save_for_backward(slope)
        return y, slope

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]


class Marked(IgnoringAnOutput):
    @staticmethod
    def forward(ctx, x):
        y, slope = IgnoringAnOutput.forward(ctx, x)
        ctx.mark_non_differentiable(slope)
        return y, slope


def test_a_saved_output_whose_gradient_is_ignored_is_refused():
    x = leaf(2.0, -1.0)
    for transform in (second, nested):
        with pytest.raises(RuntimeError, match="ignores the gradient of that output"):
            transform(lambda x: IgnoringAnOutput.apply(x)[0], x if transform is second else x.detach())
    np.testing.assert_allclose(second(lambda x: Marked.apply(x)[0], x), 9 * x.detach().numpy() ** 2)


def test_looking_leaves_nothing_behind():
    calls, state = [], []

    class Counting(Function):
        @staticmethod
        def forward(ctx, x):
            calls.append("forward")
            state.append(3 * x.detach().numpy() ** 2)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            calls.append("backward")
            return grad * pb.tensor(state[-1])

    x = leaf(2.0, -1.0)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    pb.autograd.grad(Counting.apply(x).sum(), x, create_graph=True)
    assert calls == ["forward", "backward"]
    assert len(state) == 1
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


class Watcher:
    """Calls by name what only its base has."""

    def assert_known(self, x):
        assert isinstance(x, pb.Tensor)

    def look(self, x):
        self.assert_known(x)


class Heir(Watcher):
    def look(self, x):
        self.assert_known(x)
        type(self).looked = True


class Module(ModuleType):
    """A module that finds its names when they are asked for."""

    __file__ = __file__  # a user's own

    def __getattr__(self, name):
        if name != "factor":
            raise AttributeError(name)
        return lambda: 3


module = Module("lazy")


def test_looking_leaves_classes_as_they_were():
    held = Heir()

    class Watched(Function):
        @staticmethod
        def forward(ctx, x):
            held.look(x)
            ctx.two = 2.0
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            held.look(grad)
            return grad * ctx.two * ctx.saved_tensors[0]

    np.testing.assert_allclose(second(Watched.apply, leaf(2.0, -1.0)), [8, -4])
    assert not {"assert_known", "isinstance"} & vars(Heir).keys()
    held.look(pb.ones(1))


def test_modules_of_a_class_of_their_own_and_namespaces_are_copied_as_what_they_are():
    log = SimpleNamespace(n=0)

    class Lazy(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.three = float(module.factor())
            log.n += 1
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            log.n += 1
            return grad * ctx.three * ctx.saved_tensors[0] ** 2 * module.factor() / 3

    np.testing.assert_allclose(second(Lazy.apply, leaf(2.0, -1.0)), [36, 9])
    assert log.n == 2


def test_after_a_backward_that_has_released_the_graph_nothing_is_a_constant():
    x = leaf(2.0, -1.0)
    y = cubed(*UNSEEN["an ndarray on ctx"], False).apply(x)
    y.sum().backward()
    (slope,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="they are gone"):
        slope.sum().backward()


def test_double_backward_has_one_word():
    with pytest.raises(ValueError, match=r"double_backward.*'exakt'"):
        type("F", (Function,), {"double_backward": "exakt"})
