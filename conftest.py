"""What every test and every docstring example finds ready."""

from __future__ import annotations

import datetime as dt
import gc
import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from _pytest.doctest import DoctestModule

from tests import whole_errors  # noqa: F401 - what it changes is in doctest

# No deadline: how long an example takes says nothing on a machine with neighbours.
hypothesis.settings.register_profile("pullback", deadline=None)
hypothesis.settings.load_profile("pullback")

# Compiled functions run as plans of NumPy's kernels, on every machine alike, and in every process that a test starts.
# The tests that tests/compiler/conftest.py names run in machine code too.
os.environ.setdefault("PULLBACK_COMPILER", "none")


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
    from pullback.interop.adopt.state import State

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


_KEYWORDS = {"and", "or", "not", "none", "true", "false"}  # of the language of -k


# -- a sample of the tests -------------------------------------------------------------------------------------
CASES = 6  # of a test that has more, unless it is marked `each_operator`
LARGE = 30  # cases, from which on --share leaves some out
VERY_LARGE = 200  # from which on it leaves out twice as many


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test` passes."""
    group = parser.getgroup("pullback")
    group.addoption(
        "--sample", action="store_true", help=f"run {CASES} cases of a test that has more, and no slow test"
    )
    group.addoption(
        "--share",
        type=int,
        default=1,
        metavar="K",
        help=f"of a test with more than {LARGE} cases run one in K, of more than {VERY_LARGE} one in 2 K",
    )
    group.addoption("--sample-seed", type=int, metavar="N", help="what draws these cases; without it, the date")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and choose the seed."""
    config.addinivalue_line("markers", "slow: takes many seconds, and --sample leaves it out")
    config.addinivalue_line(
        "markers",
        "each_operator: --sample has one case of each operator (`info`, or what `by` names), in float64 if it can",
    )
    if config.option.sample_seed is None:  # the workers of xdist take the seed of the process that starts them
        config.option.sample_seed = int(f"{dt.datetime.now(tz=dt.UTC):%Y%m%d}")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to have the same sample again."""
    seed, share = config.option.sample_seed, config.option.share
    if config.option.sample:
        return f"a sample of the cases; --sample --sample-seed={seed} draws it again"
    return f"a share of the cases; --share={share} --sample-seed={seed} takes it again" if share > 1 else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """Look for examples only in files that have some: doctest looks at every object of a module, and imports it."""
    found = yield
    if ">>>" in file_path.read_text(encoding="utf-8", errors="ignore"):
        return found
    return [collector for collector in found if not isinstance(collector, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Drop cases before tests are made of them: making them takes half a minute in each process."""
    yield
    calls, option = metafunc._calls, metafunc.config.option
    word, definition = option.keyword.lower(), metafunc.definition
    if word.isidentifier() and word not in _KEYWORDS:  # `-k lambertw`, which would drop them when they are made
        elsewhere = [definition.nodeid, *(mark.name for mark in definition.iter_markers()), *vars(definition.function)]
        if not any(word in text.lower() for text in elsewhere):
            calls[:] = [call for call in calls if word in call.id.lower() or any(word in m.name for m in call.marks)]
    if option.share > 1 and len(calls) > LARGE:  # those of the next day's seed are others
        step = option.share * (1 + (len(calls) > VERY_LARGE))
        calls[:] = calls[(option.sample_seed + len(calls)) % step :: step]
    if not option.sample:
        return
    calls[:] = [call for call in calls if all(mark.name != "slow" for mark in call.marks)] or calls
    if len(calls) <= CASES:
        return
    if each := metafunc.definition.get_closest_marker("each_operator"):
        first: dict[str, pytest.CallSpec] = {}
        for call in sorted(calls, key=lambda call: call.params.get("dtype", np.float64) != np.float64):
            name = call.params[each.kwargs["by"]] if each.kwargs else call.params["info"].full_name
            first.setdefault(name, call)
        calls[:] = first.values()
    else:
        drawn = random.Random(f"{metafunc.config.option.sample_seed} {metafunc.definition.nodeid}")  # noqa: S311
        calls[:] = [calls[i] for i in sorted(drawn.sample(range(len(calls)), CASES))]


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the operators' examples to tests/test_documentation.py, which has them all and allows for last digits."""
    items[:] = [
        item
        for item in items
        if not item.nodeid.startswith("pullback/__init__.py::pullback.")
        and not (config.option.sample and item.get_closest_marker("slow"))
    ]
