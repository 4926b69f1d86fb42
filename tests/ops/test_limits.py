"""Values and derivatives at delicate points, to the last digits."""

import pytest

from pullback.testing.opinfo.checks import check_limit
from tests.opinfo.records import OPINFOS

CASES = [
    pytest.param(info, limit, id=f"{info.full_name}-at{number}")
    for info in OPINFOS
    for number, limit in enumerate(info.limits)
]


@pytest.mark.parametrize(("info", "limit"), CASES)
def test_value_and_gradient_at_a_limit(info, limit):
    check_limit(info, limit)
