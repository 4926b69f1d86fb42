"""Write docs/scipy.md: for every public function of the installed SciPy, how it is differentiated, or why it is not.

The ways are those that are entered (pullback/scipy/rules), each of which the tests try (tests/scipy/calls); the reasons
of what is refused are in docs/scipy_functions/<area>.yaml.

python tools/scipy_functions.py [--check]
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - with what follows, the checkout's, now that it can be found
import scipy  # noqa: E402
import yaml  # noqa: E402
from scipy.stats._distn_infrastructure import rv_generic  # noqa: E402
from scipy.stats._multivariate import multi_rv_generic  # noqa: E402

from pullback.interop.adopt.rules import (  # noqa: E402
    DISTRIBUTIONS_OF_VECTORS,
    IMPLICIT,
    RULES,
)
from pullback.interop.adopt.scipy.ways import AS_IT_STANDS, WITHOUT_GRADIENT  # noqa: E402
from pullback.interop.adopt.scipy.ways import REFUSED as ERRORS  # noqa: E402
from pullback.interop.ufuncs import find_ufunc  # noqa: E402

PAGE = ROOT / "docs" / "scipy.md"
HOMES = (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "sparse.linalg",
    "sparse.csgraph", "spatial", "spatial.distance", "spatial.transform",
    "special", "stats",
)  # fmt: skip
RULE, SOLUTION, PYTHON = "rule", "implicit", "SciPy's Python"
BY_NATURE, REFUSED = "no gradient by nature", "refused"
NO_RULE = "no rule"
BY_METHOD = (
    "pdf, cdf, sf, their logarithms, ppf, isf, interval, mean, var, moment, entropy, nnlf: differences confirm it, or "
    "it is refused; rvs in loc and scale; fit and expect are refused"
)
OF_WHOLE_NUMBERS = (
    "pmf, cdf, sf, their logarithms, mean, var, entropy in the parameters that may be fractions: differences confirm "
    "it, or it is refused; cdf and sf are steps in k, pmf and ppf are refused there"
)
OF_VECTORS = (
    "pdf or pmf, their logarithms, entropy, mean, var, cov: differences confirm it; cdf, rvs and fit are refused"
)
INTRODUCTION = """\
# SciPy's functions on tensors

For each public function and class of SciPy {version}, this page says how it is differentiated after
`pullback.adopt()`, or if you import it from `pullback.scipy`. `python tools/scipy_functions.py` writes the page.

- *rule*: the function is made of pullback's operators, and differentiable to any order.
- *implicit*: the derivative of the solution follows from the implicit function theorem, whichever algorithm found the
  solution.
- *SciPy's Python*: SciPy's own code runs on pullback's arrays. The tests compare its gradient with finite differences.
- *no gradient by nature*: the result is piecewise constant, or whole numbers or truth values.
- *refused*: an error names the function and the line, and says what to write.

A call in which nothing is being differentiated goes to SciPy unchanged.

{counts}
"""


def public(home):
    """The public callables of one of SciPy's packages, by name."""
    module = importlib.import_module(f"scipy.{home}")
    found = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {name: f for name, f in found.items() if callable(f) and not isinstance(f, ModuleType)}


def reasons():
    """Name below scipy -> why it is refused."""
    found = {}
    for file in sorted((ROOT / "docs" / "scipy_functions").glob("*.yaml")):
        for why, names in (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).items():
            found.update(dict.fromkeys(names, why))
    return found


def way(name, function):
    """How the function is differentiated; None if it is not."""
    full = f"scipy.{name}"
    RULES.get(full)  # which loads its area
    for kind, names in ((BY_NATURE, WITHOUT_GRADIENT), (PYTHON, AS_IT_STANDS), (SOLUTION, IMPLICIT)):
        if full in names:
            return kind
    if full in ERRORS:
        return None
    if full in RULES or (isinstance(function, np.ufunc) and find_ufunc(function) is not None):
        return RULE
    return BY_NATURE if isinstance(function, type) and issubclass(function, Exception) else None


def table():
    """name -> (kind, why), for every public function of the installed SciPy."""
    why, made = reasons(), {}
    for home in HOMES:
        for name, function in public(home).items():
            full = f"{home}.{name}"
            kind = way(full, function)
            if isinstance(function, rv_generic):
                made[full] = (PYTHON, BY_METHOD if hasattr(function, "_pdf") else OF_WHOLE_NUMBERS)
            elif isinstance(function, multi_rv_generic) and type(function).__name__ in DISTRIBUTIONS_OF_VECTORS:
                made[full] = (PYTHON, OF_VECTORS)
            else:
                made[full] = (kind, "") if kind else (REFUSED, why.get(full, NO_RULE))
    return made


def page():
    """The whole text."""
    rows = table()
    kinds = [kind for kind, _ in rows.values()]
    counts = ", ".join(f"{kinds.count(k)} {k}" for k in (RULE, SOLUTION, PYTHON, BY_NATURE, REFUSED))
    lines = [INTRODUCTION.format(version=version(), counts=f"{len(rows)} names: {counts}.")]
    for home in HOMES:
        lines += [f"## `scipy.{home}`\n", "| function | on tensors | why |", "|---|---|---|"]
        lines += ["| `{}` | {} | {} |".format(name, *rows[f"{home}.{name}"]) for name in public(home)]
        lines.append("")
    return "\n".join(lines)


def version():
    """SciPy's, without its patches."""
    return ".".join(scipy.__version__.split(".")[:2])


def version_of(text):
    """The SciPy that a page was written for."""
    return text.partition("of SciPy ")[2].partition(",")[0]


def main():
    """Write the page, or with --check say whether it is as it should be."""
    text = page()
    if "--check" in sys.argv:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if version_of(current) not in ("", version_of(text)):
            print(f"docs/scipy.md is of SciPy {version_of(current)}, and this is {version_of(text)}: not compared")
            return 0
        if current != text:
            print("docs/scipy.md is out of date; write it with: python tools/scipy_functions.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
