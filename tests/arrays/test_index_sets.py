"""The sets of every operator hold every element of which its dense Jacobian is not zero."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.index_sets import IndexSets, Store
from pullback.core.tensor import Tensor, wrap
from pullback.func import jvp
from pullback.testing.opinfo.calls import flat_tensors, function_of, replaced, seeded, to_tensors, twins
from tests.opinfo.records import OPINFOS

DERIVED = [info for info in OPINFOS if info.order >= 1]
# What takes the numbers of a tangent by its nature.
REFUSED: dict[str, str] = {}


def function_and_inputs(info, sample):
    """(function of the differentiable tensors of a sample, these)."""
    tree = to_tensors((sample.args, sample.kwargs), requires_grad=True)
    inputs = [t for t in flat_tensors(tree) if t.requires_grad]
    plain = [t.detach() for t in inputs]

    def function(*given):
        seeded(info)
        args, kwargs = replaced(tree, inputs, given)
        found = flat_tensors(function_of(info)(*args, **kwargs))
        return [t for t in found if t.dtype.kind in "fc"]

    return function, plain


def found_sets(function, inputs):
    """The pattern of the Jacobian, results by inputs, and whether it is less than all."""
    sizes = [t.size for t in map(np.asarray, [t.numpy() for t in inputs])]
    store, starts = Store(sum(sizes)), np.cumsum([0, *sizes])
    tangents = [
        wrap(IndexSets.identity(store, start, t.shape, t.dtype), 0) for start, t in zip(starts, inputs, strict=False)
    ]
    _, found = jvp(lambda *given: function(*given), tuple(inputs), tuple(tangents))
    rows = []
    for t in found:
        pattern = np.zeros((int(np.prod(t.shape)), store.size), bool)
        t = t._array if isinstance(t, Tensor) else t
        if type(t) is IndexSets:
            counts, elements = store.members(t.ids.ravel())
            pattern[np.repeat(np.arange(counts.size), counts), elements] = True
        rows.append(pattern)
    return np.concatenate(rows) if rows else np.zeros((0, store.size), bool)


def dense(function, inputs):
    """The Jacobian, column by column."""
    columns = []
    for i, t in enumerate(inputs):
        for place in range(t.size):
            tangents = [np.zeros(x.shape, x.dtype) for x in inputs]
            tangents[i].flat[place] = 1
            _, found = jvp(lambda *given: function(*given), tuple(inputs), tuple(map(pb.tensor, tangents)))
            columns.append(np.concatenate([np.ravel(x.numpy()) for x in found]) if found else np.zeros(0))
    return np.stack(columns, 1)


@pytest.mark.parametrize("info", DERIVED, ids=lambda info: info.full_name)
def test_sets_hold_the_jacobian(info):
    judged = 0
    for sample, twin in twins(info, info.grad_dtypes[0]):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function, inputs = function_and_inputs(info, sample)
                if not 0 < sum(t.size for t in inputs) <= 40:
                    continue
                expected = dense(function, inputs)
            except (RuntimeError, ValueError, TypeError, IndexError):
                continue
            pattern = found_sets(*function_and_inputs(info, twin))
        assert pattern.shape == expected.shape
        missing = np.argwhere((expected != 0) & ~pattern)
        assert not missing.size, f"elements {missing.tolist()[:4]} of the Jacobian are not in the pattern: {sample}"
        judged += 1
