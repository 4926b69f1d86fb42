"""The error for a NumPy or SciPy function without rule: its name, what is nearest, and what to write instead."""

import sys

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.interop.registry import FUNCTIONS, UFUNCS, load_adapters, numpy_name, numpy_object
from pullback.ops.tables import NUMPY_RULES, PUBLIC

# What to write instead, where that is a line or two.
INSTEAD = {
    "at": "pullback.index_put(t, (index,), values, accumulate=True)",
    "cbrt": "np.sign(x) * np.abs(x) ** (1 / 3)",
    "copyto": "t[...] = values",
    "fill_diagonal": "t[np.arange(n), np.arange(n)] = values",
    "gamma": "np.exp(scipy.special.gammaln(x)), which is gamma(x) for x > 0",
    "geomspace": "np.logspace(np.log10(start), np.log10(stop))",
    "insert": "np.concatenate([t[:i], values, t[i:]])",
    "place": "t[mask] = values",
    "polyfit": "np.linalg.lstsq(np.vander(x, degree + 1), y)[0]",
    "put": "t.put_(index, values)",
    "put_along_axis": "t.scatter_(axis, index, values)",
    "putmask": "np.where(mask, values, t)",
}


def unsupported(name, qualified=None):
    """The UnsupportedError for the NumPy function `name`, such as "linalg.inv"; `qualified` is for the message."""
    if name in INSTEAD:
        advice = [f"Write {INSTEAD[name]}."]
    else:
        near = nearest(name)
        advice = [f"Nearest: {', '.join(near)}."] if near else []
    return _error(qualified or f"np.{name}", advice)


def unsupported_method(ufunc, method):
    """The UnsupportedError for a method of a ufunc, such as np.add.at."""
    advice = [f"Write {INSTEAD[method]}."] if method in INSTEAD and ufunc is np.add else []
    return _error(f"{ufunc_name(ufunc)}.{method}", advice)


def _error(qualified, advice):
    advice = [
        *advice,
        (
            "Write it with supported functions, or wrap it in a pullback.autograd.Function with a backward of its own; "
            "t.detach().numpy() is the plain array, outside the graph."
        ),
    ]
    return UnsupportedError(f"{qualified} has no rule for Tensors. {' '.join(advice)}")


def nearest(name, count=3):
    """The supported NumPy functions and operators whose names are most like `name`, those of its own home first."""
    import difflib  # here, because it costs a millisecond that only this error needs

    home, _, tail = name.rpartition(".")
    same, others = {}, {}
    for full in sorted(_supported(), key=lambda s: (not s.startswith("np."), s)):
        prefix, _, last = full.rpartition(".")
        (same if home and prefix.endswith(f".{home}") else others).setdefault(last, full)
    found = [same[f] for f in difflib.get_close_matches(tail, same, n=count, cutoff=0.4)]
    cutoff = 0.55 if len(tail) > 5 else 0.75  # short names are like each other by chance
    found += [others[f] for f in difflib.get_close_matches(tail, others, n=count, cutoff=cutoff)]
    refused = {f"np.{n}" for n in (name, *INSTEAD)}  # some have a rule for arrays alone
    return [f for f in found if f not in refused][:count]


def _supported():
    load_adapters()
    names = {f"np.{numpy_name(f)}" for f in FUNCTIONS} | {f"np.{u.__name__}" for u in UFUNCS}
    names |= {f"np.{n}" for n in NUMPY_RULES if numpy_object(n) is not None}
    for home, functions in PUBLIC.items():
        public = (n for n in functions if not n.startswith("_") and not n.endswith("_"))
        names |= {f"pullback.{home}.{n}" if home else f"pullback.{n}" for n in public}
    return names


def ufunc_name(ufunc):
    """For a message: np.sin, scipy.special.erf, or the bare name for a ufunc of unknown home."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}"
    return f"scipy.special.{name}" if from_scipy(ufunc) else name


def from_scipy(ufunc):
    """Whether this is SciPy's ufunc of its name; if it is, SciPy has been imported."""
    homes = ("scipy.special", "scipy.special._ufuncs")
    return any(getattr(sys.modules.get(home), ufunc.__name__, None) is ufunc for home in homes)
