"""`python -m pullback export`."""

import pytest

from pullback.__main__ import main

SOURCE = """
import numpy as np

def model(x, power=2):
    return np.sum(np.sin(x) ** power)

def chosen(x):
    return x if x.sum() > 0 else -x
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exported_model.py").write_text(SOURCE)
    return "exported_model.py"


def test_it_writes_two_files(module, tmp_path, capsys):
    assert main(["export", f"{module}:model", "--args", "3x4", "2", "--value-and-grad"]) == 0
    assert capsys.readouterr().out.split() == ["model.c", "model.h"]
    text = (tmp_path / "model.h").read_text()
    assert "int model(const double *x, double *out_0, double *out_1, void *workspace);" in text
    assert "power = 2" in text


def test_a_path_and_vectors(module, tmp_path):
    given = ["--args", "[-1.0, 2.0]", "--grad", "-o", "slope", "--vector-bytes", "32"]
    assert main(["export", f"{module}:model", *given]) == 0
    assert "int slope(const double *x, double *out, void *workspace);" in (tmp_path / "slope.h").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["model"], "give the arguments"),
        (["chosen", "--args", "3x"], "found"),
        (["none", "--args", "3x"], "no attribute"),
    ],
)
def test_errors_are_one_text(module, capsys, args, said):
    assert main(["export", f"{module}:{args[0]}", *args[1:]]) == 1
    assert said in capsys.readouterr().err
