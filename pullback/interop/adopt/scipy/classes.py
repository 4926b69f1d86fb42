"""SciPy's classes, as adopted modules see them, and the functions that are looked up in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from pullback.dispatch.call_errors import explained_call
from pullback.interop.adopt.dispatchers import Dispatcher, at_stake, first_tensor, shown
from pullback.interop.adopt.rules import MAKERS, RULES
from pullback.interop.adopt.scipy.calls import (
    ScipyFunction,
    ScipyMaker,
    has_tensor,
    is_unknown,
    named,
    plain,
    read_memory,
    scipy_name,
)
from pullback.interop.unseen import unseen


class ScipyClass(ScipyFunction):
    """A class of SciPy that has a rule: called with our tensors it makes an object of our own.

    Its functions (`BSpline.design_matrix`) have rules under their names, or they are the genuine ones. As the second
    argument of `isinstance` and as a base it is the genuine class; the rule's, if it is a class, counts as a subclass
    of that one.
    """

    __slots__ = ()

    def __init__(self, genuine: Any) -> None:
        super().__init__(genuine)
        for name in dir(genuine):
            if name not in _OF_PICKLES:
                self._show(name)
        _shown.append(self)

    def _show(self, name: str) -> None:
        """Have what stands for an attribute of the class.

        Methods by which Python calls the dispatcher itself are here those of the class, for subclasses that call them
        by their names: `CubicSpline.__init__(self, x, y)`.
        """
        if hasattr(self.genuine, name):
            shown(self)[name] = self._stand_in(name, getattr(self.genuine, name))
        else:
            shown(self).pop(name, None)

    def _stand_in(self, name: str, found: Any) -> object:
        if type(found) is FunctionType and hasattr(found, "genuine"):
            return _Method(found.genuine, found)
        if name.startswith("_"):
            return found
        if (rule := f"{scipy_name(self.genuine)}.{name}") in RULES:
            return _Method(found, _by_rule(found, rule))
        return _Constructor(found, self, name) if _makes_objects(self.genuine, name) else found

    # A program's own attributes are for the class itself, and for the rule's if that is a clone.
    __dict__ = property(lambda self: vars(self.genuine))

    def __dir__(self) -> Iterable[str]:
        return dir(self.genuine)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.genuine, name, value.genuine if issubclass(type(value), Dispatcher) else value)
        self._renew(name)

    def __delattr__(self, name: str) -> None:
        delattr(self.genuine, name)
        self._renew(name)

    def _renew(self, name: str) -> None:
        genuine: Any = self.genuine
        rule: Any = RULES.get(scipy_name(genuine))
        if hasattr(type(rule), "renew"):
            rule.renew(name)
        show_again(genuine, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.genuine, name)

    def __instancecheck__(self, x: object) -> bool:
        clones = (vars(kind).get("__genuine__") for kind in type(x).__mro__)
        return isinstance(x, self._classes()) or any(kind is self.genuine for kind in clones)

    def __subclasscheck__(self, cls: Any) -> bool:
        return issubclass(_class_of(cls), self._classes())

    def __getitem__(self, item: object) -> object:
        genuine: Any = self.genuine
        return genuine[item]

    def __or__(self, other: Any) -> object:
        return self.genuine | _class_of(other)

    def __ror__(self, other: Any) -> object:
        return other | self.genuine

    def __mro_entries__(self, bases: object) -> tuple[Any, ...]:
        return (self.genuine,)

    def _classes(self) -> tuple[type, ...]:
        genuine: Any = self.genuine
        rule: Any = RULES.get(scipy_name(genuine))
        return (genuine, rule) if isinstance(rule, type) else (genuine,)


def show_again(owner: type, name: str) -> None:
    """Have what stands for SciPy's classes show an attribute of this class, or base, as it is by now."""
    for stand_in in _shown:
        genuine: Any = stand_in.genuine
        if issubclass(genuine, owner):
            stand_in._show(name)


_shown: list[ScipyClass] = []  # each is there for good
_OF_PICKLES = ("__deepcopy__", "__reduce__", "__reduce_ex__")  # which are looked up in the object, here the dispatcher


def _class_of(x: Any) -> Any:
    """The class that this stands for, or `x` itself."""
    return x.genuine if issubclass(type(x), ScipyClass) else x


def _by_rule(function: Callable[..., Any], rule: str) -> Callable[..., Any]:
    @unseen
    def called(*args: object, **kwargs: object) -> object:
        return (RULES[rule] if has_tensor(args) or has_tensor(kwargs) else function)(*args, **kwargs)

    return called


class _Method(Dispatcher):
    """A function of a class for which another is called: by its rule, or what `adopt()` has put in its place."""

    __slots__ = ("called",)

    def __init__(self, genuine: Callable[..., Any], called: Callable[..., Any]) -> None:
        super().__init__(genuine)
        self.called = called

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.called(*args, **kwargs)


def _makes_objects(kind: Any, name: str) -> bool:
    """True if it is a function that is called with the class, not with an object."""
    homes = [vars(base) for base in kind.__mro__ if name in vars(base)]
    return bool(homes) and type(homes[0][name]) in (classmethod, staticmethod)


class _Constructor(Dispatcher):
    """A function of a class that makes objects of it, `Rotation.from_quat`: our class's where that makes them."""

    __slots__ = ("kind", "name")

    def __init__(self, genuine: Callable[..., Any], kind: ScipyClass, name: str) -> None:
        super().__init__(genuine)
        self.kind, self.name = kind, name

    @unseen
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        home = scipy_name(self.kind.genuine)
        if not hasattr(RULES.get(home), self.name):
            return self.genuine(*args, **kwargs)
        if home not in MAKERS:
            if not (has_tensor(args) or has_tensor(kwargs)):
                return self.genuine(*args, **kwargs)
            if not (at_stake(args) or at_stake(kwargs) or is_unknown((*args, *kwargs.values()))):
                return self.genuine(*plain(args, read_memory), **plain(kwargs, read_memory))
        try:
            return getattr(RULES[home], self.name)(*args, **kwargs)
        except Exception as error:
            if isinstance(error, np.linalg.LinAlgError) or first_tensor(args, kwargs) is None:
                raise
            full = f"{home}.{self.name}"
            raise named(full, explained_call(full, self.genuine, args, kwargs, error))  # noqa: B904


class ScipyKind(ScipyMaker, ScipyClass):
    """A class of SciPy the objects of which meet our tensors later, and one another."""

    __slots__ = ()

    on_tensors = ScipyFunction.by_rule  # those without a gradient too
