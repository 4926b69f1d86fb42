"""Draw the pictures of one folder of examples: `python pictures.py FOLDER OUT`, a process for each folder.

A program of which the folder draws no picture of its own is drawn by its gradient. What was drawn is written into
OUT/index.json, an entry a picture: its name, what it shows, the program, the lines that drew it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

import pullback as pb
from pullback.demo.extras import need
from pullback.demo.plots import BLUE, ORANGE, STYLE, figure, save

MANY = 60  # numbers, from which a gradient is drawn as a line


def of_gradient(values: list[tuple[str, Any]], along: dict[str, tuple[Any, Any, Any]] | None = None) -> Any:
    """A gradient by each argument: bars, a line for many numbers, an image for a matrix.

    By a number in `along`, which holds the number, points around it and the results there: these, and the tangent.
    """
    drawing = figure(figsize=(max(4.5, 2.6 * len(values)), 3.0))
    for (name, found), axes in zip(values, np.ravel(drawing.subplots(1, len(values))), strict=True):
        slope = np.asarray(found, float)
        if along and name in along:
            x, points, results = along[name]
            axes.plot(points, results, color=BLUE)
            axes.axline((x, results[len(results) // 2]), slope=float(slope), color=ORANGE)
            axes.margins(y=0.2)
        elif slope.ndim == 2 and min(slope.shape) > 2:
            most = np.abs(slope).max()
            axes.imshow(slope, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
            axes.grid(visible=False)
        elif slope.size > MANY:
            axes.plot(slope.ravel(), color=BLUE)
        else:
            axes.bar(np.arange(slope.size), slope.ravel(), color=BLUE)
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(title=name)
    return drawing


def around(program: Any, i: int) -> tuple[Any, Any, Any]:
    """A number that a program takes, points up to a tenth away (it is the middle one), and the results there."""
    x = program.arguments[i]
    points = x + np.linspace(-0.1, 0.1, 21) * (abs(x) or 1.0)
    before, after = program.arguments[:i], program.arguments[i + 1 :]
    return x, points, [float(program.load()(*before, float(point), *after)) for point in points]


def arrays_in(name: str, x: Any) -> Iterator[tuple[str, Any]]:
    """The arrays of an argument, each with a name."""
    if isinstance(x, dict):
        for key, part in x.items():
            yield from arrays_in(f"{name}[{key!r}]", part)
    elif isinstance(x, (list, tuple)) and any(np.ndim(part) for part in x):
        for i, part in enumerate(x):
            yield from arrays_in(f"{name}[{i}]", part)
    else:
        yield name, x


def numpy_programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """(program, what draws its gradient)."""
    for program in importlib.import_module("run").PROGRAMS:

        def draw(program: Any = program) -> Any:
            names = list(inspect.signature(program.load()).parameters)
            pairs = zip(names, program.gradient()[1], strict=False)
            values = [part for name, found in pairs for part in arrays_in(f"by {name}", found)]
            numbers = [i for i, x in enumerate(program.arguments) if isinstance(x, float)]
            return of_gradient(values, {f"by {names[i]}": around(program, i) for i in numbers})

        yield program.module, draw


def scipy_programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The same."""
    for case in importlib.import_module("run").CASES.values():

        def draw(case: Any = case) -> Any:
            function, x = case()
            return of_gradient([("the gradient", pb.func.grad(function)(x))])

        for program in programs_of(case):
            yield program, draw


FOLDERS = {"numpy_as_is": numpy_programs, "scipy_as_is": scipy_programs}


def programs_of(picture: Any) -> list[str]:
    """The programs that a function mentions, by a variable or in a text."""
    return [name for name in dict.fromkeys(_words(picture.__code__)) if Path(f"programs/{name}.py").exists()]


def _words(code: CodeType) -> Iterator[str]:
    """The identifiers in a function's code, and in that of the functions within."""
    yield from code.co_names
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield from _words(x)
        elif isinstance(x, str) and x.isidentifier():
            yield x


def main(folder: str, out: Path) -> None:
    """Draw everything in one folder of examples, which is the working directory."""
    sys.path.insert(0, ".")
    need("matplotlib").use("Agg")
    entries = []
    with pb.adopt(), need("matplotlib").rc_context(STYLE):
        for picture in importlib.import_module("pictures_of_examples").PICTURES:
            save(picture(), out / f"{picture.__name__}.png")
            title = (inspect.getdoc(picture) or "").partition("\n")[0]
            entries.append((picture.__name__, title, programs_of(picture), inspect.getsource(picture)))
        drawn = {name for _, _, programs, _ in entries for name in programs}
        for program, draw in FOLDERS[folder]():
            if program not in drawn:
                drawn.add(program)
                save(draw(), out / f"{program}.png")
                text = (importlib.import_module(f"programs.{program}").__doc__ or program).strip().partition("\n")[0]
                entries.append((program, text, [program], ""))
    keys = ("name", "title", "programs", "source")
    (out / "index.json").write_text(json.dumps([dict(zip(keys, entry, strict=True)) for entry in entries]))


if __name__ == "__main__":
    # The examples have a module `pictures` too.
    import importlib.util

    spec = importlib.util.spec_from_file_location("pictures_of_examples", "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, ".")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures_of_examples"] = module
    spec.loader.exec_module(module)
    main(sys.argv[1], Path(sys.argv[2]))
