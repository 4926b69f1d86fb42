"""Tangent functions are found by the names of their operators."""

from pullback.dispatch.operator import OPERATORS
from pullback.ops.generated import tangents
from pullback.ops.tangent_names import tangents_of
from pullback.scipy.rules.linalg import operators


def sin_tangent():
    """A function of the operator `sin`."""


def add_alpha_tangent():
    """A function of the overload `add.alpha`."""


like_cos_tangent = lambda: None  # noqa: E731 - what it is called elsewhere
strided_tangent = tangents.strided_tangent


def test_function_belongs_to_the_operator_after_which_its_module_names_it():
    found = {"a.sin": sin_tangent, "a.add.alpha": add_alpha_tangent}
    assert tangents_of(__name__, "add.alpha max.dim", "a.") == found


def test_every_tangent_is_that_of_an_operator():
    assert all(OPERATORS[name].node is not None for name in tangents.TANGENTS)
    assert operators.TANGENTS["scipy_linalg.sylvester"] is operators.sylvester_tangent
