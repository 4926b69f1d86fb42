"""Workers of every kind, each started once for all tests that want it."""

import contextlib

import pytest

from tests.distributed.workers import WORKERS


@pytest.fixture(scope="session")
def workers():
    """`workers(kind)`: what the argument `workers=` takes."""
    started = {}
    with contextlib.ExitStack() as stack:

        def get(kind):
            if kind not in started:
                started[kind] = stack.enter_context(WORKERS[kind]())
            return started[kind]

        yield get
