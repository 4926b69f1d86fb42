"""The course: the exercises in their order.

An exercise is a module: its docstring is the title and the text, TEMPLATE what the learner begins with, HINTS the steps
of help, SOLUTION the answer that is shown last; check(answer) raises Mistake unless the answer is right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pullback.lab.judge import Answer, Mistake, refuse

__all__ = ["COURSE", "Exercise"]


@dataclasses.dataclass(frozen=True)
class Exercise:
    """One exercise, number 1 and up; its module is loaded when it is looked into."""

    number: int
    name: str

    @property
    def module(self) -> Any:
        """The module that holds it."""
        return import_module(f"pullback.lab.exercises.{self.name}")

    @property
    def title(self) -> str:
        """The first line of its text."""
        return str(self.module.__doc__).splitlines()[0].rstrip(".")

    @property
    def text(self) -> str:
        """Return what to read, without the title."""
        return str(self.module.__doc__).partition("\n")[2].strip("\n")

    @property
    def template(self) -> str:
        """Return what the learner begins with."""
        return str(self.module.TEMPLATE)

    @property
    def solution(self) -> str:
        """The answer."""
        return str(self.module.SOLUTION)

    @property
    def file(self) -> str:
        """The name of the learner's file."""
        return f"{self.number:02d}_{self.name}.py"

    @property
    def hints(self) -> tuple[str, ...]:
        """The steps of help; the last is the solution."""
        return (*self.module.HINTS, "This is a solution:\n\n" + self.solution)

    def check(self, names: Mapping[str, Any]) -> None:
        """Raise Mistake unless what is defined under these names solves it."""
        answer = Answer(names)
        try:
            self.module.check(answer)
        except Mistake:
            if name := answer.without_return(self.template):  # which explains whatever went wrong
                refuse(
                    name,
                    "no_return",
                    "it gives None: no return statement gives a result.",
                    "Write `return` before the result.",
                )
            raise


COURSE = tuple(
    Exercise(number, name)
    for number, name in enumerate(
        (
            "sine",
            "matrix_product",
            "sum_and_broadcast",
            "chain",
            "differences",
            "custom_function",
            "declared",
            "composite",
            "double_backward",
            "views_and_writes",
            "forward_mode",
            "batching",
            "attn_composite",
            "attn_function",
            "attn_declared",
            "attn_forward",
        ),
        start=1,
    )
)
