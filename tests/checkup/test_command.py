"""`python -m pullback check`: functions by name, arguments from text, the exit status."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.__main__ import main

MODEL = """
import numpy as np

def smooth(x, scale=1.0):
    return np.sum(np.sin(x)) * scale

def kink(x):
    return np.sum(np.abs(x))

def pair(p):
    return np.sum(p["a"] ** 2) * p["b"]
"""


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "a_model_to_check.py"
    file.write_text(MODEL, encoding="utf-8")
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    return file


@pytest.mark.parametrize(
    ("function", "args", "status", "said"),
    [
        ("smooth", ["[1.0, 2]"], 0, "smooth(x: float64(2,)): nothing wrong"),
        ("smooth", ["3x2", "2.5"], 0, "smooth(x: float64(3, 2), scale: 2.5): nothing wrong"),
        ("smooth", ["3x"], 0, "float64(3,)"),
        ("kink", ["[0, 1]"], 1, "WRONG"),
        ("pair", ["{'a': [1, 2], 'b': 2.0}"], 0, "nothing wrong"),
    ],
)
def test_a_report_is_printed(model, capsys, function, args, status, said):
    assert main(["check", f"{model}:{function}", *args]) == status
    assert said in capsys.readouterr().out


def test_an_array_comes_from_a_file(model, capsys):
    assert main(["check", f"{model}:smooth", str(model.with_name("x.npy"))]) == 0
    assert "float64(2,)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        ("nothing", ["1.0"], "no attribute 'nothing'"),
        ("smooth", ["1"], "no argument has floating-point numbers"),
        ("smooth", ["3"], "The argument 3x is an array of that length"),
        ("smooth", ["x y"], "is not a literal"),
        ("smooth", ["there_is_none.npy"], "there_is_none.npy"),
    ],
)
def test_what_cannot_be_begun(model, capsys, function, args, said):
    assert main(["check", f"{model}:{function}", *args]) == 2
    assert said in capsys.readouterr().err


def test_the_form_of_the_name(capsys):
    assert main(["check", "smooth", "1.0"]) == 2
    assert "module:function" in capsys.readouterr().err
    assert main(["check", "json:dumps", "1.0"]) == 1  # a function that returns text
