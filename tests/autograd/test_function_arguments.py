"""Function.apply by keyword and with defaults, and `vjp`, the other name of backward."""

import pytest

import pullback as pb
from pullback.autograd import Function, gradcheck


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0), requires_grad=True)


class Scaled(Function):
    """x * factor + shift, with defaults, and a setup_context that takes them apart."""

    @staticmethod
    def forward(x, factor=3.0, shift=None):
        return x * factor if shift is None else x * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        _x, ctx.factor, ctx.shift = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, grad if ctx.needs_input_grad[2] else None

    @staticmethod
    def jvp(ctx, x_t, factor_t, shift_t):
        return x_t * ctx.factor if shift_t is None else x_t * ctx.factor + shift_t


class WithCtx(Function):
    @staticmethod
    def forward(ctx, x, factor=3.0, shift=0.0):
        ctx.factor = factor
        return x * factor + shift

    @staticmethod
    def backward(ctx, grad):
        return (grad * ctx.factor, *[None] * (len(ctx.needs_input_grad) - 1))


def test_setup_context_meets_one_input_for_each_parameter():
    x = leaf()
    y = Scaled.apply(x)
    y.sum().backward()
    assert y.tolist() == [3, 6]
    assert x.grad.tolist() == [3, 3]
    assert len(y.grad_fn.next_functions) == 3


def test_arguments_by_keyword_are_put_in_their_places():
    x, shift = leaf(), leaf(10.0, 20.0)
    y = Scaled.apply(shift=shift, x=x)
    assert y.tolist() == [13, 26]
    y.sum().backward()
    assert (x.grad.tolist(), shift.grad.tolist()) == ([3, 3], [1, 1])
    assert gradcheck(lambda x, shift: Scaled.apply(x, shift=shift), (x, shift), check_forward_ad=True)


@pytest.mark.parametrize(
    ("args", "kwargs", "inputs"),
    [((), {}, 1), ((2.0,), {}, 2), ((), {"factor": 2.0}, 2), ((), {"shift": 1.0}, 3)],
)
def test_a_forward_with_ctx_counts_what_is_given_and_what_stands_before_it(args, kwargs, inputs):
    x = leaf()
    y = WithCtx.apply(x, *args, **kwargs)
    assert len(y.grad_fn.next_functions) == inputs
    y.sum().backward()
    assert x.grad.tolist() == [y.grad_fn.factor] * 2


def test_a_forward_with_any_number_of_arguments_takes_them_all():
    class Sum(Function):
        @staticmethod
        def forward(*xs):
            return sum(xs)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.count = len(inputs)

        @staticmethod
        def backward(ctx, grad):
            return (grad,) * ctx.count

    x = leaf()
    Sum.apply(x, x).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("function", [Scaled, WithCtx])
def test_an_unknown_keyword_is_refused_with_the_signature(function):
    with pytest.raises(TypeError, match=r"apply: got an unexpected keyword argument 'scale'; its forward is forward\("):
        function.apply(leaf(), scale=2.0)
    with pytest.raises(TypeError, match=r"multiple values for argument 'x'"):
        function.apply(leaf(), x=leaf())


def test_what_forward_takes_by_keyword_alone_is_refused():
    class Only(Function):
        @staticmethod
        def forward(ctx, x, *, scale=1.0):
            return x * scale

    with pytest.raises(TypeError, match=r"forward takes 'scale' by keyword only.*Make 'scale' an ordinary argument"):
        Only.apply(leaf(), scale=2.0)


def test_a_forward_replaced_later_is_seen():
    class Twice(Scaled):
        pass

    assert Twice.apply(leaf()).tolist() == [3, 6]
    Twice.forward = staticmethod(lambda x, factor=5.0, shift=None: x * factor)
    assert Twice.apply(leaf()).tolist() == [5, 10]


# -- vjp --------------------------------------------------------------------------------------------------------------


def test_backward_may_be_called_vjp():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = leaf()
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_backward_and_vjp_in_one_class_are_refused():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match=r"Both: Implementing both 'backward' and 'vjp'.*two names of one method"):
        Both.apply(leaf())


def test_a_forward_without_ctx_needs_setup_context():
    class Cube(Function):
        @staticmethod
        def forward(x):
            return x**3

    with pytest.raises(TypeError, match=r"Cube.apply: forward\(x\) takes no ctx.*forward\(ctx, x\), or define setup"):
        Cube.apply(leaf())

    class Own(Cube):
        @staticmethod
        def forward(ctx, x):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        Own.apply(leaf())


def test_an_argument_too_many_is_not_taken_for_a_ctx():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            return x**3

    with pytest.raises(TypeError, match=r"Cube.apply: its forward is forward\(ctx, x\), and 2 arguments besides ctx"):
        Cube.apply(leaf(), 3)


def test_what_ctx_lacks_is_named_with_what_to_write():
    class Scaled(Function):
        wanted = "factor"

        @staticmethod
        def forward(ctx, x):
            ctx.power = 3
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * getattr(ctx, Scaled.wanted)

    y = Scaled.apply(leaf()).sum()
    with pytest.raises(AttributeError, match=r"ctx has no attribute 'factor'; forward has kept power on it. Write ctx"):
        y.backward()
    for Scaled.wanted, meant in (("powers", "power"), ("saved_tensor", "saved_tensors")):
        with pytest.raises(AttributeError, match=f"'{Scaled.wanted}'; did you mean '{meant}'?"):
            Scaled.apply(leaf()).sum().backward()
    assert not hasattr(y.grad_fn, "factor")
