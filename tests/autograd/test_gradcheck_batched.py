"""gradcheck's comparison of batches of cotangents, or tangents, with each of these."""

import pytest

import pullback as pb
from pullback.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

BOTH = {"check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True}
ALONE = [{"check_batched_grad": True}, {"check_forward_ad": True, "check_batched_forward_grad": True}]


def leaf(*values):
    return pb.tensor(values or (0.3, 1.5, 2.0), requires_grad=True)


def doubled(of_cotangent, of_tangent):
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return of_cotangent(g)

        @staticmethod
        def jvp(ctx, t):
            return of_tangent(t)

    return Doubled.apply


def twice(g):
    return g * 2


def by_numbers(g):
    return pb.from_numpy(g.numpy() * 2)


def another_for_batches(g):
    return g * (3 if "Batched" in repr(g) else 2)


def test_operators_take_batches():
    m = leaf(*[[float(i), 0.5, -1.0] for i in range(3)])
    assert gradcheck(lambda x, m: (m @ x.exp(), (x * m).sum()), (leaf(), m), **BOTH)
    assert gradcheck(lambda z: z**2, leaf(0.3 + 1j, 1.5 - 2j), **BOTH)
    assert gradgradcheck(
        lambda x, m: m @ x.exp(), (leaf(), m), check_batched_grad=True, check_fwd_over_rev=True, check_rev_over_fwd=True
    )


def test_an_output_that_does_not_move_and_an_input_that_moves_nothing():
    assert gradcheck(lambda x, y: (x * 2, y.exp()), (leaf(), leaf(1.0)), **BOTH)


def test_a_custom_function_that_takes_batches():
    assert gradcheck(doubled(twice, twice), leaf(), **BOTH)


@pytest.mark.parametrize("number", [0, 1])
def test_rules_that_look_at_numbers(number):
    rules = [twice, twice]
    rules[number] = by_numbers
    assert gradcheck(doubled(*rules), leaf(), check_forward_ad=True)
    option = list(ALONE[number])[-1]
    with pytest.raises(GradcheckError, match=rf"{option}=True.*ReadError: Tensor.numpy\(\) looks at the numbers"):
        gradcheck(doubled(*rules), leaf(), **BOTH)
    assert gradcheck(doubled(*rules), leaf(), **ALONE[1 - number])
    assert not gradcheck(doubled(*rules), leaf(), **ALONE[number], raise_exception=False)


@pytest.mark.parametrize("number", [0, 1])
def test_rules_that_give_something_else_for_batches(number):
    rules = [twice, twice]
    rules[number] = another_for_batches
    with pytest.raises(GradcheckError, match=f"the {('gradient of input 0', 'tangent of output 0')[number]}.*in row 0"):
        gradcheck(doubled(*rules), leaf(), **ALONE[number])


def test_second_derivatives():
    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return doubled(by_numbers, twice)(x) * g

    assert gradgradcheck(Square.apply, leaf())
    with pytest.raises(GradcheckError, match="check_batched_grad=True"):
        gradgradcheck(Square.apply, leaf(), check_batched_grad=True)


def test_a_batch_of_tangents_of_a_number_without_dimensions_is_compared():
    assert gradcheck(pb.sin, (pb.tensor(0.3, requires_grad=True),), **BOTH)
