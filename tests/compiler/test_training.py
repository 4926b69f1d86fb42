"""Optimizers inside of compiled functions: made there, and those that were there before."""

import warnings

import numpy as np
import pytest

import pullback as pb

DATA = np.random.default_rng(0).normal(size=(20, 2))
OPTIMIZERS = {
    "SGD": lambda p: pb.optim.SGD(p, lr=0.1),
    "momentum": lambda p: pb.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: pb.optim.Adam(p, lr=0.1, amsgrad=True),
    "AdamW": lambda p: pb.optim.AdamW(p, lr=0.1),
    "NAdam": lambda p: pb.optim.NAdam(p, lr=0.1),
    "RAdam": lambda p: pb.optim.RAdam(p, lr=0.1),
    "RMSprop": lambda p: pb.optim.RMSprop(p, lr=0.1, momentum=0.5, centered=True),
    "Rprop": lambda p: pb.optim.Rprop(p),
}


def data(i):
    return pb.tensor(DATA * (1 + 0.1 * i)), pb.tensor(DATA @ np.array([1.0, 2.0]) + i)


def setup(make):
    w = pb.zeros(2, dtype=pb.float64, requires_grad=True)
    optimizer = make([w])

    def step(X, y):
        optimizer.zero_grad()
        loss = ((X @ w - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return w, optimizer, step


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_fit_inside_of_a_function(make):
    def fitted(X, y):
        w, _, step = setup(make)
        for _ in range(4):
            step(X, y)
        return w.detach()

    made = pb.compile(fitted)
    for i in range(5):
        np.testing.assert_allclose(made(*data(i)).numpy(), fitted(*data(i)).numpy(), rtol=1e-12)
    (variants,) = made._by_signature.values()
    assert (len(variants.programs), variants.traces) == (1, 2)


@pytest.mark.parametrize("name", ["SGD", "momentum", "Adam", "NAdam"])
def test_an_optimizer_that_was_there_before_goes_on(name):
    """Its traces are steps like any other, after each of which its state is what it is without a trace."""
    w, optimizer, step = setup(OPTIMIZERS[name])
    other, expected, eager = setup(OPTIMIZERS[name])
    made = pb.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pb.compiler.CompileWarning)
        for i in range(12):
            run = step if i == 2 else made
            np.testing.assert_allclose(run(*data(i)).numpy(), eager(*data(i)).numpy(), rtol=1e-12)
            np.testing.assert_allclose(w.detach().numpy(), other.detach().numpy(), rtol=1e-12)
            kept, known = optimizer.state_dict()["state"][0], expected.state_dict()["state"][0]
            assert {key: type(x) for key, x in kept.items()} == {key: type(x) for key, x in known.items()}
            for key, x in known.items():
                np.testing.assert_allclose(kept[key], x, rtol=1e-12)


def test_logistic_regression_by_minimize_inside():
    def objective(w, X, y):
        z = X @ w
        return np.mean(np.logaddexp(0.0, z) - y * z) + 0.1 * np.sum(w**2)

    def fitted(X, y):
        return pb.optimize.minimize(lambda w: objective(w, X, y), np.zeros(2), method="BFGS").x

    made = pb.compile(fitted)
    for i in range(5):
        X, y = DATA * (1 + 0.1 * i), (DATA[:, 0] > 0.1 * i).astype(float)
        np.testing.assert_allclose(made(X, y), fitted(X, y), rtol=1e-9)
    (variants,) = made._by_signature.values()
    assert (len(variants.programs), variants.traces) == (1, 2)
