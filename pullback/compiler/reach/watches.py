"""All watches of a function, and one quick test for them.

Each watch says in Python how a change is noticed quickly, and of that one function is made for all of them. Where it
finds something else, every place is compared exactly: by value where a value cannot change, else by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from pullback.compiler.reach.places import Contents, Watch, contents_of, field_of
from pullback.compiler.reach.values import differs
from pullback.core.tensor import ndarray
from pullback.graph.held_records import NOTHING


class Watches:
    """All watches of a function, and one quick test for them.

    Attributes
    ----------
    stale : callable
        Tells whether anything has changed. It is made anew when watches are added: ask for it at each call.
    """

    def __init__(self) -> None:
        self.all: list[Watch] = []
        self._known: set[Any] = set()
        self._contents: list[Watch] = []
        self._watched: list[tuple[ndarray, str]] = []
        self.reads_contents = False
        self.stale: Callable[[], bool] = self._make

    def __len__(self) -> int:
        return len(self.all)

    def knows(self, *place: Any) -> bool:
        """True if there is a watch on this place; from now on there is."""
        if place in self._known:
            return True
        self._known.add(place)
        return False

    def add(self, watch: Watch) -> None:
        """Add a watch."""
        self.all.append(watch)
        self.stale = self._make

    def add_contents(self, x: ndarray, said: str) -> None:
        """Watch the contents of an array too, while those of arrays are watched."""
        self._watched.append((x, said))

    def arrays(self, contents: bool) -> None:
        """Watch the contents of the arrays too, as they are now, or no longer."""
        if contents is self.reads_contents and len(self._contents) == len(self._watched):
            return
        if not (contents and self.reads_contents):
            self._contents.clear()
        if contents:
            self._contents += [Contents(*found) for found in self._watched[len(self._contents) :]]
        self.reads_contents = contents
        self.stale = self._make

    def changed(self) -> str | None:
        """The first change since the watches were recorded; None if everything is as it was."""
        return next(filter(None, (watch.change() for watch in self.active)), None)

    @property
    def active(self) -> list[Watch]:
        """Those that are looked at now."""
        return [*self.all, *self._contents] if self.reads_contents else self.all

    def _look(self) -> bool:
        """True if something has changed indeed, where the quick test found something else."""
        try:
            if self.changed() is not None:
                return True
            for watch in self.active:
                watch.renew()
        except RuntimeError:  # another thread writes meanwhile
            return True
        return False

    @property
    def source(self) -> str:
        """The quick test as it is written, for those who want to see it."""
        return self._written()[0]

    def _written(self) -> tuple[str, dict[str, Any]]:
        operands: dict[int, str] = {}
        scope: dict[str, Any] = {}

        def name(x: Any) -> str:
            if x is None:
                return "None"
            if id(x) not in operands:
                kind = type(x).__name__.lower()
                operands[id(x)] = f"{kind if kind.isidentifier() else 'x'}_{len(operands)}"
                scope[operands[id(x)]] = x
            return operands[id(x)]

        tests = [(watch.quick_test(name), watch.said) for watch in self.active]
        lines = [
            f"            {'or ' if i else ''}{test}  # {said if said.isprintable() else ascii(said)}"
            for i, (test, said) in enumerate(tests)
        ]
        text = "\n".join(
            [
                f"def stale({', '.join(f'{x}={x}' for x in (*scope, *_HELPERS))}):",
                "    try:",
                "        return (",
                *(lines or ["            False"]),
                "        ) and look()",
                "    except Exception:  # what was there is gone",
                "        return look()",
            ]
        )
        return text, scope

    def _make(self) -> bool:
        """Write the quick test, and run it from now on."""
        text, scope = self._written()
        scope |= _HELPERS | {"look": self._look}
        exec(compile(text, "<watches>", "exec"), scope)  # noqa: S102 - of our own writing
        self.stale = scope["stale"]
        return self.stale()


_HELPERS = {
    "differs": differs,
    "is_": is_,
    "NOTHING": NOTHING,
    "is_filled": lambda cell: contents_of(cell) is not NOTHING,
    "is_set": lambda get, x: field_of(get, x) is not NOTHING,
}
