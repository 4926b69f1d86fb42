"""The errors of tensors, graphs and operators.

    RuntimeError
    +-- BackwardTwiceError          the saved tensors of a node were already released
    +-- SavedTensorModifiedError    a saved tensor was changed in place before its backward
    +-- InplaceError                an in-place operation that autograd cannot allow here
    |   +-- ReadOnlyError           (also a ValueError) the memory is read-only, or one place stands for many elements
    +-- DetachingError              a tensor that requires grad would have become a plain array
    +-- UnsupportedError            (also a TypeError) nothing knows how to do this
    |   +-- ReadError               the numbers of an array are wanted that has none to show
    |   +-- UntraceableError        a function that is compiled does something that a trace cannot follow
    +-- OperatorError               (also a ValueError) the arguments of an operator do not fit together
    |   +-- LinAlgError             (also np.linalg.LinAlgError) a matrix is singular, not positive definite, ...
    |   +-- DtypeError              (also a TypeError) an operation that is not for numbers of this kind
    +-- GradientError               a gradient has the wrong shape or dtype, or there is none to compute
    |   +-- GradientTypeError       (also a TypeError) a backward returned something that is no Tensor
    |   +-- EndedLevelError         a value that a function has kept from an earlier call of a transform
    +-- NonFiniteError              (also a FloatingPointError) debugging was asked to stop at NaN or inf
    +-- InternalError               code of pullback's failed by its own mistake
    +-- ConvergenceError            a solver did not find what was to be differentiated

Each is a RuntimeError, as PyTorch's are, so that existing `except` clauses work. What gradcheck, checkpoints, forward
mode and declarations raise besides stands with them; docs/errors.md has the public ones. Warnings with own classes:

    ComplexToRealWarning            (a UserWarning and NumPy's ComplexWarning) a cast drops imaginary parts
    IndependentResultWarning        (a UserWarning) a derivative is zero because the result does not depend on it
"""

from __future__ import annotations

import threading
from typing import Any, Self

import numpy as np

from pullback.core import slots
from pullback.core.types import DType, Shape
from pullback.core.users_function import place_of


class Explained(Exception):  # noqa: N818 - no error, what errors have in common
    """Of errors that have a page, `pullback/explanations/NAME.md`; a note, below the text in a traceback, names it.

    A class has the page of its own name, and with `page=None` that of the class that it is derived from.
    """

    page: str

    def __init_subclass__(cls, page: str | None = "") -> None:
        super().__init_subclass__()
        if page is not None:
            cls.page = page or cls.__name__

    def __new__(cls, *args: Any, **_: Any) -> Self:
        made = super().__new__(cls, *args)
        made.__notes__ = [f"More about it: python -m pullback explain {cls.page}"]
        return made

    def add_note(self, note: str, /) -> None:
        """Add a line to what a traceback shows; that on the page stays the last."""
        super().add_note(note)
        self.__notes__[-2:] = reversed(self.__notes__[-2:])


class Portable(Exception):  # noqa: N818 - no error, what errors have in common
    """Of errors that are made of other things than their text: pickled and copied with text, fields and notes.

    Python would make them of their text again, which fails or says something else. A worker of a
    `multiprocessing.Pool` whose error cannot be made again leaves the pool waiting for ever.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.args), vars(self)


def _made_again(kind: type[Exception], args: tuple[Any, ...]) -> Exception:
    return kind.__new__(kind, *args)  # which keeps the arguments, and makes no text of them


class BackwardTwiceError(Portable, Explained, RuntimeError):
    """A node ran backward again after its saved tensors had been released."""

    def __init__(self, node_name: str, cause: str = "") -> None:
        self.node = node_name
        super().__init__(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            f"already been freed): {node_name} has already released the tensors it saved for backward"
            + (
                f": {cause}"
                if cause
                else ". Specify retain_graph=True in the first backward() or grad() call if the graph is needed again."
            )
        )


class SavedTensorModifiedError(Portable, Explained, RuntimeError):
    """A tensor that a node saved for its backward was modified in place afterwards.

    `saved_at` and `modified_at` are the lines of the program that did so, where anomaly detection was on to note them.
    """

    def __init__(
        self,
        node_name: str,
        saved_name: str,
        shape: Shape,
        dtype: DType,
        expected: int,
        found: int,
        culprit: str | None,
        saved_at: str | None = None,
    ) -> None:
        self.node, self.saved, self.culprit = node_name, saved_name, culprit
        self.saved_at: str | None = saved_at
        self.modified_at: str | None = getattr(culprit, "where", None)
        self.expected_version, self.found_version = expected, found
        super().__init__(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{node_name} saved {saved_name!r} (shape {tuple(shape)}, {dtype}) at version {expected}, but {culprit} "
            f"has modified it since (now version {found}).\n"
            + (f"It was saved by\n{saved_at.rstrip()}\n" if saved_at else "")
            + (f"It was modified last by\n{self.modified_at.rstrip()}\n" if self.modified_at else "")
            + ("" if saved_at or self.modified_at else "pullback.autograd.detect_anomaly() shows the lines of both.\n")
            + f"Use the out-of-place form (y = y + 1 for y += 1), or let {culprit} work on a clone()."
        )


class SavedArrayModifiedError(Portable, Explained, RuntimeError, page="SavedTensorModifiedError"):
    """An ndarray that a node saved for its backward was written into afterwards."""

    def __init__(self, node_name: str, saved_name: str, shape: Shape, dtype: DType) -> None:
        super().__init__(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{node_name} saved the ndarray {saved_name!r} (shape {tuple(shape)}, {dtype}), whose contents are others "
            "now. Give the operator a copy (a.copy()), or make a new array in each step."
        )


class InplaceError(Explained, RuntimeError):
    """An in-place operation that would make a gradient wrong or undefined."""


class ReadOnlyError(InplaceError, ValueError, page=None):
    """A write into an array that is read-only, or in which one place in memory stands for many elements.

    Both a RuntimeError, as PyTorch raises, and a ValueError, as NumPy does.
    """


class DetachingError(Explained, RuntimeError):
    """A tensor that requires grad was about to become a plain array silently."""


class GradientError(Explained, RuntimeError):
    """A gradient that does not fit, or a request for one that cannot be met."""


class GradientTypeError(GradientError, TypeError, page=None):
    """Something that is no Tensor, returned as a gradient."""


class EndedLevelError(Portable, GradientError, page=None):
    """A value of an earlier call of a transform was used in a later one, which would take it for a constant."""

    def __init__(self, run: Any, node_name: str = "") -> None:
        self.transform, self.node = run.transform, node_name
        several = (
            f" func.{run.transform} calls the function several times for one result: for an object of a class Memo, "
            f"with a cache, write func.{run.transform}(lambda x: Memo()(x)), which begins with an empty one each time."
            if str(run.transform).startswith("sparse_")
            else ""
        )
        super().__init__(
            f"a value{f' (computed by {node_name})' if node_name else ''} of a call of func.{run.transform} which has "
            f"returned is used again: it leaked out of the function{place_of(run.code)} (into a cache, a global "
            "variable, an attribute or a default argument), and its derivative would be lost here. Compute it again in "
            "each call; "
            f"or keep pullback.func.stop_gradient(x) of it, which says that it is a constant.{several}"
        )


class NonFiniteError(Portable, Explained, RuntimeError, FloatingPointError):
    """NaN or inf was found where `trace_nans` or anomaly detection was asked to stop at it.

    `finding` says more: what made it, and out of what; None for what anomaly detection found.
    """

    def __init__(self, text: str, finding: object = None) -> None:
        self.finding = finding
        super().__init__(text)


class InternalError(RuntimeError):
    """Code of pullback's failed in a call whose arguments are right: a mistake to be reported."""


class ConvergenceError(Explained, RuntimeError):
    """A solver did not find what it was to find, so that the derivative would be that of something else."""


class OperatorError(Explained, RuntimeError, ValueError):
    """The arguments of an operator do not fit together (shapes, dtypes, values).

    Both a RuntimeError, as PyTorch raises, and a ValueError, as NumPy does.
    """


class LinAlgError(OperatorError, np.linalg.LinAlgError):
    """A matrix does not allow what was asked of it: singular, not positive definite, eigenvectors without a derivative.

    PyTorch has it as torch.linalg.LinAlgError, NumPy as np.linalg.LinAlgError.
    """

    explained = True  # its text names the operator and the matrix; nothing is added on its way out


class DtypeError(OperatorError, TypeError):
    """Something that cannot be done with numbers of this dtype: integers that are to require grad, for example.

    Both a RuntimeError, as PyTorch raises, and a TypeError, as NumPy does.
    """


class ComplexToRealWarning(UserWarning, np.exceptions.ComplexWarning):
    """A cast of complex values to a real dtype, which drops their imaginary parts.

    Both a UserWarning, as PyTorch gives, and NumPy's ComplexWarning.
    """


class IndependentResultWarning(UserWarning):
    """A transform gives zeros because the function's result does not depend on an argument.

    The text says what took the values out of the graph, and where, if something did.
    """


class UnsupportedError(Explained, RuntimeError, TypeError):
    """Something that pullback has no rule for, said instead of guessing."""


class UntraceableError(UnsupportedError, page=None):
    """Something in a function that a trace cannot follow; the text says what, and what to write instead.

    `first` is the text of the first one since it was None: a function may catch the error, and its trace is of no use
    all the same. Others may follow, from whoever shows what was there.
    """

    first: str | None = None

    def __new__(cls, *args: Any) -> Self:
        if UntraceableError.first is None:
            UntraceableError.first = str(args[0]) if args else ""
        return super().__new__(cls, *args)


class ReadError(UnsupportedError):
    """Something looks at the numbers of an array whose type has none to show, or not now."""


def with_article(value: object) -> str:
    """The name of the type of `value` as a text goes on with it: 'an int', 'a str', 'an ndarray'."""
    name = type_name(value)
    return f"{'an' if name.startswith((*'aeioAEIO', 'nd')) else 'a'} {name}"


class _Refusals(threading.local):
    """The text of the last DetachingError that was raised into a library, which may go on without telling."""

    last = ""


refusals = _Refusals()


def explained(error: Exception, before: str) -> Exception:
    """The error of a user's function, with what C code left out of it: `before` is `refusals.last` of its beginning.

    SciPy's solvers in C run on after an error in the function that they call, and end in a SystemError or a ValueError.
    """
    cause = error.__cause__
    if isinstance(error, SystemError) and isinstance(cause, (DetachingError, UnsupportedError)):
        return cause
    said_by_c = type(error).__name__ == "error" or str(error) == "Unable to parse arguments"
    hidden = said_by_c or _is_there(cause) or _is_there(error) or _is_of_who_was_refused(error)
    if refusals.last is not before and hidden:
        return DetachingError(refusals.last)  # all that C code says: it drops the error of what it called
    told: Exception = slots.explain_foreign(error)  # which may be another
    if refusals.last is not before and not isinstance(told, DetachingError) and refusals.last not in str(told):
        told.add_note(f"Before that: {refusals.last}")
    return told


def _is_of_who_was_refused(error: BaseException) -> bool:
    """True for an error of the very function that was refused a number, and has gone on with what it had instead."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and f".{step.tb_frame.f_code.co_name} would make " in refusals.last


def _is_there(error: BaseException | None) -> bool:
    """True for an attribute that is there, and was not found: Python looks no further while C code keeps an error."""
    return isinstance(error, AttributeError) and error.name is not None and hasattr(error.obj, error.name)


def type_name(value: object) -> str:
    """The name of the type of `value`: "int", "ndarray"; with its package where it is another library's Tensor."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return f"{package}.Tensor" if kind.__name__ == "Tensor" and package != "pullback" else kind.__name__


# What gives only the first of several results: what people mean who go on as if there were one.
_FIRST_ALONE = {
    "max": "np.max(x, axis=...) or x.amax(...)",
    "min": "np.min(x, axis=...) or x.amin(...)",
    "median": "np.median(x, axis=...)",
    "nanmedian": "np.nanmedian(x, axis=...)",
    "sort": "np.sort(x, axis=...)",
    "cummax": "np.maximum.accumulate(x, axis=...)",
    "cummin": "np.minimum.accumulate(x, axis=...)",
}


def as_list(shape: Any) -> str:
    """(2, 3) as PyTorch writes it: [2, 3]."""
    return "[" + ", ".join(map(str, shape)) + "]"


def tuple_advice(results: Any) -> str:
    """Return what to write instead of the tuple that an operator of several results gave."""
    kind, fields = type(results).__name__, results._fields
    instead = f", or write {_FIRST_ALONE[kind]}" if kind in _FIRST_ALONE else ""
    return f" {kind} gave a tuple ({', '.join(fields)}), as in PyTorch: take .{fields[0]} of it{instead}."
