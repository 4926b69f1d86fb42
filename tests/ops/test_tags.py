"""What tags and the key `along` promise, on every kernel call.

The calls are those that the records of all operators make, noted as they come to the kernels.
"""

import warnings
from functools import cache

import numpy as np
import pytest

from pullback.core.array_type import NUMPY
from pullback.dispatch.operator import OPERATORS
from pullback.testing.opinfo.tag_checks import ALWAYS, CHECKS, kernel_calls, run
from tests.opinfo.records import OPINFOS


@cache
def calls():
    """The raw arguments of every kernel call in all records of operators, by operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kernel_calls(OPINFOS)


def draw(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def symmetric():
    x = draw(2, 3, 3)
    return x + x.swapaxes(-2, -1)


# For operators that the records reach with single matrices or rows alone, or in backward.
OTHER_CALLS = {
    "cumsum_backward": lambda: [draw(2, 3), 1],
    "adjugate_slope": lambda: [draw(2, 3, 3), draw(2, 3, 3)],
    "linalg_ldl_factor_ex": lambda: [symmetric(), False, False],
    "linalg_ldl_solve": lambda: [
        *NUMPY.kernels["linalg_ldl_factor_ex"](symmetric(), False, False)[:2],
        draw(2, 3, 2),
        False,
    ],
    "linalg_solve_triangular": lambda: [draw(2, 3, 3), draw(2, 3, 2), True, True, False],
    "matmul": lambda: [draw(2, 3, 4), draw(2, 4, 2)],
    "im2col": lambda: [draw(2, 1, 4, 4), [2, 2], [1, 1], [0, 0], [1, 1]],
    "col2im": lambda: [draw(2, 4, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]],
}


def calls_of(name):
    return [*calls()[name], *([OTHER_CALLS[name]()] if name in OTHER_CALLS else [])]


def tagged(tag):
    return sorted(name for name, op in OPERATORS.items() if tag in op.tags)


def promising(promise):
    return tagged(promise) if promise != "along" else sorted(name for name, op in OPERATORS.items() if op.along)


# Tags that kernels may have of which nothing can be tried: those that take lists alone, draw, or take no tensor.
UNTRIED = {"copying": {"cat", "stack"}, "structural": {"cat", "stack"}, "pointwise": {"native_dropout"}}


@pytest.mark.parametrize(("promise", "name"), [(promise, name) for promise in CHECKS for name in promising(promise)])
def test_an_operator_keeps_what_it_promises(promise, name):
    tried = [CHECKS[promise](OPERATORS[name], args) for args in calls_of(name)]
    assert any(tried) or not tried or name in UNTRIED.get(promise, ()) or not OPERATORS[name].tensors


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_what_records_nothing_does_not_move_and_what_is_not_random_is_the_same_again(name):
    for check in ALWAYS:
        for args in calls_of(name)[:8]:
            check(OPERATORS[name], args)


@pytest.mark.parametrize("name", tagged("value"))
def test_the_result_depends_on_numbers_in_size_or_is_a_python_value(name):
    op = OPERATORS[name]
    seen = set()
    for args in calls_of(name):
        for change in (lambda x: x, np.zeros_like, np.ones_like, lambda x: np.arange(x.size).reshape(x.shape)):
            changed = list(args)
            for position, _ in op.tensors:
                x = changed[position]
                if isinstance(x, np.ndarray) and x.ndim:
                    changed[position] = change(x).astype(x.dtype)
            try:
                found = run(op, changed)
            except (ValueError, RuntimeError, IndexError):
                continue
            forms = str([(x.shape, x.dtype) if isinstance(x, np.ndarray) else None for x in args])
            seen.add((forms, str([np.shape(r) if isinstance(r, np.ndarray) else r for r in found])))
    assert len(seen) > len({forms for forms, _ in seen}), "one form of arguments, several of results"
