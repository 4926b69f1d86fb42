"""The benchmarks run, compare answers before times, and report what they measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from benchmarks import cases, contenders, report
from benchmarks.__main__ import choose
from benchmarks.case import Case, Table
from benchmarks.cases import operators, spatial
from benchmarks.runner import Result, check_answers

ROOT = Path(__file__).parents[1]
TABLES = (operators.TABLE, spatial.TABLE)
CASE = Case("name", "title", {}, goals={"torch": 0.8, "jax": 0.5})


def test_names_are_unique():
    names = [case.name for case in cases.ALL]
    lines = [case for table in TABLES for pair in table.rows.values() for case in pair]
    names += [case.name for case in lines]
    assert len(set(names)) == len(names)
    assert all(cases.named(case.name) is case for case in lines)


def test_table_has_forty_lines_of_about_a_million_elements():
    assert len(operators.TABLE.rows) == len(operators.OPERATORS) == 40
    assert all(np.prod(operator.shapes[0]) in (10**6, 10**6 / 2) for operator in operators.OPERATORS)


def test_lines_of_a_table_are_chosen_by_their_labels():
    (table,) = choose(cases.ALL, ["gelu", "softplus"])
    assert list(table.rows) == ["gelu float32", "softplus float32"]
    assert choose(cases.ALL, ["operators"]) == [operators.TABLE]
    assert choose(cases.ALL, ["spatial"]) == [spatial.TABLE]
    assert choose(cases.ALL, []) == [case for case in cases.ALL if case is not spatial.TABLE]


def test_summary_of_a_table_gives_mean_and_worst():
    fast, slow = (Case(name, name, {}) for name in ("fast", "slow"))
    table = Table("table", "title", {"label": (fast, slow)}, goal=1.3)
    pair = [Result(fast, {"pullback": [1e-6], "torch": [2e-6]}), Result(slow, {"pullback": [8e-6], "torch": [1e-6]})]
    assert report.line("label", pair).split() == "label 1 us 2 us 0.50 8 us 1 us 8.00".split()
    assert report.summary(table, {"label": pair}) == (
        "geometric mean of 2 ratios: 2.00 (NOT met: <= 1.3)\nworst: slow 8.00; fast 0.50"
    )
    assert "NOT" not in report.summary(table, {"label": [pair[0], pair[0]]})
    assert "<=" not in report.summary(Table("table", "title", {"label": (fast, slow)}), {"label": pair})
    assert report.summary(table, {}) == "no ratios: PyTorch takes no part"


@pytest.mark.parametrize(("table", "label"), [(table, label) for table in TABLES for label in table.rows])
def test_operators_of_the_tables_run(table, label):
    forward, backward = table.rows[label]
    assert np.isfinite(forward.build["pullback"](pb)().numpy()).all()
    assert all(grad is not None for grad in backward.build["pullback"](pb)())


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
