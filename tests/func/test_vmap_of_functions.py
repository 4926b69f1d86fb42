"""Custom Functions under vmap: through forward and backward, or by a `vmap` of their own."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import ReadError
from pullback.func import grad, jacrev, vmap

X = np.random.default_rng(0).standard_normal((3, 4))


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class OnArrays(pb.autograd.Function):
    """x**2 * scale by NumPy, which knows no batches."""

    calls = []  # noqa: RUF012 - a list that a test reads

    @staticmethod
    def forward(x, scale):
        return pb.from_numpy(x.detach().numpy() ** 2 * scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g * ctx.scale, None


class WithVmap(OnArrays):
    @staticmethod
    def vmap(info, in_dims, x, scale):
        WithVmap.calls.append((info.batch_size, info.randomness, in_dims, x.shape))
        return WithVmap.apply(x, scale), 0


class LastDim(OnArrays):
    @staticmethod
    def vmap(info, in_dims, x, scale):
        return pb.movedim(LastDim.apply(x, scale), 0, -1), -1


def test_a_function_of_operators_needs_nothing():
    np.testing.assert_allclose(vmap(Cube.apply)(pb.tensor(X)).numpy(), X**3)
    found = vmap(grad(lambda x: Cube.apply(x).sum()))(pb.tensor(X))
    np.testing.assert_allclose(found.numpy(), 3 * X**2)


def test_forward_by_numpy_is_refused():
    with pytest.raises(ReadError):
        vmap(lambda x: OnArrays.apply(x, 2.0))(pb.tensor(X))


@pytest.mark.parametrize("function", [WithVmap, LastDim])
def test_vmap_of_its_own(function):
    np.testing.assert_allclose(vmap(lambda x: function.apply(x, 2.0))(pb.tensor(X)).numpy(), 2 * X**2)
    found = vmap(grad(lambda x: function.apply(x, 2.0).sum()))(pb.tensor(X))
    np.testing.assert_allclose(found.numpy(), 4 * X)
    nested = vmap(vmap(lambda x: function.apply(x, 2.0)))(pb.tensor(X))
    np.testing.assert_allclose(nested.numpy(), 2 * X**2)
    t = pb.tensor(X, requires_grad=True)
    vmap(lambda x: function.apply(x, 2.0))(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), 4 * X)


def test_what_vmap_is_told():
    WithVmap.calls.clear()
    vmap(lambda x: WithVmap.apply(x, 2.0), randomness="same")(pb.tensor(X))
    assert WithVmap.calls == [(3, "same", (0, None), (3, 4))]


def test_errors():
    class Both(WithVmap):
        generate_vmap_rule = True

    class Alone(OnArrays):
        @staticmethod
        def vmap(info, in_dims, x, scale):
            return x

    with pytest.raises(RuntimeError, match="define one of the two"):
        vmap(lambda x: Both.apply(x, 2.0))(pb.tensor(X))
    with pytest.raises(RuntimeError, match="must return"):
        vmap(lambda x: Alone.apply(x, 2.0))(pb.tensor(X))


def with_vmap(rule):
    """A Function whose vmap is that rule."""
    return type("Ruled", (OnArrays,), {"vmap": staticmethod(rule)})


@pytest.mark.parametrize("kind", [np.array, pb.tensor], ids=["ndarray", "Tensor"])
def test_parts_of_lists_and_dicts_are_told_apart(kind):
    def rule(info, in_dims, x, more):
        assert in_dims == (0, [0, {"a": None, "b": 0}])
        return x * more[0][:, :1] + more[1]["a"] + more[1]["b"], 0

    function, constant = with_vmap(rule), kind([1.0, 2.0, 3.0, 4.0])
    found = vmap(lambda x: function.apply(x, [x * 2, {"a": constant, "b": x}]))(kind(X))
    np.testing.assert_allclose(np.asarray(found), 2 * X * X[:, :1] + np.asarray(constant) + X)


@pytest.mark.parametrize(
    "rule",
    [
        lambda info, in_dims, x, scale: ([x * scale, x.T], [0, 1]),
        lambda info, in_dims, x, scale: ([x * scale, x], 0),
        lambda info, in_dims, x, scale: ((x * scale, x.numpy()), [0, 0]),
    ],
    ids=["list", "one dimension for all", "ndarray"],
)
def test_results_may_be_lists_and_ndarrays(rule):
    found = vmap(lambda x: with_vmap(rule).apply(x, 3.0))(X)
    np.testing.assert_allclose(np.asarray(found[0]), 3 * X)
    np.testing.assert_allclose(np.asarray(found[1]), X)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda x: (x, (None,)), "incompatible out_dims"),
        (lambda x: ([x], (0, 0)), "incompatible out_dims"),
        (lambda x: (x, "0"), "incompatible out_dims"),
        (lambda x: (x, True), "incompatible out_dims"),
        (lambda x: (x, 5), r"shape \(3, 4\), which has no 3 samples at dimension 5"),
        (lambda x: (x.sum(), 0), r"shape \(\), which has no 3 samples"),
        (lambda x: (x[:2], 0), r"shape \(2, 4\), which has no 3 samples"),
        (lambda x: (x, 1), "no 3 samples at dimension 1"),
        (lambda x: [x, 0], "have two returns"),
    ],
)
def test_results_without_the_samples_are_refused(given, said):
    function = with_vmap(lambda info, in_dims, x, scale: given(x))
    with pytest.raises(RuntimeError, match=said):
        vmap(lambda x: function.apply(x, 3.0))(X)


class WithContext(pb.autograd.Function):
    """x**2 * w and x * w, with the ctx in forward; an intermediate is saved."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w, 2 * x)
        return x * x * w, x * w

    @staticmethod
    def backward(ctx, g, h):
        x, w, twice = ctx.saved_tensors
        return g * twice * w + h * w, g * x * x + h * x


class WithSetup(pb.autograd.Function):
    """The same with a setup_context, and forward mode."""

    @staticmethod
    def forward(x, w):
        return x * x * w, x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, w = ctx.saved_tensors
        return g * 2 * x * w + h * w, g * x * x + h * x

    @staticmethod
    def jvp(ctx, s, t):
        x, w = ctx.saved_tensors
        return 2 * x * w * s + x * x * t, w * s + x * t


class WithRule(WithSetup):
    generate_vmap_rule = True


FUNCTIONS = [WithContext, WithSetup, WithRule]


def both(function, x, w):
    square, product = function.apply(x, w + 0 * x)  # a Tensor, whatever w is
    return square * product


W = np.array(2.0)  # the same for all samples
DERIVATIVES = {
    "grad": lambda f: grad(lambda x, w: vmap(f, (0, None))(x, w).sum(), (0, 1))(X, W),
    "grad of grad": lambda f: grad(lambda w: grad(lambda x: vmap(f, (0, None))(x, w).sum())(X).sum())(W),
    "grad of vmap of grad": lambda f: grad(
        lambda x, w: vmap(grad(lambda *a: f(*a).sum()), (0, None))(x, w).sum(), (0, 1)
    )(X, W),
    "vmap of grad of grad": lambda f: vmap(grad(lambda x: grad(lambda x: f(x, W).sum())(x).sum()))(X),
    "vmaps": lambda f: grad(lambda x: vmap(vmap(f, (0, None)), (0, None))(x, W).sum())(X),
    "jacrev": lambda f: jacrev(lambda w: vmap(f, (0, None))(X, w))(W),
}


@pytest.mark.filterwarnings("ignore:.*one sample after the other:UserWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("derive", DERIVATIVES)
def test_derivatives_outside_of_vmap(function, derive):
    found = DERIVATIVES[derive](lambda x, w: both(function, x, w))
    expected = DERIVATIVES[derive](lambda x, w: x**3 * w**2)
    for one, other in zip(*map(pb.utils.pytree.tree_leaves, (found, expected)), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.filterwarnings("ignore:.*one sample after the other:UserWarning")
def test_forward_mode_and_tensors_outside_of_vmap():
    found = pb.func.jvp(vmap(lambda x: both(WithSetup, x, W)), (X,), (X,))[1]
    np.testing.assert_allclose(found, 12 * X**3)
    t = pb.tensor(X, requires_grad=True)
    vmap(lambda x: both(WithContext, x, W))(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), 12 * X**2)


def test_it_is_said_once_that_samples_run_one_by_one():
    class Fresh(WithSetup):
        pass

    derived = grad(lambda x: vmap(lambda x: both(Fresh, x, W))(x).sum())
    with pytest.warns(
        UserWarning, match=r"Fresh, a custom Function, runs on one sample after the other.*vmap\(grad\(f\)\)"
    ):
        derived(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        derived(X)
        vmap(grad(lambda x: both(Fresh, x, W).sum()))(X)


class Doubled(pb.autograd.Function):
    """Writes into its argument."""

    @staticmethod
    def forward(x):
        x *= 2
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@pytest.mark.filterwarnings("ignore:.*one sample after the other:UserWarning")
@pytest.mark.parametrize("derive", [lambda f: grad(lambda x: vmap(f)(x).sum()), lambda f: jacrev(vmap(grad(f)))])
@pytest.mark.parametrize("returned", [True, False])
def test_a_function_that_writes_into_its_argument(derive, returned):
    def written(x):
        y = x**2
        z = Doubled.apply(y)
        return ((z if returned else y) ** 2).sum()

    np.testing.assert_allclose(derive(written)(X), derive(lambda x: 4 * (x**4).sum())(X))
