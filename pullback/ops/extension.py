"""Registers operators of third parties in a namespace of their own: all operators of a file, or none.

The generated module of a third party calls `enter` at its end. Its functions are in that module; formulas find them as
`ops.<namespace>.<name>`, and its kernels stand in the tables as `<namespace>.<kernel>`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.errors import Explained
from pullback.core.tensor import Tensor
from pullback.ops import tables
from pullback.ops.declarations import Overload, document
from pullback.ops.generated.tangents import TANGENTS, UNDERIVED

_NOTHING: Mapping[str, Any] = types.MappingProxyType({})

_entered: dict[str, Any] = {}  # namespace -> Extension


class NameTakenError(Explained, ValueError):
    """A third party's operator would take a name that means something else already."""


def enter(
    overloads: Sequence[Overload],
    choices: Mapping[str, Callable[..., Any]],
    docs: Mapping[str, str],
    *,
    namespace: str,
    source: str,
    module: str,
    kernels: ModuleType | None = None,
    tangents: Mapping[str, Any] = _NOTHING,
    underived: Mapping[str, Any] = _NOTHING,
    joins: bool = False,
) -> dict[str, Any]:
    """Enter the operators with these overloads, and return the functions by public name.

    Parameters
    ----------
    overloads : list of ops.declarations.Overload
    choices : mapping from an operator's home and name to what chooses among its overloads
    docs : mapping from the full name of an overload to its documentation
    namespace, source, module : str
        Entering a namespace again replaces it, so that a file may be loaded again after a change; but only `source`,
        the name of the file of declarations, may. `module` is where the functions are found by name.
    kernels : module, optional
    tangents : mapping from operator to its tangent function
    underived : mapping from operator to the inputs that its tangent function ignores
    joins : bool
        The operators that `source` has entered in this namespace before stay, but for those of the same names.

    Raises
    ------
    NameTakenError
        By another source, pullback's operators, Tensor's methods or a rule for the same NumPy function. Then nothing
        has changed.
    """
    extension = Extension(namespace, source, kernels, tangents, underived)
    document(overloads, docs)
    for overload in overloads:
        extension.add_kernel(overload)
    for forms, _ in tables.grouped(overloads, choices):
        extension.add(forms)
    before = _entered.get(namespace)
    extension.check(before)
    if joins and before is not None:
        extension.join(before)
    if before is not None:
        before.withdraw()
    extension.publish()
    _entered[namespace] = extension
    for function in extension.public.values():
        function.__module__ = module
    return extension.public


class Extension:
    """The operators of one namespace."""

    def __init__(
        self,
        namespace: str,
        source: str,
        kernels: ModuleType | None,
        tangents: Mapping[str, Any],
        underived: Mapping[str, Any],
    ) -> None:
        self.namespace, self.source, self.module = namespace, source, kernels
        self.on_tensors, self.on_arrays = types.SimpleNamespace(), types.SimpleNamespace()
        self.public: dict[str, Any] = {}
        self.methods: dict[str, Any] = {}
        self.numpy_rules: dict[str, Any] = {}
        self.array_kernels: dict[str, Any] = {}
        self.tensor_kernels: dict[str, Any] = {}
        self.tangents, self.underived = tangents, underived

    def add(self, forms: tables.PublicForms) -> None:
        """Note an operator with all its overloads; an internal one has no public name."""
        for name in forms.in_ops:
            setattr(self.on_tensors, name, forms.on_tensors)
            setattr(self.on_arrays, name, forms.on_arrays)
        if forms.internal:
            return
        if forms.function_form:
            self.public.update(forms.public | forms.changing)
        if forms.method_form:
            self.methods.update(forms.public)
        self.methods.update(forms.changing)
        self.numpy_rules.update(dict.fromkeys(forms.numpy, forms.on_tensors))

    def add_kernel(self, overload: Overload) -> None:
        """Note a primitive's kernel, and the one that works in place if there is one."""
        op = overload.operator
        if op is None:
            return
        self.array_kernels[op.kernel] = overload.raw
        in_place = f"{op.kernel.removeprefix(f'{self.namespace}.')}_"
        if hasattr(self.module, in_place):
            self.array_kernels[f"{op.kernel}_"] = getattr(self.module, in_place)
        self.tensor_kernels[op.kernel] = tables.dispatching(op)

    def check(self, before: Extension | None) -> None:
        """Raise if a name is taken by others than `before`, what this replaces."""
        if before is not None and before.source != self.source:
            self._refuse("the namespace", self.namespace, f"the operators of {before.source}", "another `namespace:`")
        if before is None and (hasattr(TENSOR, self.namespace) or hasattr(NUMPY, self.namespace)):
            self._refuse("the namespace", self.namespace, "pullback", "another `namespace:`")
        for name in self.methods:
            if hasattr(Tensor, name) and (before is None or name not in before.methods):
                self._refuse("the method", f"Tensor.{name}", "another operator", "`variants: function`")
        for name in self.numpy_rules:
            if name in tables.NUMPY_RULES and (before is None or name not in before.numpy_rules):
                self._refuse("the rule for", f"numpy.{name}", "another operator", "no `numpy:`")

    def _refuse(self, what: str, name: str, owner: str, remedy: str) -> None:
        raise NameTakenError(f"{self.source}: {what} {name!r} is taken by {owner}. Write {remedy} in its declarations.")

    def join(self, before: Extension) -> None:
        """Take in what this does not replace of an extension of the same namespace."""
        for mine, other in zip(self._entries(), before._entries(), strict=True):
            mine.update({name: entry for name, entry in other.items() if name not in mine})

    def _entries(self) -> tuple[dict[str, Any], ...]:
        return (
            vars(self.on_tensors), vars(self.on_arrays), self.public, self.methods, self.numpy_rules,
            self.array_kernels, self.tensor_kernels,
        )  # fmt: skip

    def publish(self) -> None:
        """Enter all operators of the file into the public tables."""
        TENSOR.register({self.namespace: self.on_tensors})
        NUMPY.register({self.namespace: self.on_arrays})
        for table, entries in self._shared():
            table.update(entries)
        for name, function in self.methods.items():
            setattr(Tensor, name, function)

    def withdraw(self) -> None:
        """Undo `publish`."""
        del TENSOR.__dict__[self.namespace], NUMPY.__dict__[self.namespace]
        for name in self.methods:
            delattr(Tensor, name)
        for table, entries in self._shared():
            for key in entries:
                del table[key]

    def _shared(self) -> tuple[tuple[dict[str, Any], Mapping[str, Any]], ...]:
        """The tables that all operators share, with the entries of this extension."""
        return (
            (TENSOR.kernels, self.tensor_kernels),
            (NUMPY.kernels, self.array_kernels),
            (tables.NUMPY_RULES, self.numpy_rules),
            (TANGENTS, self.tangents),
            (UNDERIVED, self.underived),
        )
