"""A plugin of pytest that adopts the tests of NumPy and SciPy, which `adopt()` leaves alone: -p adopting.

No test differentiates anything, so none may come to an Array.
"""

import pytest

import pullback as pb
from pullback.interop.adopt import creation, switch


def pytest_configure() -> None:
    """Adopt before the first test is imported; whoever imports this module without meaning it changes nothing."""
    is_reached = switch.is_reached
    switch.is_reached = lambda namespace: ".tests." in str(namespace.get("__name__")) or is_reached(namespace)
    creation.wrap_array = _refuse
    pb.adopt()


def _refuse(*_: object) -> None:
    pytest.fail("An Array is made here.")
