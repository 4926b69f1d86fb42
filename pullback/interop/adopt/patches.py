"""Methods of NumPy and SciPy that are replaced in place, so that objects made before have them too: `np.r_`.

Each calls the genuine method, unless our tensors are among the arguments or may come out of a function that it calls:
then a clone of it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.array_face import ARRAYS
from pullback.explain.call_site import is_users_file
from pullback.interop.adopt.dispatchers import first_tensor, joined_list
from pullback.interop.adopt.rules import DISTRIBUTION_METHODS, DISTRIBUTIONS_OF_VECTORS, METHODS_OF_VECTORS, RULES
from pullback.interop.adopt.scipy.classes import show_again
from pullback.interop.adopt.scipy.clones import clone, twin
from pullback.interop.adopt.state import State
from pullback.interop.holders import Holder
from pullback.interop.unseen import unseen

_genuine: dict[tuple[type, str], Any] = {}  # what stood in the class before


def apply_patches() -> None:
    """Replace the methods of what has been imported."""
    if State.on or _kept:
        for owner, name, replaced in _patches():
            if (owner, name) not in _genuine and (State.on or _is_kept(owner)):
                _genuine[owner, name] = method = vars(owner)[name]
                patch = replaced(method)
                patch.genuine = method
                setattr(owner, name, patch)
                show_again(owner, name)


def undo_patches() -> None:
    """Put the genuine methods back."""
    for owner, name in [key for key in _genuine if not _is_kept(key[0])]:
        setattr(owner, name, _genuine.pop((owner, name)))
        show_again(owner, name)


def keep_patches(package: str) -> None:
    """Replace the methods of this package of SciPy's, without `adopt()` too: its name in `pullback.scipy` is in use."""
    _kept.add(package)
    apply_patches()


def _is_kept(owner: type) -> bool:
    return owner.__module__.startswith(tuple(_kept))


_kept: set[str] = set()


def _patches() -> Iterator[tuple[type, str, Callable[[Any], Any]]]:
    """The class, the method and what makes the replacement."""
    yield type(np.r_).__mro__[1], "__getitem__", _of_key
    yield np.vectorize, "__call__", _of_callback
    yield np.ndenumerate, "__init__", _of_elements
    for package, classes, names in _BY_RULES:
        for owner in filter(_is_mutable, _classes_of(sys.modules.get(package), classes)):
            for name in sorted(names & vars(owner).keys()):
                if type(vars(owner)[name]) is not property:
                    yield owner, name, _by_rule(f"{package}._methods.{name}")


def _is_mutable(kind: type) -> bool:
    """True if methods can be replaced: not those of a class in C, as some are in older versions of SciPy."""
    heap, immutable = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
    return bool(kind.__flags__ & heap) and not kind.__flags__ & immutable


# Methods that have a rule, "<package>._methods.<name>", which is called with the object: package, classes, names.
_BY_RULES: list[tuple[str, tuple[str, ...], set[str]]] = [
    (
        "scipy.sparse",
        tuple(
            f"{form}_{face}"
            for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
            for face in ("array", "matrix")
        ),
        {
            "__add__", "__matmul__", "__mul__", "__radd__", "__rmatmul__", "__rmul__", "__rsub__", "__sub__",
            "__truediv__", "dot", "multiply",
        },
    ),
    ("scipy.sparse.linalg", ("LinearOperator",), {"dot", "matmat", "matvec", "rmatmat", "rmatvec"}),
    ("scipy.spatial.transform", ("Rotation", "Slerp"), {"__call__", "__mul__", "apply"}),
    ("scipy.stats", ("rv_continuous", "rv_discrete"), set(DISTRIBUTION_METHODS)),
    ("scipy.stats._multivariate", DISTRIBUTIONS_OF_VECTORS, set(METHODS_OF_VECTORS)),
    ("scipy.stats._kde", ("gaussian_kde",), {"__call__", "evaluate", "logpdf", "pdf"}),
    (
        "scipy.interpolate",
        (
            "AAA", "BPoly", "BSpline", "BarycentricInterpolator", "BivariateSpline", "CloughTocher2DInterpolator",
            "FloaterHormannInterpolator", "KroghInterpolator", "LinearNDInterpolator", "NdBSpline", "NdPPoly",
            "NearestNDInterpolator", "PPoly", "RBFInterpolator", "Rbf", "RectSphereBivariateSpline",
            "RegularGridInterpolator", "UnivariateSpline", "interp1d",
        ),
        {
            "__call__", "derivative", "derivatives", "ev", "insert_knot", "integral", "integrate", "integrate_1d",
            "solve",
        },
    ),
]  # fmt: skip


def _classes_of(package: ModuleType | None, names: tuple[str, ...]) -> list[type]:
    """The classes with these names, and their bases in the package, if it has been imported."""
    found = [vars(package)[name] for name in names if name in vars(package)] if package is not None else []
    return sorted({b for c in found for b in c.__mro__ if b.__module__.startswith("scipy.")}, key=lambda c: c.__name__)


def _by_rule(rule: str) -> Callable[[Any], Any]:
    """Makes of a method one that calls the rule where one of our tensors, or what holds one, is an argument."""

    def replaced(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        @unseen
        def called(self: Any, *args: object, **kwargs: object) -> Any:
            if first_tensor(args, kwargs) is None and not any(issubclass(type(x), Holder) for x in args):
                return method(self, *args, **kwargs)
            return RULES[rule](self, *args, **kwargs)

        return called

    return replaced


def with_rules(distribution: object) -> Any:
    """A distribution like this one, whose methods take our tensors without `adopt()`, and those frozen from it too."""
    kind: Any = type(distribution)
    made: Any = object.__new__(_kind_with_rules(kind))
    made.__dict__ = vars(distribution)
    return made


@functools.cache
def _kind_with_rules(kind: type) -> type:
    methods: dict[str, Any] = {}
    of_vectors = kind.__module__ == "scipy.stats._multivariate"
    package, names = ("scipy.stats._multivariate", METHODS_OF_VECTORS) if of_vectors else _OF_NUMBERS
    for name in names:
        method = getattr(kind, name, None)
        if type(method) is FunctionType:
            genuine = getattr(method, "genuine", method)
            called = _by_rule(f"{package}._methods.{name}")(genuine)
            # A frozen distribution of vectors has a class of its own.
            methods[name] = _frozen_with_rules(called) if of_vectors and name == "__call__" else called
            methods[name].genuine = genuine  # of which a twin has a clone
    return type(kind.__name__, (kind,), methods)


_OF_NUMBERS = ("scipy.stats", DISTRIBUTION_METHODS)


def _frozen_with_rules(freeze: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: with_rules(freeze(*args, **kwargs))


def _of_key(method: Callable[..., Any]) -> Callable[..., Any]:
    """`np.r_[...]`; a text is a matrix of the caller's variables, so the caller's frame must be next to the method."""
    cloned = clone(method)

    @functools.wraps(method)
    def called(self: Any, key: Any) -> Any:
        if isinstance(key, str):
            caller = sys._getframe(1)
            return np.bmat(key, caller.f_globals, caller.f_locals)
        return (method if first_tensor(key if type(key) is tuple else (key,)) is None else cloned)(self, key)

    return called


def _of_elements(method: Callable[..., Any]) -> Callable[..., Any]:
    """`np.ndenumerate(x)`, of which the elements of an Array are Scalars."""

    @functools.wraps(method)
    def called(self: Any, arr: Any) -> None:
        given: Any = joined_list(arr)
        if type(given) in ARRAYS:
            self.iter = given.flat
        else:
            method(self, arr)

    return called


_NO_CODE = compile("", "", "exec")  # stands for that of a function in C, or of an object that can be called


def _of_callback(method: Callable[..., Any]) -> Callable[..., Any]:
    """`np.vectorize(f)(...)`; that of a twin inside a transform, where a user's f may give one of our tensors."""

    @functools.wraps(method)
    @unseen
    def called(self: Any, *args: object, **kwargs: object) -> Any:
        inside = modes.current().level and is_users_file(getattr(self.pyfunc, "__code__", _NO_CODE).co_filename)
        if self.pyfunc is not np._NoValue and (inside or first_tensor(args, kwargs) is not None):
            return twin(self)(*args, **kwargs)
        return method(self, *args, **kwargs)

    return called
