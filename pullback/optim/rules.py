"""The formula of each optimizer's step: new parameters and new state from the old ones and a gradient.

A rule is `rule(p, g, state, options, t)`. It gives the new parameters and stores the new state in the dict `state`; `t`
counts the steps from 1. It computes element by element and writes into nothing, so that the same text serves blocks of
a large array, and Arrays through which a gradient flows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

State = dict[str, Any]
Options = dict[str, Any]
Rule = Callable[[Any, Any, State, Options, int], Any]


def sgd(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Gradient descent, with momentum as in Sutskever et al., On the importance of initialization, ICML 2013."""
    g = _decayed(p, g, options)
    if momentum := options["momentum"]:
        kept = g if t == 1 else momentum * state["momentum_buffer"] + (1 - options["dampening"]) * g
        state["momentum_buffer"] = kept
        g = g + momentum * kept if options["nesterov"] else kept
    return p - options["lr"] * g


def adam(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015; amsgrad: Reddi et al., ICLR 2018."""
    if options["decoupled_weight_decay"]:
        return adamw(p, g, state, options, t)
    return _adam_step(p, _decayed(p, g, options), state, options, t)


def adamw(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019."""
    return _adam_step(
        p * (1 - options["lr"] * options["weight_decay"]), -g if options["maximize"] else g, state, options, t
    )


def rmsprop(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Hinton's lecture 6e of 2012; centered: Graves, Generating sequences with recurrent neural networks, 2013."""
    g, alpha = _decayed(p, g, options), options["alpha"]
    state["square_avg"] = square = alpha * state["square_avg"] + (1 - alpha) * (g * g)
    if options["centered"]:
        state["grad_avg"] = mean = state["grad_avg"] + (1 - alpha) * (g - state["grad_avg"])
        square = square - mean * mean
    g = g / (_root(square) + options["eps"])
    if momentum := options["momentum"]:
        state["momentum_buffer"] = g = momentum * state["momentum_buffer"] + g
    return p - options["lr"] * g


def adagrad(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Duchi, Hazan and Singer, Adaptive subgradient methods, JMLR 12 (2011)."""
    g = _decayed(p, g, options)
    state["sum"] = total = state["sum"] + g * g
    return p - options["lr"] / (1 + (t - 1) * options["lr_decay"]) * (g / (_root(total) + options["eps"]))


def _decayed(p: Any, g: Any, options: Options) -> Any:
    """The gradient of what is minimised, with that of weight_decay / 2 times the sum of squares."""
    if options["maximize"]:
        g = -g
    return g + options["weight_decay"] * p if options["weight_decay"] else g


def _adam_step(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    beta1, beta2 = options["betas"]
    state["exp_avg"] = mean = state["exp_avg"] + (1 - beta1) * (g - state["exp_avg"])
    state["exp_avg_sq"] = square = beta2 * state["exp_avg_sq"] + (1 - beta2) * (g * g)
    if options["amsgrad"]:
        state["max_exp_avg_sq"] = square = np.maximum(state["max_exp_avg_sq"], square)
    return p - options["lr"] / (1 - beta1**t) * (mean / (_root(square) / (1 - beta2**t) ** 0.5 + options["eps"]))


def _root(x: Any) -> Any:
    """The square root of a mean of squares. Its derivative is 0 where every g was 0: it stands beside a mean of 0."""
    if type(x) is np.ndarray:
        return np.sqrt(x)
    zero = x == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, x)))
