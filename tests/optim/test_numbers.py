"""The optimizers lead where PyTorch's do: parameters and rates after each of many steps, to 1e-12."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.optim import SGD, lr_scheduler
from tests.optim import cases

TABLE = json.loads(Path(__file__).with_name("torch_steps.json").read_text(encoding="utf-8"))


def named(case):
    return f"{case[0]}-{'-'.join(f'{k}={v}' for k, v in case[1].items())}"


def rows(which, names):
    return pytest.mark.parametrize(
        ("case", "expected"),
        list(zip(which, names, strict=True)),
        ids=[named(c) if isinstance(c[0], str) else None for c in which],
    )


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@rows(cases.OPTIMIZERS, TABLE["optimizers"])
def test_parameters(case, expected):
    name, options = case
    x = pb.tensor(cases.START, requires_grad=True)
    optimizer = getattr(pb.optim, name)([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = cases.loss(x, pb.exp)
        loss.backward()
        return loss

    seen = []
    for step in range(1, max(cases.STEPS) + 1):
        optimizer.step(closure)
        if step in cases.STEPS:
            seen.append(x.tolist())
    same(seen, expected)


@rows(
    *zip(*[(c, e) for c, e in zip(cases.OPTIMIZERS, TABLE["optimizers"], strict=True) if c[0] != "LBFGS"], strict=True)
)
def test_parameters_of_functional_optimizers(case, expected):
    name, options = case
    optimizer = getattr(pb.optim, name).functional(**options)
    start = np.array(cases.START)
    params = {"rows": [start[0], start[1]]}
    state = optimizer.init(params)
    gradient = pb.func.grad(lambda p: cases.loss(np.stack(p["rows"]), np.exp))
    seen = []
    for step in range(1, max(cases.STEPS) + 1):
        before = [row.copy() for row in params["rows"]]
        new, state = optimizer.update(params, gradient(params), state)
        assert all(map(np.array_equal, params["rows"], before)), "parameters were written into"
        params = new
        assert all(type(row) is np.ndarray for row in params["rows"])
        if step in cases.STEPS:
            seen.append(np.stack(params["rows"]))
    same(seen, expected)


def sgd():
    parameters = [pb.zeros(1), pb.zeros(2)]
    groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 0.4}]
    return pb.optim.SGD(groups, lr=0.1, momentum=0.5)


def made(name, options, optimizer):
    options = {k: eval(v) if k == "lr_lambda" else v for k, v in options.items()}
    return getattr(lr_scheduler, name)(optimizer, **options)


def rates(optimizer, scheduler, metrics=None, begin=0):
    seen = []
    for epoch in range(begin, cases.EPOCHS if metrics is None else len(metrics)):
        seen.append([[g["lr"], g["momentum"]] for g in optimizer.param_groups])
        scheduler.step(*(() if metrics is None else (metrics[epoch],)))
    return seen


@rows(cases.SCHEDULES, TABLE["schedules"])
def test_rates(case, expected):
    optimizer = sgd()
    same(rates(optimizer, made(*case, optimizer)), expected)


@rows(cases.SCHEDULES, TABLE["schedules"])
def test_rates_go_on_from_a_state(case, expected):
    optimizer = sgd()
    scheduler = made(*case, optimizer)
    for _ in range(7):
        scheduler.step()
    states = optimizer.state_dict(), scheduler.state_dict()
    optimizer = sgd()
    scheduler = made(*case, optimizer)
    optimizer.load_state_dict(states[0])
    scheduler.load_state_dict(states[1])
    same(rates(optimizer, scheduler, begin=7), expected[7:])


# PyTorch forgets, where it goes on, that periods have become longer.
RESUMED = [(c, e) for c, e in zip(cases.SCHEDULES, TABLE["resumed"], strict=True) if "T_mult" not in c[1]]


@rows(*zip(*RESUMED, strict=True))
def test_rates_go_on_after_a_last_epoch(case, expected):
    name, options = case
    optimizer, again = sgd(), sgd()
    scheduler = made(name, options, optimizer)
    for _ in range(cases.RESUMED_AT):
        scheduler.step()
    again.load_state_dict(optimizer.state_dict())
    scheduler = made(name, {**options, "last_epoch": cases.RESUMED_AT}, again)
    same(rates(again, scheduler, begin=cases.EPOCHS - 9), expected)


def test_longer_periods_go_on_after_a_last_epoch():
    optimizer = sgd()
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, 2)
    seen = rates(optimizer, scheduler)
    optimizer.param_groups[0]["initial_lr"] = 0.1
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, 2, last_epoch=7)
    same(rates(optimizer, scheduler, begin=8), seen[8:])


@rows(cases.COMPOUND, TABLE["compound"])
def test_rates_of_schedulers_of_schedulers(case, expected):
    parts, milestones = case
    optimizer = sgd()
    schedulers = [made(*part, optimizer) for part in parts]
    if milestones is None:
        scheduler = lr_scheduler.ChainedScheduler(schedulers)
    else:
        scheduler = lr_scheduler.SequentialLR(optimizer, schedulers, milestones)
    same(rates(optimizer, scheduler), expected)


@rows(cases.COMPOUND, TABLE["compound"])
def test_rates_of_schedulers_of_schedulers_go_on_from_a_state(case, expected):
    parts, milestones = case

    def compound():
        optimizer = sgd()
        schedulers = [made(*part, optimizer) for part in parts]
        if milestones is None:
            return optimizer, lr_scheduler.ChainedScheduler(schedulers)
        return optimizer, lr_scheduler.SequentialLR(optimizer, schedulers, milestones)

    optimizer, scheduler = compound()
    for _ in range(3):
        scheduler.step()
    states = optimizer.state_dict(), scheduler.state_dict()
    optimizer, scheduler = compound()
    optimizer.load_state_dict(states[0])
    scheduler.load_state_dict(states[1])
    same(rates(optimizer, scheduler, begin=3), expected[3:])


def test_adam_decays_as_adamw_does_if_asked():
    def moved(kind, **options):
        x = pb.tensor([1.0, -2.0], requires_grad=True)
        optimizer = kind([x], lr=0.1, weight_decay=0.3, **options)
        for _ in range(4):
            optimizer.zero_grad()
            (x**4).sum().backward()
            optimizer.step()
        return x.detach().numpy()

    expected = moved(pb.optim.AdamW)
    np.testing.assert_array_equal(moved(pb.optim.Adam, decoupled_weight_decay=True), expected)
    assert not np.allclose(moved(pb.optim.Adam), expected)


@rows(cases.PLATEAU, TABLE["plateau"])
def test_rates_on_a_plateau(case, expected):
    options, metrics = case
    optimizer = sgd()
    same(rates(optimizer, lr_scheduler.ReduceLROnPlateau(optimizer, **options), metrics), expected)


@pytest.mark.parametrize("chained", [False, True])
def test_a_state_of_pytorchs_schedulers_of_schedulers_is_taken(chained):
    optimizer = SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    parts = [lr_scheduler.ConstantLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.5)]
    made = lr_scheduler.ChainedScheduler(parts) if chained else lr_scheduler.SequentialLR(optimizer, parts, [2])
    given = {**made.state_dict(), "_schedulers": [{**part.state_dict(), "last_epoch": 7} for part in parts]}
    if chained:
        del given["last_epoch"]  # PyTorch keeps none
    made.load_state_dict(given)
    assert [part.last_epoch for part in parts] == [7, 7]
    with pytest.raises(TypeError, match=r"state_dict\(\) of a \w+ of 2 schedulers"):
        made.load_state_dict({"schedulers": []})


def test_a_constant_factor_for_no_epochs_stays_as_in_pytorch():
    optimizer = SGD([pb.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=0)
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25]
