"""Objects of scipy.interpolate that were made of plain arrays, and are called with our tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.numpy_types import AnyArray
from pullback.interop.adopt.dispatchers import at_stake
from pullback.interop.adopt.rules import RULES, scipy_rule
from pullback.interop.adopt.scipy.calls import plain, scipy_name
from pullback.interop.adopt.scipy.clones import CLASSES, class_clone, copy_of
from pullback.interop.operands import frozen, is_hidden
from pullback.interop.suggest import unsupported
from pullback.scipy.rules.interpolate.radial import Tree
from pullback.scipy.rules.interpolate.scattered import Scattered

if TYPE_CHECKING:
    from pullback.core.tensor import Tensor


def _on_a_copy(name: str) -> None:
    @scipy_rule(f"scipy.interpolate._methods.{name}")
    def rule(self: object, *args: object, **kwargs: object) -> AnyArray:
        if not (at_stake((args, kwargs)) or is_hidden(*args, *kwargs.values())):
            return _of_scipy(self, name)[1].genuine(self, *plain(args, _values), **plain(kwargs, _values))
        rule = RULES.get(scipy_name(type(self)))
        if isinstance(rule, type) and issubclass(rule, Scattered):
            return getattr(rule.of_plain(self), name)(*args, **kwargs)
        if not any(scipy_name(kind) in CLASSES for kind in type(self).__mro__):
            raise unsupported(f"{scipy_name(type(self))}.{name}")
        made = copy_of(self)
        if "_tree" in vars(made):
            made._tree = Tree(made._tree)
        return vars(class_clone(_of_scipy(self, name)[0]))[name](made, *args, **kwargs)


def _of_scipy(thing: object, name: str) -> tuple[type, Any]:
    """The class of SciPy's that has this method, and the method: a subclass of the user's may have another."""
    return next(
        (kind, vars(kind)[name])
        for kind in type(thing).__mro__
        if kind.__module__.startswith("scipy.") and name in vars(kind)
    )


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    return frozen(tensor, "interp")


METHODS = (
    "__call__", "derivative", "derivatives", "ev", "insert_knot", "integral", "integrate", "integrate_1d", "solve",
)  # fmt: skip
for _name in METHODS:
    _on_a_copy(_name)
