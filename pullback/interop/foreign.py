"""Errors that other libraries raise about our tensors, in our words: which call, in which line, what to write instead.

C code that looks at types says "argument 1 must be numpy.ndarray, not Array" and no more; NumPy hides a refusal of ours
behind a ValueError. Only a transform sees such an error: it looks at it when the user's function has ended in it.
"""

from __future__ import annotations

import re
from types import TracebackType

from pullback.core.errors import DetachingError, UnsupportedError, with_article
from pullback.core.tensor import Tensor
from pullback.explain.call_site import call_site_of, is_users_file
from pullback.explain.calls import raises_itself
from pullback.interop.instead import ADVICE
from pullback.interop.suggest import remedy

_NAMES_OURS = re.compile(r"\b(?:Nested)?(?:Array|Scalar|Tensor)\b")
_WRAP = {
    library: f"Write it with NumPy's functions, or let {name} differentiate it: pullback.{library}_function(f)."
    for library, name in (("torch", "PyTorch"), ("jax", "JAX"))
}
# Of an array of ours, if there is one where the error was raised: in NumPy's words, in those of lfilter and of f2py.
_MAY_BE_OURS = re.compile(r"\bread-only\b|\bto a common type\b|\bcan't be converted to double\b")


def explain_foreign(error: Exception) -> Exception:
    """The error to raise instead of this one, which came out of a function that is being differentiated."""
    if isinstance(error, AttributeError) and error.name == "at" and isinstance(error.obj, Tensor):
        return _at(error)
    if type(error) not in (TypeError, ValueError, IndexError, KeyError) or (last := _last(error)) is None:
        return error
    if isinstance(error, KeyError):  # its text is the key
        return error if is_users_file(last.tb_frame.f_code.co_filename) else _of_key(error)
    itself = raises_itself(last)
    by_user = itself and is_users_file(last.tb_frame.f_code.co_filename)
    if isinstance(error.__cause__, (DetachingError, UnsupportedError)) and not by_user:
        return error.__cause__  # which NumPy's ValueError about a[0] = x[0] hides, or csr_matrix's about its argument
    text = str(error)
    unnamed = (_is_of_json(last) or _MAY_BE_OURS.search(text)) and not by_user and _holds_tensor(last)
    if not unnamed and (itself or not _NAMES_OURS.search(text)):
        return error
    call = call_site_of(error)
    instead = _WRAP.get(call.name.partition(".")[0] or ("jax" if "JAX" in text else ""))
    if text.startswith("unhashable type") and call.name not in ADVICE:
        instead = "A value that is being differentiated cannot be a dict key: compute it again, without a cache."
    instead = instead or remedy(call.library, call.name)
    text = text.rstrip(".\n")
    made = UnsupportedError(f"{call.name or 'this line'} does not take our arrays: {text}.{call.where()}{instead}")
    made.__cause__ = error
    return made


def _of_key(error: KeyError) -> Exception:
    """The error to raise where a library looked one of our tensors up in a table."""
    if not error.args or not isinstance(error.args[0], Tensor):
        return error
    call = call_site_of(error)
    instead = remedy(call.library, call.name)
    made = UnsupportedError(f"{call.name} has no entry for {with_article(error.args[0])}.{call.where()}{instead}")
    made.__cause__ = error
    return made


def _at(error: AttributeError) -> Exception:
    """The error to raise for `x.at[i].set(v)`, which is JAX's."""
    where = call_site_of(error).where()
    made = AttributeError(f"{error}.{where}Write x = x.copy(); x[i] = v. An argument of a transform is a copy already.")
    made.__cause__ = error
    return made


def _last(error: Exception) -> TracebackType | None:
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step


def _is_of_json(step: TracebackType) -> bool:
    """True if it is where the json module refuses what is no number of Python's own."""
    return step.tb_frame.f_globals.get("__name__") == "json.encoder"


def _holds_tensor(step: TracebackType) -> bool:
    """True if the code where the error was raised has one of our tensors at hand."""
    return any(isinstance(x, Tensor) for x in step.tb_frame.f_locals.values())
