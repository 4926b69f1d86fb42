"""What the tags `combines`, `matrices`, `rows`, `value`, `creation` and the key `along` promise, on every kernel call.

The calls are those that the records of all operators make, noted as they come to the kernels.
"""

import warnings
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from pullback.codegen.schema import parse_schema
from pullback.core import modes
from pullback.core.array_type import NUMPY
from pullback.core.observers import Observer
from pullback.dispatch.operator import OPERATORS
from pullback.random import manual_seed
from pullback.testing.opinfo.calls import function_of, seeded, to_tensors, twins
from tests.opinfo.records import OPINFOS


class _Noting(Observer):
    watches_kernels = True

    def __init__(self):
        self.calls = defaultdict(list)

    def run_kernel(self, name, raws, run):
        self.calls[name].append(list(raws))
        return run()


@cache
def calls():
    """The raw arguments of every kernel call in all records of operators, by operator."""
    noting = _Noting()
    before = modes.set_modes(modes.current().with_observer(noting))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for info in OPINFOS:
                for dtype in info.dtypes:
                    for sample, _ in twins(info, dtype):
                        seeded(info)
                        args, kwargs = to_tensors((sample.args, sample.kwargs))
                        try:
                            function_of(info)(*args, **kwargs)
                        except (RuntimeError, ValueError, TypeError, IndexError):  # a sample that is to be refused
                            continue
    finally:
        modes.restore(before)
    return noting.calls


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


def run(op, args):
    """The results of a kernel, as a list of arrays."""
    with np.errstate(all="ignore"):
        found = NUMPY.kernels[op.kernel](*args)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def arguments(op):
    """The names of the arguments, by position."""
    return [arg.name for arg in parse_schema(op.signature).args]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def cut(args, positions, axis, part):
    """The arguments with a part of those at `positions` along an axis."""
    args = list(args)
    for position in positions:
        args[position] = args[position][(slice(None),) * axis + (part,)]
    return args


def check_cut(op, args, positions, axis, result_axis=None):
    """Whether the results for two parts, put together, are those for the whole."""
    n = args[positions[0]].shape[axis]
    parts = [run(op, cut(args, positions, axis, part)) for part in (slice(n // 2), slice(n // 2, None))]
    axis = axis if result_axis is None else result_axis
    for a, b, whole in zip(*parts, run(op, args), strict=True):
        close(np.concatenate([a, b], axis), whole)


@pytest.mark.parametrize("name", tagged("combines"))
def test_a_reduction_that_combines(name):
    op, tried = OPERATORS[name], 0
    names = arguments(op)
    for x, *rest in calls_of(name):
        if x.ndim == 0 or x.shape[0] < 2 or x.size == 0:
            continue
        how = list(rest)
        if "dim" in names:
            how[names.index("dim") - 1] = (0,)
        if "keepdim" in names:
            how[names.index("keepdim") - 1] = False
        (whole,) = run(op, [x, *how])
        (a,), (b,) = run(op, [x[:1], *how]), run(op, [x[1:], *how])
        close(run(op, [np.stack([a, b]), *how])[0], whole)
        tried += 1
    assert tried


@pytest.mark.parametrize("name", sorted(name for name, op in OPERATORS.items() if op.along is not None))
def test_any_dimension_but_those_along_may_be_cut(name):
    op, tried = OPERATORS[name], 0
    names = arguments(op)
    for args in calls_of(name):
        x, dims = args[0], args[names.index(op.along)]
        if dims is None or dims in ((), []):
            continue  # all of them
        whole = {d % x.ndim for d in ((dims,) if isinstance(dims, int) else dims)} if x.ndim else {0}
        arrays = [p for p, _ in op.tensors if isinstance(args[p], np.ndarray) and args[p].ndim == x.ndim]
        for axis in set(range(x.ndim)) - whole:
            if x.shape[axis] < 2 or any(args[p].shape[axis] != x.shape[axis] for p in arrays):
                continue
            gone = sum(d < axis for d in whole) if run(op, args)[0].ndim < x.ndim else 0
            check_cut(op, args, arrays, axis, axis - gone)
            tried += 1
    assert tried


@pytest.mark.parametrize("name", tagged("matrices"))
def test_matrices_are_worked_on_one_by_one(name):
    op, tried = OPERATORS[name], 0
    for args in calls_of(name):
        arrays = [p for p, _ in op.tensors if isinstance(args[p], np.ndarray)]
        lead = [args[p].shape[: -1 if args[p].dtype.kind == "i" else -2] for p in arrays]  # whole numbers: pivots
        if args[0].ndim < 3 or args[0].shape[0] < 2 or any(shape != lead[0] for shape in lead) or 0 in args[0].shape:
            continue
        check_cut(op, args, arrays, 0)
        tried += 1
    assert tried


@pytest.mark.parametrize("name", tagged("rows"))
def test_rows_are_worked_on_one_by_one(name):
    op, tried = OPERATORS[name], 0
    for args in calls_of(name):
        if args[0].ndim < 2 or args[0].shape[0] < 2:
            continue
        check_cut(op, args, [0], 0)
        tried += 1
    assert tried


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


@pytest.mark.parametrize("name", [name for name in tagged("creation") if OPERATORS[name].tensors])
def test_what_creates_looks_at_no_number(name):
    op, tried = OPERATORS[name], 0
    for args in calls_of(name):
        changed = list(args)
        for position, _ in op.tensors:
            changed[position] = np.full_like(args[position], 3)
        manual_seed(0)
        before = run(op, args)
        manual_seed(0)
        for a, b in zip(before, run(op, changed), strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            if "empty" not in name:
                np.testing.assert_array_equal(a, b)
        tried += 1
    assert tried
