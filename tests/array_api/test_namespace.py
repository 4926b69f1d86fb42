"""pullback.array_api: NumPy's values, our gradients, and libraries written for the standard."""

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
