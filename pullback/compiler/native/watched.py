"""Watches as machine code looks at them: words of memory, and items of dicts.

Where CPython keeps what a function or a cell refers to is found by looking for it in examples.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from pullback.compiler.reach.places import Cell, Entries, Item, Kind, Named, Watch
from pullback.graph.held_records import NOTHING

Word: TypeAlias = tuple[int, int, int]  # an address, the address of a key or 0, the address of what is expected

_SIZE = ctypes.sizeof(ctypes.c_void_p)


def words_of(watches: Sequence[Watch]) -> list[Word] | None:
    """The watches for machine code; None if one of them takes Python."""
    found: list[Word] = []
    for watch in watches:
        if (words := _words(watch)) is None:
            return None
        found += words
    return found


def _words(watch: Watch) -> list[Word] | None:
    if type(watch) is Entries and type(watch.of) is dict and len(watch.keys) <= 1:  # in which there is no order
        items = zip(watch.keys, watch.was, strict=True)
        if all(type(key) is str for key in watch.keys):
            length = id(watch.of) + _place_of_length(), 0, len(watch.keys)
            return [length, *((id(watch.of), id(key), id(value)) for key, value in items)]
    return None if (word := _word(watch)) is None else [word]


def _word(watch: Watch) -> Word | None:
    was = id(watch.was)
    if type(watch) is Item and type(watch.key) is str and type(watch.of) is dict:
        return id(watch.of), id(watch.key), 0 if watch.was is NOTHING else was
    if type(watch) is Cell and watch.was is not NOTHING:
        return id(watch.of) + _place_of_contents(), 0, was
    if type(watch) is Kind:
        return id(watch.of) + _SIZE, 0, was
    if (
        type(watch) is Named
        and type(watch.of) is type(words_of)
        and watch.name in ("__code__", "__defaults__", "__kwdefaults__")
    ):
        return id(watch.of) + _place_in_function(watch.name), 0, 0 if watch.was is None else was
    return None


@cache
def _place_of_contents() -> int:
    mark = object()
    cell = (lambda: mark).__closure__[0]  # type: ignore[index]
    return _place(cell, id(mark), 4 * _SIZE)


@cache
def _place_of_length() -> int:
    return _place(dict.fromkeys(range(1234)), 1234, 4 * _SIZE)


@cache
def _place_in_function(name: str) -> int:
    def example(x: int = 1 << 70, *, y: int = 1 << 71) -> int:
        return x + y

    return _place(example, id(getattr(example, name)), 20 * _SIZE)


def _place(x: Any, word: int, size: int) -> int:
    """Where in an object a word stands, which stands nowhere else."""
    words = (ctypes.c_size_t * (size // _SIZE)).from_address(id(x))
    (place,) = [nr for nr, found in enumerate(words) if found == word]
    return place * _SIZE
