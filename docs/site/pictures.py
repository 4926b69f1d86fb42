"""Draw the pictures of one folder of examples: `python pictures.py FOLDER OUT`, a process for each folder.

A folder has a module `pictures`, whose PICTURES are functions that draw; each program of the folder is in one of them.
What was drawn is written into OUT/index.json, an entry a picture: its name, what it shows, the programs, the lines that
drew it.
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

import pullback as pb
from pullback.demo.extras import need
from pullback.demo.plots import STYLE, save


def programs() -> dict[str, Path]:
    """The programs in the working directory, by name: all in `programs/`, or the modules of the folder itself."""
    found = Path("programs").glob("*.py") if Path("programs").exists() else Path().glob("*.py")
    return {path.stem: path for path in sorted(found) if path.stem != "pictures"}


def programs_of(picture: Callable[[], Any], known: dict[str, Path]) -> list[str]:
    """The programs that a function mentions, by a variable or in a text."""
    return [name for name in dict.fromkeys(_words(picture.__code__)) if name in known]


def _words(code: CodeType) -> Iterator[str]:
    """The identifiers in a function's code, and in that of the functions within."""
    yield from code.co_names
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield from _words(x)
        elif isinstance(x, str) and x.isidentifier():
            yield x


def shown(folder: str, known: dict[str, Path]) -> dict[Callable[[], Any], list[str]]:
    """The folder's pictures, each with its programs; every program is in one."""
    found = {picture: programs_of(picture, known) for picture in _pictures()}
    if lacking := sorted(known.keys() - {name for names in found.values() for name in names}):
        raise SystemExit(f"examples/{folder}: no picture shows {', '.join(lacking)}. Add one to its pictures.py.")
    return found


def main(folder: str, out: Path) -> None:
    """Draw everything in one folder of examples, which is the working directory."""
    need("matplotlib").use("Agg")
    known, entries = programs(), []
    with pb.adopt(), need("matplotlib").rc_context(STYLE):
        for picture, names in shown(folder, known).items():
            save(picture(), out / f"{picture.__name__}.png")
            title = (inspect.getdoc(picture) or "").partition("\n")[0]
            paths = [known[name].as_posix() for name in names]
            entries.append((picture.__name__, title, names, paths, inspect.getsource(picture)))
    keys = ("name", "title", "programs", "paths", "source")
    (out / "index.json").write_text(json.dumps([dict(zip(keys, entry, strict=True)) for entry in entries]))


def _pictures() -> tuple[Callable[[], Any], ...]:
    """Those of the folder's module `pictures`, which is not this one."""
    sys.modules.pop("pictures", None)
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module("pictures").PICTURES  # type: ignore[no-any-return]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
