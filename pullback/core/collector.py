"""Pausing Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage is collected inside; afterwards the collector is as it was.

    For code that makes many objects which all stay: the collector would go through them again and again. They are old
    at once, as those are that have survived some collections.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what the program has frozen itself stays so
            gc.freeze()
            gc.unfreeze()  # into the oldest generation
        if collects:
            gc.enable()
