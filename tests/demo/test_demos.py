"""The demos do what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pullback.__main__ import main
from pullback.demo import fit as fit_demo
from pullback.demo import least_squares
from pullback.demo.plots import with_error
from pullback.demo.summary import summary


@pytest.fixture(scope="module")
def found():
    return least_squares.fit(least_squares.load(), fit_demo.START)


def test_data_are_nist_s():
    """NIST's parameters give NIST's sum of squares, to every certified digit: so these are its 37 measurements."""
    data = least_squares.load()
    rest = data.y - least_squares.model(fit_demo.CERTIFIED, data.x)
    assert len(data.x) == 37
    assert f"{rest @ rest:.7f}" == f"{fit_demo.CERTIFIED_SUM:.7f}"


def test_fit_reaches_the_certified_values(found):
    np.testing.assert_allclose(found.parameters, fit_demo.CERTIFIED, rtol=1e-9)
    np.testing.assert_allclose(found.gauss_newton_errors, fit_demo.CERTIFIED_ERRORS, rtol=1e-7)
    assert found.sum_of_squares == pytest.approx(fit_demo.CERTIFIED_SUM, rel=1e-10)


def test_hessian_product_is_the_derivative_of_the_gradient():
    product = least_squares.hessian_product(lambda x: (x[0] ** 3 * x[1]) + x[1] ** 2)
    x, v = np.array([2.0, 3.0]), np.array([0.5, -1.0])
    hessian = np.array([[6 * x[0] * x[1], 3 * x[0] ** 2], [3 * x[0] ** 2, 2.0]])
    np.testing.assert_allclose(product(x, v), hessian @ v)


def test_fit_demo_writes_its_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="extra demo")
    assert fit_demo.main(tmp_path) == 0
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert "5642.70824" in capsys.readouterr().out


@pytest.mark.slow
def test_digits_demo_learns_and_writes_its_pictures(tmp_path, capsys):
    for module in ("matplotlib", "sklearn", "threadpoolctl", "tqdm"):
        pytest.importorskip(module, reason="extra demo")
    from pullback.demo import digits

    assert digits.main(tmp_path) == 0
    printed = capsys.readouterr().out
    assert float(printed.partition("Held-out accuracy: ")[2].partition("%")[0]) >= 97
    assert "gradcheck: all 17,226 entries" in printed
    assert (tmp_path / "training.png").read_bytes().startswith(b"\x89PNG")
    picture = (tmp_path / "graph.svg").read_text(encoding="utf-8")
    assert "weight 1" in picture
    assert "GeluBackward0" in picture


def test_a_demo_ends_with_what_it_made_and_where_to_look_next(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="extra demo")
    assert main(["demo", "fit", "-o", str(tmp_path)]) == 0
    made, _, following = capsys.readouterr().out.partition("Made:")[2].partition("Where to look next:")
    assert str(tmp_path / "fit.png") in made
    assert "graph.svg" not in made
    root = Path(__file__).parents[2]
    places = [line.split()[0] for line in following.strip().splitlines()]
    assert len(places) > 3
    assert all((root / place).exists() for place in places)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(1288.13968, 4.198, "1288.1 ± 4.2"), (583.24, 25.8, "583 ± 26"), (0.0497, 0.00593, "0.0497 ± 0.0059")],
)
def test_errors_decide_the_digits(value, error, text):
    assert with_error(value, error) == text


def test_without_its_extra_a_demo_ends_in_one_line_that_says_how_to_get_it(tmp_path):
    for name in ("digits", "fit"):
        program = (
            "import sys\n"
            "absent = ['matplotlib', 'matplotlib.figure', 'sklearn', 'sklearn.datasets', 'threadpoolctl', 'tqdm']\n"
            "sys.modules.update(dict.fromkeys(absent))\n"
            "from pullback.__main__ import main\n"
            f"sys.exit(main(['demo', {name!r}, '-o', {str(tmp_path)!r}]))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert "pip install 'pullback[demo]'" in done.stderr


def test_the_summary_lists_what_was_made_now_and_not_what_lay_there(tmp_path):
    for name in ("fit.png", "training.png", "graph.svg"):
        (tmp_path / name).write_bytes(b"12345678")
    assert "fit.png" in summary(tmp_path, ["fit"])
    assert "training.png" not in summary(tmp_path, ["fit"])
    assert "graph.svg" in summary(tmp_path, ["digits", "fit"])


def test_without_a_command_all_of_them_are_named(capsys):
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert all(command in shown for command in ("demo", "codegen", "check", "explain", "lab"))


def test_check_asks_for_a_function_alone(capsys):
    with pytest.raises(SystemExit):
        main(["check"])
    assert capsys.readouterr().err.endswith("the following arguments are required: function\n")
