"""NumPy's kernels: every primitive has one, every kernel serves a primitive, and no name is given twice."""

import ast
import importlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import pullback.arrays.numpy as package
from pullback.codegen.generate import own_registry
from pullback.codegen.model import AREAS

PRIMITIVES = {(native.area, native.kernel) for native in own_registry().natives if native.kernel is not None}


def kernels_of(area):
    """The kernels that the package of an area offers."""
    return package.kernels_of(importlib.import_module(f"{package.__name__}.{area}"))


def imported(area):
    """The names that the package of an area imports, as often as it does."""
    path = Path(package.__path__[0], area, "__init__.py")
    docstring, *imports = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(node, ast.ImportFrom) for node in imports), f"{path} does more than import"
    return [alias.asname or alias.name for node in imports for alias in node.names]


def test_every_area_has_a_folder_and_every_folder_is_an_area():
    folders = {path.parent.name for path in Path(package.__path__[0]).glob("*/__init__.py")}
    assert folders == {*AREAS, "fast"}


@pytest.mark.parametrize("area", AREAS)
def test_an_area_imports_its_kernels_by_name_and_once(area):
    names = imported(area)
    assert {name: times for name, times in Counter(names).items() if times > 1} == {}
    assert set(names) == set(kernels_of(area))  # none is hidden by a module of its name


@pytest.mark.parametrize("area", AREAS)
def test_every_primitive_has_a_kernel_in_its_area(area):
    kernels = kernels_of(area)
    missing = {kernel for home, kernel in PRIMITIVES if home == area} - set(kernels)
    assert not missing
    assert all(map(callable, kernels.values()))


@pytest.mark.parametrize("area", AREAS)
def test_every_kernel_serves_a_primitive_of_its_area(area):
    """Itself, or as the form `name_` of the primitive `name`, which writes into its first argument."""
    own = {kernel for home, kernel in PRIMITIVES if home == area}
    assert {name for name in kernels_of(area) if name not in own and name.removesuffix("_") not in own} == set()


def test_no_two_areas_have_kernels_of_one_name():
    areas = [importlib.import_module(f"{package.__name__}.{area}") for area in AREAS]
    everything = package.kernels_of(*areas)
    assert everything == {name: kernel for area in AREAS for name, kernel in kernels_of(area).items()}


def test_a_second_definition_is_refused():
    first = SimpleNamespace(__name__="arrays.first", sin=abs)
    second = SimpleNamespace(__name__="arrays.second", sin=abs)
    with pytest.raises(ImportError, match=r"two kernels are called 'sin': one in arrays\.first, one in arrays\.second"):
        package.kernels_of(first, second)
