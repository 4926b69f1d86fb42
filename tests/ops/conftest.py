"""Cases by operator: a test marked `check(name)` runs once for each OpInfo, and dtype of it, that has that check.

A skip is listed in the record, with its reason.
"""

import numpy as np
import pytest

from pullback.testing.opinfo.calls import inplace_method, takes_out
from tests.opinfo.records import OPINFOS


def applies(question, info):
    """Whether an operator has in-place or out= forms; a record of something that does not exist fails in its test."""
    try:
        return bool(question(info))
    except AttributeError:
        return True


DTYPES = {
    "forward": lambda info: info.dtypes,
    "layouts": lambda info: [d for d in info.dtypes if d in (np.float64, np.complex128)] or info.dtypes[:1],
    "inplace": lambda info: info.dtypes if applies(inplace_method, info) and not info.random else (),
    "out": lambda info: info.dtypes[:1] if applies(takes_out, info) and not info.random else (),
    "gradient": lambda info: info.grad_dtypes if info.order >= 1 else (),
    "second": lambda info: info.grad_dtypes if info.order >= 2 else (),
    "tangent": lambda info: info.grad_dtypes if info.order >= 1 else (),
    "aliases": lambda info: info.dtypes if info.aliases else (),
    "backward": lambda info: info.backward_dtypes if info.order >= 1 else (),
}


def pytest_configure(config):
    config.addinivalue_line("markers", "check(name): the check of an OpInfo that this test runs")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("check")
    if marker is None:
        return
    name = marker.args[0]
    cases = [(info, dtype) for info in OPINFOS for dtype in DTYPES[name](info)]
    metafunc.parametrize("info, dtype", [_case(info, dtype, name) for info, dtype in cases])


def _case(info, dtype, check):
    assert not info.decorators, f"{info.full_name}: these tests take no decorators, but Skip"
    skip = info.skip(check, dtype)
    marks = [pytest.mark.skip(reason=skip.because)] if skip else []
    return pytest.param(info, dtype, id=f"{info.full_name}-{np.dtype(dtype).name}", marks=marks)
