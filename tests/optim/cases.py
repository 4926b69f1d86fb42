"""The optimizers and schedules that are held against PyTorch's: names, options, and what is minimised."""

from __future__ import annotations

OPTIMIZERS = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.001, "maximize": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.01, "maximize": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"lr": 0.01, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.03, "alpha": 0.8, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.03, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.9, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.05}),
    ("Adagrad", {"lr": 0.3, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 5.0, "rho": 0.7, "eps": 1e-4, "weight_decay": 0.1}),
    ("Adadelta", {"maximize": True, "weight_decay": 0.2}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.01, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "betas": (0.7, 0.9), "momentum_decay": 0.3, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True, "eps": 1e-3}),
    ("NAdam", {"lr": 0.01, "maximize": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.02, "betas": (0.8, 0.5)}),  # v is never trusted
    ("RAdam", {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.3, "etas": (0.3, 1.5), "step_sizes": (0.05, 0.4)}),
    ("Rprop", {"lr": 0.001, "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.02, "lambd": 0.1, "alpha": 0.5, "t0": 3.0, "weight_decay": 0.05}),
    ("ASGD", {"lr": 0.001, "maximize": True, "t0": 0.0}),
    ("LBFGS", {"max_iter": 4}),
    ("LBFGS", {"lr": 0.5, "max_iter": 3, "history_size": 2}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 5}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 3, "history_size": 3, "lr": 3.0}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 20, "max_eval": 7}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4, "max_eval": 2, "lr": 0.01}),  # ends within a search
]
STEPS = (1, 2, 3, 8, 20)

# Each: a name, the options, and the optimizer's (SGD with momentum where momenta cycle).
SCHEDULES = [
    ("LambdaLR", {"lr_lambda": "lambda epoch: 1 / (1 + epoch)"}),
    ("MultiplicativeLR", {"lr_lambda": "lambda epoch: 0.9 + 0.01 * epoch"}),
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 4, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 3, 11, 11], "gamma": 0.5}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 8}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.6, "total_iters": 9}),
    ("ExponentialLR", {"gamma": 0.87}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 12, "power": 2.5}),
    ("CosineAnnealingLR", {"T_max": 7}),
    ("CosineAnnealingLR", {"T_max": 10, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.02}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 3}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 3, "step_size_down": 5, "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 26}),
    ("OneCycleLR", {"max_lr": 0.5, "epochs": 13, "steps_per_epoch": 2, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 26, "three_phase": True, "pct_start": 0.4}),
]
# Schedulers of schedulers: what they are made of, in order, and the milestones of a sequence (None: chained).
COMPOUND = [
    ([("LinearLR", {"total_iters": 4}), ("ExponentialLR", {"gamma": 0.8})], None),
    ([("CosineAnnealingLR", {"T_max": 9, "eta_min": 0.01}), ("StepLR", {"step_size": 5, "gamma": 0.5})], None),
    ([("LinearLR", {"start_factor": 0.1, "total_iters": 5}), ("CosineAnnealingLR", {"T_max": 15})], [5]),
    ([("ConstantLR", {"total_iters": 3}), ("ExponentialLR", {"gamma": 0.5}), ("StepLR", {"step_size": 2})], [4, 9]),
]
EPOCHS = 25
RESUMED_AT = 4
PLATEAU = [
    ({"factor": 0.5, "patience": 2}, [5, 4, 4, 4, 4, 3.9999, 3.99985, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]),
    (
        {"factor": 0.1, "patience": 0, "mode": "max", "cooldown": 2, "min_lr": 1e-3},
        [1, 1, 2, 2, 2, 2, 2, 3, 1, 1, 1, 1],
    ),
    ({"patience": 1, "threshold_mode": "abs", "threshold": 0.5}, [9, 8.6, 8.4, 8.4, 8.4, 7, 7, 6.9, 6.8, 6.7]),
]
START = [[-1.2, 1.0, 0.7], [0.3, -0.4, 2.0]]


def loss(x, exp):
    """Curved, not convex, with a gradient that is 0 in no entry; x has shape (2, 3)."""
    a, b = x[0], x[1]
    return (3 * (b - a * a) ** 2 + (1 - a) ** 2).sum() + (a * b).sum() ** 2 / 4 + exp(-(b * b)).sum()
