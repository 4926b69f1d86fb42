"""Tangent formulas without the terms of tangents that are not there."""

import pytest

from pullback.codegen.errors import Where
from pullback.codegen.formula import parse_formula
from pullback.codegen.tangent_terms import groups, term_of

NAMES = ["a_t", "b_t", "c_t"]
OPERATORS = {"where", "scatter", "exp", "zeros_like", "conj"}
HELPERS = {"scaled", "both"}


def parsed(text):
    names = {*NAMES, "a_p", "b_p", "mode", "result"}
    return parse_formula(text, names, OPERATORS, HELPERS, Where("test"))


def text(formula):
    return None if formula is None else formula.render(lambda name, how: None)


@pytest.mark.parametrize(
    ("formula", "of_a", "of_b"),
    [
        ("a_t * b_p + b_t * a_p", "a_t * b_p", "b_t * a_p"),
        ("(a_t - b_t * result) / b_p", "a_t / b_p", "-(b_t * result) / b_p"),
        ("a_t - b_t", "a_t", "-b_t"),
        ("-(a_t + b_t)", "-a_t", "-b_t"),
        ("scaled(a_t * b_p + b_t, 2)", "scaled(a_t * b_p, 2, ops=ops)", "scaled(b_t, 2, ops=ops)"),
        ("where(a_p < b_p, b_t, a_t)", "ops.where(a_p < b_p, 0, a_t)", "ops.where(a_p < b_p, b_t, 0)"),
        (
            "where(a_p < b_p, b_t, where(a_p > b_p, a_t, (a_t + b_t) / 2))",
            "ops.where(a_p < b_p, 0, ops.where(a_p > b_p, a_t, a_t / 2))",
            "ops.where(a_p < b_p, b_t, ops.where(a_p > b_p, 0, b_t / 2))",
        ),
        ("a_t if mode is None else zeros_like(result)", "a_t if mode is None else ops.zeros_like(result)", None),
        ("where(a_p < 0, a_t, 0) + b_t", "ops.where(a_p < 0, a_t, 0)", "b_t"),
        ("a_t * exp(b_p)", "a_t * ops.exp(b_p)", None),
    ],
)
def test_the_term_of_one_tangent(formula, of_a, of_b):
    formula = parsed(formula)
    assert text(term_of(formula, {"a_t"}, NAMES)) == of_a
    assert text(term_of(formula, {"b_t"}, NAMES)) == of_b
    assert text(formula) == text(parsed(formula.text))  # it is as it was


@pytest.mark.parametrize(
    ("formula", "together"),
    [
        ("a_t * b_p + b_t", [{"a_t"}, {"b_t"}]),
        ("both(a_t, b_t) + c_t", [{"a_t", "b_t"}, {"c_t"}]),
        ("c_t + scatter(b_t, 0, mode, a_t)", [{"a_t", "b_t"}, {"c_t"}]),
        ("both((a_t, b_t), c_t)", [{"a_t", "b_t", "c_t"}]),
        ("a_t * b_t.ndim", [{"a_t", "b_t", "c_t"}]),
        ("scaled(a_t + b_t, 2)", [{"a_t"}, {"b_t"}]),
    ],
)
def test_tangents_that_one_call_takes_stay_together(formula, together):
    assert groups([parsed(formula)], NAMES) == [frozenset(names) for names in together]
