"""LBFGS: a quasi-Newton method that remembers a few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.array_type import numbers_of
from pullback.core.modes import enable_grad
from pullback.core.tensor import Tensor, ndarray
from pullback.optim.line_search import Trial, strong_wolfe
from pullback.optim.optimizer import Optimizer, Params, memory_of, writing
from pullback.optim.rules import State


class LBFGS(Optimizer):
    """The limited-memory BFGS method; `torch.optim.LBFGS`.

    The direction is -H g, with the inverse Hessian H estimated from the last `history_size` steps by the two-loop
    recursion [1]_. One `step` makes up to `max_iter` of these moves. For a function of plain arrays there is
    `pullback.optimize.minimize`, which has SciPy's methods.

    Parameters
    ----------
    params : iterable of Tensors
        Real, of one group.
    lr : float, default 1
        The length of a move; with a line search, of its first trial.
    max_iter : int, default 20
    max_eval : int, default `max_iter` * 5 // 4
        How often a step may call `closure`.
    tolerance_grad : float, default 1e-7
        A step ends where no entry of the gradient is larger.
    tolerance_change : float, default 1e-9
        It ends where neither loss nor parameters change more.
    history_size : int, default 100
    line_search_fn : None or "strong_wolfe", default None

    Raises
    ------
    TypeError
        What is optimised is no Tensor, there is no option of that name, or an option is of another kind.
    ValueError
        No parameters, one in two groups, a tensor that was computed from others, an option out of its range; several
        groups, or a complex parameter.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([-1.2, 1.0], requires_grad=True)
    >>> optimizer = pb.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=100)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(2):
    ...     loss = optimizer.step(closure)
    >>> x.detach().round(decimals=4)
    tensor([1., 1.])

    References
    ----------
    .. [1] Nocedal and Wright, Numerical Optimization, 2nd edition, algorithm 7.4.
    """

    def __init__(
        self, params: Params, lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, options)
        if len(self.param_groups) > 1:
            raise ValueError("LBFGS: all parameters are of one group")
        for p in self._params():
            if np.iscomplexobj(memory_of(p, "LBFGS")):
                raise ValueError("LBFGS: parameters are real; give view_as_real of a complex one")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to `max_iter` moves.

        Parameters
        ----------
        closure : callable
            Sets the gradients to zero, computes the loss, calls backward, returns the loss.

        Returns
        -------
        The loss before the first move, as `closure` returned it.
        """
        if closure is None:
            raise TypeError("LBFGS.step: give the closure that computes the loss and the gradients")
        o, params = self.param_groups[0], list(self._params())
        losses: list[Any] = []

        def at_present() -> tuple[float, ndarray]:
            with enable_grad():
                losses.append(closure())
            if losses[-1] is None:
                raise TypeError("LBFGS.step: the closure returned None; it returns the loss")
            loss = losses[-1].item() if isinstance(losses[-1], Tensor) else float(losses[-1])
            return loss, np.concatenate([_slopes(p) for p in params])

        loss, g = at_present()
        evaluations, state = 1, self.state.setdefault(params[0], {"n_iter": 0, "func_evals": 0})
        for move in range(1, o["max_iter"] + 1):
            if np.abs(g).max() <= o["tolerance_grad"]:
                break
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0}
                t = o["lr"] * min(1.0, 1 / np.abs(g).sum())
            else:
                _remember(state, g - state["prev_flat_grad"], state["d"] * state["t"], o["history_size"])
                t = o["lr"]
            d = _direction(state, g)
            state |= {"d": d, "t": t, "prev_flat_grad": g, "prev_loss": loss}
            here = Trial(0.0, loss, g, g @ d)
            if here.slope > -o["tolerance_change"]:
                break
            start = [memory_of(p, "LBFGS").copy() for p in params]
            if o["line_search_fn"]:

                def trial(t: float, start: list[ndarray] = start, d: ndarray = d) -> Trial:
                    _place(params, start, t * d)
                    loss, g = at_present()
                    return Trial(t, loss, g, g @ d)

                left = o["max_eval"] - evaluations
                (t, loss, g, _), more = strong_wolfe(trial, here, t, np.abs(d).max(), o["tolerance_change"], left)
                _place(params, start, t * d)
            else:
                _place(params, start, t * d)
                more = int(move < o["max_iter"])  # what the last move leads to is the next step's to find
                if more:
                    loss, g = at_present()
            state["t"] = t
            evaluations += more
            is_still = np.abs(t * d).max() <= o["tolerance_change"] or abs(loss - here.loss) < o["tolerance_change"]
            if evaluations >= o["max_eval"] or is_still:
                break
        state["func_evals"] += evaluations
        return losses[0]

    def _own(self, key: str, value: Any, p: Tensor) -> Any:
        if isinstance(value, list):
            return [self._own(key, x, p) for x in value]
        return value if value is None or isinstance(value, int | float) else np.array(numbers_of(value))[()]


def _slopes(p: Tensor) -> ndarray:
    return np.zeros(p.numel()) if p.grad is None else memory_of(p.grad, "LBFGS").reshape(-1)


def _place(params: list[Tensor], start: list[ndarray], move: ndarray) -> None:
    """Set the parameters to what they were, plus a move."""
    for p, old, d in zip(params, start, np.split(move, np.cumsum([x.size for x in start])[:-1]), strict=True):
        with writing(p, "LBFGS.step") as target:
            target[...] = old + d.reshape(old.shape)


def _remember(state: State, change: ndarray, move: ndarray, most: int) -> None:
    """Keep a move s and the change y of the gradient with it, if the loss curves upwards along it."""
    curvature = change @ move
    if curvature <= 1e-10:
        return
    for name, new in (("old_dirs", change), ("old_stps", move), ("ro", 1 / curvature)):
        state[name] = [*state[name][len(state[name]) == most :], new]
    state["H_diag"] = curvature / (change @ change)


def _direction(state: State, g: ndarray) -> ndarray:
    """-H g by the two-loop recursion."""
    kept = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
    d: ndarray = -g
    parts = []
    for y, s, rho in reversed(kept):
        parts.append(rho * (s @ d))
        d = d - parts[-1] * y
    d = d * state["H_diag"]
    for (y, s, rho), part in zip(kept, reversed(parts), strict=True):
        d = d + (part - rho * (y @ d)) * s
    return d
