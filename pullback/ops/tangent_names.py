"""Tangent functions by the operator that each is named after."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def tangents_of(module: str, overloads: str, space: str = "") -> dict[str, Callable[..., Any]]:
    """The tangent functions that a module defines, by operator: `sin_tangent` is that of `sin`.

    Parameters
    ----------
    module : str
    overloads : str
        The operators whose name has that of an overload, such as `add.alpha`: its function is `add_alpha_tangent`.
    space : str
        What stands before the operators' names in the tables: `scipy_special.`.
    """
    full = {name.replace(".", "_"): name for name in overloads.split()}
    found = {}
    for name, function in vars(sys.modules[module]).items():
        operator = name.removesuffix("_tangent")
        # Not what it imports, nor what it calls by another name.
        if operator != name and (function.__module__, function.__name__) == (module, name):
            found[space + full.get(operator, operator)] = function
    return found
