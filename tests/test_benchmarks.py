"""The benchmarks run, compare answers before times, and report what they measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cases, contenders, report
from benchmarks.case import Case
from benchmarks.runner import Result, check_answers

ROOT = Path(__file__).parents[1]
CASE = Case("name", "title", {}, goals={"torch": 0.8, "jax": 0.5})


def test_names_are_unique():
    names = [case.name for case in cases.ALL]
    assert len(set(names)) == len(names)


def test_ratio_is_taken_within_rounds():
    slow_minute = Result(CASE, {"pullback": [1.0, 10.0, 1.0], "torch": [2.0, 20.0, 2.0]})
    assert slow_minute.ratio("torch") == 0.5


def test_table_says_whether_goals_are_met():
    text = report.table(Result(CASE, {"pullback": [3e-6], "torch": [4e-6], "jax": [4e-6], "autograd": [6e-6]}))
    assert "pullback / torch = 0.75 (met: <= 0.8)" in text
    assert "pullback / jax = 0.75 (NOT met: <= 0.5)" in text
    assert "pullback / autograd = 0.50\n" in text + "\n"


def test_different_answers_are_not_timed():
    with pytest.raises(AssertionError, match="part 0 of the answer of torch differs from that of pullback"):
        check_answers(CASE, {"pullback": [np.array(1.0)], "torch": [np.array(2.0)]})


def test_absent_libraries_have_no_version(monkeypatch):
    monkeypatch.setitem(contenders.MODULES, "torch", ("no_such_module", "no-such-distribution"))
    assert contenders.version("torch") is None


def test_command_measures_and_writes_json(tmp_path):
    """In a process of its own, since it pins itself to one processor."""
    path = tmp_path / "bench.json"
    options = ["--pinned", "--only", "rosenbrock", "--rounds", "1", "--generations", "1", "--json", str(path)]
    for absent in ("torch", "jax", "autograd", "mygrad"):
        options += ["--without", absent]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pullback / numpy = " in done.stdout
    measured = json.loads(path.read_text())["cases"]["rosenbrock10"]["contenders"]
    assert set(measured) == {"pullback", "numpy"}
    assert measured["pullback"]["median"] > 0
