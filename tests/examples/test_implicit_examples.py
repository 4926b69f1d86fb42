"""examples/implicit: each program does what it says, with gradients that are those of differences."""

from pathlib import Path

import numpy as np
import pytest

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "implicit"


def test_the_table_names_every_program():
    text = (FOLDER / "README.md").read_text()
    assert all(f"`{path.name}`" in text for path in FOLDER.glob("*.py") if "pictures" not in path.stem)


def test_a_deep_equilibrium_layer_learns_two_spirals(program, capsys):
    assert program("deep_equilibrium").main(iterations=90) > 0.95
    assert "right" in capsys.readouterr().out


def test_the_gradient_of_the_equilibrium_is_that_of_differences(program):
    module, rng = program("deep_equilibrium"), np.random.default_rng(3)
    x, y = module.spirals(n=10)
    shapes = {"U": (2, module.WIDTH), "W": (module.WIDTH, module.WIDTH), "b": (module.WIDTH,), "out": (module.WIDTH,)}
    p, d = ({name: rng.standard_normal(shape) for name, shape in shapes.items()} for _ in range(2))
    gradient = pb.func.grad(module.loss)(p, x, y)
    found = sum(np.sum(gradient[name] * d[name]) for name in p)
    h = 1e-4
    ahead, behind = (module.loss({name: p[name] + s * h * d[name] for name in p}, x, y) for s in (1, -1))
    assert found == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


@pytest.mark.slow
def test_the_rates_of_predators_and_prey_are_found(program, capsys):
    module = program("ode_fit")
    rates, errors = module.main()
    assert (np.abs(rates - module.RATES) < 3 * errors).all()
    assert (errors < 0.03 * rates).all()
    assert capsys.readouterr().out.count("true") == 4


@pytest.mark.slow
def test_penalties_are_chosen_by_their_gradient(program, capsys):
    module = program("hyperparameters")
    before, after, penalties = module.main()
    assert after < before - 0.05
    assert np.median(penalties[module.USEFUL :]) > penalties[: module.USEFUL].max() + 2
    assert "validation loss" in capsys.readouterr().out
