"""What every test and every docstring example finds ready."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

from tests import whole_errors  # noqa: F401 - what it changes is in doctest

# No deadline: how long an example takes says nothing on a machine with neighbours.
hypothesis.settings.register_profile("pullback", deadline=None)
hypothesis.settings.load_profile("pullback")


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    """Examples in docstrings may say `np` and `pb` without importing them."""
    import pullback as pb

    doctest_namespace.update(np=np, pb=pb)


@pytest.fixture(autouse=True)
def nothing_left_on() -> Iterator[None]:
    """A test that leaves on what changes how others behave fails itself, not one of those that come later."""
    import pullback as pb
    from pullback.core import cuts, modes
    from pullback.interop.adoption import State

    def left_on() -> set[str]:
        state = modes.current()
        what = {"adopt()": State.on, "a mode": not (state.plain and state.records_all), "a level": state.level,
                "a transform": cuts.WATCHED}  # fmt: skip
        return {name for name, on in what.items() if on}

    before = left_on()  # by a fixture of the module, say
    yield
    if found := left_on() - before:
        pb.release()
        modes.restore(modes.Modes())
        cuts.WATCHED.clear()
        pytest.fail(f"the test has left on: {', '.join(sorted(found))}")


def pytest_collection_finish() -> None:
    """Take the tests themselves, millions of objects, out of the collector's sight: `adopt()` looks through all."""
    _freeze()


def pytest_runtest_logfinish() -> None:
    """Likewise what pytest keeps of each test that has run, some thirty objects."""
    if next(_FINISHED) % 500 == 0:
        _freeze()


_FINISHED = itertools.count(1)


def _freeze() -> None:
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the operators' examples to tests/test_documentation.py, which has them all and allows for last digits."""
    items[:] = [item for item in items if not item.nodeid.startswith("pullback/__init__.py::pullback.")]
