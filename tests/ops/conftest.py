"""Cases by operator: a test that takes `info`, or `info` and `dtype`, runs once for each OpInfo that has that check.

The marker `check` names it: `@pytest.mark.check("gradient")`. A skip is listed in the record, with its reason.
"""

import numpy as np
import pytest

from pullback.testing.opinfo import OPINFOS

DTYPES = {
    "forward": lambda info: info.dtypes,
    "layouts": lambda info: [d for d in info.dtypes if d in (np.float64, np.complex128)] or info.dtypes[:1],
    "inplace": lambda info: info.dtypes,
    "out": lambda info: info.dtypes[:1],
    "gradient": lambda info: info.grad_dtypes if info.order >= 1 else (),
    "second": lambda info: info.grad_dtypes if info.order >= 2 else (),
    "tangent": lambda info: info.grad_dtypes if info.order >= 1 else (),
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
    skip = info.skip(check, dtype)
    marks = [pytest.mark.skip(reason=skip.because)] if skip else []
    return pytest.param(info, dtype, id=f"{info.full_name}-{np.dtype(dtype).name}", marks=marks)
