"""Optimizers whose step is a rule for one array."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pullback.optim.functional import FunctionalOptimizer
from pullback.optim.optimizer import Optimizer


class ByRule(Optimizer):
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
        return FunctionalOptimizer(cls.__name__, cls.rule, cls._kept_for, defaults, options, cls._numbers)


def options_among(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the local names of an `__init__`."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}
