"""Values of every operator against its reference, in every dtype."""

import pytest

from pullback.testing.opinfo.checks import check_aliases, check_forward


@pytest.mark.each_operator
@pytest.mark.check("forward")
def test_forward_agrees_with_the_reference(info, dtype):
    check_forward(info, dtype)


@pytest.mark.check("aliases")
def test_an_alias_gives_the_results_and_gradients_of_its_operator(info, dtype):
    check_aliases(info, dtype)
