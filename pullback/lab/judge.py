"""Judges an answer: gradcheck finds out whether it is right, and its diagnosis says which usual mistake it is."""

from __future__ import annotations

import contextlib
import dis
import os
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.gradcheck import Diagnosis
from pullback.core.array_type import OperatorTable
from pullback.extend import DeclarationError, GradcheckError
from pullback.lab.shapes import diagnose_shape

__all__ = [
    "Answer",
    "Mistake",
    "check_array",
    "check_function",
    "check_rule",
    "check_tangent",
    "inputs",
    "refuse",
    "running",
]


# Their lines are not the learner's.
LIBRARIES = tuple(str(Path(module.__path__[0])) + os.sep for module in (pb, np))


class Mistake(Exception):  # noqa: N818 - a learner's, not an error of the program
    """An answer is wrong: `diagnosis` says how, as far as that is known; `part`, which part of the answer.

    `number` is that of the input whose gradient is wrong.
    """

    def __init__(self, part: str, diagnosis: Diagnosis, details: str = "", number: int | None = None) -> None:
        super().__init__(part, diagnosis, details, number)
        self.part, self.diagnosis, self.details, self.number = part, diagnosis, details, number

    def __str__(self) -> str:
        return f"{self.part}: {self.diagnosis.text}\n{self.diagnosis.advice}" + (
            f"\n\n{self.details}" if self.details else ""
        )


class Answer:
    """Holds what the learner wrote, by name; a name that is not there is a mistake too."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            refuse(name, "missing_name", f"your answer has no {name}.", "Keep the names of the template.")
        return self.names[name]

    def run(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return what a function of the answer gives; what it raises is a Mistake."""
        return self.call(name, self[name], *args, **kwargs)

    def call(self, part: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what a function gives that runs the learner's code."""
        with running(part):
            return function(*args, **kwargs)

    def function(self, name: str) -> type[pb.autograd.Function]:
        """A custom Function of the answer."""
        found = self[name]
        if not (isinstance(found, type) and issubclass(found, pb.autograd.Function)):
            text = f"{name} is not a custom Function."
            refuse(name, "no_function", text, f"Write `class {name}(pb.autograd.Function):`, as in the template.")
        return found  # type: ignore[no-any-return]

    def without_return(self, template: str) -> str | None:
        """The first function of the template's that gives None wherever it ends: its return statement was forgotten."""
        for owner, found in self.names.items():
            of_class = vars(found).items() if isinstance(found, type) else ()
            for name, function in ((owner, found), *((f"{owner}.{name}", inner) for name, inner in of_class)):
                function = getattr(function, "__func__", function)  # of a static method
                given = isinstance(function, types.FunctionType) and f"def {function.__name__}(" in template
                if given and not name.startswith("test_") and _gives_nothing(function):
                    return name
        return None

    def run_on_tensors(self, name: str, *arrays: np.ndarray) -> Any:
        """The same, of tensors."""
        return self.run(name, *(pb.tensor(a) for a in arrays))

    def loaded(self, name: str) -> types.ModuleType:
        """The operators that a text of the answer declares; a module `answer` named in it is the answer itself."""
        module = types.ModuleType("answer")
        module.__dict__.update(self.names)
        before = sys.modules.get("answer")
        sys.modules["answer"] = module
        try:
            with tempfile.TemporaryDirectory() as folder:  # where the names of helpers are read
                source = Path(folder) / "answer.py"
                functions = ((n, f) for n, f in self.names.items() if isinstance(f, types.FunctionType))
                helpers = [n for n, f in functions if "ops" in f.__code__.co_varnames[f.__code__.co_argcount :]]
                source.write_text("".join(f"def {n}(*args, ops): ...\n" for n in helpers), encoding="utf-8")
                module.__spec__ = ModuleSpec("answer", None, origin=str(source))
                return self.call(name, pb.ops.load, self[name])  # type: ignore[no-any-return]
        finally:
            del sys.modules["answer"]
            if before is not None:
                sys.modules["answer"] = before


def _gives_nothing(function: types.FunctionType) -> bool:
    """True if a function returns, and never anything but None."""
    given = []
    before: Any = None
    for step in dis.get_instructions(function):
        if step.opname.startswith("RETURN_"):
            given.append((step if step.opname == "RETURN_CONST" else before).argrepr)
        before = step
    return bool(given) and set(given) == {"None"}


def refuse(part: str, kind: str, text: str, advice: str) -> None:
    """Raise the Mistake that a check of the exercise's own has found."""
    raise Mistake(part, Diagnosis(kind, text, advice))


def inputs(*shapes: tuple[int, ...], complex: bool = False) -> list[np.ndarray]:
    """Arrays of numbers between 0.4 and 1.6, the same in every run."""
    rng = np.random.default_rng(7)
    arrays = [rng.uniform(0.4, 1.6, shape) for shape in shapes]
    return [a + 1j * rng.uniform(0.4, 1.6, a.shape) for a in arrays] if complex else arrays


def check_rule(
    part: str,
    forward: Callable[..., Any],
    rule: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    *,
    names: Sequence[str] = ("x", "y", "z"),
    factors: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Check the formula `rule(grad, *arrays)` for the gradients of a function of ndarrays.

    `names` are the names of the inputs, `factors` those that the right formula has, by what to call them.

    Raises
    ------
    Mistake
        It fails, gives a wrong shape, or does not agree with differences.
    """
    names = names[: len(arrays)]
    with running(part):
        wanted = _differentiated(forward, arrays)
        found = rule(wanted[0], *(_protected(a) for a in arrays))
    _check_count(part, found, arrays)
    for given, right, name in zip(_tuple(found), wanted[1], names, strict=True):
        if given is None:
            continue  # which gradcheck then calls a missing gradient
        given = _number(part, given)
        if given.shape != right.shape:
            raise Mistake(part, diagnose_shape(given, right, f"the gradient of {name}"))
    function = pb.custom_vjp(forward, lambda grad, result, *xs: rule(grad, *xs))
    try:
        check_function(part, function, arrays)
    except Mistake as mistake:
        raise _named(mistake, names, _tuple(found)[0], wanted[1][0], factors) from None


def check_tangent(
    part: str,
    forward: Callable[..., Any],
    rule: Callable[..., Any],
    arrays: Sequence[np.ndarray],
    *,
    names: Sequence[str] = ("x",),
) -> None:
    """Check the formula `rule(*tangents, *arrays)` for the tangent of a function of ndarrays.

    `names` are those of the tangents.
    """
    tangents = [np.random.default_rng(9).uniform(0.4, 1.6, a.shape) for a in arrays]
    with running(part):
        _, wanted = pb.func.jvp(forward, tuple(arrays), tuple(tangents))
        found = rule(*tangents, *arrays)
    found, wanted = _number(part, found), np.asarray(wanted)
    if found.shape != wanted.shape:
        raise Mistake(part, diagnose_shape(found, wanted, "the tangent"))
    function = pb.custom_jvp(forward, lambda moved, result, *xs: rule(*moved, *xs))
    try:
        check_function(part, function, arrays, check_forward_ad=True, check_backward_ad=False)
    except Mistake as mistake:
        raise _worded(mistake, names) from None


def check_function(
    part: str, function: Callable[..., Any], arrays: Sequence[Any], second: bool = False, **options: Any
) -> None:
    """Check a function of tensors by gradcheck (and gradgradcheck); every failure is a Mistake with a diagnosis."""
    check = pb.autograd.gradgradcheck if second else pb.autograd.gradcheck
    given = [pb.tensor(a, requires_grad=True) if isinstance(a, np.ndarray) else a for a in arrays]
    try:
        with running(part):
            check(function, tuple(given), **options)
    except Mistake as mistake:
        if len(arrays) > 1:
            raise
        raise _worded(mistake, ("x",)) from None


def check_array(
    part: str,
    found: Any,
    wanted: np.ndarray,
    name: str = "the result",
    factors: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Compare an array with the right one, as a gradient is compared: by gradcheck of t -> sum(t * wanted).

    Its gradient is what is wanted, and what was found stands in for it; so all of gradcheck's diagnoses serve.
    """
    found = _number(part, found)
    wanted = np.asarray(wanted)
    if found.shape != wanted.shape:
        raise Mistake(part, diagnose_shape(found, wanted, name))
    point = np.random.default_rng(3).uniform(0.4, 1.6, wanted.shape)
    function = pb.custom_vjp(lambda t: (t * wanted).sum(), lambda grad, result, t: grad * found)
    try:
        check_function(part, function, [point])
    except Mistake as mistake:
        told = _named(mistake, ("t",), found, wanted, factors).diagnosis
        text, advice = (t.replace("the gradient", name) for t in (told.text, told.advice))
        both = "" if wanted.size > 20 else f"Yours:\n{found}\nRight:\n{wanted}"
        raise Mistake(part, Diagnosis(told.kind, text, advice), both) from None


def _named(
    mistake: Mistake,
    names: Sequence[str],
    found: Any,
    wanted: np.ndarray,
    factors: Mapping[str, np.ndarray] | None,
) -> Mistake:
    """The mistake with the learner's names for the inputs, and with the factor that explains it, if one does."""
    told = mistake.diagnosis
    for text, factor in (factors or {}).items():
        for verb, made in (("is missing", wanted / factor), ("is there twice", wanted * factor)):
            if told.kind in {"unknown", "missing_factor"} and np.allclose(found, made, rtol=1e-6):
                told = Diagnosis(
                    "missing_factor", f"a factor {verb}: {text}.", "Each function of the chain gives one factor."
                )
    return _worded(Mistake(mistake.part, told, mistake.details, mistake.number), names)


def _worded(mistake: Mistake, names: Sequence[str]) -> Mistake:
    """The mistake with the learner's names for the inputs."""
    text, advice = mistake.diagnosis.text, mistake.diagnosis.advice
    for number, name in enumerate(names):
        text, advice = (t.replace(f"input {number}", name) for t in (text, advice))
    part = mistake.part
    if len(names) > 1 and mistake.number is not None:
        part += f", for {names[mistake.number]}"
    return Mistake(part, Diagnosis(mistake.diagnosis.kind, text, advice), mistake.details)


@contextlib.contextmanager
def running(part: str) -> Iterator[None]:
    """Run the learner's code: whatever it raises becomes a Mistake."""
    try:
        yield
    except Mistake:
        raise
    except GradcheckError as error:
        diagnosis = error.diagnosis or Diagnosis(
            "unknown",
            "the numbers are wrong, and none of the usual mistakes fits them.",
            "Derive the formula once more, for one number on paper; then compare the numbers below.",
        )
        table = [line for line in str(error).splitlines() if line.startswith("  ") and not line.strip().endswith(".")]
        side = "In forward mode: " if error.side == "forward" else ""
        told = Diagnosis(diagnosis.kind, side + diagnosis.text, diagnosis.advice)
        words = ("\n".join(table)).replace("analytical", "     yours").replace("numerical", "    right")
        words = f"The derivative of each output number by each input number; 0[1] is number 1 of array 0:\n{words}"
        raise Mistake(part, told, words, error.input_index) from None
    except (Exception, SystemExit) as error:
        raise Mistake(part, _raised(error)) from error


def _raised(error: BaseException) -> Diagnosis:
    """Return what to say of an error that the answer, or the engine on its behalf, has raised."""
    last = traceback.extract_tb(error.__traceback__)
    others = (*LIBRARIES, "<operators ")
    mine = [frame for frame in last if frame.line and not frame.filename.startswith(others)]
    where = f" (line {mine[-1].lineno}: {mine[-1].line})" if mine else ""
    kind = "writes_into_gradient" if "read-only" in str(error) else "raises"
    advice = "Print the shapes and types in your code, or start again from the template."
    if kind == "writes_into_gradient":
        advice = "What comes in still belongs to others: work on a copy, grad.copy()."
    elif isinstance(error, DeclarationError):
        advice = "The error names the line of the text, and what may stand there."
    elif isinstance(error, AssertionError):
        advice = "`actual` is what your operator gives, `expected` what your reference gives. Which is right, on paper?"
    elif isinstance(error, AttributeError) and isinstance(error.obj, OperatorTable):
        similar = " or ".join(f"ops.{name}" for name in get_close_matches(str(error.name), vars(error.obj)))
        advice = f"`ops` has the operators of docs/operators.md. {f'Is {similar} meant?' if similar else ''}".rstrip()
    notes = "\n".join(getattr(error, "__notes__", ()))
    said = re.sub(r"^autograd\.\w+\(.*?\): (?=\w)", "", str(error), count=1)
    return Diagnosis(kind, f"it raises {type(error).__name__}{where}: {said}" + (f"\n{notes}" if notes else ""), advice)


def _differentiated(forward: Callable[..., Any], arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """A cotangent of all sorts of numbers, read-only, and the right gradients for it."""
    value, vjp_fn = pb.func.vjp(forward, *arrays)
    value = np.asarray(value)
    rng = np.random.default_rng(5)
    cotangent = rng.uniform(0.4, 1.6, value.shape).astype(value.dtype)
    return _protected(cotangent), [np.asarray(g) for g in vjp_fn(cotangent)]


def _protected(array: np.ndarray) -> np.ndarray:
    """A read-only view, as the engine gives."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _check_count(part: str, found: Any, arrays: Sequence[np.ndarray]) -> None:
    count = len(_tuple(found))
    if count != len(arrays):
        refuse(
            part,
            "wrong_count",
            f"it returns {count} gradient{'s' * (count != 1)} for {len(arrays)} input{'s' * (len(arrays) != 1)}.",
            "Return one gradient for each input, in their order: return grad_a, grad_b.",
        )


def _tuple(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _number(part: str, found: Any) -> np.ndarray:
    """Return what was found, as an ndarray of numbers."""
    if issubclass(type(found), pb.Tensor):
        found = found.detach().numpy()
    array = np.asarray(found)
    if array.dtype.kind not in "biufc":
        refuse(
            part,
            "no_array",
            f"it gives {type(found).__name__} {str(found)[:40]}, which is not an array of numbers.",
            "Is the return statement there?",
        )
    return array
