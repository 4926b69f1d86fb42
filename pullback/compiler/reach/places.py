"""The kinds of places that are watched: how each says quickly, in Python, that it may have changed, and how exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pullback.compiler.reach.values import difference, differs, shown
from pullback.graph.held_records import NOTHING
from pullback.graph.saved import FEW, Fingerprint

_WRITTEN_OUT = 8  # items up to which each is compared by itself, which is quicker
_MANY_NAMES = 16  # from which on the number of names and the last one are compared first


class Watch:
    """A place, and what was in it.

    Parameters
    ----------
    of : object
        Holds the place.
    said : str
        By which name a user knows it.
    was : object
        The contents; `NOTHING` if there is none.
    """

    __slots__ = ("of", "said", "was")
    test: ClassVar[str]  # an expression that is true where something may have changed; it has operands in braces
    of: Any
    was: Any

    def __init__(self, of: Any, said: str, was: Any) -> None:
        self.of, self.said, self.was = of, said, was

    def quick_test(self, name: Callable[[Any], str]) -> str:
        """The expression, with the operands called as `name` says."""
        return self.test.format(of=name(self.of), was=name(self.was))

    def now(self) -> Any:
        """The contents of the place now."""
        raise NotImplementedError

    def change(self) -> str | None:
        """The change, for a message; None if there is none."""
        now = self.now()
        return difference(self.said, now, self.was) if differs(now, self.was) else None

    def renew(self) -> None:
        """Let the quick test begin anew: all is as it was, but held by other objects, or with other things beside."""


class Item(Watch):
    """An item of a dict: a global, an attribute of an object, a module or a class."""

    __slots__ = ("key",)

    def __init__(self, of: Any, key: Any, said: str, was: Any) -> None:
        super().__init__(of, said, was)
        self.key = key

    def quick_test(self, name: Callable[[Any], str]) -> str:
        key, of = repr(self.key) if type(self.key) is str else name(self.key), name(self.of)
        return f"{key} in {of}" if self.was is NOTHING else _is_other(f"{of}[{key}]", name(self.was))

    def now(self) -> Any:
        return self.of.get(self.key, NOTHING)


class Cell(Watch):
    """The cell of a closure's variable."""

    __slots__ = ()
    test = "{of}.cell_contents is not {was} and differs({of}.cell_contents, {was})"

    def quick_test(self, name: Callable[[Any], str]) -> str:
        return f"is_filled({name(self.of)})" if self.was is NOTHING else super().quick_test(name)

    def now(self) -> Any:
        return contents_of(self.of)


class Field(Watch):
    """A part of an object that is found without running code of the user's: a slot, the gradient of a Tensor."""

    __slots__ = ("get",)

    def __init__(self, of: Any, get: Callable[[Any], Any], said: str, was: Any) -> None:
        super().__init__(of, said, was)
        self.get = get

    def quick_test(self, name: Callable[[Any], str]) -> str:
        if self.was is NOTHING:
            return f"is_set({name(self.get)}, {name(self.of)})"
        return _is_other(f"{name(self.get)}({name(self.of)})", name(self.was))

    def now(self) -> Any:
        return field_of(self.get, self.of)


class Named(Watch):
    """An attribute that Python itself gives to functions, types and methods."""

    __slots__ = ("name",)

    def __init__(self, of: Any, name: str, said: str) -> None:
        super().__init__(of, said, getattr(of, name))
        self.name = name

    def quick_test(self, name: Callable[[Any], str]) -> str:
        return _is_other(f"{name(self.of)}.{self.name}", name(self.was))

    def now(self) -> Any:
        return getattr(self.of, self.name)


class Kind(Watch):
    """The class of an object."""

    __slots__ = ()
    test = "type({of}) is not {was}"

    def now(self) -> Any:
        return type(self.of)


class Keys(Watch):
    """Which names there are in the namespace of an object or a class; `matter` says which of them count.

    The namespace of an `owner` may be replaced as a whole.
    """

    __slots__ = ("every", "matter", "owner")

    def __init__(self, of: Any, said: str, matter: Callable[[str], bool], owner: Any = None) -> None:
        self.every, self.matter, self.owner = [*of], matter, owner
        super().__init__(of, said, frozenset(filter(matter, of)))

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, every = name(self.of), name(self.every)
        replaced = "" if self.owner is None else f"{name(self.owner)}.__dict__ is not {of} or "
        if len(self.every) < _MANY_NAMES:
            return f"{replaced}[*{of}] != {every}"
        return f"{replaced}len({of}) != len({every}) or next(reversed({of})) is not {every}[-1]"

    def now(self) -> Any:
        return frozenset(filter(self.matter, self.of))

    def change(self) -> str | None:
        if self.owner is not None and self.owner.__dict__ is not self.of:
            return f"the attributes of {self.said} are another dict now"
        now = self.now()
        if name := next(iter(sorted(now - self.was)), ""):
            return f"{self.said} has `{name}` now, and had not"
        name = next(iter(sorted(self.was - now)), "")
        return f"{self.said} had `{name}`, and has not now" if name else None

    def renew(self) -> None:
        self.every[:] = self.of


class Items(Watch):
    """The items of a list, a set, a deque, an array of objects, in order."""

    __slots__ = ("iterate",)

    def __init__(self, of: Any, said: str, iterate: Callable[[Any], Iterator[Any]]) -> None:
        super().__init__(of, said, [*iterate(of)])
        self.iterate = iterate

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, count = name(self.of), len(self.was)
        if type(self.of) is list and count <= _WRITTEN_OUT:
            tests = [_is_other(f"{of}[{i}]", name(x)) for i, x in enumerate(self.was)]
            return " or ".join([f"len({of}) != {count}", *tests])
        if type(self.of) not in (list, set):
            of = f"[*{name(self.iterate)}({of})]"
        return f"len({of}) != {count} or not all(map(is_, {of}, {name(self.was)}))"

    def now(self) -> Any:
        return [*self.iterate(self.of)]

    def change(self) -> str | None:
        now = self.now()
        if len(now) != len(self.was):
            return f"{self.said} has {len(now)} items now, and had {len(self.was)}"
        for i, (a, b) in enumerate(zip(now, self.was, strict=True)):
            if differs(a, b):
                return difference(f"item {i} of {self.said}", a, b)
        return None

    def renew(self) -> None:
        self.was[:] = self.now()


class Entries(Watch):
    """The keys and values of a dict, in order."""

    __slots__ = ("keys",)

    def __init__(self, of: Any, said: str) -> None:
        self.keys = [*_base(of).keys(of)]
        super().__init__(of, said, [*_base(of).values(of)])

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, keys = name(self.of), name(self.keys)
        if type(self.of) is dict and len(self.keys) <= _WRITTEN_OUT and all(type(key) is str for key in self.keys):
            tests = [_is_other(f"{of}[{key!r}]", name(x)) for key, x in zip(self.keys, self.was, strict=True)]
            return " or ".join([f"[*{of}] != {keys}", *tests])
        base = name(_base(self.of))
        return (
            f"len({of}) != {len(self.keys)} or not all(map(is_, {base}.keys({of}), {keys})) "
            f"or not all(map(is_, {base}.values({of}), {name(self.was)}))"
        )

    def now(self) -> Any:
        return [*_base(self.of).items(self.of)]

    def change(self) -> str | None:
        now = self.now()
        keys = [key for key, _ in now]
        if len(keys) != len(self.keys) or any(map(differs, keys, self.keys)):
            return f"{self.said} has other keys now"
        for (key, a), b in zip(now, self.was, strict=True):
            if differs(a, b):
                return difference(f"the item {shown(key)} of {self.said}", a, b)
        return None

    def renew(self) -> None:
        self.keys[:], self.was[:] = _base(self.of).keys(self.of), _base(self.of).values(self.of)


def _base(x: Any) -> Any:
    """The class whose methods show the items of a dict as they are: a user's own may do anything."""
    return next((kind for kind in type(x).__mro__ if kind.__module__ in ("collections", "builtins")), dict)


class Variable(Watch):
    """A `ContextVar` in the context of whoever looks."""

    __slots__ = ()
    test = "{of}.get(NOTHING) is not {was} and differs({of}.get(NOTHING), {was})"

    def __init__(self, of: Any, said: str) -> None:
        super().__init__(of, said, of.get(NOTHING))

    def now(self) -> Any:
        return self.of.get(NOTHING)


class ArrayForm(Watch):
    """The shape and dtype of an ndarray, which is read as it is then."""

    __slots__ = ()

    def __init__(self, of: Any, said: str) -> None:
        super().__init__(of, said, (of.shape, of.dtype))

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, (shape, dtype) = name(self.of), self.was
        return f"{of}.shape != {name(shape)} or {of}.dtype is not {name(dtype)}"

    def now(self) -> Any:
        return self.of.shape, self.of.dtype


class TensorForm(Watch):
    """All of a Tensor but its values: what it records, its shape and dtype."""

    __slots__ = ()

    def __init__(self, of: Any, said: str) -> None:
        super().__init__(of, said, None)
        self.was = self.now()

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, (requires_grad, shape, dtype) = name(self.of), self.was
        return (
            f"{of}._requires_grad is not {requires_grad} or {of}._array.dtype is not {name(dtype)} "
            f"or {of}._array.shape != {name(shape)}"
        )

    def now(self) -> Any:
        return self.of._requires_grad, self.of._array.shape, self.of._array.dtype

    def change(self) -> str | None:
        for what, now, was in zip(("requires_grad", "shape", "dtype"), self.now(), self.was, strict=True):
            if now != was:
                return f"{what} of {self.said} is {now} now, and was {was}"
        return None


class Contents(Watch):
    """The numbers in an ndarray, bit by bit; of a large one a fingerprint."""

    __slots__ = ()

    def __init__(self, of: Any, said: str) -> None:
        super().__init__(of, said, of.tobytes() if of.size <= FEW else Fingerprint(of))

    def quick_test(self, name: Callable[[Any], str]) -> str:
        of, was = name(self.of), name(self.was)
        return f"{of}.tobytes() != {was}" if type(self.was) is bytes else f"not {was}.fits({of})"

    def change(self) -> str | None:
        same = self.of.tobytes() == self.was if type(self.was) is bytes else self.was.fits(self.of)
        return None if same else f"{self.said} has been written into"


def _is_other(place: str, was: str) -> str:
    return f"{place} is not {was} and differs({place}, {was})"


def contents_of(cell: Any) -> Any:
    """The contents of a cell, `NOTHING` if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return NOTHING


def field_of(get: Callable[[Any], Any], x: Any) -> Any:
    """The part that `get` finds in `x`, `NOTHING` if it has not been set."""
    try:
        return get(x)
    except AttributeError:
        return NOTHING
