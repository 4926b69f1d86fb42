"""The errors for calls that have no rule for Tensors: the function, the line that called it, and what to write."""

from __future__ import annotations

import functools
import inspect
import sys

import numpy as np

from pullback.core.cuts import transform_runs
from pullback.core.errors import DetachingError, UnsupportedError, refusals
from pullback.explain.call_site import PACKAGES, call_site
from pullback.interop.adopt.rules import has_rule
from pullback.interop.adopt.state import BY_STORE, State, by_call, would_help
from pullback.interop.instead import ADVICE, EXPRESSIONS, HOMES, METHODS, NOT_THE_SAME, SAME, WRITES
from pullback.interop.registry import FUNCTIONS, UFUNCS, load_adapters, numpy_name, numpy_object
from pullback.ops.late import late_function
from pullback.ops.tables import NUMPY_RULES, PUBLIC

_WRAP = "Write it with supported functions, or give it a derivative of its own by pullback.custom_vjp."
_VALUES_ALONE = "\nFor the values alone, outside the graph: use tensor.detach().numpy() instead."
# Libraries that compute; others draw and store.
_OF_NUMBERS = ("", "numpy", "scipy", "statistics", "fractions", "decimal")


def unsupported(name: str) -> UnsupportedError:
    """The UnsupportedError for a function without rule: "np.linalg.inv", "scipy.special.ellipk"."""
    call = call_site()
    inside = f", which {call.name} calls," if call.library == "scipy" and call.name not in ("", name) else ""
    names = (call.name, name) if inside else (name,)
    return UnsupportedError(f"{name}{inside} has no rule for Tensors.{call.where()}{remedy(call.library, *names)}")


def would_detach(what: str, otherwise: str = "", phrase: str = "") -> DetachingError:
    """The DetachingError for what would lose a gradient: `what` says how, after the name of the function."""
    call = call_site()
    subject = call.name or "this line"
    instead = otherwise or remedy(call.library, call.name)
    if phrase and ".detach().numpy()" not in instead:
        instead = f"{instead}{_VALUES_ALONE}"
    error = DetachingError(f"{phrase}{subject} would {what}, and so lose its gradient.{call.where()}{instead}")
    refusals.last = str(error)
    return error


def remedy(library: str, *names: str) -> str:
    """Say what to write instead, for the first of these functions that has an entry, and whether `adopt()` would do."""
    instead = advice(library, *names)
    if names[0] in WRITES and transform_runs() and not State.on:
        return f"{BY_STORE} Without it: {instead}"
    whole = f"{instead}{by_call() if would_help(*names) else _of_lists(names[0])}"
    return f"{whole}{_VALUES_ALONE}" if instead.endswith(_WRAP) else whole


def _of_lists(name: str) -> str:
    """Say what `adopt()` would do, if it makes this function join lists: ufuncs by their attribute, in a transform."""
    if State.on or not name.startswith("np.") or not _instead(name).endswith(_JOIN):
        return ""
    if not (_is_ufunc(name) or _is_ufunc(name.rpartition(".")[0])):
        return by_call()
    if not transform_runs():
        return ""
    return by_call(f"{name}([...]), written so, works")


def _is_ufunc(name: str) -> bool:
    return isinstance(numpy_object(name.removeprefix("np.")), np.ufunc)


@functools.lru_cache(maxsize=256)  # a loop may warn at one call many times
def advice(library: str, *names: str) -> str:
    """Sentences that say what to write instead, for the first of these functions that has an entry."""
    for name in names:
        instead = _instead(name)
        if instead:
            return instead
    for name in names:
        home = name.rpartition(".")[0]
        if home in HOMES:
            return HOMES[home]
    if library not in _OF_NUMBERS:
        return "Give it plain values: t.detach().numpy() is the array, outside the graph."
    near = [found for name in names for found in nearest(name)]
    said = f"Nearest: {', '.join(near)}. " if near else ""
    return f"{said}{_WRAP}"


_JOIN = ": join a list first, by np.stack([...])."


def _instead(name: str) -> str:
    if name in EXPRESSIONS:
        return f"Write {EXPRESSIONS[name]}."
    if name in ADVICE:
        return f"Write {ADVICE[name]}."
    if (method := name.removeprefix("ndarray.")) in METHODS:  # of an array that has no name, its method's alone
        return f"A method of a plain array does not take Tensors. Write {METHODS[method]}."
    if name.endswith(" (vectorized)"):
        return (
            "np.frompyfunc makes functions of plain arrays. Write np.vectorize(f), which pullback.adopt() makes work."
        )
    if name in supported() or (name.rpartition(".")[0] in supported() and _is_ufunc(name.rpartition(".")[0])):
        return f"{name} takes Tensors, but not everything that can hold them{_JOIN}"
    found = counterpart(name)
    if found and type(getattr(sys.modules.get("scipy.special"), name.removeprefix("scipy.special."), None)) is np.ufunc:
        return f"{name} takes Tensors, but not everything that can hold them{_JOIN}"
    if has_rule(name) and name.rpartition(".")[0] not in HOMES:
        return f"Write pullback.{name}(...), which takes Tensors, and all that SciPy's takes."
    if found:
        return f"Write {found}."
    generator, _, tail = name.partition(".")
    function = f"np.random.{tail}" if generator.isidentifier() and generator not in PACKAGES else ""
    drawn = EXPRESSIONS.get(function) or ADVICE.get(function, "")
    return f"Write {drawn.replace('np.random', generator)}." if drawn else ""


def counterpart(name: str) -> str:
    """The supported function of the same name and meaning in another module, with its arguments; "" without one."""
    home, _, tail = name.rpartition(".")
    if name in NOT_THE_SAME:
        return ""
    for other in SAME.get(home, ()):
        full = f"{other}.{tail}"
        if full in supported() and full not in EXPRESSIONS and full not in ADVICE:
            return full + ("(z + 0j)" if home == "cmath" else _signature(full))
    return ""


def _signature(full: str) -> str:
    """`(input, dim, keepdim=False)`, without the arguments that have names in NumPy alone."""
    package, _, path = full.partition(".")
    home, _, name = path.rpartition(".")
    if package != "pullback":
        return "(...)"
    try:
        parameters = inspect.signature(late_function(home, name)).parameters.values()
    except (KeyError, ValueError, TypeError):
        return "(...)"
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):  # overloads
        return "(...)"
    shown = [
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in parameters
        if p.kind is not p.KEYWORD_ONLY
    ]
    return f"({', '.join(shown)})"


def nearest(name: str, count: int = 3) -> list[str]:
    """The supported functions of the same module whose names are nearly `name`; ("np.linalg", "pullback.linalg")."""
    import difflib  # here, because it costs a millisecond that only this error needs

    home, _, tail = name.rpartition(".")
    same = [full for full in supported() if full.rpartition(".")[0] == home and full not in (name, *ADVICE)]
    tails = sorted(full.rpartition(".")[2] for full in same)
    return [f"{home}.{near}" for near in difflib.get_close_matches(tail, tails, n=count, cutoff=0.75)]


def supported() -> set[str]:
    """The functions that take Tensors, as messages call them: "np.linalg.inv", "pullback.linalg.solve"."""
    load_adapters()
    names = {f"np.{numpy_name(f)}" for f in FUNCTIONS} | {f"np.{u.__name__}" for u in UFUNCS}
    names |= {f"np.{n}" for n in NUMPY_RULES if numpy_object(n) is not None}
    for home, functions in PUBLIC.items():
        public = (n for n in functions if not n.startswith("_") and not n.endswith("_"))
        names |= {f"pullback.{home}.{n}" if home else f"pullback.{n}" for n in public}
    return names


def ufunc_name(ufunc: np.ufunc) -> str:
    """For a message: np.sin, scipy.special.erf, or the bare name for a ufunc of unknown home."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}"
    return f"scipy.special.{name}" if from_scipy(ufunc) else name


def from_scipy(ufunc: np.ufunc) -> bool:
    """True if this is SciPy's ufunc of its name; if it is, SciPy has been imported."""
    homes = ("scipy.special", "scipy.special._ufuncs")
    return any(getattr(sys.modules.get(home), ufunc.__name__, None) is ufunc for home in homes)
