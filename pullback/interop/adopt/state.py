"""Knows whether `adopt()` is in force, and whether it would help: errors say so before anyone has called it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.interop.adopt.rules import NAMES, has_rule


class State:
    """`on`: whether `adopt()` is in force; `packages`: the installed packages that it reaches besides.

    `only`: the namespaces that it reaches, None for all. `whole`: whether no exception has cut off the last switching,
    on or off.
    """

    on = whole = False
    packages: frozenset[str] = frozenset()
    only: Sequence[dict[str, Any]] | None = None


def would_help(*names: str) -> bool:
    """True if one of these calls works once `adopt()` has been called."""
    return not State.on and any(name in NAMES or has_rule(name) for name in names)


def by_call(what: str = "this line works as it is") -> str:
    """Say that `adopt()` would do, and what it makes work."""
    return f" Or call pullback.adopt() once, at the top of the program: {what} then."


BY_STORE = (
    "Call pullback.adopt() once, at the top of the program: arrays that np.zeros and similar functions make in a "
    "function that is being differentiated then record what is written into them."
)


def to_record_writes(inside: bool) -> str:
    """Advice where a tensor is written into a plain array; `inside`: whether it is one of a transform."""
    if not inside:
        return "Write into a Tensor (np.zeros(n, like=t), np.array(a, like=t)), or join a list by np.stack."
    if not State.on:
        return (
            f"{BY_STORE} Or write into an array made by np.zeros(n, like=t) or np.array(a, like=t), or join a list by "
            "np.stack."
        )
    return (
        "Only arrays of floating-point numbers that np.zeros, np.array and similar functions make in the function that "
        "is being differentiated record what is written into them (results of arithmetic on plain arrays do not). Make "
        "the array there, or write into a copy that is made there: a = np.array(a)."
    )
