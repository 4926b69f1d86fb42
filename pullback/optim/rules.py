"""The formula of each optimizer's step: new parameters and new state from the old ones and a gradient.

A rule is `rule(p, g, state, options, t)`. It gives the new parameters and stores the new state in the dict `state`; `t`
counts the steps from 1. It computes element by element and writes into nothing, so that the same text serves blocks of
a large array, and Arrays through which a gradient flows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.func.rules.calls import moves

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
    return _adam_step(*_decayed_as_asked(p, g, options), state, options, t)


def adamw(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019."""
    return _adam_step(p * (1 - options["lr"] * options["weight_decay"]), _downhill(g, options), state, options, t)


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


def adadelta(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Zeiler, ADADELTA: an adaptive learning rate method, arXiv:1212.5701, 2012."""
    g, rho, eps = _decayed(p, g, options), options["rho"], options["eps"]
    state["square_avg"] = square = rho * state["square_avg"] + (1 - rho) * (g * g)
    move = _root(state["acc_delta"] + eps) / _root(square + eps) * g
    state["acc_delta"] = rho * state["acc_delta"] + (1 - rho) * (move * move)
    return p - options["lr"] * move


def adamax(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015, section 7.1."""
    g, (beta1, beta2) = _decayed(p, g, options), options["betas"]
    state["exp_avg"] = mean = state["exp_avg"] + (1 - beta1) * (g - state["exp_avg"])
    state["exp_inf"] = largest = np.maximum(beta2 * state["exp_inf"], abs(g) + options["eps"])
    return p - options["lr"] / (1 - beta1**t) * (mean / largest)


def nadam(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Dozat, Incorporating Nesterov momentum into Adam, ICLR workshop 2016."""
    p, g = _decayed_as_asked(p, g, options)
    (beta1, beta2), lr = options["betas"], options["lr"]
    now, then = (beta1 * (1 - 0.96 ** (step * options["momentum_decay"]) / 2) for step in (t, t + 1))
    state["mu_product"] = product = state["mu_product"] * now
    mean, square = _moments(g, state, beta1, beta2)
    ahead = lr * (1 - now) / (1 - product) * g + lr * then / (1 - product * then) * mean
    return p - ahead / (_root(square) / (1 - beta2**t) ** 0.5 + options["eps"])


def radam(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Liu et al., On the variance of the adaptive learning rate and beyond, ICLR 2020."""
    p, g = _decayed_as_asked(p, g, options)
    beta1, beta2 = options["betas"]
    mean, square = _moments(g, state, beta1, beta2)
    limit = 2 / (1 - beta2) - 1
    length = limit - 2 * t * beta2**t / (1 - beta2**t)  # of the average that the squares are
    move = options["lr"] / (1 - beta1**t) * mean
    if length > 5:
        rectified = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        move = move * ((1 - beta2**t) * rectified) ** 0.5 / (_root(square) + options["eps"])
    return p - move


def rprop(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Riedmiller and Braun, A direct adaptive method for faster backpropagation learning, ICNN 1993."""
    g, (shorter, longer) = _downhill(g, options), options["etas"]
    turn, length = g * state["prev"], state["step_size"]
    length = np.where(turn > 0, length * longer, np.where(turn < 0, length * shorter, length))
    state["step_size"] = length = np.clip(length, *options["step_sizes"])
    state["prev"] = g = np.where(turn < 0, np.zeros_like(g), g)
    return p - np.sign(g) * length


def asgd(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    """Polyak and Juditsky, Acceleration of stochastic approximation by averaging, SIAM J. Control 30 (1992)."""
    g, lr, lambd = _decayed(p, g, options), options["lr"], options["lambd"]
    p = p * (1 - lambd * state["eta"]) - state["eta"] * g
    state["ax"] = state["ax"] + (p - state["ax"]) * state["mu"] if state["mu"] != 1 else p
    state["eta"] = lr / (1 + lambd * lr * t) ** options["alpha"]
    state["mu"] = 1 / max(1, t - options["t0"])
    return p


def _downhill(g: Any, options: Options) -> Any:
    """The gradient of what is minimised."""
    return -g if options["maximize"] else g


def _decayed(p: Any, g: Any, options: Options) -> Any:
    """The gradient of what is minimised, with that of weight_decay / 2 times the sum of squares."""
    g = _downhill(g, options)
    return g + options["weight_decay"] * p if options["weight_decay"] else g


def _decayed_as_asked(p: Any, g: Any, options: Options) -> tuple[Any, Any]:
    """Parameter and gradient after weight decay, which is the gradient's part or a step of its own."""
    if options["decoupled_weight_decay"]:
        return p * (1 - options["lr"] * options["weight_decay"]), _downhill(g, options)
    return p, _decayed(p, g, options)


def _adam_step(p: Any, g: Any, state: State, options: Options, t: int) -> Any:
    beta1, beta2 = options["betas"]
    mean, square = _moments(g, state, beta1, beta2)
    if options["amsgrad"]:
        state["max_exp_avg_sq"] = square = np.maximum(state["max_exp_avg_sq"], square)
    return p - options["lr"] / (1 - beta1**t) * (mean / (_root(square) / (1 - beta2**t) ** 0.5 + options["eps"]))


def _moments(g: Any, state: State, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    """The running means of the gradients and of their squares."""
    state["exp_avg"] = mean = state["exp_avg"] + (1 - beta1) * (g - state["exp_avg"])
    state["exp_avg_sq"] = square = beta2 * state["exp_avg_sq"] + (1 - beta2) * (g * g)
    return mean, square


def _root(x: Any) -> Any:
    """The square root of a mean of squares. Its derivative is 0 where every g was 0: it stands beside a mean of 0."""
    if type(x) is np.ndarray or not moves(x):
        return np.sqrt(x)
    zero = x == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, x)))
