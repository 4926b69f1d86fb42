"""First and second derivatives of every operator against differences, real and complex."""

import pytest

from pullback.testing.opinfo.checks import check_gradient, check_second


@pytest.mark.each_operator
@pytest.mark.check("gradient")
def test_gradient_agrees_with_differences(info, dtype):
    check_gradient(info, dtype)


@pytest.mark.check("second")
def test_second_derivative_agrees_with_differences(info, dtype):
    check_second(info, dtype)
