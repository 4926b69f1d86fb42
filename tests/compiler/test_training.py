"""Optimizers inside of compiled functions: made there, and those that were there before."""

import warnings

import numpy as np
import pytest

import pullback as pb

DATA = np.random.default_rng(0).normal(size=(20, 2))
OPTIMIZERS = {
    "SGD": lambda p: pb.optim.SGD(p, lr=0.1),
    "momentum": lambda p: pb.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
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
    assert (len(variants.programs), variants.candidates) == (1, [])


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_an_optimizer_that_was_there_before_goes_on(make):
    """Its program makes steps as eager ones; its state is that without a program; eager steps go on from it."""
    w, optimizer, step = setup(make)
    other, expected, eager = setup(make)
    made = pb.compile(step)
    for i in range(20):
        run = step if i == 2 else made
        np.testing.assert_allclose(run(*data(i)).numpy(), eager(*data(i)).numpy(), rtol=1e-10)
        np.testing.assert_allclose(w.detach().numpy(), other.detach().numpy(), rtol=1e-10)
        kept, known = optimizer.state_dict()["state"][0], expected.state_dict()["state"][0]
        assert {key: type(x) for key, x in kept.items()} == {key: type(x) for key, x in known.items()}
        for key, x in known.items():
            np.testing.assert_allclose(kept[key], x, rtol=1e-10)
    (variants,) = made._by_signature.values()
    assert variants.programs[0].calls >= 9


@pytest.mark.parametrize("rate", [0.1, pb.tensor(0.1)], ids=["number", "Tensor"])
@pytest.mark.parametrize("make", [pb.optim.SGD, pb.optim.AdamW])
def test_a_rate_that_changes_is_never_stale(make, rate):
    """A number is watched; a Tensor is read at each call, and schedulers write into it."""
    runs, weights, schedulers = [], [], []
    for compiled in (True, False):
        w, optimizer, step = setup(lambda p: make(p, lr=pb.tensor(0.1) if isinstance(rate, pb.Tensor) else rate))
        runs.append(pb.compile(step) if compiled else step)
        weights.append(w.detach())
        schedulers.append(pb.optim.lr_scheduler.ExponentialLR(optimizer, 0.9))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pb.compiler.CompileWarning)
        for i in range(20):
            for run, scheduler in zip(runs, schedulers, strict=True):
                run(*data(i))
                scheduler.step()
            np.testing.assert_allclose(*weights, rtol=1e-12)
    if isinstance(rate, pb.Tensor):
        assert not caught
        (variants,) = runs[0]._by_signature.values()
        assert variants.programs[0].calls >= 9
    else:
        assert "give the optimizer lr=pb.tensor(...)" in str(caught[0].message)


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
    assert (len(variants.programs), variants.candidates) == (1, [])
