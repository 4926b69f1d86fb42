"""xarray's arrays in a function that is being differentiated; where xarray is installed."""

import numpy as np
import pytest

import pullback as pb

xr = pytest.importorskip("xarray")

DA = xr.DataArray(np.arange(6.0).reshape(2, 3) + 1, dims=("t", "x"), coords={"x": [10, 20, 30]})
DS = xr.Dataset({"u": DA, "v": DA * 2})
W = np.array([2.0, 3.0, 4.0])
P = np.array([0.5, 2.0])
CALLS = {
    "scaled": lambda p: np.sum((DA * p[0] + p[1]) ** 2),
    "values": lambda p: np.sum((DA.values * p[0] + p[1]) ** 2),
    "reflected": lambda p: np.sum((p[0] * DA - p[1]) ** 2),
    "ufunc": lambda p: np.sum(np.exp(p[0] * DA / 10) * p[1]),
    "a method": lambda p: (DA * p[0]).sum() * p[1],
    "along a dimension": lambda p: np.sum((DA * p[0]).mean("t") ** 2) * p[1],
    "by a label": lambda p: (DA * p[0]).sel(x=20).sum() * p[1],
    "dataset": lambda p: np.sum((DS["u"] * p[0] - DS["v"] * p[1]) ** 2),
    "made inside": lambda p: xr.DataArray(np.outer(p, W), dims=("a", "b")).sum("b").values @ W[:2],
    "where": lambda p: np.sum((DA * p[0]).where(DA > 2, p[1]).data),
    "diff": lambda p: np.sum((DA * p[0]).diff("x").data ** 2) * p[1],
}


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with pb.adopt("xarray"):
        yield


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gradients_are_those_of_differences(call):
    gradient = pb.func.grad(call)(P)
    assert type(gradient) is np.ndarray
    for i, step in enumerate(1e-6 * np.eye(2)):
        slope = (float(call(P + step)) - float(call(P - step))) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-6)
        assert float(pb.func.jvp(call, (P,), (1e6 * step,))[1]) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(pb.func.vjp(call, P)[1](1.0)[0], gradient)


def test_an_array_with_labels_is_no_argument():
    with pytest.raises(TypeError, match="DataArray"):
        pb.func.grad(lambda x: np.sum(x**2))(DA)
