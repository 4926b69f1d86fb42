"""Says which namespaces are adopted: those of Python source of the user's own, or of a package named to `adopt`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pullback.explain.call_site import is_users_file
from pullback.interop.adopt.state import State

Namespace = dict[str, Any]


def is_reached(namespace: Namespace) -> bool:
    """True if the code of this namespace is adopted.

    What has no file is a notebook's, an interactive session's or an `exec`'s.
    """
    name, file = namespace.get("__name__"), namespace.get("__file__") or ""
    top = name.partition(".")[0] if isinstance(name, str) else ""
    if top in NEVER or not isinstance(file, str) or not (name == "__main__" or not file or file.endswith(_SOURCE)):
        return False
    return top in State.packages or not (top in sys.builtin_module_names or not is_users_file(file))


def is_source(module: ModuleType) -> bool:
    """True if a module is written in Python."""
    return (getattr(module, "__file__", None) or "").endswith(_SOURCE)


# The first because compiled code looks things up there; SciPy is reached by its functions, and clones need it as it is.
NEVER = frozenset({"numpy", "pullback", "scipy"})
_SOURCE = (".py", ".pyc", ".ipynb")


def namespaces() -> Iterator[Namespace]:
    """Every namespace in which code has run: the modules', and those of modules that sys.modules does not have.

    The collector finds both, but for what `gc.freeze()` has hidden from it, as servers do before they fork.
    """
    modules = [module for module in list(sys.modules.values()) if issubclass(type(module), ModuleType)]
    of_modules: list[Namespace] = [object.__getattribute__(module, "__dict__") for module in modules]  # loads none
    known = {id(found) for found in of_modules}
    others = (found for found in gc.get_objects() if type(found) is dict and id(found) not in known)
    for found in (*of_modules, *others):
        if "__builtins__" in found:
            yield found
