"""check: whether the derivatives of a function can be relied upon, at these arguments, and what they cost."""

from __future__ import annotations

import contextlib
import copy
import io
import re
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from pullback.checkup.calls import ADOPT, NONE, RULE, calls_of
from pullback.checkup.margins import Margins
from pullback.checkup.report import LOOK, NOTE, WRONG, Report
from pullback.checkup.slopes import Slope, slope_of, slope_of_steps
from pullback.checkup.subject import FLOATING, Subject, count_of, plain, product, random, signed, size_of, zeros
from pullback.core.errors import IndependentResultWarning
from pullback.core.pytree import flatten
from pullback.core.tensor import ndarray
from pullback.func.forward import jvp
from pullback.func.reverse import vjp
from pullback.interop.adopt.state import State
from pullback.interop.adopt.switch import adopt
from pullback.interop.operands import CANT_CALL_NUMPY

_ELEMENTS = 64  # of an argument, which are looked at one by one to find the wrong one
_SECONDS = 0.3  # for measuring each of value and gradient
_LOOSE = (1e-6, 1e-2)  # how far modes may differ in double and in single precision: solvers stop by tolerances
_LENGTHY = 0.1  # seconds a call above which few directions are tried at a kink
_SLOW = 2.0  # seconds a call above which memory is not traced, which is slow itself
_NOT_SMOOTH = {
    "kink": "is not smooth at these inputs: along {} the slope is {:.6g} on one side and {:.6g} on the other",
    "jump": "jumps at these inputs, along {}",
    "steep": "has no finite slope at these inputs, along {}",
    "edge": "has values only on one side of these inputs, along {}: they are at the edge of its domain",
    "undefined": "has no finite values around these inputs, along {}",
}


def check(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Report on the derivatives of a function at these arguments, before anyone relies on them.

    Parameters
    ----------
    function : callable
        Takes arrays, written with NumPy's, SciPy's or pullback's functions; returns an array, a number or a tree.
    *args : ndarray, float, tree of these, or anything else
        Where. Arguments whose numbers are all floating or complex are differentiated; others are passed on.
    **kwargs
        Passed on; they are not differentiated.

    Returns
    -------
    Report
        `ok`, `findings`, `needs_adopt`, `gradient_cost`, `gradient_memory`; prints itself.

    Raises
    ------
    TypeError
        `function` is not callable, or no argument has floating-point numbers.

    Notes
    -----
    - *Calls* of NumPy, SciPy and math are read off the bytecode of the function and of those that it calls: which have
      rules, which not and what to write. Whether the function can be differentiated as it is, or after
      `pullback.adopt()`, is tried; adoption is undone again.
    - *Smoothness*: operators whose arguments are at, or near, a kink, a step or a tie are named with their lines, as
      are comparisons near their thresholds. Whether it matters, slopes on the two sides tell.
    - *Derivatives*: v -> <w, J v> by reverse mode, by forward mode and by extrapolated central differences with their
      error, along random directions, for each argument, and along more where an operator is at a kink; by the complex
      step where the function is analytic. A wrong element is named. Differences over larger steps find a result that
      follows an argument by small jumps alone, as that of a search on a grid, where the gradient is 0.
    - *Cost*: CPU time and peak memory of value and gradient together, over those of the value.

    The function is called a few hundred times, so it must have no side effects.

    Examples
    --------
    >>> import numpy as np
    >>> report = pb.check(lambda x: np.sum(np.abs(x)), np.array([1.0, 0.0]))
    >>> report.ok
    False
    >>> pb.check(lambda x: np.sum(np.sin(x) * x), np.array([1.0, 2.0])).ok
    True
    """
    if not callable(function):
        raise TypeError(f"check: the function must be callable, got {type(function).__name__}. Write check(f, x).")
    subject = Subject(function, args, kwargs)
    if not subject.chosen:
        raise TypeError(
            "check: no argument has floating-point numbers, so there is nothing to differentiate. Whole numbers have "
            "no gradient: write 1.0, or x.astype(float); in a tree all numbers must be floating."
        )
    report = Report(subject.described)
    examination = _Examination(subject, report)
    printed = io.StringIO()
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        examination.solvers = _calls(function, report)
        if examination.value():
            with examination.differentiable() as works:
                if works:
                    examination.smoothness_and_derivatives()
                    examination.cost()
    if printed.getvalue():
        report.add(NOTE, "calls", "the function prints; check has held that back, because it calls it many times")
    return report


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _calls(function: Callable[..., Any], report: Report) -> list[str]:
    """Say which calls have rules; returns the names of those that compute to a tolerance."""
    found = calls_of(function)
    if not found:
        return []
    counts = {kind: [call for call in found if call.kind == kind] for kind in (RULE, ADOPT, NONE)}
    said = f"{_many(len(found), 'place calls', 'places call')} NumPy, SciPy or math: "
    said += _many(len(counts[RULE]), "has a rule", "have rules")
    if counts[ADOPT]:
        names = ", ".join(sorted({call.name for call in counts[ADOPT]}))
        said += f", {_many(len(counts[ADOPT]), 'has', 'have')} one after pullback.adopt() ({names})"
    report.add(NOTE, "calls", said + (f", {_many(len(counts[NONE]), 'has', 'have')} none" if counts[NONE] else ""))
    for call in counts[NONE]:
        where = f"{call.name} at {call.file}:{call.line}"
        report.add(LOOK, "calls", f"{where} has no rule: it takes only plain numbers. {call.remedy}".rstrip())
    return sorted({call.name for call in found if call.name.startswith(_TO_A_TOLERANCE)})


class _Examination:
    def __init__(self, subject: Subject, report: Report) -> None:
        self.subject, self.report = subject, report
        self.solvers: list[str] = []
        self.rng = np.random.default_rng(0)
        self.log = Margins(max(size_of(x) for x in subject.primals))
        self.outputs = self._of_floating_outputs()

    # -- the value ---------------------------------------------------------------------------------------------------
    def value(self) -> bool:
        """Run the function on plain arrays; says whether there is anything to differentiate."""
        subject, add = self.subject, self.report.add
        try:
            given = copy.deepcopy(subject.primals)
            began = process_time()
            self.result = copy.deepcopy(subject(*given))
            self.seconds = process_time() - began
            again = subject(*copy.deepcopy(subject.primals))
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises is reported
            add(WRONG, "calls", f"the function itself fails on these arguments: {_said(error)}")
            return False
        if not _same(given, subject.primals):
            add(LOOK, "calls", "the function writes into its arguments; transforms give it copies")
        leaves, self.structure = flatten(self.result)
        if not leaves or not all(np.result_type(x).kind in "fcbiu" for x in map(np.asarray, leaves)):
            add(WRONG, "calls", f"the function returns {type(self.result).__name__}: arrays and numbers are expected")
            return False
        self.floating = [i for i, x in enumerate(leaves) if np.asarray(x).dtype.kind in FLOATING]
        if not self.floating:
            add(WRONG, "derivatives", "the function returns whole numbers or truth values, which have no derivative")
            return False
        if not _same(self.result, again):
            add(WRONG, "derivatives", "two calls give different values: random numbers, or something that it keeps")
            return False
        bad = sum(int(np.sum(~np.isfinite(np.asarray(leaves[i])))) for i in self.floating)
        if bad:
            add(WRONG, "derivatives", f"{bad} of the function's values at these inputs are nan or infinite")
            return False
        self.weights = [self._weight(np.asarray(leaves[i])) for i in self.floating]
        kinds = [*(np.asarray(leaves[i]).dtype for i in self.floating), *map(np.result_type, self._all_leaves())]
        self.accuracy = max(float(np.finfo(kind).eps) for kind in kinds)
        finest = max(float(np.finfo(np.result_type(x)).eps) for x in self._all_leaves())
        if self.accuracy > finest:
            add(LOOK, "derivatives", "the result has fewer digits than the arguments: a cast inside shortens the dtype")
        return True

    def _all_leaves(self) -> list[Any]:
        return [a for x in self.subject.primals for a in flatten(x)[0]]

    def _weight(self, y: Any) -> Any:
        if y.ndim == 0 and y.dtype.kind == "f" and len(self.floating) == 1:
            return np.ones((), y.dtype)
        w = self.rng.standard_normal(y.shape)
        return (w + 1j * self.rng.standard_normal(y.shape) if y.dtype.kind == "c" else w).astype(y.dtype)

    def weighed(self, result: Any) -> Any:
        """<w, y>, of the floating outputs."""
        leaves = flatten(result)[0]
        return sum(np.vdot(w, np.asarray(leaves[i])) for w, i in zip(self.weights, self.floating, strict=True))

    # -- whether it can be differentiated -------------------------------------------------------------------------
    @contextlib.contextmanager
    def differentiable(self) -> Any:
        """Pull a cotangent back, as the function is or after `adopt()`, which then holds inside the block."""
        error = self._pull()
        if error is None:
            yield True
            return
        if not State.on:
            with adopt():
                with_adopt = self._pull()
                if with_adopt is None:
                    self.report.needs_adopt = True
                    self.report.add(
                        LOOK,
                        "calls",
                        "it can be differentiated only after pullback.adopt(), once, at the top of the program. "
                        f"Without it: {_said(error)}",
                    )
                    yield True
                    return
                error = with_adopt
        library = str(getattr(self.subject.function, "__module__", "")).partition(".")[0]
        wrapped = " Check a function of yours that calls it: lambda x: f(x)." if library in _ADOPTED else ""
        self.report.add(WRONG, "calls", f"it cannot be differentiated: {_said(error)}{wrapped}")
        yield False

    def _pull(self) -> Exception | None:
        """Reverse mode once, with the operators watched; the error, if there is one."""
        try:
            with warnings.catch_warnings(record=True) as self.warned, self.log:
                warnings.simplefilter("always")
                _, pull = vjp(self.outputs, *copy.deepcopy(self.subject.primals))
            with warnings.catch_warnings(record=True) as later:
                warnings.simplefilter("always")
                self.gradients = pull(list(self.weights))
            self.warned += later
        except Exception as error:  # noqa: BLE001 - reported
            return error
        return None

    def _of_floating_outputs(self) -> Callable[..., list[Any]]:
        """The function to differentiate, under the name of the user's, which errors say."""

        def outputs(*primals: Any) -> list[Any]:
            leaves = flatten(self.subject(*primals))[0]
            return [leaves[i] for i in self.floating]

        outputs.__name__ = outputs.__qualname__ = self.subject.name
        return outputs

    # -- smoothness and derivatives ---------------------------------------------------------------------------------
    def smoothness_and_derivatives(self) -> None:
        """Compare reverse mode, forward mode and differences along directions, and name what is not smooth."""
        rough: list[str] = []
        confirmed = []
        for k, i in enumerate(self.subject.chosen):
            name = self.subject.names[i]
            gradient = self.gradients[k]
            bad = sum(int(np.sum(~np.isfinite(plain(g)))) for g in flatten(gradient)[0])
            if bad:
                found = f"{bad} elements of the gradient with respect to {name} are nan or infinite"
                self.report.add(WRONG, "derivatives", found)
                rough.append(name)
            if not count_of(self.subject.primals[k]):
                self.report.add(NOTE, "derivatives", f"{name} has no elements, so it has no derivative to look at")
                continue
            kind = self._along(k, name, finite=not bad, evenly=False)
            if any(m.at for m in self.log.margins.values()) and kind not in _NOT_SMOOTH:
                kind = self._around(k, name) or kind
            in_steps = not bad and kind in {"smooth", "near", "noisy"} and self._in_steps(k, name)
            even = self._along(k, name, finite=not bad, evenly=True) if kind == "smooth" else kind  # else it is said
            rough += [name] if {kind, even} & _NOT_SMOOTH.keys() else []
            agree = kind == "smooth" and not in_steps
            if not self._dependence(k, name, agree) and agree and even in {"smooth", "near"}:
                confirmed.append(name)
        if confirmed:
            confirms = f"finite differences confirm the gradient with respect to {' and '.join(confirmed)}"
            self.report.add(NOTE, "derivatives", confirms)
        self._margins(bool(rough))
        self._forward()

    def _along(self, k: int, name: str, *, finite: bool, evenly: bool) -> str:
        """Return what one direction shows; not `evenly`, each number moves by a part of itself, so that signs stay."""
        subject = self.subject
        directions = [zeros(x) for x in subject.primals]
        directions[k] = direction = random(subject.primals[k], self.rng, evenly=evenly)
        slope = slope_of(self._values_along(directions), 1.0, self.accuracy)
        if slope.kind in _NOT_SMOOTH and evenly:
            return "near"  # small numbers have been moved far
        if slope.kind in _NOT_SMOOTH:
            return self._not_smooth(name, slope)
        if not finite:
            return "wrong"
        found = product(self.gradients[k], direction)
        if slope.kind == "noisy":
            self.report.add(
                LOOK,
                "derivatives",
                f"finite differences in {name} have no accurate digit: the values are noisy, or steep",
            )
            return "noisy"
        if self._agree(found, slope, self._size_along(k, direction)):
            exact = self._complex_step(directions)
            if exact is not None and 100 * slope.error < abs(exact) and abs(exact - slope.value) <= 1e-5 * abs(exact):
                self._compare_exactly(found, exact, name, self._size_along(k, direction))
            return "smooth"
        near = [m for m in self.log.margins.values() if m.near]
        if near and not self._is_independent(k) and not self._is_plain(found, slope, self._size_along(k, direction)):
            places = "; ".join(f"{m.what} at {m.file}:{m.line}" for m in near)
            text = f"finite differences in {name} cannot tell: the inputs are too near {places}"
            self.report.add(LOOK, "derivatives", text)
            return "near"
        if self._agree_loosely(
            f"the gradient with respect to {name} and finite differences",
            found,
            slope.value,
            self._size_along(k, direction),
        ):
            return "loose"
        where = self._wrong_element(k)
        cut = self._cuts(k)
        if self.solvers:
            cut += (
                f". {' and '.join(self.solvers)} computes to a tolerance (rtol, atol, tol): tighten it, and look again"
            )
        self.report.add(
            WRONG,
            "derivatives",
            f"the gradient with respect to {name} differs from finite differences{where}: along a direction it gives "
            f"{found:.8g}, and they give {slope.value:.8g} (error {slope.error:.1g}){cut}",
        )
        return "wrong"

    def _in_steps(self, k: int, name: str) -> bool:
        """Tell whether the result follows an argument by small jumps alone, which the gradient cannot know of."""
        directions = [zeros(x) for x in self.subject.primals]
        directions[k] = direction = random(self.subject.primals[k], self.rng, evenly=False)
        found = product(self.gradients[k], direction)
        scale = size_of(self.subject.primals[k]) / size_of(direction)
        wide = slope_of_steps(self._values_along(directions), scale, found, self.accuracy)
        if wide is None:
            return False
        steps = self._steps()
        self.report.add(
            LOOK if steps else WRONG,
            "derivatives",
            f"the result follows {name} by small jumps, between which the gradient is taken: along a direction it "
            f"gives {found:.6g}, and differences over larger steps {wide:.6g}"
            + (f". There are steps on the way: {'; '.join(steps)}" if steps else self._decided())
            + ". Give what finds the value (a bisection, a search on a grid) a rule of its own: "
            "pullback.func.implicit_function or custom_vjp.",
        )
        return True

    def _decided(self) -> str:
        """Name the comparisons and choices near which the inputs are."""
        near = [f"{m.what} at {m.file}:{m.line}" for m in self.log.margins.values() if m.near]
        return f". What decides there: {'; '.join(near)}" if near else ""

    def _steps(self) -> list[str]:
        """Name the operators and casts on the way that make steps."""
        steps = [f"{m.what} at {m.file}:{m.line}" for m in self.log.margins.values() if m.what.startswith(_STEPS)]
        return steps + [f"{what} at {file}:{line}" for (file, line), what in self.log.casts.items()]

    def _not_smooth(self, name: str, slope: Slope) -> str:
        text = _NOT_SMOOTH[slope.kind].format(name, slope.left, slope.right)
        self.report.add(WRONG, "smoothness", f"the function {text}")
        return slope.kind

    def _around(self, k: int, name: str) -> str:
        """Tell what directions with chosen signs show, and single numbers: two at random may cross no kink."""
        start = random(self.subject.primals[k], self.rng, evenly=False)
        for direction in islice(signed(start, self.rng), None if self.seconds < _LENGTHY else 2):
            directions = [zeros(x) for x in self.subject.primals]
            directions[k] = direction
            slope = slope_of(self._values_along(directions), 1.0, self.accuracy)
            if slope.kind in _NOT_SMOOTH:
                return self._not_smooth(name, slope)
        return ""

    def _values_along(self, directions: Sequence[Any]) -> Callable[[float], float]:
        def g(t: float) -> float:
            try:
                return float(np.real(self.weighed(self.subject(*self.subject.moved(directions, t)))))
            except Exception:  # noqa: BLE001 - outside of its domain a function may raise what it likes
                return np.nan

        return g

    def _size_along(self, k: int, direction: Any) -> float:
        pairs = zip(flatten(self.gradients[k])[0], flatten(direction)[0], strict=True)
        return float(sum(np.sum(np.abs(plain(g)) * np.abs(plain(v))) for g, v in pairs))

    def _agree(self, found: float, slope: Slope, size: float) -> bool:
        digits = 1e-6 if self.accuracy < 1e-12 else 2e-2
        return abs(found - slope.value) <= 30 * slope.error + digits * max(abs(slope.value), 1e-3 * size) + 1e-300

    def _is_plain(self, found: float, slope: Slope, size: float) -> bool:
        """True if differences of all steps say another slope, and none of them a kink or a jump."""
        apart = abs(found - slope.value)
        return apart > 30 * slope.error + 1e-2 * max(abs(slope.value), size) + 10 * slope.bend

    def _agree_loosely(self, what: str, found: float, other: float, size: float) -> bool:
        """Say that two derivatives agree as far as a solver's tolerance can tell, if they do."""
        if not self.solvers or abs(found - other) > _LOOSELY * max(abs(other), size):
            return False
        text = (
            f"{what} agree as far as {' and '.join(self.solvers)} can be trusted: {found:.8g} and {other:.8g} along a "
            "direction. Tighten its tolerances (rtol, atol, tol), and they must come closer."
        )
        self.report.add(LOOK, "derivatives", text)
        return True

    def _wrong_element(self, k: int) -> str:
        """Which element of the gradient is off most, of an argument that is one array and not large."""
        x = self.subject.primals[k]
        if not isinstance(x, ndarray) or not 1 < x.size <= _ELEMENTS or x.dtype.kind != "f":
            return ""
        gradient = plain(self.gradients[k])
        worst, said = 0.0, ""
        for index in np.ndindex(x.shape):
            directions = [zeros(y) for y in self.subject.primals]
            directions[k][index] = size_of(x)
            slope = slope_of(self._values_along(directions), 1.0, self.accuracy)
            off = abs(slope.value / size_of(x) - gradient[index])
            if slope.kind == "smooth" and off > worst:
                worst = off
                place = index[0] if len(index) == 1 else index
                said = f", most at {place} ({gradient[index]:.6g}, differences {slope.value / size_of(x):.6g})"
        return said

    def _complex_step(self, directions: Sequence[Any]) -> float | None:
        """The derivative by f(x + i h v), if the function takes complex numbers and is real for real ones."""
        leaves = [*self._all_leaves(), *self.weights]
        if any(np.result_type(x).kind == "c" for x in leaves) or self.accuracy > 1e-12:
            return None
        h = 1e-30
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                result = self.weighed(self.subject(*self.subject.moved(directions, 1j * h)))
        except Exception:  # noqa: BLE001 - most functions need not take complex numbers
            return None
        return float(np.imag(result)) / h if np.iscomplexobj(result) and np.isfinite(np.imag(result)) else None

    def _compare_exactly(self, found: float, exact: float, name: str, size: float) -> None:
        if abs(found - exact) <= 1e-7 * max(abs(exact), 1e-3 * size):
            confirms = f"the complex step confirms the gradient with respect to {name} to seven digits or more"
            self.report.add(NOTE, "derivatives", confirms)
        else:
            self.report.add(
                LOOK, "derivatives", f"the gradient with respect to {name} agrees with finite differences, but not "
                f"with the complex step: {found!r}, {exact!r}"
            )  # fmt: skip

    def _dependence(self, k: int, name: str, agree: bool) -> bool:
        """Name an argument on which nothing depends, and what cut it off; says whether there is something to say."""
        if any(np.any(plain(g)) for g in flatten(self.gradients[k])[0]):
            return False
        cuts = self._cuts(k)
        steps = self._steps()
        said = f"the derivative with respect to {name} is 0 everywhere here"
        if self._is_independent(k) and self._moves(k):
            text = f"{said}, but the result depends on it: only by steps, or the graph was cut{cuts}"
            self.report.add(WRONG, "derivatives", text)
        elif self._is_independent(k):
            text = ". Does it use another variable (a captured array, say) where it should use its argument?"
            self.report.add(LOOK, "derivatives", f"{said}: the result does not depend on it{text}")
        elif steps:
            self.report.add(WRONG, "derivatives", f"{said}: there are steps on the way: {'; '.join(steps)}")
        elif cuts:
            self.report.add(LOOK, "derivatives", f"{said}{cuts}")
        else:
            if agree:
                self.report.add(NOTE, "derivatives", f"{said}, and finite differences agree")
            return False
        return True

    def _is_independent(self, k: int) -> bool:
        """True if reverse mode has said that no path leads to this argument."""
        pattern = re.compile(rf"\bargument {k}\b")
        return any(
            issubclass(w.category, IndependentResultWarning) and pattern.search(str(w.message)) for w in self.warned
        )

    def _moves(self, k: int) -> bool:
        """True if the result changes when this argument is moved far."""
        for _ in range(3):
            directions = [zeros(x) for x in self.subject.primals]
            directions[k] = random(self.subject.primals[k], self.rng)
            g = self._values_along(directions)
            if any(g(t) != g(0.0) for t in (-3.0, -0.3, 1e-3, 0.03, 0.3, 1.0, 3.0)):
                return True
        return False

    def _cuts(self, k: int) -> str:
        """Name what may have cut an argument off."""
        found = [cut for cut in self.log.cuts if cut.reason != "comparison"]
        # An operator without derivative may be a part of one that has one, as the indices of a sort.
        certain = [cut for cut in found if cut.reason != "no derivative"]
        shown = [f"{cut.what} at {cut.file}:{cut.line}" for cut in certain or found]
        if not shown:
            return ""
        # A function may read values only to choose a formula, which has a path to the argument.
        said = (
            "What left the graph" if certain or self._is_independent(k) else "Values were read, without derivative, by"
        )
        return f". {said}: {'; '.join(shown)}"

    def _margins(self, rough: bool) -> None:
        """Name operators at, or near, places where they are not smooth."""
        for m in self.log.margins.values():
            where = f"{m.what} at {m.file}:{m.line}"
            if m.at and rough:
                self.report.add(WRONG, "smoothness", f"{where}: the inputs are exactly there")
            elif m.at:
                self.report.add(
                    NOTE,
                    "smoothness",
                    f"{where}: the inputs are exactly there; wherever it was tried, slopes are equal on both sides",
                )
            elif m.near:
                text = f"{where}: the inputs are near it, at a distance of {m.margin:.1g} of their size"
                self.report.add(LOOK, "smoothness", text)
        for (file, line), what in self.log.casts.items():
            self.report.add(LOOK, "smoothness", f"{what} at {file}:{line}: no gradient goes through whole numbers")
        if not self.log.margins and not rough:
            self.report.add(NOTE, "smoothness", "no operator on the way has a kink, a step or a tie")
        elif not rough and not any(m.near for m in self.log.margins.values()):
            several = _many(len(self.log.margins), "operator has", "operators have")
            self.report.add(NOTE, "smoothness", f"{several} kinks or steps, none of them near")

    def _forward(self) -> None:
        """Compare forward mode with reverse mode."""
        primals = copy.deepcopy(self.subject.primals)
        directions = [random(x, self.rng) for x in primals]
        try:
            _, tangents = jvp(self.outputs, tuple(primals), tuple(directions))
        except NotImplementedError as error:
            self.report.add(LOOK, "derivatives", f"forward mode does not work: {_said(error)}")
            return
        except Exception as error:  # noqa: BLE001 - reported
            self.report.add(WRONG, "derivatives", f"forward mode fails where reverse mode works: {_said(error)}")
            return
        forward = product(list(self.weights), tangents)
        backward = product(self.gradients, directions)
        size = sum(self._size_along(k, v) for k, v in enumerate(directions))
        if not np.isfinite(forward) or not np.isfinite(backward):
            return  # said already
        if abs(forward - backward) > _LOOSE[self.accuracy > 1e-12] * max(size, abs(forward)):
            if self._agree_loosely("forward mode and reverse mode", forward, backward, size):
                return
            text = f"forward mode and reverse mode differ: {forward:.10g} and {backward:.10g} along a direction"
            self.report.add(WRONG, "derivatives", text)
        else:
            self.report.add(NOTE, "derivatives", "forward mode agrees with reverse mode")

    # -- cost ----------------------------------------------------------------------------------------------------------
    def cost(self) -> None:
        """Time and memory of value and gradient over those of the value."""

        def value() -> Any:
            return self.subject.function(*args, **self.subject.kwargs)

        def gradient() -> Any:
            _, pull = vjp(self.outputs, *self.subject.primals)
            return pull(list(self.weights))

        args = copy.deepcopy(self.subject.args)
        plainly, both = _seconds(value), _seconds(gradient)
        self.report.gradient_cost = both / max(plainly, 1e-9)
        said = f"value and gradient cost {self.report.gradient_cost:.3g} times the value ({_time(plainly)})"
        if plainly < _SLOW and not tracemalloc.is_tracing():
            one, two = _peak(value), _peak(gradient)
            self.report.gradient_memory = two / max(one, 1)
            said += f"; peak memory {_bytes(two)}, of the value alone {_bytes(one)}"
        self.report.add(NOTE, "cost", said)


# What computes to a tolerance: then the differences of its result are no better.
_TO_A_TOLERANCE = ("scipy.integrate.", "scipy.optimize.", "scipy.sparse.linalg.")
_LOOSELY = 1e-3
_ADOPTED = ("math", "numpy", "scipy")  # their functions have rules where a program of yours names them
_LINE = re.compile(r'\s*File "([^"]+)", line (\d+), in .*(?:\n[ \t]+.*)?')  # with the code there, as errors have it
_STEPS = ("sign", "sgn", "floor", "ceil", "trunc", "round", "heaviside")


def _same(a: Any, b: Any) -> bool:
    pairs = zip(flatten(a)[0], flatten(b)[0], strict=True)
    return all(np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind in FLOATING) for x, y in pairs)


def _said(error: Exception) -> str:
    """An error as one line, and the last line of the user's file at which it came."""
    whole, place = str(error).removeprefix(CANT_CALL_NUMPY), ""  # it is not to be detached here
    if (line := _LINE.search(whole)) is not None:
        whole, place = _LINE.sub(" ", whole, count=1), f" ({line[1]}:{line[2]})"
    text = " ".join(whole.split()) or "(no text)"
    trace = error.__traceback__
    here = str(Path(__file__).parents[1])
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(here) and "site-packages" not in file:
            place = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {text}{place}"


def _seconds(run: Callable[[], Any]) -> float:
    times: list[float] = []
    end = perf_counter() + _SECONDS
    while len(times) < 2 or (perf_counter() < end and len(times) < 100):
        began = process_time()
        run()
        times.append(process_time() - began)
    return min(times)


def _peak(run: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _time(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.3g} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.3g} ms"
        if seconds < 1
        else f"{seconds:.3g} s"
    )


def _bytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e5 else f"{count / 1e3:.3g} kB"


__all__ = ["check"]
