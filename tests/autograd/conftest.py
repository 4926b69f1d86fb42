"""What several files of tests share."""

import contextlib

import pytest

from pullback.autograd.engine import execution
from pullback.graph.replay import force_replay


@pytest.fixture(params=["geometry", "replay"])
def both_paths(request):
    """The test runs twice: views followed by their places in memory, and by running their operators again."""
    with force_replay() if request.param == "replay" else contextlib.nullcontext():
        yield request.param


@pytest.fixture(params=["fast", "plain"])
def both_loops(request, monkeypatch):
    """The test runs twice: in the engine's fast loop, and in the plain one that defines what it computes."""
    if request.param == "plain":
        monkeypatch.setattr(execution, "run_fast", execution.run_plainly)
