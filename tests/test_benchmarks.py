"""The benchmarks run, compare answers before times, and report what they measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from benchmarks import cases, contenders, report
from benchmarks.__main__ import choose
from benchmarks.case import Case, Goal, ProcessCase, Table
from benchmarks.cases import calls, compiled, gmm, operators, spatial
from benchmarks.runner import Result, run_python
from benchmarks.worker import arrays, check_answers

ROOT = Path(__file__).parents[1]
TABLES = [one for one in cases.ALL if isinstance(one, Table)]
SINGLE = [one for one in cases.ALL if isinstance(one, Case)]
CASE = Case("name", "title", {}, goals=[Goal(0.8), Goal(0.5, of="jax")])


def result(case: Case = CASE, **seconds: list[float]) -> Result:
    return Result(case, {"seconds": seconds})


def test_names_are_unique():
    names = [one.name for one in cases.ALL]
    lines = [case for table in TABLES for row in table.rows for case in row]
    names += [case.name for case in lines]
    assert len(set(names)) == len(names)
    assert all(cases.named(case.name) is case for case in lines + SINGLE)


def test_the_page_about_the_benchmarks_names_all_of_them():
    page = (ROOT / "docs/design/benchmarks.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:--only )?([\w.-]+)`", page))
    lacking = {one.name for one in cases.ALL if not one.name.startswith("fused-")} - named
    assert not lacking


def test_table_has_forty_operators_on_about_a_million_elements():
    assert len(operators.TABLE.rows) == len(operators.OPERATORS) == 40
    assert all(np.prod(operator.shapes[0]) in (10**6, 10**6 / 2) for operator in operators.OPERATORS)


def test_cases_are_chosen_by_parts_of_their_names():
    (table,) = choose(cases.ALL, ["op-gelu", "op-softplus"])
    assert [len(row) for row in table.rows] == [2, 2]
    assert choose(cases.ALL, ["operators"]) == [operators.TABLE]
    assert [one.name for one in choose(cases.ALL, ["mlp-large", "bytes-s"])] == [
        "mlp-large",
        "bytes-sum",
        "bytes-slice",
    ]
    assert choose(cases.ALL, []) == [
        one for one in cases.ALL if one not in (operators.TABLE, spatial.TABLE, compiled.TABLE)
    ]


def test_summary_of_a_table_gives_mean_and_worst():
    fast = result(Case("fast", "", {}), pullback=[1e-6], torch=[2e-6])
    slow = result(Case("slow", "", {}), pullback=[8e-6], torch=[1e-6])
    assert report.summary([fast, slow], 1.3) == (
        "geometric mean of 2 ratios: 2.00 (NOT met: <= 1.3)\nworst: slow 8.00; fast 0.50"
    )
    assert "NOT" not in report.summary([fast, fast], 1.3)
    assert report.summary([], 1.3) == "no ratios: PyTorch takes no part"


@pytest.mark.parametrize("case", [case for table in TABLES for row in table.rows for case in row], ids=lambda c: c.name)
def test_cases_of_the_tables_run(case):
    try:
        assert all(np.isfinite(part).all() for part in arrays(case.build["pullback"](pb)()))
    finally:
        pb.release()  # each has a process of its own when it is timed


@pytest.mark.parametrize("name", calls.CALLS)
def test_calls_do_what_numpy_does(name):
    case = cases.named(f"call-{name}")
    check_answers(case, {who: arrays(case.build[who](pb)()) for who in ("pullback", "numpy")})


@pytest.mark.parametrize("case", [one for one in SINGLE if "1e6" not in one.name], ids=lambda c: c.name)
def test_cases_run_again_and_again(case):
    """A second run gives what the first gave, but where it goes on training."""
    run = case.build["pullback"](pb)
    first, second = ([part.copy() for part in arrays(run())] for _ in range(2))
    assert all(np.isfinite(part).all() for part in first)
    assert all(np.max(np.abs(part)) > 1e-6 for part in first)  # or there is no size to which a difference compares
    if case.name.startswith("mlp"):
        assert second[0] < first[0]
    else:
        check_answers(case, {"first": first, "second": second})


@pytest.mark.parametrize("name", [one.name for one in SINGLE if "autograd" in one.build and "1e6" not in one.name])
def test_gradients_are_those_of_hips_autograd(name):
    hips = pytest.importorskip("autograd", reason="HIPS autograd, of the extra 'bench', is not installed")
    case = cases.named(name)
    check_answers(
        case, {"autograd": arrays(case.build["autograd"](hips)()), "pullback": arrays(case.build["pullback"](pb)())}
    )


def test_jax_stands_beside_pytorch_where_it_can():
    every = SINGLE + [case for table in TABLES if table is not spatial.TABLE for row in table.rows for case in row]
    lacking = {case.name for case in every if "torch" in case.build and "jax" not in case.build}
    recorded = {f"call-{name}-recorded" for name in calls.CALLS}  # it has no graph to build
    assert lacking == recorded | {"hessian50-functional", "array-writes"}


@pytest.mark.parametrize(
    "name", ["mlp-small", "gmm", "call-max", "call-split", "dual-where", "op-std-float32-backward"]
)
def test_answers_of_jax_agree(name):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    case = cases.named(name)
    check_answers(case, {who: arrays(case.build[who](lib)()) for who, lib in {"jax": jax, "pullback": pb}.items()})


def test_mixture_is_the_loop_over_points_and_components():
    """ADBench's formula written out, each component's L filled column by column."""
    (alphas, means, icf), (x, at) = gmm.data()
    expected = 0.0
    inner = np.empty((len(x), len(alphas)))
    for k in range(len(alphas)):
        factor = np.diag(np.exp(icf[k, : gmm.DIM]))
        factor.T[np.triu_indices(gmm.DIM, 1)] = icf[k, gmm.DIM :]
        transformed = (x - means[k]) @ factor.T
        inner[:, k] = alphas[k] + icf[k, : gmm.DIM].sum() - 0.5 * (transformed**2).sum(1)
        expected += 0.5 * gmm.WISHART_GAMMA**2 * (factor**2).sum()
    expected += np.logaddexp.reduce(inner, 1).sum() - len(x) * np.logaddexp.reduce(alphas) + gmm.constant()
    value = gmm.log_posterior(pb, *map(pb.from_numpy, (alphas, means, icf, x, at)))
    np.testing.assert_allclose(value.item(), expected, rtol=1e-12)


def test_ratio_is_taken_within_rounds():
    slow_minute = result(pullback=[1.0, 10.0, 1.0], torch=[2.0, 20.0, 2.0])
    assert slow_minute.against(Goal(0.8)) == 0.5
    assert slow_minute.against(Goal(1.0, above=True)) == -1.0
    assert slow_minute.against(Goal(1.0, of=None)) == 1.0
    assert slow_minute.against(Goal(1.0, of="jax")) is None


def test_table_says_whether_goals_are_met():
    measured = result(pullback=[3e-6], torch=[4e-6], jax=[4e-6], autograd=[6e-6])
    lines = report.lines(measured)
    assert lines[1].endswith("pullback / torch = 0.75 (met: <= 0.8)")
    assert lines[2].endswith("pullback / jax = 0.75 (NOT met: <= 0.5)")
    assert lines[3].endswith("pullback / autograd = 0.50")
    assert report.goals([measured]) == ("1 of 2 goals met\n  name: 3 us, pullback / jax = 0.75 (NOT met: <= 0.5)")


def test_goals_above_numpy_and_without_another():
    goals = [Goal(1e-6, of="numpy", above=True), Goal(7e-6, of=None), Goal(None, above=True)]
    measured = result(Case("name", "", {}, goals=goals), pullback=[3e-6], numpy=[1e-6], torch=[2e-6])
    ours, numpy, torch = report.lines(measured)
    assert ours.endswith("3 us  (met: <= 7 us)")
    assert numpy.endswith("2 us above numpy (NOT met: <= 1 us)")
    assert torch.endswith("1 us above torch")
    assert report.goals([measured]).startswith("1 of 2 goals met")


def test_different_answers_are_not_timed():
    with pytest.raises(AssertionError, match="part 0 of the answer of torch differs from that of pullback"):
        check_answers(CASE, {"pullback": [np.array([1.0, 1e9])], "torch": [np.array([1.0, 1.1e9])]})


def test_the_reference_is_the_fastest_of_the_ways_and_begins_anew():
    slow, quick = [], []

    def way(made, seconds):
        made.append(calls := [])
        return lambda: (calls.append(0), time.sleep(seconds))

    run = contenders.fastest(lambda _: way(slow, 2e-3), lambda _: way(quick, 0.0))(np)
    run()
    assert (len(slow), len(quick)) == (1, 2)
    assert len(quick[1]) == 1


def test_absent_libraries_have_no_version(monkeypatch):
    monkeypatch.setitem(contenders.MODULES, "torch", ("no_such_module", "no-such-distribution"))
    assert contenders.version("torch") is None


def test_package_is_measured_in_fresh_processes():
    names = "import-uncached", "generated"
    uncached, lines = (run_python([*case_named(name).command["pullback"], "cpu"]) for name in names)
    assert uncached["seconds"] > 0
    assert 1_000 < lines["lines"] <= 9_950
    files = (ROOT / "pullback/scipy/rules").glob("*/operators.py")
    scipy = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert scipy <= 2_250


def case_named(name: str) -> ProcessCase:
    return next(one for one in cases.ALL if one.name == name)


def test_command_measures_and_writes_json(tmp_path):
    """In a process of its own, since it pins itself to one processor."""
    path = tmp_path / "bench.json"
    options = ["--pinned", "--quick", "--only", "rosenbrock", "--json", str(path)]
    for absent in ("torch", "jax", "autograd"):
        options += ["--without", absent]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pullback / numpy = " in done.stdout
    rounds = json.loads(path.read_text())["cases"]["rosenbrock10"]["rounds"]["seconds"]
    assert set(rounds) == {"pullback", "numpy"}
    assert rounds["pullback"][0] > 0
