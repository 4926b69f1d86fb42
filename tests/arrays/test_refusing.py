"""Every operator, forward, backward and twice backward, on arrays that refuse to tell their numbers.

So no formula and no composite looks at numbers but through the protocol of array types: see docs/design/array_types.md.
"""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import LinAlgError, ReadError, UnsupportedError
from pullback.core.tensor import Tensor, wrap
from pullback.testing.opinfo.calls import flat_tensors, function_of, seeded, to_tensors, twins
from tests.arrays.refusing import Refusing, RefusingType, hidden, shown
from tests.opinfo.records import OPINFOS

# What looks at numbers by its nature, and refuses to where there are none.
READERS = {
    "equal": "gives a Python value",
    "allclose": "gives a Python value",
    "tensor_split": "as many results as a tensor of positions has numbers",
    "__getitem__": "NumPy's rules for an index depend on its numbers",
    "index_put": "the same",
    "put": "the same",
}


def mapped(function, tree):
    """A tree with `function` of each Tensor in it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, dict):
        return {key: mapped(function, x) for key, x in tree.items()}
    return type(tree)(mapped(function, x) for x in tree) if type(tree) in (list, tuple) else tree


def derivatives(info, sample, make, hide):
    """[results, gradients, gradients of the gradients] with arrays that `make` and tensors that `hide` gives."""
    seeded(info)
    args, kwargs = mapped(hide, to_tensors((sample.args, sample.kwargs), requires_grad=info.order >= 1))
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
    found = [flat_tensors(function_of(info)(*args, **kwargs))]
    rng = np.random.default_rng(0)
    for order in range(1, info.order + 1):
        roots = [r for r in found[-1] if r is not None and r.requires_grad]
        if not roots:
            break
        again = order < info.order
        given = [wrap(make(rng.standard_normal(r.shape).astype(r.dtype))).requires_grad_(again) for r in roots]
        found.append(pb.autograd.grad(roots, inputs, given, allow_unused=True, create_graph=again))
        inputs = inputs + given
    return found


def found_and_expected(info):
    """Results and derivatives of every sample, of arrays that refuse and of ndarrays."""
    for dtype in (info.grad_dtypes if info.order else info.dtypes)[:2]:
        for sample, twin in twins(info, dtype):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = derivatives(info, sample, np.array, lambda t: t)
                except (RuntimeError, ValueError, TypeError, IndexError):  # a sample that is to be refused
                    continue
                yield derivatives(info, twin, Refusing, hidden), expected


def repeatable(info):
    return not info.random or info.repeatable


@pytest.mark.parametrize(
    "info", [info for info in OPINFOS if info.name not in READERS], ids=lambda info: info.full_name
)
def test_no_formula_looks_at_numbers(info):
    for found, expected in found_and_expected(info):
        for a, b in zip(flat_tensors(found), flat_tensors(expected), strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            if repeatable(info):
                np.testing.assert_allclose(shown(a), b.numpy(force=True), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("info", [info for info in OPINFOS if info.name in READERS], ids=lambda info: info.full_name)
def test_what_reads_numbers_is_refused_where_there_are_none(info):
    with pytest.raises(UnsupportedError):
        list(found_and_expected(info))


@pytest.mark.parametrize("look", [bool, float, list, lambda t: t.item(), lambda t: t.numpy(), lambda t: t.tolist()])
def test_the_type_does_refuse(look):
    with pytest.raises((ReadError, TypeError)):
        look(hidden(pb.tensor(1.0)))


def test_checks_wait_until_the_numbers_are_known():
    tied = hidden(pb.eye(3).requires_grad_())
    RefusingType.waiting.clear()
    values, vectors = pb.linalg.eigh(tied)
    (values * vectors[0]).sum().backward()
    waiting = iter(RefusingType.waiting)
    with pytest.raises(LinAlgError, match="are equal"):
        all(examine() is None for examine in waiting)
