"""Silence for derivative formulas: NumPy says nothing of 0/0, and afterwards is as it was."""

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
def test_silent_and_put_back(monkeypatch, internals):
    module = silent_module(monkeypatch, internals)
    settings, zero = (np.geterr(), np.geterrcall()), np.zeros(1)
    before = module["warning_state"]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module["ignore_warnings"]()
        try:
            1 / zero, np.exp(zero + 1e6), zero / zero
        finally:
            module["restore"](before)
    assert (np.geterr(), np.geterrcall()) == settings
