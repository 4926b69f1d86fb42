"""Values of every operator against its reference, in every dtype."""

import pytest

from pullback.testing.opinfo.checks import check_forward


@pytest.mark.check("forward")
def test_forward_agrees_with_the_reference(info, dtype):
    check_forward(info, dtype)
