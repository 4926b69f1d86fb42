"""Adam, AdamW, Adamax, NAdam, RAdam: their options, and what they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pullback.optim import rules
from pullback.optim.by_rule import ByRule, options_among
from pullback.optim.optimizer import Params


class Adam(ByRule):
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
        super().__init__(params, options_among(locals()))

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


class Adamax(ByRule):
    """Adam with the largest gradient in place of the root of the mean square; `torch.optim.Adamax`.

    With the gradient g (plus `weight_decay` * p), m <- m + (1 - beta1) * (g - m), u <- max(beta2 * u, abs(g) + eps),
    and p <- p - lr / (1 - beta1**t) * m / u in step t.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 2e-3
    betas : (float, float), default (0.9, 0.999)
    eps : float, default 1e-8
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
    >>> optimizer = pb.optim.Adamax([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.7155, -1.7076])

    References
    ----------
    .. [1] Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015, section 7.1.
    """

    rule = staticmethod(rules.adamax)

    def __init__(
        self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}


class NAdam(ByRule):
    """Adam with Nesterov's momentum; `torch.optim.NAdam`.

    With the gradient g (plus `weight_decay` * p) and Adam's m and v,
    p <- p - lr * ((1 - c) / (1 - C) * g + c' / (1 - C * c') * m) / (sqrt(v / (1 - beta2**t)) + eps) in step t, where
    c = beta1 * (1 - 0.96**(t * momentum_decay) / 2), c' is that of the next step, and C the product of all c so far.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 2e-3
    betas : (float, float), default (0.9, 0.999)
    eps : float, default 1e-8
    weight_decay : float, default 0
    momentum_decay : float, default 4e-3
    decoupled_weight_decay : bool, default False
        Decay the weights as `AdamW` does.
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
    >>> optimizer = pb.optim.NAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.7527, -1.7475])

    References
    ----------
    .. [1] Dozat, Incorporating Nesterov momentum into Adam, ICLR workshop 2016.
    """

    rule = staticmethod(rules.nadam)
    _numbers = ("mu_product",)

    def __init__(
        self, params: Params, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"mu_product": 1.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}


class RAdam(ByRule):
    """Adam whose first steps, of which v says too little, are those of momentum alone; `torch.optim.RAdam`.

    With the gradient g (plus `weight_decay` * p) and Adam's m and v, p <- p - lr * r * m / (1 - beta1**t) *
    sqrt(1 - beta2**t) / (sqrt(v) + eps) in step t, where r**2 = (n - 4) * (n - 2) * N / ((N - 4) * (N - 2) * n),
    N = 2 / (1 - beta2) - 1 and n = N - 2 * t * beta2**t / (1 - beta2**t); while n <= 5,
    p <- p - lr * m / (1 - beta1**t).

    Parameters
    ----------
    params : iterable of Tensors, or of dicts with "params" and options of a group
    lr : float, default 1e-3
    betas : (float, float), default (0.9, 0.999)
    eps : float, default 1e-8
    weight_decay : float, default 0
    decoupled_weight_decay : bool, default False
        Decay the weights as `AdamW` does.
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
    >>> optimizer = pb.optim.RAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x.detach().round(decimals=4)
    tensor([ 0.4623, -0.9246])

    References
    ----------
    .. [1] Liu et al., On the variance of the adaptive learning rate and beyond, ICLR 2020.
    """

    rule = staticmethod(rules.radam)

    def __init__(
        self, params: Params, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options_among(locals()))

    @staticmethod
    def _kept_for(options: Mapping[str, Any]) -> Mapping[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}
