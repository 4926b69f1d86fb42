"""The quick way to the programs of the call before: a test, written for its arguments, whether others are like them.

A signature is made of every array and looked up; to compare with one that is known takes a third of that. Whatever the
test does not know goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pullback.compiler.variants import Variants
from pullback.core.dtypes import get_default_dtype
from pullback.core.tensor import ndarray

_MOST = 1000  # lines of a test
_WRITTEN = frozenset({bool, int, str})  # values that a program depends on


class Entry(NamedTuple):
    """The programs for one signature, and whether a call has it.

    Attributes
    ----------
    variants : Variants
    off : frozenset of int
        The levels that do not record.
    dtype
        The default one.
    taken : callable
        (args, kwargs) -> the leaves, or None if these are not like those of the call before.
    """

    variants: Variants
    off: frozenset[int]
    dtype: Any
    taken: Callable[..., list[Any] | None]

    def leaves_of(self, off: frozenset[int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The leaves of a call in this state with these arguments, if it has the signature."""
        if self.off == off and self.dtype is get_default_dtype():
            return self.taken(args, kwargs)
        return None


def entry_of(
    variants: Variants, off: frozenset[int], args: tuple[Any, ...], kwargs: dict[str, Any], structure: Any
) -> Entry | None:
    """The entry for calls like this one; None of arguments that take the general way."""
    test = _Test()
    if structure is None:
        structure = (list, tuple, [(list, tuple, [*range(len(args))]), (dict, dict, {})])
    if not test.take((args, kwargs), structure):
        return None
    return Entry(variants, off, get_default_dtype(), test.made())


class _Test:
    """Writes the test for arguments like these."""

    def __init__(self) -> None:
        self._scope: dict[str, Any] = {"ndarray": ndarray}
        self._lines: list[str] = []
        self._leaves: dict[int, str] = {}
        self._arrays: list[str] = []

    def take(self, x: Any, structure: Any, name: str = "x") -> bool:
        """Write down of what form this is; False if the test cannot tell."""
        kind: Any = type(x)
        if structure is None:
            self._refuse(f"{name} is not None")
        elif kind is ndarray:
            self._take_array(x, name)
        elif kind in _WRITTEN:
            self._refuse(f"type({name}) is not {kind.__name__} or {name} != {x!r}")
        elif kind in (list, tuple, dict) and not isinstance(structure, int):
            self._refuse(f"type({name}) is not {kind.__name__} or len({name}) != {len(x)}")
            parts, values = structure[2], [*x]
            if kind is dict:
                self._scope[keys := f"k{len(self._scope)}"] = [*x]
                self._refuse(f"[*{name}] != {keys}")
                parts, values, name = [parts[key] for key in x], [*x.values()], f"{name}.values()"
            return self._take_parts(values, parts, name)
        else:
            return False
        if structure is not None:
            self._leaves[structure] = name
        return len(self._lines) < _MOST

    def _take_parts(self, values: list[Any], parts: list[Any], name: str) -> bool:
        names = [f"x{len(self._lines)}_{nr}" for nr in range(len(values))]
        if names:
            self._lines.append(f"{', '.join(names)}, = {name}")
        return all(map(self.take, values, parts, names))

    def _take_array(self, x: ndarray, name: str) -> None:
        self._scope[dtype := f"d{len(self._scope)}"] = x.dtype
        form = f"{name}.dtype is not {dtype} or {name}.shape != {x.shape} or {name}.strides != {x.strides}"
        self._refuse(f"type({name}) is not ndarray or {form}")
        self._arrays.append(name)

    def _refuse(self, where: str) -> None:
        self._lines.append(f"if {where}: return None")

    def made(self) -> Callable[..., list[Any] | None]:
        """The test, which gives the leaves."""
        if len(self._arrays) > 1:  # one that is given twice is one in a program too
            ids = ", ".join(f"id({name})" for name in self._arrays)
            self._refuse(f"len({{{ids}}}) != {len(self._arrays)}")
        leaves = ", ".join(self._leaves[nr] for nr in sorted(self._leaves))
        text = "\n    ".join(["def taken(*x):", *self._lines, f"return [{leaves}]"])
        exec(compile(text + "\n", "<entry>", "exec"), self._scope)  # noqa: S102 - of our own writing
        return self._scope["taken"]  # type: ignore[no-any-return]
