"""pullback.array_api: NumPy's values, our gradients, and libraries written for the standard."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback import array_api as xp

A = np.array([[0.3, -1.2, 0.7], [2.0, 0.5, -0.4]])
CALLS = {
    "sum": lambda xp, x: xp.sum(x, axis=0),
    "std": lambda xp, x: xp.std(x, correction=1, axis=1),
    "sort": lambda xp, x: xp.sort(x, axis=1),
    "concat": lambda xp, x: xp.concat([x, 2 * x]),
    "where": lambda xp, x: xp.where(x > 0, x, xp.zeros_like(x)),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1),
    "clip": lambda xp, x: xp.clip(x, -0.5, 1.0),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1),
    "tril": lambda xp, x: xp.tril(x),
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "fft": lambda xp, x: abs(xp.fft.fft(x)),
    "astype": lambda xp, x: xp.astype(x, xp.float64) * 2,
    "logaddexp": lambda xp, x: xp.logaddexp(x, -x),
    "unstack": lambda xp, x: xp.stack(xp.unstack(x, axis=1)[:2]),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, xp.ones((2, 2, 3)))[0],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_are_numpys_and_gradients_those_of_differences(call):
    t = pb.tensor(A, requires_grad=True)
    found = call(xp, t)
    expected = call(np, A)
    assert isinstance(found, pb.Tensor)
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-14)
    w = np.cos(np.arange(expected.size)).reshape(expected.shape)
    (found * w).sum().backward()
    for i in np.ndindex(A.shape):
        step = np.zeros_like(A)
        step[i] = 1e-6
        slope = ((call(np, A + step) - call(np, A - step)) * w).sum() / 2e-6
        np.testing.assert_allclose(t.grad[i], slope, rtol=1e-6, atol=1e-8)


def test_sorting_in_descending_order_keeps_equal_elements_in_order():
    x = pb.tensor([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_array_equal(xp.argsort(x, descending=True), [1, 2, 3, 0])
    np.testing.assert_array_equal(xp.sort(x, descending=True), [3, 3, 2, 1])


def test_a_result_that_is_saved_may_be_written_into():
    x = pb.tensor([4.0, 9.0], requires_grad=True)
    y = xp.sqrt(x)
    z = 3 * y
    y[0] = 1.0  # as scikit-learn does to scales of constant features
    (z.sum() + y.sum()).backward()
    np.testing.assert_allclose(x.grad, [3 / 4, 4 / 6])


def writes_into_a_factor(x):
    U, S, _ = xp.linalg.svd(x, full_matrices=False)
    U *= S  # as scikit-learn's PCA does
    return U


def writes_into_a_copy(x):
    x = xp.asarray(x, copy=True)
    norms = xp.sqrt(xp.sum(x * x, axis=1))
    x /= xp.where(norms == 0, 1.0, norms)[:, None]  # as its normalize does
    return x


def fills_a_buffer(x):
    found = xp.empty((2, 3))
    found[:, 0] = x[:, 0]
    for i in (1, 2):
        found[:, i] = found[:, i - 1] * x[:, 1]  # as its polynomial features do
    found[0, 1] = found[0, 1] * found[0, 2]
    return found


@pytest.mark.parametrize("function", [writes_into_a_factor, writes_into_a_copy, fills_a_buffer])
def test_what_was_computed_with_may_be_written_into(function):
    start = np.array([[1.0, 2.0], [3.0, 5.0]])
    x, weights = pb.tensor(start, requires_grad=True), np.arange(1.0, 7.0)
    result = function(x)
    weights = weights[: result.numel()].reshape(result.shape)
    (result**2 * pb.tensor(weights)).sum().backward()

    def total(x):
        return ((function(pb.tensor(x)) ** 2).numpy() * weights).sum()

    for place in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[place] = 1e-6
        slope = (total(start + step) - total(start - step)) / 2e-6
        np.testing.assert_allclose(x.grad[place].item(), slope, rtol=1e-7, atol=1e-6)
    (tangents,) = (pb.func.jvp(function, (x.detach(),), (pb.ones(2, 2),))[1],)
    np.testing.assert_allclose(
        tangents, (function(x.detach() + 1e-6) - function(x.detach() - 1e-6)) / 2e-6, rtol=1e-7, atol=1e-7
    )


def test_what_pytorchs_methods_gave_is_refused_as_in_pytorch():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_versions_devices_and_names():
    assert pb.ones(2).__array_namespace__() is xp
    assert pb.ones(2).__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="2030"):
        pb.ones(2).__array_namespace__(api_version="2030.12")
    with pytest.raises(RuntimeError, match='"cpu"'):
        xp.zeros(3, device="cuda")
    assert all(hasattr(xp, name) for name in xp.__all__)
    t = pb.ones(2)
    assert t.to_device("cpu") is t
    with pytest.raises(ValueError, match=r"[Dd]evice"):
        t.to_device("gpu")
    assert xp.asarray(t) is t
    assert xp.asarray(t, copy=True) is not t
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)
    assert xp.result_type(xp.float32, pb.ones(2)) == xp.float64
    assert xp.isdtype(xp.int8, "integral")
    assert isinstance(xp.finfo(xp.float32).eps, float)
    assert xp.full((2,), 3).dtype == xp.int64
    with pytest.raises(RuntimeError):
        xp.full((2,), pb.tensor(3.0, requires_grad=True))


PROGRAM = """
import numpy as np, scipy.special, scipy.stats, pullback as pb
x = pb.tensor([0.3, 0.5, 0.9], requires_grad=True)
for f in (np.sin, scipy.special.gammaln, scipy.special.erf, scipy.special.logsumexp, scipy.special.log_softmax,
          scipy.stats.gmean, scipy.stats.skew, lambda x: scipy.special.betainc(2.0, 3.0, x)):
    def g(x):
        return np.sum(f(x) * np.cos(np.arange(3)))
    x.grad = None
    g(x).backward()
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        plain = x.detach().numpy()
        slope = (g(plain + step) - g(plain - step)) / 2e-6
        assert abs(x.grad[i] - slope) < 1e-6, (f, i)
"""


def test_scipy_with_its_array_api_on():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


SMALL = [*np.typecodes["AllInteger"], "?", "e"]
REDUCTIONS = {
    "sum": [{"axis": ()}, {"axis": (), "keepdims": True}, {"axis": 0}, {"dtype": "int8"}],
    "prod": [{"axis": ()}, {"axis": (), "keepdims": True}, {"axis": 0}, {"dtype": "int8"}],
    "mean": [{"axis": ()}, {"axis": 0}],
    "var": [{"axis": ()}, {"axis": 0}],
    "max": [{"axis": ()}, {"axis": 0}],
    "count_nonzero": [{"axis": ()}, {"axis": (), "keepdims": True}, {"axis": 0}],
    "cumulative_sum": [{"axis": 0}, {"axis": 0, "include_initial": True}],
    "cumulative_prod": [{"axis": 0}, {"axis": 0, "include_initial": True}],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_small_integers_have_numpys_dtype_and_shape(name):
    for dtype, options, shape in itertools.product(SMALL, REDUCTIONS[name], [(2, 3), (4,), (0, 2), ()]):
        if shape == () and options.get("axis") == 0:
            continue
        a = (np.arange(np.prod(shape, dtype=int)) % 3).astype(dtype).reshape(shape)
        if name in ("max", "mean", "var") and not a.size:
            continue
        found, expected = getattr(xp, name)(pb.tensor(a), **options), np.asarray(getattr(np, name)(a, **options))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (dtype, options, shape)
        np.testing.assert_array_equal(found.numpy(), expected)
