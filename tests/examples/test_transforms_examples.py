"""examples/transforms: each program does what it says, with derivatives that are those of differences."""

from pathlib import Path

import numpy as np
import pytest

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "transforms"


def test_the_table_names_every_program():
    text = (FOLDER / "README.md").read_text()
    assert all(f"`{path.name}`" in text for path in FOLDER.glob("*.py") if "pictures" not in path.stem)


def test_wrong_labels_have_long_gradients(program):
    module = program("per_sample_gradients")
    assert module.main() > 0.8 * module.WRONG
    x, y = module.data()
    p = module.train(x, y, steps=3)
    one = pb.func.grad(module.loss)(p, x[7], y[7])
    alone = np.sqrt(sum(np.sum(g**2) for g in one.values()))
    assert module.norms(p, x, y)[7] == pytest.approx(alone, rel=1e-12)
    np.testing.assert_allclose(module.norms_by_tape(p, x, y), module.norms(p, x, y), rtol=1e-12)


def test_newton_goes_down_the_valley(program):
    x, steps = program("newton_cg").main(n=30)
    np.testing.assert_allclose(x, 1, atol=1e-9)
    assert steps < 150


def test_peaks_are_found(program):
    module = program("gauss_newton")
    p, steps = module.main()
    assert steps < 30
    for name, x in p.items():
        np.testing.assert_allclose(x, module.TRUE[name], atol=0.02)


def test_a_fit_is_compiled_and_drawn(program, tmp_path, capsys):
    module = program("compiled_fit")
    found, compiled = module.main(tmp_path / "program.dot")
    np.testing.assert_allclose(found.x, module.TRUE, atol=0.02)
    assert "run block by block" in capsys.readouterr().out
    assert "block by block" in (tmp_path / "program.dot").read_text()
    t, y = module.data(1000)
    _, slope = compiled(module.TRUE, t, y)
    np.testing.assert_allclose(slope, pb.func.grad(module.loss)(module.TRUE, t, y))


def test_ranks_find_what_one_finds(program):
    module = program("halo_exchange")
    found, truth, losses = module.main(ranks=3)
    assert losses[-1] < 1e-4 * losses[0]
    np.testing.assert_allclose(found, truth, atol=0.1 * truth.max())
    np.testing.assert_allclose(found, module.main(ranks=1)[0], atol=1e-10)


def test_evidence_is_that_of_integration(program):
    evidence, exact = program("laplace").main()
    assert evidence == pytest.approx(exact, abs=0.1)


def test_learning_to_learn(program):
    before, after = program("maml").main()
    assert after < 0.4 * before


def test_the_gradient_through_the_inner_step_is_that_of_differences(program):
    module, rng = program("maml"), np.random.default_rng(2)
    p, d = ({name: rng.standard_normal(24) for name in ("W", "b", "out")} for _ in range(2))
    batch = module.tasks(rng, 3)
    gradient = pb.func.grad(module.meta_loss)(p, batch)
    found = sum(np.sum(gradient[name] * d[name]) for name in p)
    h = 1e-5
    ahead, behind = (module.meta_loss({n: p[n] + s * h * d[n] for n in p}, batch) for s in (1, -1))
    assert found == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)


@pytest.mark.slow
def test_friction_of_the_boundary_layer(program):
    assert program("boundary_layer").main() == pytest.approx(0.33206, abs=5e-4)


def test_a_soap_film_of_ten_thousand_heights(program):
    module = program("soap_film")
    coloring, found = module.main()
    assert coloring.pattern.shape == (10_000, 10_000)
    assert coloring.passes <= 9
    assert found.optimality < 1e-6
    h, x = 1e-6, found.x
    v = np.random.default_rng(0).standard_normal(x.size)
    hessian = pb.func.sparse_hessian(module.area, sparsity=coloring)(x)
    slope = pb.func.grad(module.area)
    np.testing.assert_allclose(hessian @ v, (slope(x + h * v) - slope(x - h * v)) / (2 * h), atol=1e-6)
