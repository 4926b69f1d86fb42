"""In-place methods: values, version counters, gradients through clones and views."""

import pytest

from pullback.testing.opinfo.checks import check_inplace


@pytest.mark.check("inplace")
def test_inplace_method_agrees_with_the_function(info, dtype):
    check_inplace(info, dtype)
