"""`pullback.ops.load`: operators from a third party's declarations, at run time.

Imported when `load` is first used, because the generator comes with it.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import sys
import types
from collections.abc import Callable
from dataclasses import replace

from pullback.codegen.errors import DeclarationError, Where
from pullback.codegen.model import NativeFunction, Registry
from pullback.codegen.third_party import ThirdParty, emit_third_party, read_third_party

_PACKAGE = "pullback.ops.loaded"  # loaded modules are entered in sys.modules below this name


def load(path: str | os.PathLike[str]) -> types.ModuleType:
    """Load operators from a file of declarations.

    What the file declares is checked, written as Python code in memory, and run: the same code that
    ``python -m pullback codegen`` writes to a file. Formulas can call operators and the file's own helpers and nothing
    else, and no text of the file becomes code in another way. The modules that it names (`kernels`, `helpers`,
    `composites`) are imported, though, and their functions called: load a file from those whose packages you would
    import.

    Parameters
    ----------
    path : path, or str with the declarations themselves
        A str is a text when it has a line break. See `examples/third_party_ops`.

    Returns
    -------
    module
        Its attributes are the operators' functions. Loading a file again replaces its operators.

    Raises
    ------
    DeclarationError
        A ValueError: something in the file is wrong. The message says where, what, and what to write.
    NameTakenError
        A ValueError: its namespace, or a method's name, is taken.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import pullback as pb
    >>> polymers = pb.ops.load('''
    ... namespace: doc_example
    ... kernels: scipy.special
    ... native_functions:
    ...   - func: log_wright_omega(Tensor self) -> Tensor
    ...     kernel: wrightomega
    ... derivatives:
    ...   - name: log_wright_omega(Tensor self) -> Tensor
    ...     self: grad * conj(result / (1 + result))
    ... ''')
    >>> x = pb.tensor(1.0, requires_grad=True)
    >>> polymers.log_wright_omega(x).backward()
    >>> x.grad
    tensor(0.5)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"ops.load(): path must be the path of a file of declarations, or their text, got {path!r}.")
    party = read_third_party(path)
    module = types.ModuleType(f"{_PACKAGE}.{party.namespace}")
    _run(party, module, f"<operators {party.namespace} of {party.source}>")
    return module


def declare(text: str, source: str) -> types.ModuleType:
    """Load the declaration of one operator, beside those that `source` has declared in its namespace before.

    Parameters
    ----------
    text : str
        As `load` takes it.
    source : str
        Whose operators these are, for messages.

    Returns
    -------
    module
        Of the namespace, which all its operators share.
    """
    no_formulas = Registry([], {}, {})  # so that nobody waits until pullback's own declarations are read
    party = replace(read_third_party(text, no_formulas), source=source, joins=True)
    name = f"{_PACKAGE}.{party.namespace}"
    module = sys.modules.get(name) or types.ModuleType(name)
    before = getattr(module, "__all__", [])
    (native,) = party.registry.natives
    _run(party, module, f"<operators {party.namespace} of {native.name}>")
    module.__dict__["__all__"] = sorted({*before, native.name})
    return module


def _run(party: ThirdParty, module: types.ModuleType, file: str) -> None:
    text = emit_third_party(party)
    _check_modules(party)  # the first thing that imports any of them
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # tracebacks show its lines
    sys.modules[module.__name__] = module  # so that what it defines can be pickled
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 - the generator's text, every name in it checked


def _check_modules(party: ThirdParty) -> None:
    """Import the modules that the file names, and refuse an entry whose function they do not have."""
    for native in party.registry.natives:
        if native.kernel is not None:
            _check_function(native, "kernel", party.registry.kernels, native.kernel)
        else:
            _check_function(native, "composite", party.registry.composites, native.composite)


def _check_function(native: NativeFunction, key: str, name: str | None, function: str | None) -> None:
    where = Where(native.file, native.line, native.schema.text)
    module = _imported(str(name), where)
    found = getattr(module, str(function), None)
    if not callable(found):
        raise where.error(f"the module {name!r} has no function {function!r}", f"Write it there, or correct `{key}:`")
    names = [arg.name for arg in native.schema.args]
    if key == "kernel" and not _takes(found, len(names)):
        raise where.error(
            f"the kernel {name}.{function}{inspect.signature(found)} does not take the {len(names)} declared arguments "
            f"({', '.join(names)}), which are given by position",
            "Correct the kernel, or `func:`",
        )


def _takes(function: Callable[..., object], count: int) -> bool:
    """True if a function takes so many arguments by position, as far as it can be asked."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a builtin
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def _imported(name: str, where: Where) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, and itself needs another
        raise where.error(f"there is no module {name!r} to import", "Correct the name") from error


__all__ = ["DeclarationError", "load"]
