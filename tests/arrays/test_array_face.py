"""Every operator on Arrays: the values and derivatives of Tensors, and NumPy's face on all that comes out."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_face import ARRAYS, as_array
from pullback.core.tensor import wrap
from pullback.testing.opinfo.calls import flat_tensors, function_of, seeded, to_tensors, twins
from tests.arrays.test_refusing import mapped, repeatable
from tests.opinfo.records import OPINFOS

# What may give a constant that depends on no argument, and so is a plain Tensor.
GIVES_CONSTANTS = {"linalg.matrix_power", "native_batch_norm"}


def derivatives(info, sample, show):
    """[results, gradients, gradients of the gradients] with tensors that `show` gives."""
    seeded(info)
    args, kwargs = mapped(show, to_tensors((sample.args, sample.kwargs), requires_grad=info.order >= 1))
    inputs = [t for t in flat_tensors((args, kwargs)) if t.requires_grad]
    found = [flat_tensors(function_of(info)(*args, **kwargs))]
    rng = np.random.default_rng(0)
    for order in range(1, info.order + 1):
        roots = [r for r in found[-1] if r is not None and r.requires_grad]
        if not roots:
            break
        again = order < info.order
        given = [
            show(wrap(np.asarray(rng.standard_normal(r.shape).astype(r.dtype)))).requires_grad_(again) for r in roots
        ]
        found.append(pb.autograd.grad(roots, inputs, given, allow_unused=True, create_graph=again))
        inputs = inputs + given
    return found


def faced(t):
    """A leaf with NumPy's face, in place of `t`."""
    shown = as_array(t.detach())
    return shown.requires_grad_(t.requires_grad)


@pytest.mark.parametrize("info", OPINFOS, ids=lambda info: info.full_name)
def test_operators_on_arrays_are_those_on_tensors(info):
    for dtype in (info.grad_dtypes if info.order else info.dtypes)[:2]:
        for sample, twin in twins(info, dtype):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = derivatives(info, sample, lambda t: t)
                except (RuntimeError, ValueError, TypeError, IndexError):  # a sample that is to be refused
                    continue
                found = derivatives(info, twin, faced)
            takes_tensors = bool(flat_tensors(to_tensors((sample.args, sample.kwargs))))
            for a, b in zip(flat_tensors(found), flat_tensors(expected), strict=True):
                assert a.shape == b.shape
                assert a.dtype == b.dtype
                if repeatable(info):
                    np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-13)
                if takes_tensors and a is not None and info.name not in GIVES_CONSTANTS:
                    assert type(a) in ARRAYS
