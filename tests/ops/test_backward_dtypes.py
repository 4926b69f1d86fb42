"""Gradients in reduced precision: of the dtype of their input, and those of double precision but for its roundings."""

import numpy as np
import pytest

from pullback.testing.opinfo.calls import REFUSALS, accepted, function_of, to_tensors
from pullback.testing.opinfo.precision_checks import check_backward
from tests.opinfo.records import OPINFOS

SAMPLES = 2  # of a record, in each dtype
DIFFERENTIABLE = [info for info in OPINFOS if info.order >= 1]


@pytest.mark.check("backward")
def test_gradients_in_single_precision(info, dtype):
    check_backward(info, dtype, SAMPLES)


def takes_half(info):
    """Whether the operator takes the samples in half precision: decompositions, say, refuse it."""
    try:
        for sample in accepted(info, np.float16)[:SAMPLES]:
            args, kwargs = to_tensors((sample.args, sample.kwargs))
            function_of(info)(*args, **kwargs)
    except REFUSALS:
        return False
    return True


@pytest.mark.parametrize("info", DIFFERENTIABLE, ids=lambda info: info.full_name)
def test_gradients_in_half_precision_where_it_is_taken(info):
    if takes_half(info):
        check_backward(info, np.float16, SAMPLES)


def test_most_operators_take_half_precision():
    assert sum(map(takes_half, DIFFERENTIABLE)) > 0.9 * len(DIFFERENTIABLE)
