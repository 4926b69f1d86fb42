"""A schema, once parsed: names, types, defaults. `schema.py` parses, this writes back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias


class Required(Enum):
    """The default of an argument that has none."""

    REQUIRED = "REQUIRED"

    def __repr__(self) -> str:
        return self.value


REQUIRED: Final = Required.REQUIRED
Default: TypeAlias = "int | float | bool | str | tuple[Default, ...] | None"


@dataclass(frozen=True, slots=True)
class Type:
    """An argument's or a return's type.

    `optional` is a `?` at the end (None is accepted), `optional_items` one before `[]`; `list_size` is the number in
    `int[2]`; `alias` the letter in `Tensor(a)`, `is_write` its `!`.
    """

    base: str
    optional: bool = False
    is_list: bool = False
    list_size: int | None = None
    alias: str | None = None
    is_write: bool = False
    optional_items: bool = False

    @property
    def is_tensor(self) -> bool:
        """Tensor or Tensor?."""
        return self.base == "Tensor" and not self.is_list

    @property
    def is_tensor_list(self) -> bool:
        """Tensor[] in any of its forms."""
        return self.base == "Tensor" and self.is_list

    def __str__(self) -> str:
        alias = "" if self.alias is None else f"({self.alias}{'!' if self.is_write else ''})"
        size = "" if self.list_size is None else str(self.list_size)
        listed = f"{'?' if self.optional_items else ''}[{size}]" if self.is_list else ""
        return f"{self.base}{alias}{listed}{'?' if self.optional else ''}"


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument; a list default is a tuple."""

    name: str
    type: Type
    default: Default | Literal[Required.REQUIRED] = REQUIRED
    kwarg_only: bool = False

    def __str__(self) -> str:
        default = "" if self.default is REQUIRED else f"={_default_text(self.default)}"
        return f"{self.type} {self.name}{default}"


@dataclass(frozen=True, slots=True)
class Return:
    """One return; its name is None when the schema gives none."""

    name: str | None
    type: Type

    def __str__(self) -> str:
        return str(self.type) if self.name is None else f"{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed schema; `text` is as written, `str(schema)` normalised."""

    name: str
    overload: str
    args: tuple[Arg, ...]
    returns: tuple[Return, ...]
    returns_list: bool
    text: str

    @property
    def full_name(self) -> str:
        """The name with its overload: max.dim."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def unique_name(self) -> str:
        """`full_name` as an identifier: max_dim."""
        return f"{self.name}_{self.overload}" if self.overload else self.name

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs in formulas: the declared ones, else result, or result0, result1, ..."""
        if len(self.returns) == 1:
            return (self.returns[0].name or "result",)
        return tuple(returned.name or f"result{i}" for i, returned in enumerate(self.returns))

    def arg(self, name: str) -> Arg | None:
        """The argument of that name."""
        return next((arg for arg in self.args if arg.name == name), None)

    def __str__(self) -> str:
        first_keyword = next((i for i, arg in enumerate(self.args) if arg.kwarg_only), None)
        args = [str(arg) for arg in self.args]
        if first_keyword is not None:
            args.insert(first_keyword, "*")
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.returns[0].name is not None:
            returns = f"({returns})"
        return f"{self.full_name}({', '.join(args)}) -> {returns}"


def _default_text(value: Default | Literal[Required.REQUIRED]) -> str:
    """A default as the schema writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_default_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
