"""Write tests/optim/torch_steps.json: where PyTorch's optimizers and schedules lead.

It needs PyTorch, which the tests do not: PYTHONPATH=. python tools/optimizer_steps.py
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.optim import cases

TABLE = Path(__file__).parents[1] / "tests" / "optim" / "torch_steps.json"


def minimised(name, options):
    """The parameters after some of the steps."""
    x = torch.tensor(cases.START, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, name)([x], **options)

    def closure():
        """The loss and its gradient."""
        optimizer.zero_grad()
        loss = cases.loss(x, torch.exp)
        loss.backward()
        return loss

    seen = []
    for step in range(1, max(cases.STEPS) + 1):
        optimizer.step(closure)
        if step in cases.STEPS:
            seen.append(x.tolist())
    return seen


def sgd():
    """Two groups."""
    parameters = [torch.zeros(1), torch.zeros(2)]
    groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 0.4}]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.5)


def made(name, options, optimizer):
    """A scheduler."""
    options = {k: eval(v) if k == "lr_lambda" else v for k, v in options.items()}  # noqa: S307 - our own text
    return getattr(torch.optim.lr_scheduler, name)(optimizer, **options)


def rates(optimizer, scheduler, metrics=None, epochs=cases.EPOCHS):
    """Rates and momenta after each epoch."""
    seen = []
    for epoch in range(epochs if metrics is None else len(metrics)):
        seen.append([[g["lr"], g["momentum"]] for g in optimizer.param_groups])
        optimizer.step()
        scheduler.step(*(() if metrics is None else (metrics[epoch],)))
    return seen


def compound(parts, milestones):
    """Of schedulers of schedulers."""
    optimizer = sgd()
    schedulers = [made(*part, optimizer) for part in parts]
    scheduler = torch.optim.lr_scheduler
    if milestones is None:
        return rates(optimizer, scheduler.ChainedScheduler(schedulers))
    return rates(optimizer, scheduler.SequentialLR(optimizer, schedulers, milestones))


def one(name, options):
    """Of one scheduler."""
    optimizer = sgd()
    return rates(optimizer, made(name, options, optimizer))


def resumed(name, options):
    """Of a scheduler that is made anew for an optimizer whose state was loaded."""
    optimizer = sgd()
    scheduler = made(name, options, optimizer)
    for _ in range(cases.RESUMED_AT):
        optimizer.step()
        scheduler.step()
    again = sgd()
    again.load_state_dict(optimizer.state_dict())
    return rates(again, made(name, {**options, "last_epoch": cases.RESUMED_AT}, again), epochs=9)


def plateau(options, metrics):
    """Of a scheduler that is told how good the epoch was."""
    optimizer = sgd()
    return rates(optimizer, torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options), metrics)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)  # of the numbers that NAdam and ASGD keep beside the arrays
    table = {
        "torch": torch.__version__,
        "optimizers": [minimised(*case) for case in cases.OPTIMIZERS],
        "schedules": [one(*case) for case in cases.SCHEDULES],
        "resumed": [resumed(*case) for case in cases.SCHEDULES],
        "compound": [compound(*case) for case in cases.COMPOUND],
        "plateau": [plateau(*case) for case in cases.PLATEAU],
    }
    TABLE.write_text(json.dumps(table) + "\n", encoding="utf-8")
