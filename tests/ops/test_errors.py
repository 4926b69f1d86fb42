"""Calls that must be refused, and in which words."""

import pytest

from pullback.testing.opinfo.checks import check_error
from tests.opinfo.records import OPINFOS

CASES = [
    pytest.param(info, refusal, id=f"{info.full_name}-{number}")
    for info in OPINFOS
    for number, refusal in enumerate(info.errors)
]


@pytest.mark.parametrize(("info", "refusal"), CASES)
def test_bad_call_is_refused_with_a_clear_error(info, refusal):
    check_error(info, refusal)
