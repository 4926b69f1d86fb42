"""Fills the operator tables and keeps the index of public names; the generated code enters itself here."""

import functools

from pullback.core.arguments import overloaded, refusing_numbers
from pullback.core.dispatch import NUMPY, TENSOR, dispatch

PUBLIC = {}  # public home ('' for the package) -> name -> function
METHODS = {}  # name -> function, for Tensor
NUMPY_RULES = {}  # name of a NumPy function -> function on Tensors
OPERATORS = {}  # name -> list of Overload


class Overload:
    """One call form: its function on Tensors, on raw ndarrays, its in-place function and its parameters."""

    __slots__ = ("function", "inplace", "params", "raw")

    def __init__(self, function, raw, composite, inplace, params):
        self.function, self.inplace, self.params = function, inplace, params
        self.raw = functools.partial(raw, ops=NUMPY) if composite else raw


class Faces:
    """What the overloads of one operator look like from outside: one function for each kind of caller."""

    def __init__(self, name, shown, overloads, aliases, refuses, module=None):
        name_as_called(name, overloads, module)
        self.on_tensors = _one(name, [(o.function, o.params) for o in overloads], module)
        self.on_arrays = _one(name, [(o.raw, o.params) for o in overloads])
        public = self.on_tensors if refuses is None else refusing_numbers(name, self.on_tensors, *refuses)
        here = (shown, *(alias for alias in aliases if "." not in alias))
        self.public = dict.fromkeys(here, public)
        self.elsewhere = [(*alias.rsplit(".", 1), public) for alias in aliases if "." in alias]
        in_place = [(o.inplace, o.params) for o in overloads if o.inplace is not None]
        self.changing = {}  # the in-place functions by name
        if in_place:
            self.changing = dict.fromkeys((f"{n}_" for n in here), _one(f"{name}_", in_place, module))


def add(name, home, shown, overloads, *, function, method, aliases=(), numpy=(), internal=False, refuses=None):
    """Enter an operator with all its overloads, `shown` under that name in its home; an internal one has none."""
    called = f"{home}.{shown}" if home else shown
    called = called if function or internal else f"Tensor.{shown}"
    faces = Faces(called, shown, overloads, aliases, refuses, None if internal else "pullback")
    first = name not in OPERATORS
    OPERATORS.setdefault(name, []).extend(overloads)
    if home == "" or first:
        TENSOR.register({name: faces.on_tensors})
        NUMPY.register({name: faces.on_arrays})
    if internal:
        return
    if function:
        PUBLIC.setdefault(home, {}).update(faces.public | faces.changing)
    for other, alias, face in faces.elsewhere:
        PUBLIC.setdefault(other, {})[alias] = face
    if method:
        METHODS.update(faces.public)
    METHODS.update(faces.changing)
    NUMPY_RULES.update(dict.fromkeys(numpy, faces.on_tensors))


def name_as_called(name, overloads, module=None):
    """Give the functions of an operator the name by which users call it: Python's own errors, and pickle, use it."""
    for overload in overloads:
        for function, called in ((overload.function, name), (overload.inplace, f"{name}_")):
            if function is not None:
                function.__qualname__ = called
                function.__module__ = module or function.__module__


def kernel(name, op):
    """Let the tensor table run primitive `op` under its kernel's name, all arguments by position."""
    TENSOR.kernels[name] = dispatching(op)


def dispatching(op):
    """The kernel that runs primitive `op` on Tensors of any level."""

    def run(*args):
        return dispatch(op, args)

    return run


def _one(name, overloads, module=None):
    if len(overloads) == 1:
        return overloads[0][0]
    function = overloaded(name, overloads)
    function.__module__ = module or function.__module__
    return function
