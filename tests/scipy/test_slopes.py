"""Nodes and tangents that are made of slopes: names, what is kept for which gradient, and errors."""

import re
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import NUMPY
from pullback.core.errors import BackwardTwiceError
from pullback.dispatch.operator import OPERATORS
from pullback.graph.slopes import Slopes
from pullback.ops.failed_formulas import tell
from pullback.scipy.rules.special import operators


def leaf(*values):
    return pb.tensor(values, requires_grad=True)


def test_node_has_the_names_of_its_declaration():
    node = operators.gammainc(leaf(1.0, 2.0), leaf(0.5, 1.5)).grad_fn
    assert node.name() == "GammaincBackward0"
    assert type(node).__doc__ == "gammainc(Tensor a, Tensor x) -> Tensor"
    assert type(node).__module__ == operators.__name__
    np.testing.assert_array_equal(node._saved_a.detach(), [1.0, 2.0])


def test_value_that_one_slope_takes_is_kept_for_that_slope_alone():
    y, a = pb.tensor([0.3, 0.4]), leaf(1.0, 2.0)
    assert operators.gammaincinv(a, y).grad_fn._saved_y is not None
    assert operators.gammaincinv(a.detach(), leaf(0.3, 0.4)).grad_fn._saved_y is None


def test_second_backward_is_refused():
    x = leaf(0.5, 1.5)
    total = operators.sici(x)[0].sum()
    total.backward()
    with pytest.raises(BackwardTwiceError, match="SiciBackward0"):
        total.backward()


def test_slope_that_nobody_has_derived_is_refused_where_its_gradient_is_asked_for():
    v, x = leaf(1.0), leaf(0.5)
    assert np.isfinite(pb.autograd.grad(operators.struve(v.detach(), x).sum(), x)[0]).all()
    with pytest.raises(NotImplementedError, match="with respect to 'v'") as caught:
        pb.autograd.grad(operators.struve(v, x).sum(), v)
    assert "In the formula" not in str(getattr(caught.value, "__notes__", ""))
    assert operators.UNDERIVED["scipy_special.struve"] == ((0, "v"),)


def test_slopes_in_different_numbers_of_outputs_and_whole_numbers():
    define = Slopes(__name__, "trial")
    cls = define("F", "f(Tensor x, int n) -> (Tensor u, Tensor v)", x=(lambda ops, x: x, lambda ops, n, u: n * u))
    assert cls.__slots__ == ("arg_n", "saved_u", "saved_x", "version_u", "version_x")
    assert cls.output_names == ("u", "v")
    assert define.tangents["trial.f"](2.0, 1.0, 3, 5.0, 7.0, ops=None) == (2.0, 15.0)
    assert define.tangents["trial.f"](2.0, None, 3, 5.0, 7.0, ops=None) == (None, None)
    assert define.tangents["trial.f"].takes == {"u"}


@pytest.mark.parametrize("mode", ["gradient", "tangent"])
def test_slope_that_fails_is_told_with_its_place_in_the_declarations(monkeypatch, mode):
    def planted(*args):
        raise ValueError("planted")

    a, x = leaf(1.0, 2.0), leaf(0.5, 1.5)
    if mode == "gradient":
        monkeypatch.setattr(NUMPY.scipy_special, "gammainc_derivative", planted)
        call = operators.gammainc(a, x).sum().backward
        words = r"gradient of 'a' \(declarations.yaml:\d+\): `grad \* conj\(gammainc_derivative\(a, x, 1\)\)`"
    else:
        ops = type("Ops", (), {"scipy_special": type("Special", (), {"gammainc_derivative": staticmethod(planted)})})
        tangent = operators.TANGENTS["scipy_special.gammainc"]
        words = r"tangent of 'result' \(declarations.yaml:\d+\): `a_t \* .*a_p: float64\(2,\)"

        def call():
            try:
                tangent(np.ones(2), np.ones(2), np.ones(2), None, np.ones(2), ops=ops)
            except ValueError as error:
                tell(error)
                raise

    with pytest.raises(ValueError, match="planted") as caught:
        call()
    assert re.search(words, "\n".join(caught.value.__notes__))


def test_function_made_of_slopes_has_its_declaration_as_documentation():
    assert operators.gammainc.__doc__ == "gammainc(Tensor a, Tensor x) -> Tensor"
    assert OPERATORS["scipy_special.gammainc"].signature == operators.gammainc.__doc__


def test_what_all_rows_of_a_module_share_is_said_once():
    text = Path(operators.__file__).read_text(encoding="utf-8")
    assert text.count('forms="function"') == text.count('tags="floating pointwise"') == 1
    assert {"floating", "pointwise"} <= OPERATORS["scipy_special.gammainc"].tags
