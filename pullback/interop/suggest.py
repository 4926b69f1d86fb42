"""The error for a NumPy or SciPy function without rule: its name, what is nearest, and what to write instead."""

import numpy as np

from pullback.core.errors import UnsupportedError
from pullback.interop.registry import FUNCTIONS, UFUNCS, load_adapters, numpy_name, numpy_object
from pullback.ops.tables import NUMPY_RULES, PUBLIC

# What to write instead, where that is a line or two.
INSTEAD = {
    "add.at": "pullback.index_put(t, (index,), values, accumulate=True)",
    "array": "np.stack([...])",
    "cbrt": "np.sign(x) * np.abs(x) ** (1 / 3)",
    "copyto": "t[...] = values",
    "fill_diagonal": "t[np.arange(n), np.arange(n)] = values",
    "insert": "np.concatenate([t[:i], values, t[i:]])",
    "ldexp": "x * 2.0 ** n",
    "linalg.norm": "np.sqrt(np.sum(np.abs(x) ** 2))",
    "place": "t[mask] = values",
    "put": "t.put_(index, values)",
    "put_along_axis": "t.scatter_(axis, index, values)",
    "putmask": "np.where(mask, values, t)",
}


def unsupported(name, qualified=None):
    """The UnsupportedError for the NumPy function `name`, such as "linalg.inv" or "sin.at"."""
    qualified = qualified or f"np.{name}"
    advice = []
    if name in INSTEAD:
        advice.append(f"Write {INSTEAD[name]}.")
    near = nearest(name)
    if near:
        advice.append(f"Nearest: {', '.join(near)}.")
    advice.append(
        "Write it with supported functions, or wrap it in a pullback.autograd.Function with a backward of its own; "
        "t.detach().numpy() is the plain array, outside the graph."
    )
    return UnsupportedError(f"{qualified} has no rule for Tensors. {' '.join(advice)}")


def nearest(name, count=3):
    """The supported NumPy functions and operators whose names are most like `name`."""
    import difflib  # here, because it costs a millisecond that only this error needs

    load_adapters()
    supported = {f"np.{numpy_name(f)}" for f in (*FUNCTIONS, *UFUNCS)}
    supported |= {f"np.{n}" for n in NUMPY_RULES if numpy_object(n) is not None}
    supported |= {
        f"pullback.{home + '.' if home else ''}{n}"
        for home, names in PUBLIC.items()
        for n in names
        if not n.startswith("_") and not n.endswith("_")
    }
    by_tail = {}
    for full in sorted(supported, key=lambda s: (not s.startswith("np."), s)):
        by_tail.setdefault(full.rpartition(".")[2], full)
    found = difflib.get_close_matches(name.rpartition(".")[2], by_tail, n=count, cutoff=0.65)
    return [by_tail[f] for f in found]


def ufunc_name(ufunc):
    """"numpy.sin" or "scipy.special.erf" for a message; the bare name for a ufunc of unknown home."""
    name = ufunc.__name__
    return f"np.{name}" if getattr(np, name, None) is ufunc else name
