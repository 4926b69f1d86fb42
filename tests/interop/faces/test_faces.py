"""Every idiom of NumPy on the arrays that `func` shows: NumPy's results, memory, errors; right slopes; or our error."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import innermost
from tests.interop.faces.comparison import EQUAL, OURS, WRONG, Idiom, judge
from tests.interop.faces.random_programs import program
from tests.interop.faces.table import IDIOMS


def groups():
    """Single idioms; of the table of methods, those of one call on all receivers."""
    for theme, idioms in itertools.groupby(IDIOMS, lambda idiom: idiom.theme):
        if theme != "methods":
            yield from ([idiom] for idiom in idioms)
            continue
        calls = {}
        for idiom in idioms:
            calls.setdefault(idiom.name.partition(".")[2], []).append(idiom)
        yield from calls.values()


def wrong(idioms):
    outcomes = [(str(idiom), judge(idiom)) for idiom in idioms]
    return [(name, outcome.notes) for name, outcome in outcomes if outcome.verdict == WRONG]


@pytest.mark.parametrize("idioms", list(groups()), ids=lambda idioms: str(idioms[0]))
def test_an_idiom_means_what_it_means_in_numpy(idioms):
    assert wrong(idioms) == []


@pytest.mark.parametrize("seed", range(0, 150, 10))
def test_random_programs_of_views_and_writes_mean_what_they_mean_in_numpy(seed):
    assert wrong([program(n) for n in range(seed, seed + 10)]) == []


@pytest.mark.skipif(not hasattr(pb, "adopt"), reason="nothing to adopt with")
@pytest.mark.parametrize("theme", sorted({idiom.theme for idiom in IDIOMS} - {"methods"}))
def test_idioms_mean_the_same_after_adopt(theme):
    with pb.adopt():
        assert wrong([idiom for idiom in IDIOMS if idiom.theme == theme]) == []


def test_every_method_and_attribute_of_ndarray_is_in_the_table():
    tried = {
        idiom.name.split(".")[1].partition("(")[0].partition("[")[0] for idiom in IDIOMS if idiom.theme == "methods"
    }
    assert {name for name in dir(np.ndarray) if not name.startswith("_")} <= tried


# ---- the comparison itself finds what it is for ----


def verdict(function, *names):
    return judge(Idiom("", "", function, names)).verdict


def ours(x):
    return isinstance(x, pb.Tensor)


def test_equal_results_are_equal():
    assert verdict(lambda x: x * 2, "x") == EQUAL


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x + ours(x) * 1e-13,
        lambda x: x[:-1] if ours(x) else x,
        lambda x: np.asarray(innermost(x)) * 2 if ours(x) else x * 2,  # the gradient is lost
        lambda x: float(innermost(x)[0]) if ours(x) else float(x[0]),
        lambda x: (x, 1) if ours(x) else [x, 1],
        lambda x: 1 if ours(x) else True,
        lambda x: "a" if ours(x) else "b",
        lambda x: x.copy() if ours(x) else x[:],  # a write to the one does not reach the other
        lambda x: x[:] if ours(x) else x.copy(),
        lambda x: x[10] if ours(x) else x,  # an error of NumPy's own
        lambda x: x if ours(x) else x[10],
        lambda x: innermost(x) + "a" if ours(x) else x[10],
    ],
)
def test_what_differs_is_wrong(wrong):
    assert verdict(wrong, "x") == WRONG


def test_a_wrong_slope_is_wrong():
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3

    assert verdict(lambda x: Doubled.apply(x) if ours(x) else x * 2, "x") == WRONG


def test_an_error_of_ours_needs_a_remedy():
    def refuse(text):
        def function(x):
            if ours(x):
                raise pb.core.errors.UnsupportedError(text)
            return x

        return function

    assert verdict(refuse("no rule; write x.sum() instead"), "x") == OURS
    assert verdict(refuse("no rule"), "x") == WRONG
