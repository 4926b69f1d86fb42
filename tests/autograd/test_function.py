"""Custom Functions: both styles of forward, everything ctx offers, what backward may return, and what is refused."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class SquareApart(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class ExpOfOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


# -- forward ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [Square, SquareApart])
def test_both_styles_of_forward(function):
    x = leaf()
    y = function.apply(x)
    assert y.tolist() == [1, 4]
    assert y.requires_grad
    assert y.grad_fn.name() == f"{function.__name__}Backward"
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


@pytest.mark.parametrize("function", [Square, SquareApart, ExpOfOutput])
def test_second_and_third_derivatives(function):
    x = leaf(0.5, 1.5)
    y = function.apply(x)
    results = []
    for _ in range(3):
        (y,) = pb.autograd.grad(y.sum(), x, create_graph=True, materialize_grads=True)
        results.append(y.tolist())
        if not y.requires_grad:
            break
    a = np.array([0.5, 1.5])
    expected = [np.exp(a)] * 3 if function is ExpOfOutput else [2 * a, np.full(2, 2.0), np.zeros(2)]
    for got, want in zip(results, expected, strict=False):
        assert np.allclose(got, want)


def test_nothing_is_recorded_without_need():
    assert not Square.apply(pb.ones(2)).requires_grad
    with pb.no_grad():
        y = Square.apply(leaf())
    assert not y.requires_grad
    assert y.grad_fn is None


def test_forward_records_nothing_of_its_own():
    seen = []

    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((pb.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    Looks.apply(leaf())
    assert seen == [(False, True, False)]
    assert pb.is_grad_enabled()


def test_numpy_inside_forward_and_backward():
    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            array = x.detach().numpy()
            ctx.cosine = np.cos(array)
            return pb.from_numpy(np.sin(array))

        @staticmethod
        def backward(ctx, g):
            return pb.from_numpy(ctx.cosine * g.numpy())

    x = leaf(0.3, 0.4)
    Sine.apply(x).sum().backward()
    assert np.allclose(x.grad.numpy(), np.cos([0.3, 0.4]))


def test_arguments_that_are_no_tensors():
    class Power(Function):
        @staticmethod
        def forward(ctx, x, n, name, options):
            ctx.save_for_backward(x)
            ctx.n = n
            assert (name, options) == ("cube", {"a": [1]})
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False, False, False)
            return g * ctx.n * x ** (ctx.n - 1), None, None, None

    x = leaf()
    Power.apply(x, 3, "cube", {"a": [1]}).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_needs_input_grad():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None, None

    x = leaf()
    Product.apply(x, pb.ones(2), 3).sum().backward()
    Product.apply(pb.ones(2), x, None).sum().backward()
    assert seen == [(True, False, False), (False, True, False)]
    assert x.grad.tolist() == [2, 2]


def test_several_outputs_and_undefined_gradients_as_zeros():
    seen = []

    class SinCos(Function):
        @staticmethod
        def forward(ctx, x):
            s, c = x.sin(), x.cos()
            ctx.save_for_backward(s, c)
            return s, c

        @staticmethod
        def backward(ctx, gs, gc):
            s, c = ctx.saved_tensors
            seen.append((gs.tolist(), gc.tolist()))
            return gs * c - gc * s

    x = leaf(0.5)
    s, c = SinCos.apply(x)
    assert (s.output_nr, c.output_nr) == (0, 1)
    assert s.grad_fn is c.grad_fn
    c.backward(retain_graph=True)
    assert np.isclose(x.grad.item(), -np.sin(0.5))
    x.grad = None
    (s * 2 + c * 3).backward()
    assert np.isclose(x.grad.item(), 2 * np.cos(0.5) - 3 * np.sin(0.5))
    assert seen == [([0.0], [1.0]), ([2.0], [3.0])]
    x.grad = None
    s, c = SinCos.apply(x)
    (g,) = pb.autograd.grad(s * c, x, create_graph=True)  # cos 2x
    g.backward()
    assert np.isclose(g.item(), np.cos(1.0))
    assert np.isclose(x.grad.item(), -2 * np.sin(1.0))


def test_undefined_gradients_as_none():
    seen = []

    class Pair(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b and b.tolist()))
            return None if b is None else b * 3

    x = leaf(1.0)
    _, b = Pair.apply(x)
    b.backward()
    assert seen == [(None, [1.0])]
    assert x.grad.tolist() == [3]


def test_outputs_that_are_no_tensors_pass_through():
    class WithNumber(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 5, "text", None

        @staticmethod
        def backward(ctx, g, *others):
            assert others == (None, None, None)
            return g * 2

    x = leaf()
    y, five, text, nothing = WithNumber.apply(x)
    assert (five, text, nothing) == (5, "text", None)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_list_of_outputs_is_refused():
    class Listed(Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx, *gs):
            return gs[0]

    with pytest.raises(TypeError, match=r"Listed.*list.*tuple"):
        Listed.apply(leaf())


def test_an_output_may_be_marked_non_differentiable():
    seen = []

    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            doubled, marked = x * 2, x * 3
            ctx.mark_non_differentiable(marked)
            return doubled, marked

        @staticmethod
        def backward(ctx, g, unused):
            seen.append(unused.tolist())
            return g * 2

    x = leaf()
    y, marked = Sorted.apply(x)
    assert y.requires_grad
    assert not marked.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert seen == [[0, 0]]


def test_integer_outputs_have_no_gradient():
    class Ranks(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, pb.argsort(x)

        @staticmethod
        def backward(ctx, g, unused):
            return g * 2

    x = leaf()
    y, ranks = Ranks.apply(x)
    assert not ranks.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_complex_inputs_and_outputs():
    class Conj(Function):
        @staticmethod
        def forward(ctx, z):
            return z.conj()

        @staticmethod
        def backward(ctx, g):
            return g.conj()

    z = pb.tensor([1 + 2j], requires_grad=True)
    Conj.apply(z).backward(pb.tensor([3 + 4j]))
    assert z.grad.tolist() == [3 - 4j]


# -- saved tensors ---------------------------------------------------------------------------------------------


def test_inputs_outputs_intermediates_and_none_can_be_saved():
    class Everything(Function):
        @staticmethod
        def forward(ctx, x):
            middle = x + 1
            y = middle * middle
            ctx.save_for_backward(x, None, middle, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, nothing, middle, y = ctx.saved_tensors
            assert nothing is None
            assert np.allclose(y.tolist(), ((x + 1) ** 2).tolist())
            return g * 2 * middle

    x = leaf()
    Everything.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_a_saved_input_is_the_input_and_a_saved_output_has_this_node():
    seen = []

    class Looks(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g * 2

    x = leaf()
    out = Looks.apply(x)
    out.sum().backward()
    assert seen[0] is x
    assert seen[1].grad_fn is out.grad_fn


def test_only_tensors_can_be_saved():
    class SavesNumber(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x

    with pytest.raises(TypeError, match="argument 1 is of type int.*ctx"):
        SavesNumber.apply(leaf())


def test_a_saved_tensor_that_was_modified_is_noticed():
    x = leaf()
    y = x * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"SquareBackward.*at version 0, but add_ has modified it"):
        z.sum().backward()
    assert x.grad is None


def test_a_saved_output_that_was_modified_is_noticed():
    z = ExpOfOutput.apply(leaf())
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"ExpOfOutputBackward.*add_"):
        z.sum().backward()


def test_saved_tensors_are_released_after_backward():
    z = Square.apply(leaf()).sum()
    z.backward()
    with pytest.raises(RuntimeError, match=r"second time.*SquareBackward"):
        z.backward()


def test_saved_tensors_stay_with_retain_graph():
    x = leaf()
    z = Square.apply(x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [4, 8]


def test_nothing_is_kept_when_nothing_is_recorded():
    c = pb.ones(2)
    kept = weakref.ref(c)
    gc.disable()
    try:
        y = Square.apply(c)
        del c
        assert kept() is None
    finally:
        gc.enable()
    assert y.tolist() == [1, 1]


# -- in-place and returned inputs ------------------------------------------------------------------------------


class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 10  # wrong on purpose: it shows that this backward ran


def test_a_dirty_input_gets_this_node():
    x = leaf()
    y = x * 1
    z = AddOne.apply(y)
    assert z is y
    assert z.tolist() == [2, 3]
    assert z.grad_fn.name() == "AddOneBackward"
    assert y._version == 1
    z.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_a_dirty_view_rewrites_its_base():
    x = leaf()
    y = x * 1
    AddOne.apply(y[0:1])
    assert y.tolist() == [2, 2]
    y.sum().backward()
    assert x.grad.tolist() == [10, 1]


def test_a_dirty_input_without_grad():
    c = pb.ones(2)
    assert AddOne.apply(c) is c
    assert c.tolist() == [2, 2]
    assert not c.requires_grad


def test_a_dirty_leaf_is_refused():
    x = leaf()
    with pytest.raises(RuntimeError, match=r"AddOneBackward.*leaf Variable"):
        AddOne.apply(x)


def test_a_dirty_view_and_a_second_output_are_refused():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    x = leaf()
    y = x * 1
    a, b = Two.apply(y)
    assert a is y
    (a + b).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match=r"Two.*view.*more than one"):
        Two.apply((x * 1)[0:1])


def test_a_dirty_input_must_be_returned():
    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(RuntimeError, match="dirty must be returned"):
        Keeps.apply(leaf() * 1)


def test_an_input_modified_without_a_word_is_noticed():
    class Quiet(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(RuntimeError, match=r"Quiet.*mark_dirty"):
        Quiet.apply(leaf() * 1)
    buffer = pb.ones(2)
    assert Quiet.apply(buffer).tolist() == [4, 4]  # nobody differentiates this one


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 10


def test_a_function_may_return_its_input():
    x = leaf()
    y = Same.apply(x)
    assert y is not x
    assert x.grad_fn is None
    assert y.grad_fn.name() == "SameBackward"
    y.sum().backward()
    assert x.grad.tolist() == [10, 10]
    z = x * 3
    w = Same.apply(z)
    assert z.grad_fn.name() == "MulBackward0"
    x.grad = None
    (w + z).sum().backward()
    assert x.grad.tolist() == [33, 33]


class Flat(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(-1)

    @staticmethod
    def backward(ctx, g):
        return g.reshape(ctx.shape) * 10


def test_a_function_may_return_a_view_of_its_input():
    x = pb.ones(2, 2, requires_grad=True)
    y = Flat.apply(x * 1)
    assert y.grad_fn.name() == "FlatBackward"
    y.sum().backward()
    assert x.grad.tolist() == [[10, 10], [10, 10]]


@pytest.mark.parametrize("function", [Flat, Same])
def test_writing_into_a_returned_view_or_input_is_refused(function):
    y = pb.ones(2, 2, requires_grad=True) * 1
    v = function.apply(y)
    before = v._version
    for write in (lambda: v.mul_(2), lambda: v[0].mul_(2), lambda: v.reshape(-1).mul_(2)):
        with pytest.raises(RuntimeError, match=rf"{function.__name__}Backward.*custom Function.*clone\(\)"):
            write()
    assert y.tolist() == [[1, 1], [1, 1]]
    assert v._version == before
    with pb.no_grad():
        v.mul_(2)


def test_a_returned_view_is_of_no_use_after_its_base_was_written_into():
    x = pb.ones(2, 2, requires_grad=True)
    y = x * 1
    v = Flat.apply(y)
    y.mul_(3)
    assert repr(v) == "tensor([3., 3., 3., 3.], grad_fn=<Invalid>)"
    with pytest.raises(RuntimeError, match=r"FlatBackward.*custom Function no longer fits.*clone\(\)"):
        v.sum()
    y.sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


# -- backward --------------------------------------------------------------------------------------------------


def returning(value):
    class Returns(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2 + y

        @staticmethod
        def backward(ctx, g):
            return value(g)

    return Returns


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (lambda g: g, RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, g, g), RuntimeError, r"incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (), RuntimeError, r"incorrect number of gradients \(expected 2, got 0\)"),
        (lambda g: None, RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (3.0, g), TypeError, "float as gradient 0"),
        (lambda g: (g, np.ones(2)), TypeError, "ndarray as gradient 1"),
        (lambda g: (g.sum(), g), RuntimeError, r"ReturnsBackward returned an invalid gradient.*\(\).*\(2,\)"),
        (lambda g: (pb.ones(3), g), RuntimeError, r"invalid gradient.*\(3,\).*\(2,\)"),
        (lambda g: (g[:1], g), RuntimeError, r"invalid gradient.*\(1,\).*\(2,\)"),
    ],
)
@pytest.mark.parametrize("create_graph", [True, False])
def test_what_backward_must_not_return(value, error, match, create_graph):
    x, y = leaf(), leaf()
    out = returning(value).apply(x, y)
    with pytest.raises(error, match=match):
        out.sum().backward(create_graph=create_graph)
    assert x.grad is None
    assert y.grad is None


def test_trailing_none_gradients_are_harmless():
    x, y = leaf(), leaf()
    returning(lambda g: (g * 2, g, None, None)).apply(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2, 2], [1, 1])


def test_a_gradient_for_an_input_that_wants_none_is_ignored():
    x = leaf()
    returning(lambda g: (g * 2, g)).apply(x, pb.ones(2)).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_none_for_an_input_means_no_gradient():
    x, y = leaf(), leaf()
    returning(lambda g: (None, g)).apply(x, y).sum().backward()
    assert x.grad is None
    assert y.grad.tolist() == [1, 1]


def test_gradients_come_in_the_dtype_of_the_input():
    x = pb.ones(2, dtype=pb.float32, requires_grad=True)
    y = leaf()
    returning(lambda g: (g * 2, g.to(pb.float32))).apply(x, y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)


def test_returning_the_same_gradient_twice_does_not_alias():
    x, y = leaf(), leaf()
    returning(lambda g: (g, g)).apply(x, y).sum().backward()
    x.grad.mul_(0)
    assert y.grad.tolist() == [1, 1]


def test_a_gradient_that_the_function_keeps_is_not_taken_over():
    kept = pb.full((2,), 3.0)
    x, y = leaf(), leaf()
    returning(lambda g: (kept, g)).apply(x, y).sum().backward()
    returning(lambda g: (kept, g)).apply(x, y).sum().backward()
    assert kept.tolist() == [3, 3]
    assert x.grad.tolist() == [6, 6]


def test_the_same_tensor_as_several_arguments():
    x = leaf()
    returning(lambda g: (2 * g, g)).apply(x, x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_missing_methods_say_so():
    class NoForward(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="forward"):
        NoForward.apply(leaf())
    y = NoBackward.apply(leaf())
    with pytest.raises(NotImplementedError, match="backward"):
        y.sum().backward()


def test_a_function_is_not_instantiated():
    with pytest.raises(TypeError, match=r"Square\.apply"):
        Square()


def test_an_exception_in_forward_leaves_the_mode_alone():
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError

    with pytest.raises(KeyError):
        Fails.apply(leaf())
    assert pb.is_grad_enabled()


# -- once_differentiable ---------------------------------------------------------------------------------------


class OnceSquare(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        """Its doc."""
        assert not pb.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return pb.from_numpy(2 * x.detach().numpy() * g.detach().numpy())


def test_once_differentiable_gives_first_derivatives():
    x = leaf()
    OnceSquare.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert OnceSquare.backward.__doc__ == "Its doc."


def test_once_differentiable_refuses_second_derivatives():
    x = leaf()
    y = OnceSquare.apply(x * 3)
    (g,) = pb.autograd.grad((y * x).sum(), x, create_graph=True)
    assert g.tolist() == [27, 108]  # d 9 x^3
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_once_differentiable_refuses_only_where_the_derivative_depends_on_something():
    x = leaf()
    (g,) = pb.autograd.grad(OnceSquare.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):  # the cotangent was a constant, but x was not
        g.sum().backward()


def test_once_differentiable_with_none_and_several_gradients():
    class Two(Function):
        @staticmethod
        def forward(ctx, a, b, n):
            return a * n + b

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 3, g, None

    a, b = leaf(), leaf()
    ga, gb = pb.autograd.grad((Two.apply(a, b, 3) * a).sum(), [a, b], create_graph=True)
    assert (ga.tolist(), gb.tolist()) == ([3 * 1 + 4, 3 * 2 + 8], [1, 2])
    with pytest.raises(RuntimeError, match="once_differentiable"):
        ga.sum().backward()


# -- life ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [Square, SquareApart, ExpOfOutput, Same, Flat, OnceSquare])
@pytest.mark.parametrize("ran", [True, False])
def test_ctx_is_freed_without_the_garbage_collector(function, ran):
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = function.apply(x * 1)
        gone = [weakref.ref(y.grad_fn), weakref.ref(y)]
        if ran:
            y.sum().backward()
        del y
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


def test_ctx_carries_whatever_forward_puts_on_it():
    class Carries(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.anything = {"a": 1}
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.anything == {"a": 1}
            return g * 2

    y = Carries.apply(leaf())
    assert y.grad_fn.anything == {"a": 1}
    y.sum().backward()


def test_functions_inside_functions():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Square.apply(x) * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Square.apply(x) * 0 + 4 * x * g

    x = leaf()
    (g,) = pb.autograd.grad(Outer.apply(x).sum(), x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [4, 8]
    assert x.grad.tolist() == [4, 4]


def test_a_gradient_for_an_argument_that_is_no_tensor_is_refused():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g * 3, g

    with pytest.raises(RuntimeError, match=r"gradient for argument 1.*no Tensor; return None"):
        Scaled.apply(leaf(), 3).sum().backward()
