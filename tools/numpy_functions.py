"""Write docs/numpy.md: for every public function of the installed NumPy, whether it is differentiable on Tensors.

What a function gives is found by trying the calls that the tests try; docs/numpy_functions.yaml has the reasons of what
cannot be tried. A function of a newer NumPy that neither knows is refused by name, until somebody gives it a rule.

python tools/numpy_functions.py [--check]
"""

import sys
import warnings
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - with what follows, the checkout's, now that it can be found
import yaml  # noqa: E402

import pullback as pb  # noqa: E402
from pullback.core.tensor import Tensor  # noqa: E402
from pullback.interop.registry import FUNCTIONS, load_adapters, numpy_object  # noqa: E402
from pullback.interop.suggest import advice  # noqa: E402
from tests.interop.numpy_calls import CONSTANT, SMOOTH, leaves, m  # noqa: E402

PAGE = ROOT / "docs" / "numpy.md"
REASONS = ROOT / "docs" / "numpy_functions.yaml"
HOMES = {"": np, "linalg": np.linalg, "fft": np.fft, "random": np.random}
DIFFERENTIABLE, BY_NATURE, REFUSED = "differentiable", "no gradient by nature", "refused"
NO_RULE = "no rule"
INTRODUCTION = """\
# NumPy's functions on Tensors

For each public function of NumPy {version}, this page says whether it is differentiable on a Tensor, and what to write
if it is not. If your NumPy is older, some of these names are missing there. If it is newer, a function that is not in
the table raises an error that names it. `python tools/numpy_functions.py` writes the page: it makes the calls of the
tests, and reads `docs/numpy_functions.yaml` where no call can tell.

- *differentiable*: at least one argument has a gradient.
- *no gradient by nature*: the result is piecewise constant, or whole numbers, truth values, shapes or text. It is
  NumPy's own result.
- *refused*: a Tensor that requires grad raises an error, which names the function and says what to write. Where a
  single number would leave the graph, there is a warning instead.

Some rules hold for many functions:

- **Lists of Tensors** work where NumPy gives Tensors a say: in `np.stack([t, u])`, and beside a Tensor, as in
  `np.dot([a, b], t)`. If a list is the only argument, as in `np.sum([t, u])`, NumPy makes a plain array of it without
  asking the Tensors, and that is refused. Join the list by `np.stack` first, or call `pullback.adopt()`.
- **Complex numbers** have no order in pullback. So `maximum`, `clip`, `max`, `ptp` and the like refuse them, where
  NumPy compares the real parts first. `sort` and `median` take them.
- **Ufuncs** take `out`, `where`, `dtype`, `casting` and `order`. They have `reduce`, `accumulate`, `reduceat`, `outer`
  and `at`, with a gradient if the ufunc has one. With `where` and without `out`, the elements where the mask is False
  are 0. NumPy leaves them uninitialized.
- **Functions that write into an argument** (`np.put`, `np.copyto`, `np.add.at`, `out=`) write into a Tensor, and the
  write is recorded. They refuse to write a value that requires grad into an ndarray.

{counts}
"""


def public(home):
    """The public callables of one of NumPy's modules, by name below numpy."""
    found = {name: getattr(HOMES[home], name) for name in sorted(dir(HOMES[home])) if not name.startswith("_")}
    found = {name: f for name, f in found.items() if callable(f) and not isinstance(f, ModuleType)}
    return {f"{home}.{name}" if home else name: f for name, f in found.items()}


def calls_of(name, function):
    """(function of Tensors, their values) for each call that there is to try."""
    if isinstance(function, np.ufunc):
        square, x = np.abs(m[:, :3]) / 4 + np.eye(3), m[:, 0] / 4
        for given in ((x,) * function.nin, (x + 3,) * function.nin, (square,) * function.nin, (square, x), (x, square)):
            if len(given) == function.nin:
                for args in (given, [a > 0 for a in given], [(4 * a).astype(int) for a in given]):
                    yield function, args
    for table in (SMOOTH, CONSTANT):
        for known, calls in table.items():
            rule = FUNCTIONS.get(numpy_object(known), known)
            if name == known or rule is FUNCTIONS.get(function):  # np.max and np.amax have one
                yield from ((call, [m]) for call in calls)


def tried(name, function):
    """(kind, why) as calls show it; None if no call succeeds."""
    kinds, recorded = set(), False
    for call, args in calls_of(name, function):
        given = [pb.tensor(a, requires_grad=a.dtype == float) for a in args]
        try:
            results = leaves(call(*given))
        except (TypeError, ValueError, IndexError):  # not of these numbers
            continue
        tracked = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
        if tracked:
            recorded = True
            sum(np.sum(np.abs(r + 0.5)) for r in tracked).backward()
            if any(x.grad is not None and np.any(x.grad.numpy()) for x in given):
                return DIFFERENTIABLE, ""
        kinds |= {r.dtype.kind if isinstance(r, (Tensor, np.ndarray, np.generic)) else "other" for r in results}
    names = (("other", "facts"), ("b", "truth values"), ("iu", "whole numbers"), ("fc", "steps"))
    shown = [text for kind, text in names if any(k == kind or (len(k) == 1 and k in kind) for k in kinds)]
    return (BY_NATURE, "steps, whose gradient is 0" if recorded else " and ".join(shown)) if kinds else None


def table():
    """name -> (kind, why), for every public function of the installed NumPy."""
    given = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    told = {name: (BY_NATURE, why) for why, names in given["by nature"].items() for name in names}
    told |= {name: (REFUSED, why) for why, names in given["refused"].items() for name in names}
    made = {}
    load_adapters()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for home in HOMES:
            for name, function in public(home).items():
                made[name] = told.get(name) or tried(name, function) or (REFUSED, NO_RULE)
    return made


def row(name, kind, why):
    """One line of the table."""
    if kind == REFUSED and not why.startswith("dates"):
        said = advice("numpy", f"np.{name}")
        why += f". {said}" if said.startswith("Write ") and not said.startswith("Write it with") else ""
    return f"| `{name}` | {kind} | {why} |"


def page():
    """The whole text."""
    rows = table()
    kinds = [kind for kind, _ in rows.values()]
    counts = f"{len(rows)} names: " + ", ".join(f"{kinds.count(k)} {k}" for k in (DIFFERENTIABLE, BY_NATURE, REFUSED))
    lines = [INTRODUCTION.format(version=".".join(np.__version__.split(".")[:2]), counts=f"{counts}.")]
    for home in HOMES:
        lines += [
            f"## `numpy{'.' if home else ''}{home}`\n",
            "| function | on Tensors | why, and what to write |",
            "|---|---|---|",
        ]
        lines += [row(name, *rows[name]) for name in public(home)]
        lines.append("")
    return "\n".join(lines)


def version_of(text):
    """The NumPy that a page was written for."""
    return text.partition("of NumPy ")[2].partition(",")[0]


def main():
    """Write the page, or with --check say whether it is as it should be."""
    text = page()
    if "--check" in sys.argv:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if version_of(current) not in ("", version_of(text)):
            print(f"docs/numpy.md is of NumPy {version_of(current)}, and this is {version_of(text)}: not compared")
            return 0
        if current != text:
            print("docs/numpy.md is out of date; write it with: python tools/numpy_functions.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
