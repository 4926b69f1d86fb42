"""The quick calls of operators on nested Tensors give, bit by bit, what the pipeline in general gives."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import OperatorError, UnsupportedError
from pullback.core.pytree import flatten
from pullback.core.tensor import Tensor
from pullback.dispatch import pipeline
from pullback.dispatch.operator import OPERATORS
from pullback.func import grad, jvp
from pullback.testing.opinfo.calls import REFUSALS, accepted, sampling, to_arrays
from pullback.testing.opinfo.core import Input
from tests.arrays.batched.looping import Case, number_like, scalar_of, vmap
from tests.opinfo.records import OPINFOS

RECORDS = [info for info in OPINFOS if info.order and not info.random]


def derivatives(info, sample):
    """The results of several transforms of an operator, those that take it; each is nested in others."""
    case = Case(
        info, sample, lambda _, x: isinstance(x, Input) and x.dtype.kind == "f",
        lambda x: isinstance(x, Tensor) and x.dtype.kind in "fc",
    )  # fmt: skip
    if not case.chosen:
        return []
    gradient = grad(scalar_of(case), tuple(range(len(case.chosen))))

    def tangent(*xs):
        directions = [np.asarray(number_like(x.shape, x.dtype, 9 + k)) for k, x in enumerate(xs)]
        return jvp(gradient, xs, tuple(map(like, xs, directions)))[1]

    def like(x, direction):
        return direction if isinstance(x, np.ndarray) else pb.from_numpy(direction)

    found = []
    one, several = case.element(1), case.tensors()
    calls = [(tangent, one), (vmap(gradient), several), (vmap(tangent), several)]
    calls += [(tangent, [x.numpy() for x in one]), (vmap(gradient), [x.numpy() for x in several])]  # with NumPy's face
    for function, given in calls:
        try:
            found.append(flatten(function(*given))[0])
        except (*REFUSALS, NotImplementedError, OperatorError, UnsupportedError) as error:
            found.append([type(error).__name__])
    return found


@pytest.fixture
def without_quick_calls(monkeypatch):
    """A function that takes the quick calls away from all operators."""
    kept = {op: dict(op.calls) for op in OPERATORS.values()}

    def take_away():
        monkeypatch.setattr(pipeline, "_call_of", lambda *_: None)
        for op in kept:
            op.calls.clear()

    yield take_away
    for op, calls in kept.items():
        op.calls.clear()
        op.calls.update(calls)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", RECORDS, ids=lambda info: info.full_name)
def test_the_pipeline_gives_the_same_without_quick_calls(info, without_quick_calls):
    dtype = np.float64 if np.float64 in info.grad_dtypes else info.grad_dtypes[0]
    samples = accepted(info, dtype)[:2]
    quick = []
    for sample in samples:
        with sampling(info, sample):
            quick.append(derivatives(info, sample))
    without_quick_calls()
    for sample, expected in zip(samples, quick, strict=True):
        with sampling(info, sample):
            for found, wanted in zip(derivatives(info, sample), expected, strict=True):
                for a, b in zip(found, wanted, strict=True):
                    x, y = np.asarray(to_arrays(a)), np.asarray(to_arrays(b))
                    assert (x.shape, x.dtype) == (y.shape, y.dtype)
                    assert x.tobytes() == y.tobytes()
