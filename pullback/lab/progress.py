"""Keeps what a learner has solved, and how many hints were shown: a JSON file beside the learner's files."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["Progress"]


class Progress:
    """Read from its file; each change is written at once."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "progress.json"
        self.solved: set[int] = set()
        self.hints: dict[int, int] = {}
        if self.file.exists():
            self._read()

    def _read(self) -> None:
        try:
            kept = json.loads(self.file.read_text(encoding="utf-8"))
            self.solved = {int(n) for n in kept["solved"]}
            self.hints = {int(n): int(count) for n, count in kept["hints"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.file} is not as the lab writes it ({error}). Mend it, or begin anew: "
                "python -m pullback lab --reset"
            ) from error

    def solve(self, number: int) -> None:
        """Note that an exercise is solved."""
        self.solved.add(number)
        self._write()

    def count_hint(self, number: int, most: int) -> int:
        """Which hint is next, from 1; the last one stays."""
        self.hints[number] = min(self.hints.get(number, 0) + 1, most)
        self._write()
        return self.hints[number]

    def forget(self, numbers: set[int]) -> None:
        """Forget these exercises."""
        self.solved -= numbers
        self.hints = {n: count for n, count in self.hints.items() if n not in numbers}
        self._write()

    def _write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        kept = {"solved": sorted(self.solved), "hints": {str(n): c for n, c in sorted(self.hints.items())}}
        self.file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
