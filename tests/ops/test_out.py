"""The out= argument."""

import pytest

from pullback.testing.opinfo.checks import check_out


@pytest.mark.check("out")
def test_out_receives_the_result(info, dtype):
    check_out(info, dtype)
