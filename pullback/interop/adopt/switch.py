"""`adopt()` and `release()`: give namespaces their views, and take them back."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from pullback.core.cuts import ON_CHANGE
from pullback.core.named import named
from pullback.interop.adopt import polynomials as _polynomials  # noqa: F401 - which enters their rules
from pullback.interop.adopt.patches import apply_patches, undo_patches
from pullback.interop.adopt.reached import NEVER, Namespace, is_reached, namespaces
from pullback.interop.adopt.state import State
from pullback.interop.adopt.views import adopted, genuine_of, renew_views, show_ufuncs

_lock = threading.RLock()


_active: list[Adoption] = []  # those in force


class Adoption:
    """The result of `adopt()`: as a `with` block it is undone at the end, and what others have adopted stays."""

    def __init__(self, packages: tuple[str, ...], only: Sequence[Namespace] | None = None) -> None:
        self.packages, self.only = packages, only

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _lock:
            if self in _active:
                _active.remove(self)
                _change()


@named("adopt")
def adopt(*packages: str) -> Adoption:
    """Change what NumPy, math and SciPy mean in your modules, so that code written for them is differentiated as it is.

    Modules of your own, present and future ones, see views of `numpy`, `math` and SciPy, in which functions that
    cannot take our tensors by themselves look for them: `np.array([x[0], x[1]])`, `np.zeros(n)` as a buffer,
    `np.r_[x, y]`, `math.exp(x[0])`, `scipy.linalg.expm(A)`. Values stay the same, bit for bit. NumPy itself, installed
    packages and compiled code see nothing of it.

    Parameters
    ----------
    *packages : str
        Installed packages whose Python modules are reached besides your own: `adopt("filterpy")`.

    Returns
    -------
    Adoption
        As a `with` block (`with pullback.adopt(): ...`) it is undone at the end. Else `release()` undoes it.

    Raises
    ------
    ValueError
        A package is not named as it is imported, or is NumPy, SciPy or pullback itself.

    Notes
    -----
    docs/adopt.md says what is reached and what is not.

    Examples
    --------
    >>> import numpy as np
    >>> def f(x):
    ...     y = np.zeros(3)
    ...     for i in range(3):
    ...         y[i] = x[0] ** i * x[1]
    ...     return np.sum(y)
    >>> with pb.adopt():
    ...     pb.func.grad(f)(np.array([2.0, 1.0]))
    array([5., 7.])
    """
    for name in packages:
        if not isinstance(name, str) or not name.isidentifier() or name in NEVER:
            raise ValueError(
                f"adopt: name a package as it is imported, without its submodules ('filterpy'), got {name!r}. numpy, "
                "scipy and pullback cannot be adopted: adopt() reaches their functions from your modules."
            )
    return _in_force(Adoption(packages))


def _in_force(made: Adoption) -> Adoption:
    with _lock:
        _active.append(made)
        try:
            _change()
        except BaseException:
            if made in _active:
                _active.remove(made)
            raise
    return made


@named("release")
def release() -> None:
    """Undo `adopt()`: every module has the genuine functions again.

    Returns
    -------
    None

    Examples
    --------
    >>> _ = pb.adopt()
    >>> pb.release()
    """
    with _lock:
        _active.clear()
        _change()


def adopt_meanwhile(only: Sequence[Namespace] | None = None) -> Adoption | None:
    """`adopt()` for a block of ours, unless it is in force; in these namespaces alone, where it is known which count.

    To find all that there are takes 5 ms in a small process, and 60 in a large one.
    """
    return None if State.on else _in_force(Adoption((), only))


def _change() -> None:
    """Bring what is adopted in line with `_active`; what an exception (Ctrl-C) has cut off is begun again next time."""
    wanted = frozenset(name for adoption in _active for name in adoption.packages)
    only: list[Namespace] | None = [namespace for adoption in _active for namespace in adoption.only or ()]
    if any(adoption.only is None for adoption in _active):
        only = None
    if State.on and (not _active or wanted != State.packages or not _is_same(only, State.only) or not State.whole):
        try:
            _switch_off()
        except BaseException:
            _switch_off()  # the whole of it, before Ctrl-C goes on
            raise
    if _active and not State.on:
        State.packages, State.only = wanted, only
        _imported.clear()
        found = list(_reached())
        _note_ours(found)  # before anything changes: cut off here, there is nothing to take back
        try:
            _switch_on(found)
        except BaseException:
            _switch_off()
            raise
    show_ufuncs()


def _is_same(a: Sequence[Namespace] | None, b: Sequence[Namespace] | None) -> bool:
    """True if these are the same namespaces, which are not compared by what is in them."""
    return a is b if a is None or b is None else [*map(id, a)] == [*map(id, b)]


def _switch_on(found: list[Namespace]) -> None:
    State.on, State.whole = True, False
    apply_patches()
    renew_views()
    builtins.__import__ = _importing(builtins.__import__)
    _bind(found)
    ON_CHANGE.append(show_ufuncs)
    State.whole = True


def _switch_off() -> None:
    """Take all views back, whatever of them is there."""
    State.whole = False
    while show_ufuncs in ON_CHANGE:
        ON_CHANGE.remove(show_ufuncs)
    _take_back()
    undo_patches()
    if (genuine := getattr(builtins.__import__, "genuine", None)) is not None:
        builtins.__import__ = genuine
    State.on = False


_imported: list[Namespace] = []  # those that have imported a view while only some others are adopted
_ours: dict[tuple[int, str], Any] = {}  # by namespace and name: what comes from pullback.scipy itself, and stays


def _note_ours(found: Iterable[Namespace]) -> None:
    _ours.clear()
    _ours.update({(id(space), name): x for space, name, x in _entries(found) if genuine_of(x) is not x})


def _bind(found: Iterable[Namespace]) -> None:
    for namespace, name, value in _entries(found):
        if (view := adopted(value)) is not value:
            namespace[name] = view


def _take_back() -> None:
    for namespace, name, value in _entries(_reached()):
        if (genuine := genuine_of(value)) is not value and _ours.get((id(namespace), name)) is not value:
            namespace[name] = genuine


def _reached() -> Iterator[Namespace]:
    """The namespaces that are adopted. To find them takes far longer than to change them."""
    every = namespaces() if State.only is None else (*State.only, *_imported)
    return (namespace for namespace in every if is_reached(namespace))


def _entries(found: Iterable[Namespace]) -> Iterator[tuple[Namespace, str, Any]]:
    return ((namespace, name, value) for namespace in found for name, value in list(namespace.items()))


def _importing(genuine: Callable[..., Any]) -> Callable[..., Any]:
    """`__import__` that gives adopted namespaces views: in later modules, notebook cells and functions."""

    def import_(
        name: str,
        globals: Namespace | None = None,
        locals: Namespace | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        module = genuine(name, globals, locals, fromlist, level)
        if name.startswith(_ROOTS) and globals and State.on and is_reached(globals):
            apply_patches()  # of what has been imported by now
            if State.only is not None and all(namespace is not globals for namespace in (*State.only, *_imported)):
                _imported.append(globals)
            return adopted(module)
        return module

    import_.genuine = genuine  # type: ignore[attr-defined]
    # As Python's own import is, so that a warning about an imported module points at who imports it.
    import_.__code__ = import_.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return import_


_ROOTS = ("numpy", "scipy", "math", "cmath", "einops", "opt_einsum")
