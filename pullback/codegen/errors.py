"""DeclarationError, and the place that it points to.

DeclarationError(ValueError): a declaration of an operator or of its derivative is wrong. Everything that reads YAML in
this package raises this one class, whatever was wrong: the YAML itself, a schema, a formula, or how the two fit.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

_SHOWN = 120  # characters of an entry or a formula that an error quotes


class DeclarationError(ValueError):
    """A declaration is wrong; the message says where, what, and what to write instead.

    Parameters
    ----------
    file : str
    line : int, the first line is 1; 0 when the problem has no line
    entry : str, the entry's own text (its schema), or what stands for it; "" for the file as a whole
    problem, remedy : str, phrases without a full stop at their end

    Examples
    --------
    >>> print(DeclarationError("derivatives.yaml", 12, "sin(Tensor self) -> Tensor",
    ...     "formula names unknown argument 'slef'", "Write one of: self, grad, result"))
    derivatives.yaml:12, entry `sin(Tensor self) -> Tensor`: formula names unknown argument 'slef'. \
Write one of: self, grad, result.
    """

    def __init__(self, file: str, line: int, entry: str, problem: str, remedy: str) -> None:
        self.file, self.line, self.entry, self.problem, self.remedy = file, line, entry, problem, remedy
        place = f"{file}:{line}" if line else file
        if entry:
            place += f", entry `{shorten(entry)}`"
        super().__init__(f"{place}: {problem}. {remedy}.")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the fields: an exception is otherwise rebuilt from its message alone."""
        return type(self), (self.file, self.line, self.entry, self.problem, self.remedy), vars(self)


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file of declarations, which makes the errors about it."""

    file: str
    line: int = 0
    entry: str = ""

    def at(self, line: int) -> Where:
        """The same entry, another line of it."""
        return replace(self, line=line)

    def error(self, problem: str, remedy: str) -> DeclarationError:
        """The error to raise about this place."""
        return DeclarationError(self.file, self.line, self.entry, problem, remedy)


def shorten(text: str) -> str:
    """`text` on one line, its middle left out when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 40]} ... {line[-30:]}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` most resembles, if any resembles it at all."""
    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def suggest(word: str, known: Iterable[str], limit: int = 12) -> str:
    """A remedy for the unknown `word`: the nearest known one, and all of them when they are few."""
    words = list(known)
    near = nearest(word, words)
    question = f"Did you mean {near!r}?" if near is not None else ""
    if not words:
        return "None is allowed here"
    if len(words) > limit:
        return question or f"Write one of the {len(words)} known names, such as {words[0]!r}"
    return f"{question} Write one of: {', '.join(words)}".lstrip()
