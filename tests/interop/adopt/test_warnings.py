"""A warning of NumPy's or SciPy's names the program's line under `adopt()`, as without it."""

import warnings

import pytest

import pullback as pb

PROGRAM = """
import numpy as np
from scipy import signal, sparse, stats
from scipy.sparse import linalg

def of_a_function(): linalg.spsolve(sparse.coo_array(np.eye(2)), np.ones(2))
def of_one_with_a_rule(): stats.pearsonr([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])
def of_one_that_always_runs_its_rule(): linalg.splu(sparse.coo_array(np.eye(2)))
def of_numpy(): np.cov(np.ones(1))
def of_a_list(): np.cov([1.0])
def of_a_short_call(): signal.normalize([0.0, 1.0], [1.0, 2.0])
"""
NAMES = [line.split("(")[0].removeprefix("def ") for line in PROGRAM.splitlines() if line.startswith("def ")]


def places(call):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    return [(warning.filename, warning.lineno, warning.category) for warning in told]


@pytest.mark.parametrize("name", NAMES)
def test_the_line_is_the_same(name, module_of):
    module = module_of(PROGRAM)
    expected = places(getattr(module, name))
    assert any(file == module.__file__ for file, *_ in expected)
    with pb.adopt():
        assert places(getattr(module, name)) == expected
