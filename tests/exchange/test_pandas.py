"""pandas' objects beside tensors, and as arguments; where pandas is installed."""

import numpy as np
import pytest

import pullback as pb

pd = pytest.importorskip("pandas")

P = np.array([0.5, 2.0])
S = pd.Series([1.0, 2.0, 3.0], index=list("abc"))
DF = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]})
CALLS = {
    "number": lambda p: (S * p[0]).sum(),
    "reflected": lambda p: np.sum(p[0] - S),
    "quotient": lambda p: np.sum(S / p[1]),
    "column": lambda p: np.sum((DF["x"] * p[0] + p[1] - DF["y"]) ** 2),
    "matrix": lambda p: np.sum((DF.to_numpy() @ p) ** 2),
    "frame": lambda p: np.sum(DF * p),
    "ufunc": lambda p: np.exp(p[0] * S).sum(),
    "power": lambda p: np.sum(S ** p[1]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_gradients_are_those_of_differences(call):
    gradient = pb.func.grad(call)(P)
    for i in range(2):
        step = np.zeros(2)
        step[i] = 1e-6
        slope = (np.sum(np.asarray(call(P + step))) - np.sum(np.asarray(call(P - step)))) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-7)


def test_what_pandas_would_take_apart_is_refused():
    t = pb.tensor(2.0, requires_grad=True)
    for call in (lambda: S * t, lambda: pb.func.grad(lambda p: np.sum(DF @ p))(P)):
        with pytest.raises(RuntimeError, match="lose its gradient"):
            call()


def test_as_an_argument_it_is_refused_with_what_to_pass():
    with pytest.raises(TypeError, match=r"pass x\.to_numpy\(\)"):
        pb.func.grad(lambda s: (s**2).sum())(S)


def test_the_page(run_page):
    run_page("pandas")
