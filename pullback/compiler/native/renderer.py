"""The part that renderers share: the walk over a function's statements, and names in order of appearance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pullback.compiler.native.code import CALLS, Branch, Code, Loop, Return, Set, Statement, Store, Value, Variable


class Renderer(ABC):
    """Writes functions, one at a time.

    Attributes
    ----------
    lines : list of str
        Those of the function so far.
    names : dict of Value or Variable to str
        How what has appeared is called in the text.
    used : frozenset of Value or Variable
        Those that something depends on.
    """

    prefix = "v"  # of names

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Value | Variable, str] = {}
        self.used: frozenset[Value | Variable] = frozenset()

    def begin(self, code: Code) -> None:
        """Start on a function."""
        self.lines, self.names, self.used = [], {}, code.used()

    def name(self, x: Value | Variable) -> str:
        """How it is called in the text."""
        if (known := self.names.get(x)) is None:
            known = self.names[x] = f"{self.prefix}{len(self.names)}"
        return known

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)

    def body(self, body: Sequence[Statement]) -> None:
        """Write statements; values and variables that nobody needs are left out."""
        for x in body:
            if isinstance(x, Value):
                if x in self.used or x.op in CALLS:
                    self.value(x)
            elif isinstance(x, Variable):
                if x in self.used:
                    self.variable(x)
            elif isinstance(x, Set):
                if x.variable in self.used:
                    self.set(x)
            elif isinstance(x, Store):
                self.store(x)
            elif isinstance(x, Loop):
                self.loop(x)
            elif isinstance(x, Branch):
                self.branch(x)
            else:
                self.give(x)

    @abstractmethod
    def value(self, x: Value) -> None: ...

    @abstractmethod
    def variable(self, x: Variable) -> None: ...

    @abstractmethod
    def set(self, x: Set) -> None: ...

    @abstractmethod
    def store(self, x: Store) -> None: ...

    @abstractmethod
    def loop(self, x: Loop) -> None: ...

    @abstractmethod
    def branch(self, x: Branch) -> None: ...

    @abstractmethod
    def give(self, x: Return) -> None: ...
