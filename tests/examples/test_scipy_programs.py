"""examples/scipy_as_is: programs written for SciPy, their gradients against differences and published figures."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "scipy_as_is"
PROGRAMS = sorted(path.stem for path in (FOLDER / "programs").glob("*.py"))
CASES = [
    node.name.removeprefix("_")
    for node in ast.parse((FOLDER / "run.py").read_text()).body
    if isinstance(node, ast.FunctionDef) and node.decorator_list
]
PICTURES = [
    node.name
    for file in ("pictures.py", "model_pictures.py")
    for node in ast.parse((FOLDER / file).read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name not in ("draw", "align", "_images")
]


@pytest.fixture(scope="module")
def run():
    """The driver; afterwards neither it nor the programs are left among the modules."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("run")
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(FOLDER)) or name == "programs":
            del sys.modules[name]


def test_there_are_enough():
    assert len(PROGRAMS) >= 15
    assert {name for program in PROGRAMS for name in CASES if name.startswith(program)} == set(CASES)
    elsewhere = (FOLDER / "integrals_and_equations.py").read_text()
    assert all(any(name.startswith(program) for name in CASES) or program in elsewhere for program in PROGRAMS)
    readme = (FOLDER / "README.md").read_text()
    assert all(f"`programs/{name}.py`" in readme for name in PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_knows_nothing_of_pullback_and_runs_by_itself(name, run, capsys):
    tree = ast.parse((FOLDER / "programs" / f"{name}.py").read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {module.partition(".")[0] for module in imported} <= {"numpy", "scipy"}
    run.program(name).main()
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_that_of_differences(name, run):
    _, slope, difference, _, _ = run.slopes(name)
    assert slope == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("mbb_beam", "lens_design")])
def test_the_tangent_is_the_gradients_slope(name, run):
    f, x = run.CASES[name]()
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    with pb.adopt():
        _, tangent = pb.func.jvp(f, (x,), (direction,))
        gradient = pb.func.grad(f)(x)
    assert float(tangent) == pytest.approx(np.sum(gradient * direction), rel=1e-7)


@pytest.mark.slow
def test_the_beam_by_our_gradient_is_the_published_one(run):
    beam = run.program("mbb_beam")
    x = 0.5 + 0.1 * np.sin(np.arange(1200.0).reshape(20, 60))
    with pb.adopt():
        gradient, by_hand = pb.func.grad(beam.compliance)(x), beam.by_hand(x)
    np.testing.assert_allclose(gradient, by_hand, rtol=0, atol=1e-10 * np.abs(by_hand).max())
    compliance, steps = run.stiffest_beam()
    assert f"{compliance:.2f}" == "216.81"
    assert steps < 200


def test_survival_has_the_published_estimates_and_standard_errors(run):
    """As R prints for the data `gehan`: survreg in Venables and Ripley, MASS, section 13.2; coxph, ties by Breslow."""
    survival = run.program("survival")
    with pb.adopt():
        found = pb.optimize.minimize(survival.weibull, np.array([2.0, 0.0, 0.0]), tol=1e-9, stderr=True)
        cox = pb.optimize.minimize(lambda b: survival.cox(b[0]), np.zeros(1), tol=1e-9, stderr=True)
    np.testing.assert_allclose(found.x, [2.248, 1.267, -0.312], atol=6e-4)
    np.testing.assert_allclose(found.stderr, [0.166, 0.311, 0.147], atol=6e-4)
    np.testing.assert_allclose([*cox.x, *cox.stderr], [-1.509, 0.410], atol=6e-4)


def test_bundle_adjustment_takes_the_sparse_jacobian_that_its_author_described(run):
    module = run.program("bundle_adjustment")
    seen, camera, point, start, _ = module.problem()
    data = (module.CAMERAS, module.POINTS, camera, point, seen)
    with pb.adopt():
        found = pb.optimize.least_squares(module.fun, start, args=data, x_scale="jac", ftol=1e-6, sparse=True)
        jacobian = pb.func.sparse_jacobian(module.fun)(start, *data)
    assert "sparse" in found.derivatives["jac"]
    assert np.sqrt(np.mean(found.fun**2)) < 0.16  # the noise is 0.2 pixels, and 174 parameters are fitted
    declared = module.sparsity(module.CAMERAS, module.POINTS, camera, point).toarray() != 0
    assert not np.any((jacobian.toarray() != 0) & ~declared)


def test_a_registration_finds_the_map(run):
    module = run.program("registration")
    importlib.import_module("pictures")
    with pb.adopt():
        found = sys.modules["pictures"].align()
    np.testing.assert_allclose(found.x, module.TRUE, atol=0.02)


def test_free_knots_are_those_of_the_fit_by_differences_in_a_fifth_of_the_evaluations(run):
    module = run.program("titanium_spline")
    with pb.adopt():
        knots, squares, evaluations = module.fit(pb.func.grad(module.sum_of_squares))
    expected, least, many = module.fit()
    np.testing.assert_allclose(knots, expected, atol=0.02)
    assert squares <= least * (1 + 1e-9)
    assert evaluations < many / 5


def test_branches_and_rate_of_the_most_likely_tree(run):
    module = run.program("phylogeny")
    with pb.adopt():
        bounds = [(-8.0, 5.0)] * 9
        found = pb.optimize.minimize(
            lambda t: -module.log_likelihood(t), module.START, method="L-BFGS-B", bounds=bounds
        )
        slopes = pb.func.grad(module.log_likelihood)(found.x)
    free = (found.x > -7.9) & (found.x < 4.9)
    assert found.fun < -module.log_likelihood(module.START) - 5
    assert free.sum() >= 5
    np.testing.assert_allclose(slopes[free], 0, atol=2e-3)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture(name, run, tmp_path):
    pytest.importorskip("matplotlib", reason="extra demo")
    pictures = importlib.import_module("pictures")
    from pullback.demo.plots import save

    drawn = {picture.__name__: picture for picture in pictures.PICTURES}
    with pb.adopt():
        path = save(drawn[name](), tmp_path / "picture.png")
    assert path.stat().st_size > 5000


def test_the_driver(run, capsys, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="extra demo")
    pictures = importlib.import_module("pictures")
    monkeypatch.setattr(pictures, "PICTURES", (pictures.observations,))
    monkeypatch.setattr(sys, "argv", ["run.py", "--pictures", str(tmp_path)])
    run.main()
    assert capsys.readouterr().out.split() == [str(tmp_path / "observations.png")]
    monkeypatch.setattr(run, "CASES", {"regulator": run.CASES["regulator"]})
    monkeypatch.setattr(sys, "argv", ["run.py"])
    run.main()
    assert capsys.readouterr().out.splitlines()[1].startswith("regulator")
