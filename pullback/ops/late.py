"""Lazy loading of areas: their code is imported when one of their operators is first used.

Until then a placeholder stands under every name of such an area, in the tables as among Tensor's methods. Called, it
loads the area, which replaces all the placeholders, and hands the call on.
"""

import importlib
import threading

from pullback.arrays.numpy import load_kernels
from pullback.arrays.numpy.formula_kernels import LATE_IN_FORMULAS
from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.tensor import Tensor
from pullback.ops import tables
from pullback.ops.documentation import read_pages
from pullback.ops.generated.late import LATE

_loading = threading.RLock()
_loaded = set()


def announce():
    """Enter placeholders for all operators of the late areas."""
    for area, names in LATE.items():
        for table in (TENSOR, NUMPY):
            # `nn.functional.relu` is not `relu`, which formulas call and which is there: see tables._enter.
            awaited = [name for name in names["operators"] if name not in tables.OPERATORS]
            table.register({name: _placeholder(area, table.__dict__, name) for name in awaited})
            table.kernels.update({name: _placeholder(area, table.kernels, name) for name in names["kernels"]})
        tables.METHODS.update({name: LateMethod(area, name) for name in names["methods"]})
        tables.NUMPY_RULES.update({name: _placeholder(area, tables.NUMPY_RULES, name) for name in names["numpy"]})
        for home, public in names["public"].items():
            homes = tables.PUBLIC.setdefault(home, {})
            homes.update({name: _placeholder(area, homes, name) for name in public})


def late_names(home):
    """The public names of a home that belong to late areas, with their areas."""
    return {name: area for area, names in LATE.items() for name in names["public"].get(home, ())}


def late_function(home, name):
    """The function of that public name, its area loaded."""
    load_area(late_names(home)[name])
    return tables.PUBLIC[home][name]


def public_functions(home):
    """All functions of a public home by name, their areas loaded."""
    for area in set(late_names(home).values()):
        load_area(area)
    return dict(tables.PUBLIC.get(home, {}))


def enter_area(area):
    """Enter the operators of an area."""
    module = importlib.import_module(f"pullback.ops.generated.{area}")
    tables.enter(module.OPERATORS, module.CHOICES, read_pages(area))


def load_area(area):
    """Load a late area, once."""
    with _loading:
        if area in _loaded:
            return
        NUMPY.kernels.update(load_kernels(area))
        enter_area(area)
        in_formulas = LATE_IN_FORMULAS.get(area, {})
        NUMPY.register({name: getattr(importlib.import_module(m), f) for name, (m, f) in in_formulas.items()})
        for name in LATE[area]["methods"]:
            if name in vars(Tensor):  # otherwise Tensor is about to get them all
                setattr(Tensor, name, tables.METHODS[name])
        _loaded.add(area)


def load_all() -> None:
    """Load every late area."""
    for area in LATE:
        load_area(area)


class LateMethod:
    """Stands for a method of Tensor until it is first asked for, be it only for its documentation."""

    def __init__(self, area, name):
        self.area, self.name = area, name

    def __get__(self, tensor, cls=None):
        load_area(self.area)  # which replaces this
        return getattr(cls if tensor is None else tensor, self.name)


def _placeholder(area, names, name):
    """A function that loads the area and calls what then stands under `name`."""

    def placeholder(*args, **kwargs):
        load_area(area)
        return names[name](*args, **kwargs)

    return placeholder
