"""Lazy loading of areas: their code is imported when one of their operators is first used.

Until then something stands in for every operator of an area, in the tables as among Tensor's methods. Called, it loads
the area, which takes all these places, and hands the call on.
"""

from __future__ import annotations

import threading
from functools import cache, partial
from importlib import import_module
from typing import Any

from pullback.arrays.numpy import load_formula_kernels, load_kernels
from pullback.core.array_type import NUMPY, TENSOR
from pullback.core.collector import collector_paused
from pullback.core.late import stand_in
from pullback.dispatch.operator import BY_KERNEL, OPERATORS
from pullback.ops import tables
from pullback.ops.documentation import read_pages
from pullback.ops.generated.late import LATE


def _names(texts: dict[str, str]) -> dict[str, Any]:
    """The names that an area brings, by kind; those of public functions by their home."""

    def of(kind: str) -> list[str]:
        return texts.get(kind, "").split()

    both = [*of("both"), *(form for name in of("both and in place") for form in (name, f"{name}_"))]
    homes = {kind.removeprefix("in "): of(kind) for kind in texts if kind.startswith("in ")}
    return {
        "operators": of("primitives") + of("composites"),
        "aliases": of("aliases"),
        "kernels": of("primitives") + of("kernels"),
        "methods": both + of("methods"),
        "numpy": of("numpy"),
        "public": {"": both + of("functions"), **homes},
    }


AREAS = {area: _names(texts) for area, texts in LATE.items()}
_loading = threading.RLock()
_loaded: set[str] = set()


def announce() -> None:
    """Enter what stands in for the operators of all areas."""
    for area, names in AREAS.items():
        load = partial(load_area, area)
        for table in (TENSOR, NUMPY):
            stand_in(table.__dict__, names["operators"] + names["aliases"], load)
            stand_in(table.kernels, names["kernels"], load)
        stand_in(tables.NUMPY_RULES, names["numpy"], load)
        for home, public in names["public"].items():
            stand_in(tables.PUBLIC.setdefault(home, {}), public, load)
    tables.OPERATORS.load = OPERATORS.load = partial(_load_what_has, "operators")
    BY_KERNEL.load = partial(_load_what_has, "kernels")


@cache
def _areas(kind: str) -> dict[str, str]:
    """The area of every name of a kind."""
    return {name: area for area, names in AREAS.items() for name in names[kind]}


def method_names() -> list[str]:
    """The names of the methods of Tensor that are operators."""
    return list(_areas("methods"))


def method(name: str) -> Any:
    """The method of Tensor that is the operator of that name, its area loaded."""
    load_area(_areas("methods")[name])
    return tables.METHODS[name]


def late_function(home: str, name: str) -> Any:
    """The function of that public name, its area loaded."""
    load_area(_public_areas(home)[name])
    return tables.PUBLIC[home][name]


@cache
def _public_areas(home: str) -> dict[str, str]:
    return {name: area for area, names in AREAS.items() for name in names["public"].get(home, ())}


def public_functions(home: str) -> dict[str, Any]:
    """All functions of a public home by name, their areas loaded."""
    for area in set(_public_areas(home).values()):
        load_area(area)
    return dict(tables.PUBLIC[home])


def _load_what_has(kind: str, name: str) -> None:
    """Load the area that has something of this kind and name, if one has."""
    area = _areas(kind).get(name.partition(".")[0])
    if area is not None:
        load_area(area)


def load_area(area: str) -> None:
    """Load an area, once."""
    if area in _loaded:
        return
    with _loading:
        if area in _loaded:
            return
        with collector_paused():  # all that is made stays
            kernels, in_formulas = load_kernels(area), load_formula_kernels(area)
            module = import_module(f"pullback.ops.generated.{area}")
            pages = read_pages(area)
            owned = frozenset(AREAS[area]["operators"] + AREAS[area]["aliases"])
            NUMPY.kernels.update(kernels)
            tables.enter(module.OPERATORS, module.CHOICES, pages, owned)
            NUMPY.register(in_formulas)
        _loaded.add(area)


def load_all() -> None:
    """Load every area."""
    for area in AREAS:
        load_area(area)
