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


def add(name, home, overloads, *, function, method, aliases=(), numpy=(), refuses=None):
    """Enter an operator with all its overloads."""
    OPERATORS.setdefault(name, []).extend(overloads)
    on_tensors = _one(name, [(o.function, o.params) for o in overloads])
    if home == "" or name not in TENSOR.__dict__:
        TENSOR.register({name: on_tensors})
        NUMPY.register({name: _one(name, [(o.raw, o.params) for o in overloads])})
    public = on_tensors if refuses is None else refusing_numbers(name, on_tensors, *refuses)
    if function:
        PUBLIC.setdefault(home, {}).update(dict.fromkeys((name, *aliases), public))
    if method:
        METHODS.update(dict.fromkeys((name, *aliases), public))
    changing = [(o.inplace, o.params) for o in overloads if o.inplace is not None]
    if changing:
        in_place = _one(f"{name}_", changing)
        METHODS.update(dict.fromkeys((f"{n}_" for n in (name, *aliases)), in_place))
        if function:
            PUBLIC[home].update(dict.fromkeys((f"{n}_" for n in (name, *aliases)), in_place))
    NUMPY_RULES.update(dict.fromkeys(numpy, on_tensors))


def kernel(name, op):
    """Let the tensor table run primitive `op` under its kernel's name, all arguments by position."""

    def run(*args):
        return dispatch(op, args)

    TENSOR.kernels[name] = run


def _one(name, overloads):
    return overloads[0][0] if len(overloads) == 1 else overloaded(name, overloads)
