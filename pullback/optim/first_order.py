"""SGD, ASGD, Rprop, RMSprop, Adagrad, Adadelta: their options, and what they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pullback.optim import rules
from pullback.optim.by_rule import ByRule, options_among
from pullback.optim.optimizer import Params


class SGD(ByRule):
    """Stochastic gradient descent, with momentum and Nesterov's variant; `torch.optim.SGD`.

    With the gradient g (plus `weight_decay` * p), b <- momentum * b + (1 - dampening) * g, b = g in the first step, and
    p <- p - lr * b; nesterov: p <- p - lr * (g + momentum * b).

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-3
    momentum, dampening, weight_decay : float, default 0
    nesterov : bool, default False
    maximize : bool, default False
        Go along the gradient instead of against it.

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range;
        `nesterov` without momentum.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.SGD([x], lr=0.25)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 0.25, -0.5 ], requires_grad=True)
    """

    rule = staticmethod(rules.sgd)

    def __init__(
        self, params: Params, lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"momentum_buffer": 0.0} if options["momentum"] else {}


class ASGD(ByRule):
    """Averaged stochastic gradient descent; `torch.optim.ASGD`.

    With the gradient g (plus `weight_decay` * p), p <- p * (1 - lambd * eta) - eta * g, where eta is `lr` in the first
    step and lr / (1 + lambd * lr * t)**alpha after step t. The state "ax" of a parameter is the mean of p from step
    `t0` on, and before it p.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-2
    lambd : float, default 1e-4
    alpha : float, default 0.75
    t0 : float, default 1e6
    weight_decay : float, default 0
    maximize : bool, default False

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.ASGD([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.512, -1.024])

    References
    ----------
    .. [1] Polyak and Juditsky, Acceleration of stochastic approximation by averaging, SIAM Journal on Control and
       Optimization 30 (1992).
    """

    rule = staticmethod(rules.asgd)
    _numbers = ("eta", "mu")

    def __init__(
        self, params: Params, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"eta": options["lr"], "mu": 1.0, "ax": 0.0}


class Rprop(ByRule):
    """Resilient backpropagation: of a gradient the sign counts, and each entry has a step length; `torch.optim.Rprop`.

    The length l, at first `lr`, is multiplied by etas[1] where the gradient g has the sign of the step before, and by
    etas[0] where it has the other one, in which case g is taken for 0; it stays within `step_sizes`.
    p <- p - sign(g) * l.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-2
    etas : (float, float), default (0.5, 1.2)
    step_sizes : (float, float), default (1e-6, 50)
        The least and the largest step length.
    maximize : bool, default False

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.Rprop([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.636, -1.636])

    References
    ----------
    .. [1] Riedmiller and Braun, A direct adaptive method for faster backpropagation learning: the RPROP algorithm,
       ICNN 1993.
    """

    rule = staticmethod(rules.rprop)

    def __init__(
        self, params: Params, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"prev": 0.0, "step_size": options["lr"]}


class RMSprop(ByRule):
    """RMSprop; `torch.optim.RMSprop`.

    With the gradient g (plus `weight_decay` * p), v <- alpha * v + (1 - alpha) * g**2 and
    p <- p - lr * g / (sqrt(v) + eps). centered: sqrt(v - a**2) with the mean a of g. momentum: as in `SGD`, of the
    quotient.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-2
    alpha : float, default 0.99
    eps : float, default 1e-8
    weight_decay, momentum : float, default 0
    centered, maximize : bool, default False

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.RMSprop([x], lr=0.1, momentum=0.5)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([-0.2992,  0.4465])

    References
    ----------
    .. [1] Graves, Generating sequences with recurrent neural networks, arXiv:1308.0850, 2013.
    """

    rule = staticmethod(rules.rmsprop)

    def __init__(
        self, params: Params, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        kept = {"square_avg": True, "momentum_buffer": options["momentum"] > 0, "grad_avg": options["centered"]}
        return {name: 0.0 for name, needed in kept.items() if needed}


class Adagrad(ByRule):
    """Adagrad; `torch.optim.Adagrad`.

    With the gradient g (plus `weight_decay` * p), s <- s + g**2 and
    p <- p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps) in step t.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-2
    lr_decay, weight_decay : float, default 0
    initial_accumulator_value : float, default 0
        The first s.
    eps : float, default 1e-10
    maximize : bool, default False

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.Adagrad([x], lr=0.5)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.1564, -0.9836])

    References
    ----------
    .. [1] Duchi, Hazan and Singer, Adaptive subgradient methods for online learning, JMLR 12 (2011).
    """

    rule = staticmethod(rules.adagrad)

    def __init__(
        self, params: Params, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"sum": options["initial_accumulator_value"]}


class Adadelta(ByRule):
    """Adadelta; `torch.optim.Adadelta`.

    With the gradient g (plus `weight_decay` * p), v <- rho * v + (1 - rho) * g**2,
    d = sqrt(u + eps) / sqrt(v + eps) * g, u <- rho * u + (1 - rho) * d**2, and p <- p - lr * d.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1
    rho : float, default 0.9
    eps : float, default 1e-6
    weight_decay : float, default 0
    maximize : bool, default False

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.Adadelta([x], lr=100.0)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.2415, -1.1236])

    References
    ----------
    .. [1] Zeiler, ADADELTA: an adaptive learning rate method, arXiv:1212.5701, 2012.
    """

    rule = staticmethod(rules.adadelta)

    def __init__(
        self, params: Params, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, *,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}
