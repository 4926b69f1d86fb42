"""Type annotations of a Python function -> the schema of an operator."""

from __future__ import annotations

import collections.abc
import inspect
import json
import numbers
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor, ndarray
from pullback.ops.loading import DeclarationError

_TYPES: dict[Any, str] = {
    Tensor: "Tensor", ndarray: "Tensor", int: "int", float: "float", bool: "bool", str: "str", complex: "Scalar",
    numbers.Number: "Scalar", np.dtype: "ScalarType",
}  # fmt: skip
_LISTS = (list, collections.abc.Sequence)
_NONE = type(None)
_ALLOWED = (
    "Tensor, numpy.ndarray, float, int, bool, str, complex, a list of one of these (list[int]), or Optional of one"
)


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str] = (), op_name: str | None = None
) -> str:
    """Read the schema of an operator off the type annotations of a function.

    Parameters
    ----------
    prototype_function : callable
    mutates_args : str or iterable of str
        The arguments that the function writes into: none, or its first Tensor.
    op_name : str, optional
        What the schema calls the operator; None leaves the name away.

    Returns
    -------
    str

    Raises
    ------
    DeclarationError
        A ValueError: an annotation is missing or says nothing that a schema can. The message says which, and what may
        stand there.

    Examples
    --------
    >>> def scale(x: np.ndarray, factor: float = 2.0, dims: list[int] | None = None) -> np.ndarray:
    ...     return x * factor
    >>> pb.library.infer_schema(scale, op_name="scale")
    'scale(Tensor x, float factor=2.0, int[]? dims=None) -> Tensor'
    """
    return f"{op_name or ''}{Signature(prototype_function, mutates_args).schema}"


class Signature:
    """The schema of a function, read off its annotations."""

    def __init__(self, function: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
        self.name = getattr(function, "__name__", repr(function))
        code = getattr(inspect.unwrap(function), "__code__", None)
        self.file: str = getattr(code, "co_filename", self.name)
        self.line: int = getattr(code, "co_firstlineno", 0)
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise self.error("has no signature that Python can read", "Wrap it: def f(x: Tensor) -> Tensor") from None
        self.parameters = list(signature.parameters.values())
        self.hints = self._hints(function)
        self.mutated = self._mutated(mutates_args)
        self.arrays: bool | None = None  # whether its author writes ndarray, and not Tensor
        self.kinds: list[str] = []  # the type of each argument, as the schema has it
        self.outputs: int | None = 1  # their number, None for a list
        arguments, marked = [], False
        for p in self.parameters:
            if p.kind is p.KEYWORD_ONLY and not marked:
                arguments.append("*")
                marked = True
            arguments.append(self._argument(p))
        self.schema = f"({', '.join(arguments)}) -> {self._returns()}"

    def error(self, problem: str, remedy: str) -> DeclarationError:
        """The error about this function."""
        return DeclarationError(self.file, self.line, self.name, problem, remedy)

    def _hints(self, function: Any) -> dict[str, Any]:
        try:
            return typing.get_type_hints(function)
        except NameError as error:
            raise self.error(
                f"an annotation cannot be read: {error}",
                "Import the name at the top of the module that has the function",
            ) from None

    def _mutated(self, mutates_args: str | Iterable[str]) -> frozenset[str]:
        if mutates_args == "unknown":
            raise self.error(
                'mutates_args="unknown" would let every call change every argument',
                'Name the argument that the function writes into, as mutates_args=("x",), or () for none',
            )
        names = frozenset([mutates_args] if isinstance(mutates_args, str) else mutates_args)
        known = [p.name for p in self.parameters]
        for name in sorted(names):
            if name not in known:
                raise self.error(
                    f"mutates_args names {name!r}, which is no argument", f"Write one of: {', '.join(known)}"
                )
        return names

    def _argument(self, p: inspect.Parameter) -> str:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            shown = f"{p.name}, /" if p.kind is p.POSITIONAL_ONLY else str(p.replace(annotation=p.empty))
            raise self.error(
                f"the parameter {shown} has no counterpart in a schema",
                "Write each argument by its name, and a varying number of arrays as a list: xs: list[Tensor]",
            )
        if p.name not in self.hints:
            raise self.error(
                f"the parameter {p.name!r} has no type annotation", f"Write {p.name}: Tensor, or one of: {_ALLOWED}"
            )
        kind = self._type(self.hints[p.name], f"the parameter {p.name!r}")
        if p.name in self.mutated:
            if kind != "Tensor":
                raise self.error(
                    f"mutates_args names {p.name!r}, which is {kind}", "Name a parameter annotated Tensor or ndarray"
                )
            kind = "Tensor(a!)"
        self.kinds.append(kind)
        return f"{kind} {p.name}" if p.default is p.empty else f"{kind} {p.name}={_literal(p.default)}"

    def _type(self, hint: Any, place: str) -> str:
        """The schema's word for an annotation."""
        inside = [x for x in typing.get_args(hint) if x is not _NONE]
        if typing.get_origin(hint) in (typing.Union, types.UnionType) and len(inside) == 1:
            found = self._type(inside[0], place)
            return found if found.endswith("?") else f"{found}?"
        if typing.get_origin(hint) in _LISTS and len(inside) == 1:
            found = self._type(inside[0], place)
            if "[" not in found:
                return f"{found}[]"
        kind = hint if isinstance(hint, type) and typing.get_origin(hint) is None else typing.get_origin(hint)
        if kind in _TYPES:
            if _TYPES[kind] == "Tensor":
                self._note_face(kind is ndarray, place)
            return _TYPES[kind]
        remedy = "Write list[...] for a tuple of any length" if kind is tuple else f"Write one of: {_ALLOWED}"
        raise self.error(f"{place} is annotated {_shown(hint)}, which no schema can say", remedy)

    def _note_face(self, is_array: bool, place: str) -> None:
        if self.arrays is not None and self.arrays is not is_array:
            this, other = ("ndarray", "Tensor") if is_array else ("Tensor", "ndarray")
            raise self.error(
                f"{place} is annotated {this}, and another {other}",
                "Write the same for all: it says which of the two the function is given",
            )
        self.arrays = is_array

    def _returns(self) -> str:
        if "return" not in self.hints:
            raise self.error(
                "the result has no type annotation",
                "Write -> Tensor, -> tuple[Tensor, Tensor], -> list[Tensor], or -> None if an argument is written into",
            )
        hint = self.hints["return"]
        if self.mutated:
            if hint is not _NONE:
                raise self.error(
                    f"it writes into {', '.join(sorted(self.mutated))} and returns {_shown(hint)}",
                    "Write -> None: the call returns the argument that was written into",
                )
            return "Tensor(a!)"
        if typing.get_origin(hint) is tuple and Ellipsis not in typing.get_args(hint):
            self.outputs = len(typing.get_args(hint))
            return f"({', '.join(self._output(x) for x in typing.get_args(hint))})"
        if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
            hints, self.outputs = typing.get_type_hints(hint), len(hint._fields)
            return f"({', '.join(f'{self._output(hints[name])} {name}' for name in hint._fields)})"
        found = self._output(hint, "Tensor[]")
        self.outputs = None if found == "Tensor[]" else 1
        return found

    def _output(self, hint: Any, *also: str) -> str:
        found = self._type(hint, "the result") if hint is not _NONE else "None"
        if found not in ("Tensor", *also):
            raise self.error(
                f"the result is annotated {_shown(hint)}",
                "Write -> Tensor (a number is one of no dimension), -> tuple[Tensor, Tensor], or -> list[Tensor]",
            )
        return found


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)


def _literal(value: Any) -> str:
    """A default as the schema language writes it."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value.item() if issubclass(type(value), np.generic) else value)
