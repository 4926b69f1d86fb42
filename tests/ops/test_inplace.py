"""In-place methods, and inplace=True: values, version counters, gradients through clones and views."""

import inspect

import numpy as np
import pytest

from pullback.testing import assert_close
from pullback.testing.opinfo.calls import accepted, function_of, result_and_grads, sampling, to_tensors
from pullback.testing.opinfo.checks import check_inplace
from tests.opinfo.records import OPINFOS


def has_keyword(info):
    """Whether the public function has an argument `inplace`."""
    try:
        return not info.random and info.call is None and "inplace" in inspect.signature(function_of(info)).parameters
    except (AttributeError, ValueError):
        return False


WITH_KEYWORD = [info for info in OPINFOS if has_keyword(info)]


@pytest.mark.check("inplace")
def test_inplace_method_agrees_with_the_function(info, dtype):
    check_inplace(info, dtype)


@pytest.mark.parametrize("info", WITH_KEYWORD, ids=lambda info: info.full_name)
def test_inplace_keyword_writes_over_the_input(info):
    function = function_of(info)
    for sample in accepted(info, np.float64):
        with sampling(info, sample):
            (x, *rest), kwargs = to_tensors((sample.args, sample.kwargs))
            expected, target = function(x, *rest, **kwargs), x.clone()
            assert function(target, *rest, **kwargs, inplace=True) is target
            assert target._version > 0
            assert_close(target, expected, rtol=0, atol=0)


@pytest.mark.parametrize("info", WITH_KEYWORD, ids=lambda info: info.full_name)
def test_inplace_keyword_keeps_the_gradient(info):
    function = function_of(info)

    def on_clone(x, *rest, **kwargs):
        return function(x.clone(), *rest, **kwargs, inplace=True)

    for sample in accepted(info, np.float64):
        with sampling(info, sample):
            got = result_and_grads(on_clone, sample.args, sample.kwargs, True)
            assert_close(got, result_and_grads(function, sample.args, sample.kwargs, True), rtol=1e-13, atol=0)
