"""Operators of third parties: entered under a namespace of their own, all of a file's or none.

The generated module of a third party calls `enter` at its end. Its functions are that module's; formulas and composites
find them as `ops.<namespace>.<name>`, and its kernels stand in the tables as `<namespace>.<kernel>`.
"""

import types

from pullback.core.dispatch import NUMPY, TENSOR
from pullback.core.tensor import Tensor
from pullback.ops import tables
from pullback.ops.generated.tangents import RULES, TANGENTS

_NOTHING = types.MappingProxyType({})

_entered = {}  # namespace -> Extension


class NameTakenError(ValueError):
    """A third party's operator would take a name that means something else already."""


def enter(fill_tables, *, namespace, source, kernels=None, tangents=_NOTHING, rules=_NOTHING):
    """Enter the operators that `fill_tables(tables)` lists, and return the functions by public name.

    Parameters
    ----------
    fill_tables : function
        Generated: calls `add` and `kernel` of what it is given.
    namespace, source : str
        Entering a namespace again replaces it, so that a file may be loaded again after a change; but only `source`,
        the name of the file of declarations, may.
    kernels : module, optional
    tangents : mapping from operator to its tangent function
    rules : mapping from kernel to its rules for forward mode

    Raises
    ------
    NameTakenError
        By another source, pullback's operators, Tensor's methods or a rule for the same NumPy function. Then nothing
        has changed.
    """
    extension = Extension(namespace, source, kernels, tangents, rules)
    fill_tables(extension)
    before = _entered.get(namespace)
    extension.check(before)
    if before is not None:
        before.withdraw()
    extension.publish()
    _entered[namespace] = extension
    return extension.public


class Extension:
    """The operators of one namespace; has the methods of `ops.tables` that generated code calls."""

    def __init__(self, namespace, source, kernels, tangents, rules):
        self.namespace, self.source, self.module = namespace, source, kernels
        self.on_tensors, self.on_arrays = types.SimpleNamespace(), types.SimpleNamespace()
        self.public, self.methods, self.numpy_rules = {}, {}, {}
        self.array_kernels, self.tensor_kernels = {}, {}
        self.tangents = {f"{namespace}.{name}": function for name, function in tangents.items()}
        self.rules = {f"{namespace}.{kernel}": found for kernel, found in rules.items()}

    def add(
        self, name, home, shown, overloads, *, function, method, aliases=(), numpy=(), internal=False, refuses=None
    ):
        """Note an operator with all its overloads; an internal one has no public name."""
        faces = tables.Faces(name, shown, overloads, aliases, refuses)
        setattr(self.on_tensors, name, faces.on_tensors)
        setattr(self.on_arrays, name, faces.on_arrays)
        if internal:
            return
        if function:
            self.public.update(faces.public | faces.changing)
        if method:
            self.methods.update(faces.public)
        self.methods.update(faces.changing)
        self.numpy_rules.update(dict.fromkeys(numpy, faces.on_tensors))

    def kernel(self, name, op):
        """Note a primitive's kernel, and the one that works in place if there is one."""
        for kernel in (name, f"{name}_"):
            if kernel == name or hasattr(self.module, kernel):
                self.array_kernels[f"{self.namespace}.{kernel}"] = getattr(self.module, kernel)
        self.tensor_kernels[op.kernel] = tables.dispatching(op)

    def check(self, before):
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

    def _refuse(self, what, name, owner, remedy):
        raise NameTakenError(f"{self.source}: {what} {name!r} is taken by {owner}. Write {remedy} in its declarations.")

    def publish(self):
        """Enter everything."""
        TENSOR.register({self.namespace: self.on_tensors})
        NUMPY.register({self.namespace: self.on_arrays})
        for table, entries in self._shared():
            table.update(entries)
        for name, function in self.methods.items():
            setattr(Tensor, name, function)

    def withdraw(self):
        """Undo `publish`."""
        del TENSOR.__dict__[self.namespace], NUMPY.__dict__[self.namespace]
        for name in self.methods:
            delattr(Tensor, name)
        for table, entries in self._shared():
            for key in entries:
                del table[key]

    def _shared(self):
        """The tables that all operators share, with the entries of this extension."""
        return (
            (TENSOR.kernels, self.tensor_kernels),
            (NUMPY.kernels, self.array_kernels),
            (tables.NUMPY_RULES, self.numpy_rules),
            (TANGENTS, self.tangents),
            (RULES, self.rules),
        )
