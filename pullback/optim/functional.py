"""Optimizers as functions: parameters, gradients and state in, new parameters and new state out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.core.errors import type_name
from pullback.core.pytree import tree_flatten, tree_unflatten
from pullback.explain.calls import shown
from pullback.optim.options import check_options
from pullback.optim.rules import Options, Rule, State


class OptimizerState(NamedTuple):
    """Holds what an optimizer remembers of its parameters: a tree of arrays, as every transform takes it.

    Attributes
    ----------
    step : int
        How many steps were made.
    kept : list of dicts
        For each leaf of the parameters, in the order of `utils.pytree.tree_leaves`, the arrays kept for it.
    """

    step: int
    kept: list[State]


class FunctionalOptimizer:
    """An optimizer that writes into nothing: `optim.Adam.functional(lr=0.1)` makes one.

    Its steps are functions of plain arrays. They are differentiable, by the start and by the options too, because they
    are computed by what `func.grad` sees.

    Parameters
    ----------
    Made by `functional(**options)` of a class of optimizers, not by itself.

    Raises
    ------
    TypeError
        There is no option of that name.
    ValueError
        An option is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> loss = lambda p: np.sum((p["w"] - 3.0) ** 2)
    >>> optimizer = pb.optim.SGD.functional(lr=0.1, momentum=0.5)
    >>> params = {"w": np.zeros(2)}
    >>> state = optimizer.init(params)
    >>> for _ in range(60):
    ...     params, state = optimizer.update(params, pb.func.grad(loss)(params), state)
    >>> params["w"].round(6)
    array([3., 3.])
    """

    def __init__(
        self, name: str, rule: Rule, kept: Callable[[Options], Mapping[str, float]], defaults: Options, given: Options,
        numbers: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        check_options(f"{name}.functional", given, defaults)
        self._name, self._rule, self._kept, self._numbers = name, rule, kept, numbers
        self.options: Options = {**defaults, **given}

    def __repr__(self) -> str:
        return f"{self._name}.functional({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"

    def init(self, params: Any) -> OptimizerState:
        """The state before the first step.

        Parameters
        ----------
        params : array, number, or tree of these
            Floating-point or complex parameters.

        Returns
        -------
        OptimizerState

        Raises
        ------
        TypeError
            A parameter holds no floating-point numbers.

        Examples
        --------
        >>> optimizer = pb.optim.SGD.functional(momentum=0.9)
        >>> optimizer.init({"w": np.zeros(2)})
        OptimizerState(step=0, kept=[{'momentum_buffer': array([0., 0.])}])
        """
        leaves = [self._leaf(x) for x in tree_flatten(params)[0]]
        kept = self._kept(_at(0, self.options))
        return OptimizerState(0, [begun(x, kept, self._numbers) for x in leaves])

    def update(self, params: Any, grads: Any, state: OptimizerState, **options: Any) -> tuple[Any, OptimizerState]:
        """One step.

        Parameters
        ----------
        params, grads : trees of the same structure
            The parameters and the gradient by them, as `func.grad` gives it.
        state : OptimizerState
            From `init`, or from the step before.
        **options
            Options of this step alone, `lr` say. A callable `lr` is called with the number of steps made before.

        Returns
        -------
        (params, state), built as what was given.

        Raises
        ------
        TypeError
            `state` is not a state of this optimizer, or an option has an unknown name.
        ValueError
            `grads` or `state` is built differently from `params`, or `state` comes from another optimizer.

        Examples
        --------
        >>> optimizer = pb.optim.SGD.functional(lr=0.5)
        >>> params = np.array([3.0, 1.0])
        >>> params, state = optimizer.update(params, np.array([2.0, 0.0]), optimizer.init(params))
        >>> params, state.step
        (array([2., 1.]), 1)
        >>> optimizer.update(params, np.array([2.0, 0.0]), state, lr=0.1)[0]
        array([1.8, 1. ])
        """
        name = f"{self._name}.functional"
        if not isinstance(state, OptimizerState):
            raise TypeError(
                f"{name}.update: state is what init(params) or the update before returned, got {shown(state)}"
            )
        check_options(name, options, self.options)
        o = _at(state.step, {**self.options, **options})
        (leaves, spec), (slopes, slopes_spec) = tree_flatten(params), tree_flatten(grads)
        if spec != slopes_spec:
            raise ValueError(f"{name}.update: grads are {slopes_spec} and params {spec}")
        if len(state.kept) != len(leaves):
            raise ValueError(f"{name}.update: the state is of {len(state.kept)} arrays, params of {len(leaves)}")
        wanted = self._kept(o).keys()
        known = wanted | self._kept(self.options).keys()
        for kept in state.kept:
            if not wanted <= kept.keys() <= known:
                raise ValueError(
                    f"{name}.update: the state has {_names(kept)} and not {_names(wanted)}: it comes from another "
                    "optimizer, or from other options; begin with init(params)"
                )
        new_leaves, new_kept = [], []
        for leaf, slope, kept in zip(leaves, slopes, state.kept, strict=True):
            x, g, kept = self._leaf(leaf), _parts(slope), dict(kept)
            if np.shape(g) != np.shape(x):
                raise ValueError(
                    f"{name}.update: a gradient of shape {np.shape(slope)} for a parameter of {np.shape(leaf)}"
                )
            moved = self._rule(x, g, kept, o, state.step + 1)
            new_leaves.append(moved[0] + 1j * moved[1] if _is_complex(leaf) else moved)
            new_kept.append(kept)
        return tree_unflatten(new_leaves, spec), OptimizerState(state.step + 1, new_kept)

    def _leaf(self, x: Any) -> Any:
        if not np.issubdtype(_dtype(x), np.inexact):
            raise TypeError(f"{self._name}.functional: a parameter holds floating-point numbers, not {type_name(x)}")
        return _parts(x)


def begun(x: Any, kept: Mapping[str, Any], numbers: Iterable[str]) -> State:
    """The state of a parameter before the first step: arrays of its shape, and numbers."""
    return {key: value if key in numbers else np.full_like(x, value) for key, value in kept.items()}


def _at(step: int, options: Options) -> Options:
    return {**options, "lr": options["lr"](step)} if callable(options["lr"]) else options


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "no arrays"


def _parts(x: Any) -> Any:
    """The real numbers of a parameter or a gradient: of complex ones each part is a parameter, as in PyTorch."""
    return np.stack([np.real(x), np.imag(x)]) if _is_complex(x) else x


def _is_complex(x: Any) -> bool:
    return np.issubdtype(_dtype(x), np.complexfloating)


def _dtype(x: Any) -> Any:
    return getattr(x, "dtype", np.dtype(type(x)))
