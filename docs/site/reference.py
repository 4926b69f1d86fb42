"""The pages of the reference: one for each public function and class, and one for each module, from the live objects.

What `help()` shows is what stands here; nothing is written twice. An object with several names has one page, to which
the tables of all its homes lead. Methods of Tensors that are operators lead to the operator's page.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docstrings import escaped, rst_of, summary, table

import pullback as pb
from pullback.codegen.generate import own_registry
from pullback.core.cuts import Log
from pullback.core.observers import Observer
from tests.test_public_names import MODULES, PARTS

EXPLANATIONS = Path(pb.__file__).parent / "explanations"

# In this order an object finds its home, and the modules their place in the contents.
HOMES = (
    "pullback", "pullback.func", "pullback.autograd", "pullback.autograd.functional", "pullback.autograd.forward_ad",
    "pullback.autograd.graph", "pullback.autograd.function", "pullback.autograd.grad_mode",
    "pullback.autograd.anomaly_mode", "pullback.autograd.profiler", "pullback.autograd.variable", "pullback.linalg",
    "pullback.fft", "pullback.special", "pullback.masked", "pullback.signal.windows", "pullback.nn",
    "pullback.nn.functional", "pullback.random", "pullback.optimize", "pullback.optim", "pullback.optim.lr_scheduler",
    "pullback.distributed",
    "pullback.utils", "pullback.utils.checkpoint", "pullback.utils.pytree", "pullback.viz", "pullback.compiler",
    "pullback.testing", "pullback.extend", "pullback.library", "pullback.overrides",
)  # fmt: skip


@dataclass
class Page:
    """One object, under all of its public names; the first is that of its page."""

    value: Any
    names: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.names[0]


def pages() -> dict[int, Page]:
    """The pages of functions and classes, by the ids of these."""
    assert set(HOMES) == {*MODULES, *PARTS}, "a module without a place in the contents"
    found: dict[int, Page] = {}
    for home in HOMES:
        module = importlib.import_module(home)
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, _CONSTANTS):
                found.setdefault(id(value), Page(value)).names.append(f"{home}.{name}")
    return found


_CONSTANTS = (type(pb.float64), float, str)


def write(folder: Path) -> int:
    """Write all pages into a folder, and say how many there are."""
    known = pages()
    beside = dict[str, list[str]]()
    for page in known.values():
        beside.setdefault(_beside(page), []).append(page.name)
    for page in known.values():
        text = _of_tensor(page, known) if page.value is pb.Tensor else _of_object(page, known)
        _write(folder / f"{page.name}.rst", _neighbours(_beside(page), beside[_beside(page)]) + text)
    for home in HOMES:
        _write(folder / f"{home}.rst", f"{_neighbours('Modules', HOMES)}\n{_of_module(home, known)}")
    _write(folder / "index.rst", _contents())
    return len(known)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # what is as it was is not built again
        path.write_text(text, encoding="utf-8")


def _beside(page: Page) -> str:
    """Return the heading of the list beside a page: its module, or in `pullback` one area of it."""
    home, _, name = page.name.rpartition(".")
    areas = (_areas().get(name.rpartition(".")[2]) for name in page.names)
    area = "in place" if name.endswith("_") else next(filter(None, areas), None)
    return f"{home}: {area}" if home == "pullback" and area else home


def _neighbours(beside: str, names: Sequence[str]) -> str:
    """The fields from which the list beside a page is made: templates/neighbours.html."""
    return f":beside: {beside}\n:neighbours: ``{' '.join(sorted(names, key=str.lower))}``\n"


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def _contents() -> str:
    entries = "\n".join(f"   {home}" for home in HOMES)
    return (
        f"{_title('Reference')}\n"
        "Every public name, as ``help()`` shows it. Operators are in ``pullback`` itself and in the modules where "
        "PyTorch has them; what each function of :doc:`NumPy <../docs/numpy>` and :doc:`SciPy <../docs/scipy>` does "
        "with tensors stands in tables of its own.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{entries}\n"
    )


def _of_module(home: str, known: dict[int, Page]) -> str:
    """A module: what it says of itself, then its names with a line each."""
    module = importlib.import_module(home)
    rows = []
    for name in sorted(module.__all__, key=lambda n: (n.lower(), n)):
        value = getattr(module, name)
        page = known.get(id(value))
        if page is not None:
            rows.append((f":doc:`{name} <{page.name}>`", escaped(summary(value))))
        elif inspect.ismodule(value):
            to = f":doc:`{name} <{home}.{name}>`" if f"{home}.{name}" in HOMES else f"``{name}``"
            rows.append((to, escaped(summary(value))))
        else:
            rows.append((f"``{name}``", f"``{value!r}``"))
    return "\n".join([_title(home), rst_of(inspect.getdoc(module) or ""), table(rows)])


def _of_object(page: Page, known: dict[int, Page]) -> str:
    """A function or a class under its first name."""
    home = page.name.rpartition(".")[0]
    also = ", ".join(f"``{name}``" for name in page.names[1:])
    # No page for itself in the contents, which would stand beside each of the others.
    parts = [":orphan:\n", _title(escaped(page.name.removeprefix("pullback.")))]
    parts.append(f":doc:`{home} <{home}>`{f', also {also}' if also else ''}\n")
    if isinstance(page.value, type):
        parts.append(_class(page.name, page.value, known))
    else:
        parts.append(_described("function", page.name, page.value))
        for kind in returned(page.value, known):
            parts += [_title(kind.__name__, "-"), _class(kind.__name__, kind, known)]
    return "\n".join(parts)


def returned(function: Any, known: dict[int, Page]) -> Iterator[type]:
    """The classes that a function says it returns and that have no page: they stand on the function's."""
    _, _, text = (inspect.getdoc(function) or "").partition("\nReturns\n-------\n")
    first = text.partition("\n")[0]
    names = getattr(inspect.unwrap(function), "__globals__", {})
    kind = names.get(first.partition(" : ")[2] or first)
    if isinstance(kind, type) and kind.__module__.startswith("pullback.") and id(kind) not in known:
        yield kind


def _described(kind: str, name: str, value: Any, given: int = 0) -> str:
    doc = inspect.getdoc(value) or ""
    inside = "\n".join(f"   {line}" if line else "" for line in rst_of(doc).splitlines())
    is_called = kind != "property" and "\n----------\nMade by " not in doc  # others make its objects
    return f".. py:{kind}:: {name}{_signature(value, given) if is_called else ''}\n\n{inside}\n"


def _signature(value: Any, given: int = 0) -> str:
    """(arguments) without annotations, which the description of each says better, and the first, which Python gives."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare[given:], return_annotation=signature.empty))


def _class(name: str, kind: type, known: dict[int, Page]) -> str:
    parts = [_described("class", name, kind)]
    if error := explanation(kind):
        parts.append(f"An example, and what to do: :doc:`{error} <../pullback/explanations/{error}>`.\n")
    numpy = []
    for member, value in _members(kind, known):
        if (inspect.getdoc(getattr(kind, member)) or "").startswith("As `numpy."):
            numpy.append((f"``{member}``", escaped(summary(getattr(kind, member)))))
        else:
            parts.append(_member(name, member, value))
    if numpy:
        parts += [_title("As in NumPy", "-"), "Arguments, defaults and results are NumPy's.\n", table(numpy)]
    bases = [known[id(base)] for base in kind.__mro__[1:] if id(base) in known]
    if bases and not issubclass(kind, Exception):
        links = ", ".join(f":doc:`{base.name.removeprefix('pullback.')} <{base.name}>`" for base in bases)
        parts.append(f"Further members are those of {links}.\n")
    return "\n".join(parts)


def explanation(value: Any) -> str:
    """The name of the page that explains an error; empty for anything else."""
    if not (isinstance(value, type) and issubclass(value, Exception)):
        return ""
    name = getattr(value, "page", value.__name__)
    return name if (EXPLANATIONS / f"{name}.md").exists() else ""


# What stands beside the members of contexts and nodes for autograd's own use.
_INSIDE = frozenset({"takes", "packed", "pack_hook", "unpack_hook", "materialize", "perhaps"})


def _members(kind: type, known: dict[int, Page]) -> Iterator[tuple[str, Any]]:
    """The public members that the class itself describes, or a base of it without a page of its own."""
    if issubclass(kind, enum.Enum):
        return
    seen = {*vars(BaseException), *vars(Observer), *vars(Log), *_INSIDE}  # what Python calls, or autograd
    seen |= {name for base in kind.__mro__[1:] if id(base) in known for name in dir(base)}
    for base in kind.__mro__:
        if not base.__module__.startswith("pullback") or (base is not kind and id(base) in known):
            continue
        for name, value in vars(base).items():
            if not name.startswith("_") and name not in seen and (inspect.getdoc(getattr(kind, name, None)) or ""):
                seen.add(name)
                if callable(getattr(kind, name, None)) or isinstance(value, property):
                    yield name, inspect.getattr_static(kind, name)  # now that what was made late is there


def _member(home: str, name: str, value: Any) -> str:
    if isinstance(value, property):
        return _described("property", f"{home}.{name}", value)
    inside = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    return _described("method", f"{home}.{name}", inside, given=not isinstance(value, staticmethod))


def _of_tensor(page: Page, known: dict[int, Page]) -> str:
    """Tensor: its properties and own methods, then those that are operators, each an entry in the group of its area."""
    own, groups = [], dict[str, list[str]]()
    for name in sorted(n for n in dir(pb.Tensor) if not n.startswith("_")):
        method, operator = getattr(pb.Tensor, name), _operator_of(name, known)
        if operator is not None:
            group = "In place" if _is_in_place(name, method) else _group(operator)
            groups.setdefault(group, []).append(_operator(name, method, operator))
        else:
            own.append(_member("pullback.Tensor", name, inspect.getattr_static(pb.Tensor, name)))
    head = _of_object(Page(_Described(pb.Tensor), page.names), known)
    parts = [head, _title("Own methods and attributes", "-"), *own]
    for group in (*_GROUPS.values(), "Other operators", "In place"):
        parts += [_title(group, "-"), *groups.get(group, [])] if group in groups else []
    return "\n".join(parts)


def _operator_of(name: str, known: dict[int, Page]) -> Page | None:
    """The page of the operator that a method of Tensors is; None for an own method."""
    method, function = getattr(pb.Tensor, name), getattr(pb, name.removesuffix("_"), None)
    same = (inspect.getdoc(method) or "") == inspect.getdoc(function)
    return known.get(id(function)) if same or _is_in_place(name, method) else None


def _is_in_place(name: str, method: Any) -> bool:
    return name.endswith("_") and (inspect.getdoc(method) or "").startswith(f"`{name[:-1]}` in place")


def own_members(kind: type, known: dict[int, Page]) -> Iterator[tuple[str, Any]]:
    """The members that are described on the page of a class, and not on that of an operator."""
    if kind is not pb.Tensor:
        yield from _members(kind, known)
        return
    for name in sorted(n for n in dir(kind) if not n.startswith("_")):
        if _operator_of(name, known) is None:
            yield name, inspect.getattr_static(kind, name)


_GROUPS = {
    "pointwise": "Arithmetic and functions of each element", "reductions": "Reductions", "shape": "Shapes and views",
    "indexing": "Indexing and choosing", "linalg": "Products of matrices", "decompositions": "Decompositions",
    "special": "Special functions", "nn": "Neural networks",
}  # fmt: skip


@functools.cache
def _areas() -> dict[str, str]:
    """The areas of the declared operators."""
    return {native.name: native.area for native in own_registry().natives}


def _group(operator: Page) -> str:
    """The area of an operator, by whichever of its names is declared."""
    areas = _areas()
    declared = (areas[leaf] for leaf in (name.rpartition(".")[2] for name in operator.names) if leaf in areas)
    return _GROUPS.get(next(declared, ""), "Other operators")


def _operator(name: str, method: Any, operator: Page) -> str:
    """A method that is an operator: its call and first sentence; the operator's page has the rest."""
    signature = inspect.signature(method)
    _, *others = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    called = inspect.Signature(others)
    rest = f":doc:`Parameters, errors, derivative, example <{operator.name}>`."
    return f".. py:method:: pullback.Tensor.{name}{called}\n\n   {escaped(summary(method))} {rest}\n"


class _Described:
    """A class of which only the docstring is shown."""

    def __init__(self, kind: type) -> None:
        self.__doc__, self.__signature__ = kind.__doc__, inspect.Signature()
