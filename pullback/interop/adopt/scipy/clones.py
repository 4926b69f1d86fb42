"""Clones: Python functions of NumPy or SciPy with other globals, in which `np` and its functions take our tensors.

The function itself stays as it is, for everybody who calls it with plain arrays; a clone shares its code. What a clone
calls is cloned when it is first looked up.
"""

from __future__ import annotations

import builtins
import cmath
import copy
import functools
import math
import sys
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, Self

import numpy as np

from pullback.core.array_face import SCALAR_FACES
from pullback.core.tensor import Tensor
from pullback.interop.adopt.dispatchers import first_tensor
from pullback.interop.adopt.reached import is_source
from pullback.interop.adopt.rules import RULES, has_views
from pullback.interop.adopt.scipy.calls import ScipyFunction, plain, scipy_name
from pullback.interop.adopt.scipy.classes import ScipyClass
from pullback.interop.adopt.scipy.entries import from_outside
from pullback.interop.adopt.stand_ins import functions
from pullback.interop.adopt.ufuncs import Ufunc
from pullback.interop.holders import Holder
from pullback.interop.suggest import from_scipy


def clone(function: Any) -> FunctionType:
    """`function` for our tensors. It must be one that is known to be differentiated by running it."""
    own = function.__globals__
    if id(own) not in _globals:
        _globals[id(own)] = _Globals(own)
    cells = function.__closure__
    if cells and _is_librarys(own.get("__name__")):  # a user's stay what they are
        cells = tuple(map(_cell, function.__code__.co_freevars, cells))
    made = FunctionType(
        function.__code__,
        _globals[id(own)],
        function.__name__,
        function.__defaults__,
        cells,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)  # where some keep a cache
    return made


def _cell(name: str, cell: CellType) -> CellType:
    if name == "__class__" and not isinstance(_made.get(id(cell.cell_contents)), type):
        return cell  # `super()` looks for the class itself among the bases of a twin; a clone has it replaced
    return CellType(_cloned(cell.cell_contents))


def class_clone(kind: type) -> type:
    """A class for our tensors: its methods, and those of the bases that are SciPy's too, are clones."""
    if id(kind) not in _made or not isinstance(_made[id(kind)], type):
        own = {base: class_clone(base) for base in kind.__bases__ if has_views(base.__module__)}
        bases = tuple(own.get(base, base) for base in kind.__bases__ if base is not object)
        bases = bases if own else (Made, *bases)
        # Entered before there are methods, whose `super()` and module look it up.
        metaclass: Any = _kind_of_clone(type(kind))
        body = {"__doc__": kind.__doc__, "__module__": __name__, "__genuine__": kind}
        made = _made[id(kind)] = metaclass(kind.__name__, bases, body)
        for name in vars(kind):
            made.renew(name)
    found: type = _made[id(kind)]
    return found


class Made(Holder):
    """An object of a clone of a class: functions of SciPy find the tensors in its fields."""

    def held(self) -> tuple[Any, ...]:
        return tuple(self.__dict__.values())

    def plain(self) -> object:
        made = object.__new__(type(self).__genuine__)  # type: ignore[attr-defined]
        for name, x in self.__dict__.items():
            object.__setattr__(made, name, _genuine_of(plain(x)))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.plain(),)  # SciPy's own object, of which a pickle can be one

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = self.__copy__()
        fields = vars(made).items()
        vars(made).update({k: x.copy() if isinstance(x, Tensor) else copy.deepcopy(x, memo) for k, x in fields})
        return made


def _itself(x: object) -> object:
    return x


def _genuine_of(x: Any) -> object:
    if type(x) is FunctionType and type(x.__globals__) is _Globals:
        return x.__globals__.own.get(x.__name__, x)
    return x.__dict__["__genuine__"] if type(x) is _Module else x


class _KindOfClone(type):
    """The type of a clone, of which objects of SciPy's own class are instances too."""

    def __instancecheck__(cls, x: object) -> bool:
        return super().__instancecheck__(x) or isinstance(x, cls.__genuine__)  # type: ignore[attr-defined]

    def renew(cls, name: str) -> None:
        """Have an attribute of the genuine class as it is there now."""
        kind: Any = vars(cls)["__genuine__"]
        method = vars(kind).get(name, _NOTHING)
        if method is _NOTHING:
            delattr(cls, name)
        elif name not in _OF_THE_CLASS and type(method) not in (MemberDescriptorType, GetSetDescriptorType):
            hub = f"{kind.__module__}.{kind.__name__}.{name}"
            setattr(cls, name, RULES[hub] if hub in RULES else _method(method, lambda f: from_outside(clone(f))))


@functools.cache
def _kind_of_clone(metaclass: type) -> type:
    return _KindOfClone if metaclass is type else type(metaclass.__name__, (_KindOfClone, metaclass), {})


_NOTHING = object()
# `_abc_impl` is the memory of what is an instance of the class.
_OF_THE_CLASS = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "_abc_impl"})


def _method(method: Any, cloned: Callable[[Any], Any] = clone) -> Any:
    method = getattr(method, "genuine", method)  # what a patch stands for
    if type(method) is FunctionType:
        return cloned(method) if has_views(method.__module__) else method
    if type(method) in (staticmethod, classmethod):
        return type(method)(_method(method.__func__, cloned))
    if type(method) is property:
        get, set_, delete = (f and cloned(f) for f in (method.fget, method.fset, method.fdel))
        return property(get, set_, delete, method.__doc__)
    return _attribute(method)


def _attribute(x: Any) -> Any:
    """The stand-in for an attribute of a cloned class, or for what that holds; each is made once."""
    if type(x) in (list, tuple):
        return type(x)(map(_attribute, x))
    if type(x) is dict:
        return {_attribute(key): _attribute(value) for key, value in x.items()}
    if not _is_cloned(type(x)):
        return x
    if id(x) not in _made:
        made: Any = object.__new__(class_clone(type(x)))
        _made[id(x)] = made
        made.__dict__.update({name: _attribute(field) for name, field in vars(x).items()})
    return _made[id(x)]


def _is_cloned(kind: type) -> bool:
    """True if of this class of SciPy's a clone stands in for our tensors."""
    return kind.__module__.startswith("scipy.") and (kind.__module__ in CLASSES or scipy_name(kind) in CLASSES)


def twin(thing: object) -> Any:
    """An object with the same fields, the methods of which are clones."""
    kind: Any = type(thing)
    made: Any = object.__new__(kind_of_twin(kind))
    made.__dict__ = thing.__dict__
    return made


def copy_of(thing: object) -> Any:
    """An object of SciPy's as one of the clone of its class, with the same fields; so are objects among these."""
    made: Any = object.__new__(class_clone(type(thing)))
    slots = (name for kind in type(thing).__mro__ for name, x in vars(kind).items() if type(x) is MemberDescriptorType)
    fields = {name: getattr(thing, name) for name in slots if hasattr(thing, name)} | getattr(thing, "__dict__", {})
    made.__dict__ |= {name: _of_field(x) for name, x in fields.items()}
    return made


def _of_field(x: object) -> object:
    if type(x) in (FunctionType, ModuleType):
        return _cloned(x)
    return copy_of(x) if _is_cloned(type(x)) else x


def _is_librarys(module: str | None) -> bool:
    """True for a module of NumPy's, SciPy's or this package, in which nothing changes."""
    return module is not None and module.partition(".")[0] in ("numpy", "scipy", __name__.partition(".")[0])


class _OfUser:
    """A method of a user's class, as a clone of what it is when it is called."""

    def __init__(self, home: type, name: str) -> None:
        self._home, self._name = home, name

    def __get__(self, thing: object, kind: type | None = None) -> object:
        method = vars(self._home)[self._name]
        return (clone(method) if type(method) is FunctionType else method).__get__(thing, kind)


@functools.cache
def kind_of_twin(kind: type) -> type:
    """The class of the twins of the instances of a class; called, it makes one."""
    methods: dict[str, Any] = {}
    for home in reversed(kind.__mro__):
        for name, method in vars(home).items():
            if type(method) is FunctionType and not _is_librarys(home.__module__):
                methods[name] = _OfUser(home, name)
            elif type(method) is FunctionType:
                rule = RULES.get(f"{home.__module__}.{home.__name__}.{name}")
                methods[name] = rule or clone(getattr(method, "genuine", method))  # what a patch stands for
            elif type(method) in (property, staticmethod) and has_views(home.__module__):
                methods[name] = _method(method)
            elif name in methods:
                del methods[name]  # which a nearer class has in another form
    return type(kind.__name__, (kind,), methods)


class _Globals(dict[str, Any]):
    """The globals of a module as its clones see them: converted when first looked up."""

    def __init__(self, own: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in own.items() if name.startswith("__")})  # imports read these
        self["__builtins__"] = _BUILTINS
        self.own = own
        self._stays = _is_librarys(own.get("__name__"))  # a user's globals change

    def __missing__(self, name: str) -> object:
        value: Any
        hub = f"{self.own.get('__name__')}.{name}"
        if name not in self.own and hub not in RULES:
            self[name] = value = _BUILTINS[name]  # else it is no name at all, and this the KeyError
            return value
        genuine = self.own.get(name)
        if hub in RULES and hub != f"{getattr(genuine, '__module__', '')}.{name}":  # of another module, used here
            value = RULES[hub]
        elif name == "array_namespace":
            value = _array_namespace
        else:
            value = _of_ours_too(name, genuine) if name in _ASK_FOR_THE_CLASS else _cloned(genuine)
        if self._stays:
            self[name] = value
        return value


def _import(name: str, *args: Any) -> object:
    """The module of an import statement in a clone."""
    return _cloned(__import__(name, *args))


class _Number(type):
    """`float` or `complex` as clones see it: it takes a tensor of one element, and is the genuine type otherwise."""

    __base__: Any
    dtype: Any  # by which NumPy takes it for the genuine type

    def __call__(cls, x: Any = 0, *more: Any) -> object:
        if isinstance(x, Tensor) and x.size == 1 and (x.dtype.kind != "c" or cls.dtype.kind == "c"):
            return x.reshape(()).astype(cls.dtype)[()]
        return cls.__base__(x, *more)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, cls.__base__)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.__base__

    def __hash__(cls) -> int:
        return hash(cls.__base__)


_NUMBERS = {kind.__name__: _Number(kind.__name__, (kind,), {"dtype": np.dtype(kind)}) for kind in (float, complex)}
_BUILTINS = {**vars(builtins), "__import__": _import, **_NUMBERS}


class _Module(ModuleType):
    """A module as clones see it."""

    def __init__(self, genuine: ModuleType) -> None:
        super().__init__(genuine.__name__)
        self.__dict__["__genuine__"] = genuine

    def __getattr__(self, name: str) -> object:
        genuine = getattr(self.__dict__["__genuine__"], name)
        made = _cloned(genuine)
        if made is genuine and (hub := f"{self.__name__}.{name}") in RULES:  # of Fortran, or of another module
            made = _by_hub(genuine, hub)
        if made is not genuine:  # a constant may be changed
            self.__dict__[name] = made
        return made


def _by_hub(genuine: Callable[..., Any], hub: str) -> Callable[..., Any]:
    def called(*args: object, **kwargs: object) -> object:
        return (genuine if first_tensor(args, kwargs) is None else RULES[hub])(*args, **kwargs)

    return called


_globals: dict[int, _Globals] = {}
_made: dict[int, Any] = {}
CLASSES: set[str] = set()  # public names of classes of which clones are made, and modules of which all are cloned


def _cloned(value: object) -> Any:
    """Return what clones see in place of a value of a module's."""
    if id(value) not in _made:
        if isinstance(value, type) and _is_cloned(value):
            return class_clone(value)
        if isinstance(value, type) and value.__module__.startswith("scipy.") and scipy_name(value) in RULES:
            return ScipyClass(value)
        _made[id(value)] = functions(always=True).get(id(value)) or _made_of(value)
    return _made[id(value)]


def _made_of(value: Any) -> object:
    if type(value) is ModuleType:
        if value.__name__.endswith("array_api_compat.numpy"):
            return _cloned(np)
        runs = has_views(value.__name__) and is_source(value)
        return _Module(value) if runs or value in (np, math, cmath) or _has_rules(value) else value
    if type(value) is FunctionType and has_views(value.__module__):
        return ScipyFunction(value) if scipy_name(value) in RULES else clone(value)
    if _holds_functions(value):  # of which one is chosen by name
        return _with_clones(value)
    if type(value).__module__ == "uarray" and scipy_name(value) in RULES:
        return ScipyFunction(value)
    if _is_compiled(value) and scipy_name(value) in RULES:
        rule = RULES[scipy_name(value)]
        if hasattr(rule, "__getitem__"):  # a table by dtype, as a fused function is one
            return rule
        return _by_hub(value, scipy_name(value))  # it may write into an argument that has no gradient yet
    if type(value) is np.ufunc and from_scipy(value):  # which SciPy calls with lists, too
        return Ufunc(value)
    if value is np.r_ or value is np.c_:
        kind: Any = type(value)
        return kind_of_twin(kind)()
    if isinstance(value, distributions()):  # one that computes by another
        return twin(value)
    return _of_class(value) if isinstance(value, type) else value


def _of_class(kind: type) -> object:
    if kind is np.vectorize:  # what functions of SciPy make with it takes our tensors, too
        return kind_of_twin(kind)
    if kind.__module__ in _OF_HOLDERS:
        if scipy_name(kind) in RULES:
            return RULES[scipy_name(kind)]
        return kind_of_twin(kind) if kind.__name__.endswith(_MADE_ON_THE_WAY) else kind
    if type(kind) is type and _HELPERS in kind.__module__:
        methods = {name: clone(method) for name, method in vars(kind).items() if type(method) is FunctionType}
        return type(kind.__name__, (kind,), {"__slots__": (), **methods})
    return kind


def _holds_functions(value: Any) -> bool:
    """True if it is a table of functions of SciPy's, at whatever depth."""
    if type(value) in (dict, list, tuple):
        return any(map(_holds_functions, value.values() if type(value) is dict else value))
    return type(value) is FunctionType and has_views(value.__module__)


def _with_clones(value: Any) -> object:
    if type(value) is dict:
        return {key: _with_clones(item) for key, item in value.items()}
    return type(value)(map(_with_clones, value)) if type(value) in (list, tuple) else _cloned(value)


def _has_rules(module: ModuleType) -> bool:
    """True if functions of this compiled module of SciPy's have rules."""
    prefix = f"{module.__name__}."
    return prefix.startswith("scipy.") and any(name.startswith(prefix) for name in RULES)


def _is_compiled(value: Any) -> bool:
    named = type(value) is BuiltinFunctionType or type(value).__name__ in _COMPILED
    return named and str(value.__module__).startswith("scipy.")


def distributions() -> tuple[type, ...]:
    """The classes of SciPy's distributions, of numbers and of vectors, as far as they have been imported."""
    modules = ("scipy.stats._distn_infrastructure", "rv_generic"), ("scipy.stats._multivariate", "multi_rv_generic")
    return tuple(getattr(sys.modules[home], name) for home, name in modules if home in sys.modules)


# Where functions make objects that hold their arguments, and compute with them later: they make twins.
_OF_HOLDERS = frozenset({"scipy.stats._covariance", "scipy.stats._multivariate", "scipy.stats._stats_py"})
_MADE_ON_THE_WAY = ("_frozen", "_gen", "CovViaPSD", "PearsonRResult")
_COMPILED = ("cython_function_or_method", "fused_cython_function")
_HELPERS = "array_api_extra"  # whose classes compute, as functions do


def _array_namespace(*_: object, **__: object) -> Any:
    """Of NumPy's and our arrays it is NumPy, with functions that take ours."""
    return _cloned(np)


# By these SciPy asks what kind of array it has been given.
_ASK_FOR_THE_CLASS = frozenset({"is_numpy_array", "is_array_api_obj", "is_writeable_array"})


def _of_ours_too(name: str, genuine: Any) -> Callable[..., bool]:
    if name == "is_writeable_array":  # of what is not, as of a number, SciPy makes a copy
        return lambda x: type(x) not in SCALAR_FACES and (isinstance(x, Tensor) or genuine(x))
    return lambda x, *more: isinstance(x, Tensor) or genuine(x, *more)
