"""The notebooks say what the exercises say, and run."""

import json
import os
import runpy
import sys
from pathlib import Path

import pytest

from pullback.lab import check, hint
from pullback.lab.course import COURSE
from pullback.lab.notebooks import notebook

ROOT = Path(__file__).parents[2]
LONG = os.environ.get("PULLBACK_LONG") == "1"


def test_they_are_what_the_tool_writes(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["notebooks.py", "--check"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(ROOT / "tools" / "notebooks.py"), run_name="__main__")
    assert stopped.value.code == 0, capsys.readouterr().err


@pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)
def test_cells_run(exercise, capsys):
    """In plain Python, as a kernel runs them: the template is refused in words, the solution is accepted."""
    cells = ["".join(c["source"]) for c in json.loads(notebook(exercise))["cells"] if c["cell_type"] == "code"]
    names = {"__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), names)
    assert f"Exercise {exercise.number} is not right yet." in capsys.readouterr().out
    exec(compile(exercise.solution, "<cell>", "exec"), names)
    exec(compile(cells[1], "<cell>", "exec"), names)
    assert f"Exercise {exercise.number} is solved" in capsys.readouterr().out


@pytest.mark.parametrize("exercise", COURSE, ids=lambda e: e.name)
@pytest.mark.skipif(not LONG, reason="a kernel takes seconds to start: PULLBACK_LONG=1")
def test_a_kernel_runs_them(exercise):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    book = nbformat.reads(notebook(exercise), as_version=4)
    nbformat.validate(book)
    code = [c for c in book.cells if c.cell_type == "code"]
    code[0].source = exercise.solution
    nbclient.NotebookClient(book, timeout=60, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert f"Exercise {exercise.number} is solved" in code[1].outputs[0]["text"]


def test_hints_and_wrong_numbers(capsys):
    for _ in range(len(COURSE[1].hints)):
        hint(2)
    assert capsys.readouterr().out.endswith(COURSE[1].solution + "\n")
    with pytest.raises(ValueError, match="1 to 16"):
        check(17, {})
