"""The quick way to the programs of the call before: a test, written for its arguments, whether they are like these.

A signature is made of each array and looked up; to compare with one that is known takes a third of that. Whatever the
test does not know goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pullback.compiler.variants import Variants
from pullback.core.dtypes import get_default_dtype
from pullback.core.tensor import ndarray

_MOST = 16  # arguments


class Entry(NamedTuple):
    """The programs for one signature, and whether a call has it.

    Attributes
    ----------
    variants : Variants
    off : frozenset of int
        The levels that do not record.
    dtype
        The default one.
    number : int
        Of arguments.
    fits : callable
        (arguments) -> True if they are ndarrays of the same forms, each another one.
    """

    variants: Variants
    off: frozenset[int]
    dtype: Any
    number: int
    fits: Callable[..., bool]

    def is_for(self, off: frozenset[int], args: Sequence[Any]) -> bool:
        """True if a call in this state with these arguments has the signature."""
        return len(args) == self.number and self.off == off and self.dtype is get_default_dtype() and self.fits(*args)


def entry_of(variants: Variants, off: frozenset[int], args: Sequence[Any]) -> Entry | None:
    """The entry for calls like this one; None of arguments that take the general way."""
    count = len(args)
    if not 0 < count <= _MOST or not all(type(x) is ndarray for x in args) or len({*map(id, args)}) < count:
        return None
    names = [f"a{nr}" for nr in range(count)]
    tests = [
        f"type({a}) is ndarray and {a}.dtype is d{nr} and {a}.shape == {x.shape} and {a}.strides == {x.strides}"
        for nr, (a, x) in enumerate(zip(names, args, strict=True))
    ]
    if count > 1:
        tests.append(f"len({{{', '.join(f'id({name})' for name in names)}}}) == {count}")
    scope: dict[str, Any] = {"ndarray": ndarray, **{f"d{nr}": x.dtype for nr, x in enumerate(args)}}
    text = f"def fits({', '.join(names)}):\n    return {' and '.join(tests)}\n"
    exec(compile(text, "<entry>", "exec"), scope)  # noqa: S102 - of our own writing
    return Entry(variants, off, get_default_dtype(), count, scope["fits"])
