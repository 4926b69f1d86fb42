"""Fills the operator tables and keeps the index of public names: each operator enters with all its overloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pullback.core.arguments import overloaded, refusing_numbers
from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.late import LateDict
from pullback.core.overrides import ask, taking_part
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch
from pullback.ops.declarations import Overload, own
from pullback.ops.documentation import describe
from pullback.ops.generated import calls

PUBLIC: dict[str, Any] = {}  # public home ('' for the package) -> name -> function
METHODS: dict[str, Any] = {}  # name -> function, for Tensor
NUMPY_RULES: dict[str, Any] = {}  # name of a NumPy function -> function on Tensors
OPERATORS: LateDict[Any] = LateDict()  # name -> list of ops.declarations.Overload


class PublicForms:
    """The public forms of an operator: its overloads merged into one function for each kind of caller."""

    def __init__(self, overloads: Sequence[Overload], choices: Mapping[str, Callable[..., Any]]) -> None:
        first = overloads[0]
        self.name, self.home, self.internal = first.name, first.home, all(o.internal for o in overloads)
        self.function_form = any(o.function_form for o in overloads)
        self.method_form = any(o.method_form for o in overloads)
        self.numpy = {name for o in overloads for name in o.numpy}
        choice, called = choices.get(f"{self.home}:{self.name}"), first.called
        pairs = [(o.function, o.params) for o in overloads]
        self.on_tensors = _one(called, pairs, choice, lambda: first.public)
        self.on_arrays = _one(called, [(o.raw, o.params) for o in overloads])
        public, refuses = self.on_tensors, next((o.refuses for o in overloads if o.refuses), None)
        if refuses is not None:
            public = refusing_numbers(called, public, *refuses)
        aliases = [alias for o in overloads for alias in o.aliases]
        here = (first.shown, *(alias for alias in aliases if "." not in alias))
        self.public = dict.fromkeys(here, public)
        self.elsewhere: list[tuple[Any, ...]] = [(*alias.rsplit(".", 1), public) for alias in aliases if "." in alias]
        dotted = (alias if "." in alias or not self.home else f"{self.home}.{alias}" for alias in aliases)
        in_ops = (alias.removeprefix("nn.functional.").replace(".", "_") for alias in dotted)
        self.in_ops = {self.name, *in_ops}  # the names by which formulas, helpers and composites call it
        in_place = [(o.inplace, o.params) for o in overloads if o.inplace is not None]
        self.changing = {}  # the in-place functions by name
        if in_place:
            changing = _one(f"{called}_", in_place, choice, lambda: first.public_in_place)
            self.changing = dict.fromkeys((f"{n}_" for n in here), changing)
        for overload in overloads:
            overload.public, overload.public_in_place = public, next(iter(self.changing.values()), None)


def grouped(
    overloads: Iterable[Overload], choices: Mapping[str, Callable[..., Any]]
) -> list[tuple[PublicForms, list[Overload]]]:
    """Group overloads by operator, and make the public forms of each."""
    groups: dict[Any, Any] = {}
    for overload in overloads:
        groups.setdefault((overload.home, overload.name), []).append(overload)
    return [(PublicForms(group, choices), group) for group in groups.values()]


def enter(
    overloads: Sequence[Overload],
    choices: Mapping[str, Callable[..., Any]],
    pages: Mapping[str, list[str]],
    owned: frozenset[str],
) -> None:
    """Enter operators of the package's own, with their documentation.

    Those named in `owned` are what formulas and composites call by their names, or aliases: `relu`, and not
    `nn.functional.relu`, which another area may have.
    """
    for forms, group in grouped(overloads, choices):
        describe(forms, group, pages)
        _enter(forms, group, owned)
    for overload in overloads:
        if overload.operator is not None:
            TENSOR.kernels[overload.operator.kernel] = on_tensors(overload)


def _enter(forms: PublicForms, overloads: Sequence[Overload], owned: frozenset[str]) -> None:
    # Of another area or home; or, where an interrupt came between, entered before.
    known = [overload for overload in OPERATORS.setdefault(forms.name, []) if overload not in overloads]
    first = forms.name in owned and (forms.home == "" or not known)
    OPERATORS[forms.name] = [*overloads, *known] if first else [*known, *overloads]
    if first:
        for name in owned & forms.in_ops:
            TENSOR.register({name: forms.on_tensors})
            NUMPY.register({name: forms.on_arrays})
    if forms.internal:
        return
    if forms.function_form:
        PUBLIC.setdefault(forms.home, {}).update(forms.public | forms.changing)
    for other, alias, face in forms.elsewhere:
        PUBLIC.setdefault(other, {})[alias] = face
    if forms.method_form:
        METHODS.update(forms.public)
    METHODS.update(forms.changing)
    NUMPY_RULES.update(dict.fromkeys(forms.numpy, forms.on_tensors))


def on_tensors(overload: Overload) -> Callable[..., Any]:
    """The kernel that runs a primitive on Tensors of any level: its quick call, if that does nothing besides."""
    op = overload.operator
    assert op is not None  # a primitive
    if op.factory is None or op.factory.__module__ != calls.__name__ or op.tags & {"buffer", "random"}:
        return dispatching(op)
    run: Callable[..., Any] = overload.run
    return run


def dispatching(op: Operator) -> Callable[..., Any]:
    """The same for any primitive."""

    def run(*args: object) -> object:
        return dispatch(op, args)

    return run


def _one(
    called: str,
    overloads: Sequence[tuple[Callable[..., Any], Any]],
    choice: Callable[..., Any] | None = None,
    public: Callable[[], Any] | None = None,
) -> Callable[..., Any]:
    """One function for all overloads: `choice` makes it, from them and the general choice."""
    first: Callable[..., Any] = overloads[0][0]
    if len(overloads) == 1:
        return first
    in_general = made = overloaded(called, overloads, public and _asking(public))
    if choice is not None:
        made = own(choice(*(function for function, _ in overloads), in_general), called)
        made.__doc__ = in_general.__doc__
    made.__module__ = getattr(first, "__module__", made.__module__)
    return made


def _asking(public: Callable[[], Any]) -> Callable[..., Any]:
    """The answer to a call that fits no overload: operands whose classes take part in it are asked."""

    def otherwise(args: Sequence[Any], kwargs: dict[str, Any], error: BaseException) -> object:
        if taking_part((*args, *kwargs.values())):
            return ask(public(), args, kwargs)
        raise error

    return otherwise
