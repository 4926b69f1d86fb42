"""backward(per_sample=True) through every operator, against a row of the Jacobian for each sample."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.rows import per_sample
from pullback.autograd.rows.batched_pass import Graph
from pullback.testing.opinfo.calls import REFUSALS, accepted, sampling
from tests.arrays.batched.looping import Case, number_like
from tests.opinfo.records import OPINFOS

SAMPLES = 4  # of each record
# Of what must not go row by row, as it would if its rule were lost.
AT_ONCE = {
    "mul", "div", "pow", "exp", "where", "sum", "mean", "amax", "var", "cumsum", "logsumexp", "softmax", "matmul", "mm",
    "bmm", "mv", "einsum", "nn.functional.linear", "nn.functional.layer_norm", "nn.functional.gelu",
    "nn.functional.avg_pool2d", "nn.functional.mse_loss", "transpose", "permute",
    "cat", "stack", "index_select", "gather", "flip", "tril", "linalg.inv", "linalg.det", "cholesky", "sort", "unfold",
    "expand", "squeeze", "unsqueeze", "movedim", "clamp", "relu", "sigmoid", "masked_fill",
}  # fmt: skip


def is_real(x):
    return x.dtype.kind == "f"


def programs(info, sample):
    """The operator on leaves, and on leaves repeated for a batch (four samples, which no record's sizes hide)."""
    case = Case(info, sample, lambda _, x: isinstance(x, pb.testing.opinfo.core.Input) and is_real(x), lambda _: True)
    if not case.chosen:
        return
    leaves = [x.requires_grad_() for x in case.element(0)]
    yield leaves, lambda: case.call(*leaves)
    scales = np.array([1.0, 0.875, 1.125, 0.9375])
    for repeated in range(len(leaves)):  # one argument has samples, as data have, the others are parameters
        if info.name.endswith("_"):
            continue
        x = leaves[repeated]
        factor = scales.astype(x.dtype).reshape(-1, *[1] * x.ndim)
        given = [y * factor if i == repeated else y for i, y in enumerate(leaves)]
        yield leaves, lambda given=given: case.call(*given)
    factors = [scales.astype(x.dtype).reshape(-1, *[1] * x.ndim) for x in leaves]
    if not info.name.endswith("_") and len(leaves) > 1:
        yield leaves, lambda: case.call(*[x * f for x, f in zip(leaves, factors, strict=True)])


def losses_of(outputs):
    """A weighted sum of each result for each index along its first dimension, where there are several."""
    for seed, y in enumerate(outputs):
        if isinstance(y, pb.Tensor) and y.requires_grad and y.ndim and y.shape[0] > 1 and is_real(y):
            yield y, number_like(y.shape, y.dtype, seed)


def compare(loss, cotangent, leaves):
    """Whether it took one pass; an error where that differs from rows."""
    graph = Graph([loss], leaves)
    if not graph.takes_batches():
        return None
    try:
        expected = per_sample._by_rows(graph, [cotangent], loss.shape[0])
    except REFUSALS:  # an internal operator, which got more dimensions than it knows
        return None
    found = per_sample._in_one(graph, [cotangent], loss.shape[0])
    if found is None:
        return False
    for x, wanted in zip(found, expected, strict=True):
        x, wanted = (np.zeros(()) if y is None else y.numpy() for y in (x, wanted))
        np.testing.assert_allclose(*np.broadcast_arrays(x, wanted), rtol=1e-9, atol=1e-10)
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", [pytest.param(i, id=i.full_name) for i in OPINFOS if not i.random and i.order >= 1])
def test_every_operator(info):
    if np.float64 not in info.grad_dtypes:
        return
    taken = []
    for sample in accepted(info, np.float64)[:SAMPLES]:
        with sampling(info, sample):
            for leaves, run in programs(info, sample):
                try:
                    outputs = run()
                except (*REFUSALS, IndexError, TypeError):  # it does not take another dimension
                    continue
                for loss, cotangent in losses_of(outputs):
                    taken.append(compare(loss, cotangent, leaves))
    if info.full_name in AT_ONCE:
        assert True in taken


def test_the_names_are_those_of_records():
    assert AT_ONCE - {info.full_name for info in OPINFOS} == set()
