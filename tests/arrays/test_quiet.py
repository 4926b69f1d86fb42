"""Silence for derivative formulas: NumPy says nothing, invalid operations are heard all the same."""

import runpy
import warnings

import numpy as np
import pytest

from pullback.arrays.numpy import quiet


def silent_module(monkeypatch, internals):
    """The module, with NumPy's internals or, as in a version that has others, without."""
    if not internals:
        monkeypatch.delattr("numpy._core.umath._extobj_contextvar", raising=False)
    return runpy.run_path(quiet.__file__)


@pytest.mark.parametrize("internals", [True, False])
def test_silent_but_heard_and_put_back(monkeypatch, internals):
    module = silent_module(monkeypatch, internals)
    settings, zero = (np.geterr(), np.geterrcall()), np.zeros(1)
    before = module["warnings"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module["silence"]()
        try:
            1 / zero, np.exp(zero + 1e6)
            assert not module["is_careful"]()  # infinities are no reason
            zero / zero
            assert module["is_careful"]()
        finally:
            module["restore"](before)
    module["calm"]()
    assert not module["careful"]
    assert (np.geterr(), np.geterrcall()) == settings


@pytest.mark.parametrize("internals", [True, False])
def test_nans_are_expected_only_in_silence(monkeypatch, internals):
    module = silent_module(monkeypatch, internals)
    module["expect_nans"]()
    assert not module["careful"]
    before = module["warnings"]()
    module["silence"]()
    try:
        module["expect_nans"]()
    finally:
        module["restore"](before)
    assert module["is_careful"]()
