"""examples/distributed: a fit over files is the fit over all data, in the memory of one file."""

from pathlib import Path

import numpy as np
import pytest

import pullback as pb

FOLDER = Path(__file__).parents[2] / "examples" / "distributed"


def test_the_table_names_every_program():
    text = (FOLDER / "README.md").read_text()
    assert all(f"`{path.name}`" in text for path in FOLDER.glob("*.py") if "pictures" not in path.stem)


def test_the_loss_over_files_is_that_of_all_data(program, tmp_path):
    module = program("larger_than_memory")
    paths = module.write(tmp_path, files=5, rows=40)
    np.save(tmp_path / "whole.npy", np.concatenate([np.load(path) for path in paths]))
    p = {"w": np.linspace(0.5, -0.5, module.COLUMNS), "log_scale": 0.3}
    value, gradient = pb.func.value_and_grad(module.loss_over(paths))(p)
    expected, whole = pb.func.value_and_grad(module.loss_over([tmp_path / "whole.npy"]))(p)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(gradient["w"], whole["w"], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(gradient["log_scale"], whole["log_scale"], rtol=1e-10)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is watched by /proc")
def test_the_fit_gets_better_and_stays_in_the_memory_of_a_few_files(program, capsys):
    found, size, taken = program("larger_than_memory").main(files=24, rows=10_000, steps=2)
    assert found.fun < 0.6 < np.log(2)
    assert taken < size / 2
    assert "24 files" in capsys.readouterr().out
