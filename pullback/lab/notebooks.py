"""The exercises as notebooks: what their cells call, and the text of a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pullback.lab.course import COURSE, Exercise
from pullback.lab.judge import Mistake

__all__ = ["check", "hint", "notebook"]

_asked: dict[int, int] = {}  # hints shown, by exercise, in this process


def check(number: int, names: Mapping[str, Any]) -> None:
    """Check the answer to an exercise, and print what is to be said of it.

    Parameters
    ----------
    number : int
        The exercise, from 1.
    names : mapping
        Where what you wrote is defined: `globals()` in a notebook.

    Raises
    ------
    ValueError
        There is no exercise of that number.
    """
    exercise = find(number)
    try:
        exercise.check(names)
    except Mistake as mistake:
        print(f"Exercise {number} is not right yet. {mistake}")
        return
    print(f"Exercise {number} is solved.")


def hint(number: int) -> None:
    """Print the next hint to an exercise; the last one is a solution."""
    hints = find(number).hints
    shown = min(_asked.get(number, 0), len(hints) - 1)
    _asked[number] = shown + 1
    print(f"Hint {shown + 1} of {len(hints)}: {hints[shown]}")


def find(number: int) -> Exercise:
    """The exercise of that number."""
    if not isinstance(number, int) or not 1 <= number <= len(COURSE):
        raise ValueError(f"there is no exercise {number!r}; there are 1 to {len(COURSE)}.")
    return COURSE[number - 1]


def notebook(exercise: Exercise) -> str:
    """The text of the notebook of one exercise, as its file has it."""
    n = exercise.number
    cells = [
        _markdown(f"# {n}. {exercise.title}\n\n{exercise.text}"),
        _code(exercise.template),
        _markdown("Run the cell above after each change, then this one. It says whether the answer is right."),
        _code(f"from pullback.lab import check, hint\n\ncheck({n}, globals())"),
        _markdown("Stuck? Each run of the next cell shows one more hint; the last one is a solution."),
        _code(f"# hint({n})"),
    ]
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.rstrip("\n").splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    source = text.rstrip("\n").splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
