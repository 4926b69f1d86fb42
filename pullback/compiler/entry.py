"""The quick way to the programs of the call before: a test, written for its arguments, whether others are like them.

A signature is made of every array and looked up; to compare with one that is known takes a third of that. Whatever the
test does not know goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.variants import Variants
from pullback.core.array_face import AROUND_NDARRAYS
from pullback.core.dtypes import get_default_dtype
from pullback.core.tensor import ndarray

_MOST = 1000  # lines of a test
_WRITTEN = frozenset({bool, int, str})  # values that a program depends on
_TENSORS = AROUND_NDARRAYS


class Entry(NamedTuple):
    """The programs for one signature, and whether a call has it.

    Attributes
    ----------
    variants : Variants
    leaves_of : callable
        (levels that do not record, args, kwargs) -> the leaves, or None if these are not like those of the call before.
    """

    variants: Variants
    leaves_of: Callable[[frozenset[int], tuple[Any, ...], dict[str, Any]], list[Any] | None]


def entry_of(
    variants: Variants, off: frozenset[int], args: tuple[Any, ...], kwargs: dict[str, Any], structure: Any
) -> Entry | None:
    """The entry for calls like this one; None of arguments that take the general way."""
    if structure is None:
        structure = (list, tuple, [(list, tuple, [*range(len(args))]), (dict, dict, {})])
    _, _, (of_args, of_kwargs) = structure
    test = _Test(off)
    test.refuse(f"len(args) != {len(args)}" if kwargs else f"kwargs or len(args) != {len(args)}")
    if not test.take_parts([*args], of_args[2], "args") or (kwargs and not test.take(kwargs, of_kwargs, "kwargs")):
        return None
    if len(set(test.ids)) < len(test.ids):  # one that is given twice is one in these programs
        return None
    return Entry(variants, test.made())


class _Test:
    """Writes the test for arguments like these, where these levels do not record."""

    def __init__(self, off: frozenset[int]) -> None:
        self._scope: dict[str, Any] = {"ndarray": ndarray, "OFF": off, "default": get_default_dtype}
        self._scope |= {"DTYPE": get_default_dtype(), **{kind.__name__: kind for kind in _TENSORS}}
        self._lines: list[str] = ["if off != OFF or default() is not DTYPE: return None"]
        self._leaves: dict[int, str] = {}
        self._arrays: list[str] = []
        self.ids: list[int] = []  # of the arrays and Tensors

    def take(self, x: Any, structure: Any, name: str) -> bool:
        """Write down of what form this is; False if the test cannot tell."""
        kind: Any = type(x)
        if structure is None:
            self.refuse(f"{name} is not None")
        elif kind is ndarray:
            self._take_array(x, name)
            self.ids.append(id(x))
        elif kind in _TENSORS and type(x._array) is ndarray:
            self._take_tensor(x, name)
            self.ids.append(id(x))
        elif issubclass(kind, np.generic) and x.dtype.kind in "biufc":
            self._scope[known := f"n{len(self._scope)}"] = kind
            self.refuse(f"type({name}) is not {known}")
        elif kind in _WRITTEN:
            self.refuse(f"type({name}) is not {kind.__name__} or {name} != {x!r}")
        elif kind in (list, tuple, dict) and not isinstance(structure, int):
            self.refuse(f"type({name}) is not {kind.__name__} or len({name}) != {len(x)}")
            parts, values = structure[2], [*x]
            if kind is dict:
                self._scope[keys := f"k{len(self._scope)}"] = [*x]
                self.refuse(f"[*{name}] != {keys}")
                parts, values, name = [parts[key] for key in x], [*x.values()], f"{name}.values()"
            return self.take_parts(values, parts, name)
        else:
            return False
        if structure is not None:
            self._leaves[structure] = name
        return len(self._lines) < _MOST

    def take_parts(self, values: list[Any], parts: list[Any], name: str) -> bool:
        """The same for what is in a container, whose length is tested."""
        names = [f"x{len(self._lines)}_{nr}" for nr in range(len(values))]
        if names:
            self._lines.append(f"{', '.join(names)}, = {name}")
        return all(map(self.take, values, parts, names))

    def _take_array(self, x: ndarray, name: str) -> None:
        self.refuse(f"type({name}) is not ndarray or {self._other_form(x, name)}")
        self._arrays.append(name)

    def _take_tensor(self, x: Any, name: str) -> None:
        array = f"a{len(self._lines)}"
        self.refuse(f"type({name}) is not {type(x).__name__} or {name}._requires_grad is not {x._requires_grad}")
        if x._requires_grad:
            self.refuse(f"{name}._level != {x._level}")
        self._lines.append(f"{array} = {name}._array")
        self._take_array(x._array, array)
        self._arrays[-1] = name

    def _other_form(self, x: ndarray, name: str) -> str:
        self._scope[dtype := f"d{len(self._scope)}"] = x.dtype
        return f"{name}.dtype is not {dtype} or {name}.shape != {x.shape} or {name}.strides != {x.strides}"

    def refuse(self, where: str) -> None:
        """No call has this."""
        self._lines.append(f"if {where}: return None")

    def made(self) -> Callable[..., list[Any] | None]:
        """The test, which gives the leaves."""
        if len(self._arrays) > 1:  # one that is given twice is one in a program too
            ids = ", ".join(f"id({name})" for name in self._arrays)
            self.refuse(f"len({{{ids}}}) != {len(self._arrays)}")
        leaves = ", ".join(self._leaves[nr] for nr in sorted(self._leaves))
        text = "\n    ".join(["def taken(off, args, kwargs):", *self._lines, f"return [{leaves}]"])
        exec(compile(text + "\n", "<entry>", "exec"), self._scope)  # noqa: S102 - of our own writing
        return self._scope["taken"]  # type: ignore[no-any-return]
