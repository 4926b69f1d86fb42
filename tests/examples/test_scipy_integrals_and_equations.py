"""examples/scipy_as_is: programs that integrate and solve differential equations, against what is known of them."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "scipy_as_is"
PROGRAMS = ("quad_parameters", "robertson", "stiff_fit")


@pytest.fixture(scope="module")
def runner():
    """The driver; afterwards neither it nor the programs are left among the modules."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("integrals_and_equations")
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if name == "integrals_and_equations" or name.partition(".")[0] == "programs":
            del sys.modules[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_knows_nothing_of_pullback_and_runs_by_itself(name, runner, capsys):
    tree = ast.parse((FOLDER / "programs" / f"{name}.py").read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {module.partition(".")[0] for module in imported} <= {"numpy", "scipy"}
    runner.program(name).main()
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("method", ["LSODA", "BDF"])
def test_sensitivities_are_those_that_sundials_prints(method, runner):
    found = runner.sensitivities(method)
    scale = np.abs(runner.SUNDIALS)
    wrong = np.abs(found - runner.SUNDIALS) / scale
    assert wrong.max() < 3e-3  # y2 by k1 changes its sign between the fourth time and the fifth
    assert np.median(wrong) < 2e-4  # of SUNDIALS's tolerance, 1e-4


@pytest.mark.slow
def test_methods_agree_better_than_sundials_does(runner):
    one, other = runner.sensitivities("LSODA"), runner.sensitivities("BDF")
    np.testing.assert_allclose(one, other, rtol=1e-3)
    assert np.median(np.abs(one / other - 1)) < 2e-5


@pytest.mark.parametrize(("case", "rel"), [
    ("robertson", 2e-3), ("robertson (half of it)", 1e-4),
    pytest.param("stiff_fit", 5e-3, marks=pytest.mark.slow), ("pendulum", 1e-9),
    ("light that is seen", 1e-7), ("light in all", 1e-8), ("plate", 1e-8),
])  # fmt: skip
def test_the_gradient_is_that_of_differences(case, rel, runner):
    _, slope, difference = runner.slopes(case)
    assert slope == pytest.approx(difference, rel=rel)  # differences of stiff solutions are noise from there on
    assert case in runner.CASES


def test_the_period_of_a_pendulum_is_an_elliptic_integral(runner):
    with pb.adopt():
        period = runner.program("quad_parameters").period
        first, second = pb.func.grad(period)(2.0, 1.0), pb.func.grad(pb.func.grad(period))(2.0, 1.0)
    m = np.sin(1.0) ** 2
    by_m = (ellipe(m) / (1 - m) - ellipk(m)) / (2 * m)
    assert first == pytest.approx(4 / np.sqrt(9.81) * by_m * np.sin(1) * np.cos(1), rel=1e-10)
    nearby = [(ellipe(q) / (1 - q) - ellipk(q)) / (2 * q) * np.sin(a) * np.cos(a)
              for a in (1 - 5e-5, 1 + 5e-5) for q in [np.sin(a) ** 2]]  # fmt: skip
    assert second == pytest.approx(4 / np.sqrt(9.81) * (nearby[1] - nearby[0]) / 2e-4, rel=1e-6)


def test_the_law_of_stefan_and_boltzmann(runner):
    with pb.adopt():
        slope = pb.func.grad(runner.program("quad_parameters").radiated_in_all)(300.0)
    assert slope == pytest.approx(4 * 5.670374419e-8 * 300.0**3, rel=1e-9)


@pytest.mark.slow
def test_the_stiff_fit_finds_the_rates_and_their_errors(runner):
    found, errors, runs = runner.fitted()
    stiff = runner.program("stiff_fit")
    assert np.all(np.abs(found - stiff.TRUE) < 2.5 * errors)
    assert runs < 16
    h = 2e-3  # large enough that the solver's noise is no part of the differences
    columns = []
    for e in np.eye(3):
        at = [stiff.residuals(found + s * h * e, 0.0) for s in (-2, -1, 1, 2)]
        columns.append((8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h))
    J = np.stack(columns, 1)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(J.T @ J))), rtol=1e-3)


@pytest.mark.slow
def test_what_is_printed_and_drawn(runner, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    runner.main(["robertson"])
    assert "by k3: -1.58" in capsys.readouterr().out
    runner.main(["--pictures", str(tmp_path)])
    for name in capsys.readouterr().out.split():
        assert Path(name).stat().st_size > 10_000
