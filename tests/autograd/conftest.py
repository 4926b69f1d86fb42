"""What several files of tests share."""

import contextlib

import pytest

from pullback.graph.replay import force_replay


@pytest.fixture(params=["geometry", "replay"])
def both_paths(request):
    """The test runs twice: views followed by their places in memory, and by running their operators again."""
    with force_replay() if request.param == "replay" else contextlib.nullcontext():
        yield request.param
