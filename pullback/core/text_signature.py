"""Signatures that are a text until somebody asks: operators have hundreds, and few are looked at."""

from __future__ import annotations

import ast
import inspect
from typing import Any

_KINDS = {
    "posonlyargs": inspect.Parameter.POSITIONAL_ONLY,
    "args": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "kwonlyargs": inspect.Parameter.KEYWORD_ONLY,
}


class _Omitted:
    """The default of a parameter that only some forms of a call have."""

    def __repr__(self) -> str:
        return "..."


OMITTED = _Omitted()
_new = object.__new__


class TextSignature(inspect.Signature):
    """A signature made from `(input, dim, *, keepdim=False)` when it is first read.

    Examples
    --------
    >>> signature = TextSignature.of("(input, dim=..., *, keepdim=False)")
    >>> list(signature.parameters), str(signature)
    (['input', 'dim', 'keepdim'], '(input, dim=..., *, keepdim=False)')
    """

    __slots__ = ("text",)
    text: str

    @classmethod
    def of(cls, text: str) -> TextSignature:
        """The signature with these parameters."""
        made: TextSignature = _new(cls)
        made.text = text
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in inspect.Signature.__slots__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        super().__init__(parameters(self.text))  # which fills those slots
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return inspect.Signature, (list(self.parameters.values()),)


def parameters(text: str) -> list[inspect.Parameter]:
    """The parameters that a signature's text names; their defaults are literals, or `...`."""
    node = ast.parse(f"lambda {text[1:-1]}: 0", mode="eval").body
    assert isinstance(node, ast.Lambda)
    given = node.args
    defaults = [None] * (len(given.args) - len(given.defaults)) + given.defaults
    found = [_parameter(arg.arg, "args", default) for arg, default in zip(given.args, defaults, strict=True)]
    if given.vararg is not None:
        found.append(inspect.Parameter(given.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return found + [_parameter(arg.arg, "kwonlyargs", default) for arg, default in pairs]


def _parameter(name: str, kind: str, default: ast.expr | None) -> inspect.Parameter:
    if default is None:
        return inspect.Parameter(name, _KINDS[kind])
    value = ast.literal_eval(default)
    return inspect.Parameter(name, _KINDS[kind], default=OMITTED if value is ... else value)
