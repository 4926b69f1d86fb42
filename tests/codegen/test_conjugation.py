"""The tangents of element-wise operators: conj(f(conj(t))), with the conjugations taken inwards."""

from types import SimpleNamespace

import numpy as np
import pytest

from pullback.codegen.conjugation import transposed
from pullback.codegen.errors import Where
from pullback.codegen.formula import parse_formula

OPS = SimpleNamespace(exp=np.exp, cos=np.cos, where=np.where, zeros_like=np.zeros_like)
CASES = {  # a formula for the cotangent: the tangent
    "grad": "t",
    "-grad": "-t",
    "grad * conj(cos(self))": "t * ops.cos(self_)",
    "grad / conj(2 * result)": "t / (2 * result)",
    "grad / (2 * conj(result))": "t / (2 * result)",
    "-0.5 * grad * conj(result * result)": "-0.5 * t * (result * result)",
    "grad * cos(self)": "t * ops.cos(self_).conjugate()",
    "grad * (3 * result * result)": "t * (3 * result * result).conjugate()",
    "grad * (pi / n)": "t * (pi / n)",
    "grad * (n * conj(result) + exp(self))": "t * (n * result + ops.exp(self_).conjugate())",
    "grad * 1j": "t * 1j.conjugate()",
    "conj(grad) * self": "t.conjugate() * self_.conjugate()",
    "where(n == 2, grad, 0)": "ops.where(n == 2, t, 0)",
    "slope(grad, self)": "slope(t.conjugate(), self_, ops=ops).conjugate()",
    "zeros_like(grad)": "ops.zeros_like(t.conjugate()).conjugate()",
    "grad * self ** 2": "t * (self_ ** 2).conjugate()",
}


def slope(grad, self, *, ops):
    return grad.real * ops.exp(self) + 1j * grad.imag


def parsed(text):
    operators = {*vars(OPS), "conj"}
    return parse_formula(text, {"grad", "self", "result", "n"}, operators, {"slope"}, Where("test"))


def rendered(formula, **names):
    return formula.render(lambda name, how: names.get(name) if how == "value" else None)


@pytest.mark.parametrize("formula", CASES)
def test_text(formula):
    found = rendered(transposed(parsed(formula), {"grad"}, {"n"}), grad="t", self="self_")
    assert found == CASES[formula]


@pytest.mark.parametrize("formula", CASES)
def test_it_is_the_conjugate_of_the_formula_for_the_conjugate(formula):
    t, self_, result = np.array([[1 + 2j, -0.5j], [0.3 - 1j, 2.0], [0.7 + 0.1j, -1 + 1j]])
    names = {"self_": self_, "result": result, "n": 2, "pi": np.pi, "slope": slope, "ops": OPS}
    expected = np.conj(eval(rendered(parsed(formula), self="self_"), names | {"grad": np.conj(t)}))
    found = eval(rendered(transposed(parsed(formula), {"grad"}, {"n"}), grad="t", self="self_"), names | {"t": t})
    np.testing.assert_array_equal(found, expected)
