"""The examples in docstrings of pullback.distributed run: `named` hides these functions where modules are collected."""

import doctest

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize("name", pb.distributed.__all__)
def test_the_example_runs(name):
    function = getattr(pb.distributed, name)
    found = doctest.DocTestParser().get_doctest(function.__doc__, {"pb": pb, "np": np}, name, None, 0)
    assert found.examples
    said = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(found, out=said.append)
    assert not runner.failures, "".join(said)
