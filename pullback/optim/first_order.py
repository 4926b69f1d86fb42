"""SGD, Adam, AdamW, RMSprop, Adagrad: their options, and what they keep."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pullback.optim import rules
from pullback.optim.functional import FunctionalOptimizer
from pullback.optim.optimizer import Optimizer, Params


class _ByRule(Optimizer):
    """An optimizer whose step is a rule for one array."""

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        raise NotImplementedError

    def _kept(self, options: Mapping[str, Any]) -> Mapping[str, float]:
        return self._kept_for(options)

    @classmethod
    def functional(cls, **options: Any) -> FunctionalOptimizer:
        """The same optimizer for parameters in a tree of arrays.

        Parameters
        ----------
        **options
            Those of the class. `lr` may be a function of the number of steps made before.

        Returns
        -------
        FunctionalOptimizer
            With `init(params)` and `update(params, grads, state)`.

        Raises
        ------
        TypeError
            An option has an unknown name.
        ValueError
            An option is out of its range.

        Examples
        --------
        >>> optimizer = pb.optim.SGD.functional(lr=0.5)
        >>> params, state = optimizer.update({"w": 3.0}, {"w": 2.0}, optimizer.init({"w": 3.0}))
        >>> params
        {'w': 2.0}
        """
        signature = inspect.signature(cls.__init__).parameters.values()
        defaults = {p.name: p.default for p in signature if p.default is not p.empty}
        return FunctionalOptimizer(cls.__name__, cls.rule, cls._kept_for, defaults, options)


class SGD(_ByRule):
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
        super().__init__(params, _options(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"momentum_buffer": 0.0} if options["momentum"] else {}


class Adam(_ByRule):
    """Adam; `torch.optim.Adam`.

    With the gradient g (plus `weight_decay` * p), m <- m + (1 - beta1) * (g - m), v <- beta2 * v + (1 - beta2) * g**2,
    and p <- p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps) in step t. amsgrad: the largest v so far.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-3
    betas : (float, float), default (0.9, 0.999)
    eps : float, default 1e-8
    weight_decay : float, default 0
    amsgrad, maximize : bool, default False
    decoupled_weight_decay : bool, default False
        Decay the weights as `AdamW` does.

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.Adam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.7016, -1.7006])

    References
    ----------
    .. [1] Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
    .. [2] Reddi, Kale and Kumar, On the convergence of Adam and beyond, ICLR 2018.
    """

    rule = staticmethod(rules.adam)

    def __init__(
        self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, maximize: bool = False, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, _options(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0, **({"max_exp_avg_sq": 0.0} if options["amsgrad"] else {})}


class AdamW(Adam):
    """Adam with decoupled weight decay; `torch.optim.AdamW`.

    First p <- (1 - lr * weight_decay) * p, then Adam's step with the gradient alone.

    Parameters
    ----------
    params, lr, betas, eps, amsgrad, maximize
        As in `Adam`.
    weight_decay : float, default 0.01

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range.

    Examples
    --------
    >>> x = pb.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = pb.optim.AdamW([x], lr=0.1, weight_decay=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.6751, -1.6444])

    References
    ----------
    .. [1] Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019.
    """

    rule = staticmethod(rules.adamw)

    def __init__(
        self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True)


class RMSprop(_ByRule):
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
        super().__init__(params, _options(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        kept = {"square_avg": True, "momentum_buffer": options["momentum"] > 0, "grad_avg": options["centered"]}
        return {name: 0.0 for name, needed in kept.items() if needed}


class Adagrad(_ByRule):
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
        super().__init__(params, _options(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"sum": options["initial_accumulator_value"]}


def _options(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the local names of an `__init__`."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}
