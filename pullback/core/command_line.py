"""The function and the arguments that a command line names, for commands that take both."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def needs_arguments(function: Callable[..., Any]) -> bool:
    """True for a function that cannot be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def function_named(target: str) -> Callable[..., Any]:
    """The function that "package.module:name" or "file.py:name" means."""
    home, _, path = target.rpartition(":")
    if not home or not path:
        raise ValueError(f"write module:function, such as 'model:loss' or 'model.py:loss', got {target!r}.")
    if home.endswith(".py"):
        file = Path(home)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None or not file.exists():
            raise FileNotFoundError(f"there is no file {home}.")
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(file.stem, found)
        spec.loader.exec_module(found)
    else:
        if not sys.flags.safe_path and str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
        found = importlib.import_module(home)
    for name in path.split("."):
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]  # checked by its user


def argument(text: str) -> Any:
    """The argument that a literal, the name of a .npy file or a shape means; of a shape random normal numbers."""
    if text.endswith(".npy"):
        return np.load(text)
    if re.fullmatch(r"\d+(x\d+)*x?", text) and "x" in text:
        shape = tuple(int(n) for n in text.split("x") if n)
        return np.random.default_rng(0).standard_normal(shape)
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"the argument {text!r} is not a literal, a .npy file or a shape such as 3x4.") from None
    return _arrays(found)


def _arrays(x: Any) -> Any:
    """Lists of numbers as arrays of floating-point numbers, wherever in it they are."""
    if isinstance(x, list):
        return np.asarray(x, complex if np.iscomplexobj(x) else float)
    if isinstance(x, tuple):
        return tuple(map(_arrays, x))
    return {key: _arrays(value) for key, value in x.items()} if isinstance(x, dict) else x
