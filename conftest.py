"""What every test and every docstring example finds ready."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest

# No deadline: how long an example takes says nothing on a machine with neighbours.
hypothesis.settings.register_profile("pullback", deadline=None)
hypothesis.settings.load_profile("pullback")


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    """Examples in docstrings may say `np` and `pb` without importing them."""
    import pullback as pb

    doctest_namespace.update(np=np, pb=pb)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the operators' examples to tests/test_documentation.py, which has them all and allows for last digits."""
    items[:] = [item for item in items if not item.nodeid.startswith("pullback/__init__.py::pullback.")]
