"""func.grad and value_and_grad: what their arguments may be."""

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize("argnums", ["b", 1.0, (0, "x")])
def test_argnums_are_positions(argnums):
    with pytest.raises(TypeError, match=r"argnums must be an int or a tuple of ints"):
        pb.func.grad(np.sum, argnums=argnums)


def test_an_integer_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"with respect to an int: pass a floating-point number \(2\.0 for 2\)"):
        pb.func.grad(lambda x: x)(2)


def test_an_infinite_loss_does_not_spoil_the_derivative_of_its_gradient():
    def inner(x):
        return pb.func.grad(lambda y: y.log().sum())(x).sum()

    with np.errstate(divide="ignore"):
        found = pb.func.grad(inner)(np.array([0.0, 2.0, 4.0]))
    np.testing.assert_array_equal(found, [-np.inf, -0.25, -0.0625])
