"""examples/numpy_as_is: programs written for NumPy, their gradients against finite differences."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "numpy_as_is"


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


@pytest.fixture(autouse=True)
def numpy_state():
    """Programs seed NumPy's global generator and set how arrays print: later tests find both as they were."""
    state = np.random.get_state()  # noqa: NPY002
    with np.printoptions():
        yield
    np.random.set_state(state)  # noqa: NPY002


SOURCES = sorted((FOLDER / "programs").glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_program_knows_nothing_of_pullback_and_runs_by_itself(source, run, capsys):
    tree = ast.parse(source.read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in imported} <= {"numpy", "scipy", "math"}
    importlib.import_module(f"programs.{source.stem}").main()
    assert capsys.readouterr().out
    assert source.stem in {program.module for program in run.PROGRAMS}


@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
@pytest.mark.parametrize("number", range(27))
def test_the_gradient_of_a_program_is_that_of_differences(number, run):
    program = run.PROGRAMS[number]
    with pb.adopt():
        value, gradient = program.gradient()
    assert float(value) == pytest.approx(float(program.load()(*program.arguments)), rel=1e-12)
    expected = run.differences(program)
    assert np.abs(expected).max() > 1e-6  # something to be found
    np.testing.assert_allclose(run.flat(gradient), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
@pytest.mark.parametrize("number", range(27))
def test_the_tangent_of_a_program_is_that_of_its_gradient(number, run):
    program = run.PROGRAMS[number]
    direction = np.random.default_rng(0).standard_normal(run.flat(program.arguments).size)
    with pb.adopt():
        _, gradient = program.gradient()
        value, tangent = pb.func.jvp(
            program.load(), program.arguments, run.rebuilt(program.arguments, [*direction[::-1]])
        )
    expected = direction @ run.flat(gradient)
    assert float(value) == pytest.approx(float(program.load()(*program.arguments)), rel=1e-12)
    assert float(tangent) == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(run.flat(gradient)).max())


LONG = 3  # crank_nicolson: twice as long as all others together


@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
@pytest.mark.parametrize("number", [number for number in range(27) if number != LONG])
def test_reverse_over_forward_gives_what_forward_over_reverse_does(number, run):
    program = run.PROGRAMS[number]
    direction = np.random.default_rng(0).standard_normal(run.flat(program.arguments).size)
    tangents = run.rebuilt(program.arguments, [*direction[::-1]])
    everything = tuple(range(len(program.arguments)))
    with pb.adopt():
        gradient = pb.func.grad(lambda *args: pb.func.jvp(program.load(), args, tangents)[1], everything)
        pulled = gradient(*program.arguments)
        _, pushed = pb.func.jvp(pb.func.grad(program.load(), everything), program.arguments, tangents)
    expected = run.flat(pushed)
    np.testing.assert_allclose(run.flat(pulled), expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
def test_the_gamma_of_an_option_is_the_second_derivative(run):
    program = next(program for program in run.PROGRAMS if program.function == "call_price")
    spot, *others = program.arguments
    delta = pb.func.grad(program.load())
    with pb.adopt():
        gamma = pb.func.grad(delta)(spot, *others)
        step = 1e-4
        expected = (delta(spot + step, *others) - delta(spot - step, *others)) / (2 * step)
    assert float(gamma) == pytest.approx(float(expected), rel=1e-6)


def test_every_program_is_tried(run):
    assert len(run.PROGRAMS) == 27


FITTED = {"plate", "put", "shots", "waves"}  # take three quarters of the time; building the site draws them too


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
def test_the_table_and_the_pictures(run, capsys, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="extra demo")
    pictures = importlib.import_module("pictures")
    assert len(pictures.PICTURES) == 26
    quick = [picture for picture in pictures.PICTURES if picture.__name__ not in FITTED]
    monkeypatch.setattr(pictures, "PICTURES", quick)
    monkeypatch.setattr(sys, "argv", ["run.py", "kepler", "--pictures", str(tmp_path)])
    with pb.adopt():
        run.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("kepler.chi_squared")
    assert float(lines[1].split()[3]) < 1e-7
    assert len(list(tmp_path.glob("*.png"))) == len(lines) - 2 == len(quick) == 22
