"""Refusals that a dispatcher of `adopt` waits for, to go another way.

A dispatcher calls NumPy's function first, which costs plain arguments nothing. Where NumPy then asks one of our tensors
for plain numbers, the refusal would be made of the user's source, which takes a hundred microseconds. So what refuses
looks first whether a dispatcher stands right above NumPy's own frames.
"""

from __future__ import annotations

import os
from types import FrameType

import numpy as np

from pullback.core.errors import DetachingError

# By os.path, because pathlib takes long to import.
_NUMPY = os.path.dirname(np.__file__) + os.sep  # noqa: PTH120
FILES: set[str] = set()  # where the classes of dispatchers stand, whose __call__ waits


class AwaitedError(DetachingError, page=None):
    """A tensor would have become plain numbers, in a call whose caller knows what to do instead."""


def refuse_if_awaited(frame: FrameType | None) -> None:
    """Raise `AwaitedError` if `frame`, or what called the NumPy function that it is in, waits for that."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file in FILES and frame.f_code.co_name == "__call__":
            raise AwaitedError("a tensor would become plain numbers.")
        if not file.startswith(_NUMPY):
            return
        frame = frame.f_back
