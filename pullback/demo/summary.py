"""Says what a demo has made, and where to look next."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_MADE = {
    "digits": {"training.png": "how the classifier learnt", "graph.svg": "the autograd graph of one training step"},
    "fit": {"fit.png": "the fitted model and its residuals"},
}
_NEXT = (
    ("examples/", "programs of a page each"),
    ("docs/adopt.md", "NumPy code of yours as it stands"),
    ("docs/check.md", "{python} -m pullback check: whether its derivatives can be relied upon"),
    ("docs/optimize.md", "SciPy's solvers with exact derivatives"),
    ("README.md", "the rest"),
)


def summary(folder: Path, demos: Sequence[str]) -> str:
    """The files that these demos have made in `folder`, and the next steps."""
    made = [(folder / name, what) for demo in demos for name, what in _MADE[demo].items()]
    lines = ["\nMade:", *(f"  {path}  {path.stat().st_size / 1000:.0f} kB, {what}" for path, what in made)]
    steps = (f"  {where:17} {what}" for where, what in _NEXT)
    return "\n".join([*lines, "Where to look next:", *(step.format(python=_python()) for step in steps)])


def _python() -> str:
    """How to call the Python that runs: in a virtual environment here by its path, because that need not be active."""
    path = Path(sys.executable)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else "python"
