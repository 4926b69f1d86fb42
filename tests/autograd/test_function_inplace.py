"""Custom Functions that modify an input, return it, or return a view of it."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function

pytestmark = pytest.mark.usefixtures("both_paths")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


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
    assert y._version == 2  # add_ and mark_dirty
    z.sum().backward()
    assert x.grad.tolist() == [10, 10]


def test_a_write_through_numpy_is_noticed_if_marked_dirty():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.detach().numpy()[...] *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = leaf() * 1
    z = y * y
    Double.apply(y)
    with pytest.raises(RuntimeError, match=r"MulBackward0 saved.*version 0.*DoubleBackward has modified it"):
        z.sum().backward()
    c = pb.ones(2)
    with pb.no_grad():
        Double.apply(c)
    assert c._version == 1


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
    with pytest.raises(RuntimeError, match=r"FlatBackward.*modified inplace.*custom Function.*clone\(\)"):
        v.sum()
    y.sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize("function", [AddOne, Same, Flat])
def test_ctx_is_freed_without_the_garbage_collector(function):
    gc.collect()
    gc.disable()
    try:
        y = function.apply(leaf() * 1)
        gone = [weakref.ref(y.grad_fn), weakref.ref(y)]
        y.sum().backward()
        del y
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


class Unmoved(Function):
    """Doubles its input in place, and says that the result has no gradient."""

    @staticmethod
    def forward(ctx, x, more=False):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return (x, x * 3) if more else x

    @staticmethod
    def backward(ctx, *grads):
        return grads[-1] * 3, None


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1, lambda x: (x * 1)[:], lambda x: x[:1]])
def test_a_dirty_output_without_gradient_leaves_the_input_its_function(make):
    x = leaf()
    y = make(x)
    out = Unmoved.apply(y)
    assert out is not y
    assert not out.requires_grad
    assert y.requires_grad
    assert out.tolist() == y.tolist() == [2, 4][: len(y)]
    y.sum().backward()
    assert x.grad.tolist() == [1] * len(y) + [0] * (2 - len(y))


def test_a_dirty_view_without_gradient_beside_an_output_with_one():
    x = leaf()
    out, tripled = Unmoved.apply((x * 1)[:], True)
    assert (out.requires_grad, tripled.requires_grad) == (False, True)
    tripled.sum().backward()
    assert x.grad.tolist() == [3, 3]


class Fivefold(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(5)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        assert isinstance(g, pb.Tensor)
        return g * 5


@pytest.mark.parametrize("view", [lambda y: y[:], lambda y: y[0:1], lambda y: y.reshape(2, 1)[:1]])
def test_a_dirty_view_that_is_read_itself_gives_backward_tensors(view):
    def loss(x):
        y = view(x * 1)
        Fivefold.apply(y)
        return y.sum()

    x = leaf()
    loss(x).backward()
    expected = [5.0] * view(x).numel() + [0.0] * (2 - view(x).numel())
    assert x.grad.tolist() == expected
    assert pb.func.grad(loss)(np.ones(2)).tolist() == expected
    (g,) = pb.autograd.grad(loss(x), x, create_graph=True)
    assert g.tolist() == expected
    assert pb.func.grad(lambda t: pb.func.grad(loss)(t * t).sum())(np.ones(2)).tolist() == [0, 0]


def test_a_view_made_by_a_function_of_constants_names_the_function_when_written_to():
    class Viewing(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    view = Viewing.apply(pb.ones(2))
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        view += pb.ones(2, requires_grad=True)
