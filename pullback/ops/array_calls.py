"""The common case of operators on Arrays: the factories of `generated.calls`, with other values of their global names.

A closure asks whether it has the class `Taken` and makes a `Whole` or a `Single`. With Arrays for these the same code
runs as fast, and the closures for Tensors need not ask which face they see.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from pullback.core.array_face import Array, Scalar
from pullback.core.tensor import Tensor
from pullback.dispatch.call_errors import explain
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch_arrays
from pullback.ops.declarations import runner
from pullback.ops.generated import calls

_SHOWN: dict[type, type] = {Scalar: Array, Tensor: Array}


def _kind(x: Any) -> type:
    """The class of an argument, where Scalars, and Tensors beside Arrays, are Arrays: the result has NumPy's face."""
    found = type(x)
    return _SHOWN.get(found, found)


def factories(
    taken: type, general: Callable[..., Any] = dispatch_arrays, explain: Callable[..., Any] = explain
) -> dict[str, Callable[..., Any]]:
    """The factories for tensors of the class `taken`; what is not the common case goes to `general`.

    Those for several tensors take Arrays and Scalars side by side: `kind` shows both as Arrays.
    """
    mine = {
        **vars(calls),
        "__name__": "pullback.interop.array",
        "Whole": Array,
        "Single": Scalar,
        "kind": _kind,
        "dispatch": general,
        "explain": explain,
    }
    alone, several = {**mine, "Taken": taken}, {**mine, "Taken": Array}
    return {
        name: FunctionType(function.__code__, alone if name.startswith("one_") else several, name)
        for name, function in vars(calls).items()
        if isinstance(function, FunctionType) and function.__module__ == calls.__name__
    }


FACTORIES: dict[type, dict[str, Callable[..., Any]]] = {kind: factories(kind) for kind in (Array, Scalar)}


def array_call(op: Operator, kind: type) -> Callable[..., Any] | None:
    """A function that runs the operator in the common case where the first tensor among its arguments is of this class.

    It gives what `dispatch` gives. None: there is no quick way, as of a view of a Scalar, which must not share memory.
    """
    if op.factory is None or op.factory.__module__ != calls.__name__ or (op.view and kind is Scalar):
        return None
    return made_by(FACTORIES[kind], op)


def made_by(given: dict[str, Callable[..., Any]], op: Operator, kernel: Any = None) -> Callable[..., Any]:
    """The operator's call by one of these factories."""
    call: Callable[..., Any] = given[op.factory.__name__](op, kernel or op.kernel_on_ndarrays)
    return runner(call, op.shown)
