"""The gallery: a page for each picture of the examples, drawn when the site is built, and one with all of them.

What a folder draws is kept under the hash of the sources, and drawn anew when one of them changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
FOLDERS = {
    "numpy_as_is": "Plain NumPy",
    "scipy_as_is": "NumPy and SciPy",
    "transforms": "Transforms of functions",
    "implicit": "Derivatives of what solvers find",
    "distributed": "Sums over data",
    "third_party_ops": "Operators of one's own",
}


def write(folder: Path, cache: Path) -> int:
    """Write the gallery's pages and pictures into a folder of the site's source; say how many there are."""
    parts, count = [_HEAD], 0
    shutil.rmtree(folder, ignore_errors=True)
    for name, title in FOLDERS.items():
        drawn = _drawn(name, cache)
        entries = json.loads((drawn / "index.json").read_text())
        (folder / name).mkdir(parents=True)
        for entry in entries:
            shutil.copy(drawn / f"{entry['name']}.png", folder / name)
            (folder / name / f"{entry['name']}.md").write_text(_page(name, entry), encoding="utf-8")
        parts.append(_grid(name, title, entries))
        count += len(entries)
    (folder / "index.md").write_text("\n".join(parts), encoding="utf-8")
    return count


def _drawn(name: str, cache: Path) -> Path:
    """The folder with the pictures and their index."""
    example = ROOT / "examples" / name
    sources = [*sorted(example.rglob("*.py")), *sorted((ROOT / "pullback").rglob("*.py")), SITE / "pictures.py"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    drawn = cache / f"{name}-{key}"
    if not (drawn / "index.json").exists():
        for old in cache.glob(f"{name}-*"):
            shutil.rmtree(old)
        drawn.mkdir(parents=True)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
        command = [sys.executable, "-W", "ignore", str(SITE / "pictures.py"), name, str(drawn)]
        if status := subprocess.run(command, cwd=example, env=environment, check=False).returncode:
            raise SystemExit(status)  # it has said why
    return drawn


_HEAD = """# Gallery

What derivatives say, or are good for. Each picture was drawn when these pages were built; its page shows the lines
that drew it, and the program. In the programs of the first two sections no line is about derivatives.
"""


def _grid(name: str, title: str, entries: list[dict[str, Any]]) -> str:
    cards = "\n".join(
        f":::{{grid-item-card}} {entry['title'].rstrip('.')}\n:link: {name}/{entry['name']}\n:link-type: doc\n"
        f":img-top: {name}/{entry['name']}.png\n:::\n"
        for entry in entries
    )
    pages = "\n".join(f"{name}/{entry['name']}" for entry in entries)
    return (
        f"## {title}\n\n::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}\n::::\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    )


def _page(name: str, entry: dict[str, Any]) -> str:
    parts = [f"# {entry['title'].rstrip('.')}\n", f"![{entry['title']}]({entry['name']}.png)\n"]
    parts.append(f"Drawn by\n\n```python\n{entry['source']}```\n")
    for path in entry["paths"]:
        text = (ROOT / "examples" / name / path).read_text(encoding="utf-8")
        parts.append(f"The program, `examples/{name}/{path}`:\n\n```python\n{text}```\n")
    return "\n".join(parts)
