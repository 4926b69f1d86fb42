"""gradcheck of forward mode, and gradgradcheck across the modes."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import Function, gradcheck, gradgradcheck
from pullback.autograd.gradcheck import GradcheckError


def inputs(*shapes, dtype=float):
    """Leaves with random values that require grad."""
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.5, 1.5, s) + (1j * rng.uniform(0.5, 1.5, s) if dtype is complex else 0) for s in shapes]
    return tuple(pb.tensor(np.asarray(v), requires_grad=True) for v in values)


class Square(Function):
    """x**2 with factors that a test may make wrong."""

    factor, offset = 2.0, 0.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0].conj() * grad

    @classmethod
    def jvp(cls, ctx, tangent):
        return cls.factor * ctx.saved_tensors[0] * tangent + cls.offset


class Halved(Square):
    factor = 1.0


class Shifted(Square):
    offset = 1e-9


def several(x, w):
    return x.sin() * w, (x * w).sum(), x > 1


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
def test_right_functions_pass(fast, dtype):
    x = inputs((2, 3), (3,), dtype=dtype)
    options = {"fast_mode": fast, "check_forward_ad": True}
    assert gradcheck(lambda x, w: (x.sin() * w, (x * w).sum(), (x * w).abs()), x, **options)
    assert gradcheck(lambda x, w: x.exp() * w, x, check_backward_ad=False, **options)
    assert gradcheck(Square.apply, x[:1], **options)


def test_outputs_of_other_dtypes():
    assert gradcheck(several, inputs((3,), (3,)), check_forward_ad=True)
    assert gradcheck(lambda z: (z.real * z.imag, z.abs()), inputs((3,), dtype=complex), check_forward_ad=True)
    assert gradcheck(lambda x: pb.complex(x, x * x), inputs((3,)), check_forward_ad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_jvp_is_found_and_diagnosed(fast):
    x = inputs((3,))
    assert gradcheck(Halved.apply, x)  # its backward is right
    with pytest.raises(GradcheckError, match=r"(?s)computed with forward mode mismatch.*1/2 times") as caught:
        gradcheck(Halved.apply, x, check_forward_ad=True, fast_mode=fast)
    assert caught.value.diagnosis.kind == "constant_factor"
    assert caught.value.input_index == 0
    assert caught.value.output_index == 0
    assert not gradcheck(Halved.apply, x, check_forward_ad=True, fast_mode=fast, raise_exception=False)


def test_a_jvp_that_is_not_linear_is_found():
    with pytest.raises(GradcheckError, match=r"(?s)jvp not multiplied by the tangents.*output 0.*is linear") as caught:
        gradcheck(Shifted.apply, inputs((3,)), check_forward_ad=True)
    assert caught.value.diagnosis.kind == "zero_tangent"


class Product(Function):
    """x * y with a jvp that a test may make wrong."""

    calls = 0

    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_forward(x, y)
        return x * y

    @classmethod
    def jvp(cls, ctx, x_t, y_t):
        cls.calls += 1
        x, y = ctx.saved_tensors
        return cls.sum([t * other for t, other in ((x_t, y), (y_t, x)) if t is not None], x_t, y_t)

    @staticmethod
    def sum(terms, x_t, y_t):
        return sum(terms)


class Together(Product):
    @staticmethod
    def sum(terms, x_t, y_t):
        return sum(terms) if x_t is None or y_t is None else sum(terms) + x_t * y_t


class Crossed(Product):
    @staticmethod
    def sum(terms, x_t, y_t):
        return sum(terms) if x_t is not None else 2 * sum(terms)


class NeedsBoth(Product):
    @staticmethod
    def sum(terms, x_t, y_t):
        return sum(terms) + 0 * x_t + 0 * y_t


class Sizes(Product):
    @staticmethod
    def sum(terms, x_t, y_t):
        return sum(terms).abs()


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("function", "kind"),
    [(Together, "nonlinear_tangent"), (Crossed, "undefined_tangent"), (NeedsBoth, "undefined_tangent")],
)
def test_tangents_of_several_inputs_add_up_and_may_be_undefined(function, kind, fast):
    options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast}
    for dtype in (float, complex):
        x = inputs((2,), (2,), dtype=dtype)
        assert gradcheck(Product.apply, x, **options)
        with pytest.raises(GradcheckError) as caught:
            gradcheck(function.apply, x, **options)
        assert (caught.value.diagnosis.kind, caught.value.side) == (kind, "forward")
        assert gradcheck(function.apply, x, check_undefined_grad=False, **options)
    assert gradcheck(Product.apply, inputs((), ()), **options)


@pytest.mark.parametrize("fast", [False, True])
def test_the_size_of_a_tangent_is_no_tangent(fast):
    options = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False, "fast_mode": fast}
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Sizes.apply, inputs((1,), (1,)), **options)
    assert caught.value.diagnosis.kind == "nonlinear_tangent"


def test_a_jvp_is_called_no_more_often_than_the_checks_need():
    x, y = inputs((1,), (1,))

    def count(*arguments, **options):
        Product.calls = 0
        assert gradcheck(Product.apply, arguments, check_forward_ad=True, check_backward_ad=False, **options)
        return Product.calls

    assert count(x, y, check_undefined_grad=False) == 2  # once for each input
    assert count(x, y) == 2 + 4  # zeros, both together, and each without the other's
    assert count(x, y, check_batched_forward_grad=True) == 2 + 4 + 2 * 3  # a batch of two, and both one by one
    assert count(x, y.detach(), check_batched_forward_grad=True) == 1 + 1 + 3


def test_a_missing_jvp_is_named():
    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(
        NotImplementedError, match="forward-mode AD on Plain, a custom Function that does not implement"
    ):
        gradcheck(Plain.apply, inputs((3,)), check_forward_ad=True)


def test_one_of_the_modes_must_be_checked():
    with pytest.raises(ValueError, match="check_backward_ad=False and check_forward_ad=False leave nothing to check"):
        gradcheck(pb.sin, inputs((3,)), check_backward_ad=False)
    with pytest.raises(ValueError, match="nothing is left to check; set check_rev_over_rev"):
        gradgradcheck(pb.sin, inputs((3,)), check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        gradcheck(pb.sin, inputs((3,)), check_backward_ad=False)


def test_of_two_rules_that_raise_the_backward_is_told_of():
    class Broken(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("in backward")

        @staticmethod
        def jvp(ctx, t):
            raise RuntimeError("in jvp")

    with pytest.raises(RuntimeError, match="in backward"):
        gradcheck(Broken.apply, inputs((3,)), check_forward_ad=True)


def test_inputs_that_stand_still_have_tangents_of_zeros():
    def f(x, y):
        if y.dtype == float and pb.autograd.forward_ad.unpack_dual(x).tangent is not None:
            value, tangent = pb.autograd.forward_ad.unpack_dual(y)
            y = pb.autograd.forward_ad.make_dual(value, tangent * 1.1)
        return x + y

    with pytest.raises(GradcheckError, match="forward mode mismatch for output 0 with respect to input 1"):
        gradcheck(f, inputs((3,), (3,)), check_forward_ad=True)


@pytest.mark.parametrize("part", ["real", "imaginary"])
def test_the_part_of_a_complex_output_that_disagrees_is_named(part):
    def f(x):
        wrong = x * 1.0
        wrong.register_hook(lambda grad: grad * 1.1)
        return pb.complex(wrong, x) if part == "real" else pb.complex(x, wrong)

    with pytest.raises(
        GradcheckError, match=f"While considering the {part} part of complex outputs only, Jacobian mis"
    ):
        gradcheck(f, inputs((3,)))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("way", ["check_rev_over_rev", "check_fwd_over_rev", "check_rev_over_fwd"])
def test_second_derivatives_in_every_order(way, dtype, fast):
    options = {"check_rev_over_rev": False, way: True, "fast_mode": fast}
    x = inputs((2,), (2,), dtype=dtype)
    assert gradgradcheck(lambda x, w: (x**3 * w, (x * w).sin().sum()), x, **options)
    assert gradgradcheck(Square.apply, x[:1], **options)


def test_a_wrong_second_derivative_is_found_by_forward_over_reverse():
    class WrongSecond(Square):
        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0].detach() * grad  # right, but not differentiable

    assert gradcheck(WrongSecond.apply, inputs((3,)), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="forward mode"):
        gradgradcheck(WrongSecond.apply, inputs((3,)), check_rev_over_rev=False, check_fwd_over_rev=True)
