"""Compiled functions that read some state: after each change of it they give what the functions give."""

import warnings

import numpy as np
import pytest

import pullback as pb
from tests.compiler.state_programs import FRESH, REFUSED, STALE
from tests.compiler.test_reach import math_as_it_was, run  # noqa: F401 - a fixture of each test here

X = np.array([0.5, 2.0])
EAGERLY = 24  # of STALE may run eagerly
PROGRAMS = set()


def numbers(result):
    """The arrays in a result, which may be a Tensor, and the rest as it is."""
    leaves = pb.utils.pytree.tree_leaves(result)
    return [x.detach().numpy() if isinstance(x, pb.Tensor) else x for x in leaves]


def called(function):
    """What a call gives or raises."""
    try:
        return numbers(function(X.copy()))
    except Exception as error:  # noqa: BLE001 - of whatever kind
        return type(error)


def compare(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(found, list):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12) if isinstance(b, np.ndarray) else np.testing.assert_equal(a, b)


def run_beside(case, tmp_path):
    """Call a compiled function beside the function itself, before and after the change; True if it became a program."""
    source, change = case
    scope = run(source, tmp_path)
    function = scope["f"]
    compiled = pb.compile(function)
    for _ in range(6):
        compare(called(compiled), called(function))
    is_program = any(x.programs for x in compiled._by_signature.values())
    exec(change, scope)
    for _ in range(4):
        compare(called(compiled), called(function))
    return is_program


@pytest.mark.parametrize("case", STALE)
def test_no_program_is_stale(case, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if run_beside(STALE[case], tmp_path):
            PROGRAMS.add(case)


def test_most_become_programs():
    if len(PROGRAMS) + EAGERLY < len(STALE):
        pytest.skip("asked of all of them together")


@pytest.mark.parametrize("case", FRESH)
def test_programs_stay_right_where_nothing_changes(case, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_beside(FRESH[case], tmp_path)


@pytest.mark.parametrize("case", REFUSED)
def test_what_nobody_can_follow_runs_eagerly_and_says_so(case, tmp_path):
    source, _ = REFUSED[case]
    scope = run(source, tmp_path)
    compiled = pb.compile(scope["f"])
    with pytest.warns(pb.compiler.CompileWarning, match="runs eagerly"):
        called(compiled)
    assert not compiled._by_signature


@pytest.mark.filterwarnings("ignore::pullback.compiler.CompileWarning")
def test_what_a_recording_leaves_in_containers_outside_is_plain():
    cache, history = {}, []

    def f(x, w):
        cache["y"], cache["w"] = x * 2, w * 2
        history.append(x.sum())
        return x + 1

    compiled = pb.compile(f)
    for k in range(12):
        x, w = np.ones(2) * k, pb.ones(2) * k
        compiled(x, w)
        assert type(cache["y"]) is np.ndarray
        assert type(cache["w"]) is pb.Tensor
        assert type(history[-1]) is np.float64
        np.testing.assert_array_equal(cache["y"], x * 2)
        np.testing.assert_array_equal(cache["w"].numpy(), w.numpy() * 2)
    assert history == [2.0 * k for k in range(12)]
