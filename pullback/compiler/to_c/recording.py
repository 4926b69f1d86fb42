"""Records a function for export: what `compile` would run as it is, or look at again at each call, is an error here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pullback.arrays.traced.calls import PlainCall
from pullback.arrays.traced.graph import GUARD, ONE, Graph, Guard, Step, Value
from pullback.compiler.advice import remedy
from pullback.compiler.agreement import described, first_difference
from pullback.compiler.cleaning import needed
from pullback.compiler.compiled import Compiled
from pullback.compiler.eagerly import Eagerly
from pullback.compiler.errors import ExportError
from pullback.compiler.native.lowering import BOOL, FLOATS, WHOLE, Lowering
from pullback.compiler.native.nodes import contiguous
from pullback.compiler.native.program import Kernels, load_rules
from pullback.compiler.numbers import differs, in_words
from pullback.compiler.places import Place, said
from pullback.compiler.signature import form_of, signature_of, unfit
from pullback.compiler.simplify import Simplified
from pullback.compiler.sums import added_in_place
from pullback.compiler.tracing import AS_IT_IS, Trace
from pullback.compiler.variants import Variants
from pullback.core.array_type import none_is_true
from pullback.core.tensor import Tensor, ndarray

DTYPES = frozenset({*FLOATS, WHOLE, BOOL})
_MOST = 10  # problems that are told
_OWN = {"workspace", "bases", "rows", "steps"}
_OUTSIDE = "compute it outside of the exported function, and pass it in"


class Recording(NamedTuple):
    """The steps of a function, all of which C can have.

    Attributes
    ----------
    graph : Graph
    inputs : list of Value
    steps : list of Step
    results : list of Value
        In C order.
    structure
        Of the result.
    leaves : list
        Those of the result: None for an array, else what is the same at each call.
    """

    graph: Graph
    inputs: list[Value]
    steps: list[Step]
    results: list[Value]
    structure: Any
    leaves: list[Any]


class ExportLowering(Lowering):
    """There are no calls of NumPy; checks of values are steps too, after which the run may end."""

    calls = False

    def take(self, step: Step) -> bool:
        """Lower a step; False if C cannot have it."""
        if step.form is GUARD and refuses(step) and self.knows(step.args[0]):
            self.check(self.window(step.args[0]))
            return True
        return super().take(step)


class ExportKernels(Kernels):
    """The kernels of a file."""

    lowering = ExportLowering

    @property
    def own_names(self) -> set[str]:
        """The names of its functions and arrays."""
        constants = (f"constant{nr}" for nr in range(len(self.constants)))
        return {x.name for x in self.module.functions} | {*self.module.tables, *constants} | _OWN


def refuses(step: Step) -> bool:
    """True for a check that none of some truth values is true."""
    examine = getattr(step.what, "examine", None)
    return type(examine) is partial and examine.func is none_is_true and len(step.args) == 1


class Recorder(Compiled):
    """Records a function; raises ExportError where C cannot have it."""

    def record(self, args: tuple[Any, ...]) -> Recording:
        """The steps that the function runs for these arguments, which it gets as copies in C order."""
        _, given, structure = signature_of(args, {})
        leaves = [_copied(x) for x in given]
        count, arrays = len(leaves), sum(map(is_array, leaves))
        self._look()
        self._meet(structure, leaves)
        self._with_captured(leaves)
        wrong = unfit(leaves, [form_of(x) for x in leaves])
        variants = self._new((), wrong, structure, leaves, len(leaves) - count)
        one, trace = self._once(variants, leaves), self._once(variants, leaves)
        if (change := self._reach.watches.changed()) is not None:  # type: ignore[union-attr]  # looked up before
            self._say(f"it changes what it reads: {change}")
        if described(one) != described(trace):
            what, place = first_difference(one, trace)
            self._say(f"no two of its runs did the same: {what}", place)
        found = self._steps(trace, arrays, leaves[count:])
        if how := differs(trace.result, variants.call(leaves[:count]), leaves):
            self._say(f"it gave {how} while it was recorded: perhaps it asks for the type or the identity of an array")
        return found

    def _once(self, variants: Variants, leaves: list[Any]) -> Trace:
        made, result = self._traced(variants, leaves)
        if made is None:
            assert type(result) is Eagerly
            self._say(result.why, result.place)
        if made.written:
            self._say("it writes into its arguments, or into arrays that it reads: return the new values")
        if made.grads:
            self._say("it leaves a gradient in `.grad`: return it, as `pb.autograd.grad` gives it")
        return made

    def _is_live(self, array: ndarray) -> bool:
        return False  # what it reads is in the file

    def _say(self, why: str, place: Place | None = None) -> NoReturn:
        """Raise, where `compile` would warn."""
        instead = f" Instead, {text}." if (text := remedy(why)) else ""
        where = f" ({said(place)})" if place else ""
        raise ExportError(f"export({self._name}): {why.rstrip('.')}{where}.{instead}")

    # -- steps ---------------------------------------------------------------------------------------------------------
    def _steps(self, trace: Trace, arrays: int, captured: Sequence[Any]) -> Recording:
        """The steps that the results need, if all of them have rules."""
        graph, inputs = trace.graph, trace.inputs[:arrays]
        given = [x._array for x in captured]
        graph.constants += [(value, x, False) for value, x in zip(trace.inputs[arrays:], given, strict=True)]
        graph.constants[:] = [(value, array, False) for value, array, _ in graph.constants]
        simplified = Simplified(graph, graph.steps)
        graph.constants[:] = [(value, close_together(array), False) for value, array, _ in graph.constants]
        wanted = [simplified.of(x) for how, x in trace.outputs if how is not AS_IT_IS]
        if not wanted:
            self._say("it gives no array")
        last = [_in_order(graph, x) for x in wanted]
        results = [x if step is None else step.results[0] for x, step in zip(wanted, last, strict=True)]
        steps = _varying([*simplified.steps, *(step for step in last if step is not None)], inputs)
        steps = added_in_place(needed(steps, results), results)
        self._refuse(graph, inputs, steps, results)
        leaves = [None if how is not AS_IT_IS else x for how, x in trace.outputs]
        return Recording(graph, inputs, steps, results, trace.structure, leaves)

    def _refuse(self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value]) -> None:
        """Raise with all that has no form in C."""
        load_rules()
        lowering, problems = ExportLowering(graph, results), list[str]()
        for value in inputs:
            lowering.input(value)
        for step in steps:
            if not lowering.take(step):
                problems.append(f"{_problem(step)}")
                for value in step.results:
                    lowering.input(value)
        odd = next((x for x in (*inputs, *results) if x.dtype not in DTYPES or not prod(x.shape)), None)
        if not problems and odd is not None:
            problems.append(f"an argument or a result is {_form(odd)}: {_unfit(odd)}")
        if problems:
            more = [f"and {len(problems) - _MOST} more"] if len(problems) > _MOST else []
            lines = "\n    ".join([*problems[:_MOST], *more])
            raise ExportError(f"export({self._name}): C cannot have all of it.\n    {lines}")


def _problem(step: Step) -> str:
    """A step that has no form in C, the line, and what to write instead."""
    where = f" ({said(step.line)})" if step.line else ""
    if step.form is GUARD:
        guard = step.what
        found = "numbers are checked"
        if isinstance(guard, Guard):
            found = f"{guard.why} found {in_words(guard.expected)}"
        instead = remedy(found) or f"NumPy's functions check less than those of `math`; or {_OUTSIDE}"
        return f"{found}{where}, and C takes one way for all numbers: {instead}"
    odd = next((x for x in (*step.values(), *step.results) if x.dtype not in DTYPES or not prod(x.shape)), None)
    if type(step.what) is PlainCall:
        loop = "its loop as Python's `for`" if step.name == "loop" else "what it computes with NumPy's functions"
        why = f"runs in Python: write {loop}"
    elif step.kept:
        why = "draws random numbers: pass the numbers in"
    elif odd is not None:
        why = f"has {_form(odd)}: {_unfit(odd)}"
    else:
        given = ", ".join(map(_form, step.values()))
        why = f"of {given} has no form in C: {_OUTSIDE}, or write it in operators that have one"
    return f"{step.name}{where} {why}"


def _form(x: Value) -> str:
    return f"{x.dtype} {x.shape}"


def _unfit(x: Value) -> str:
    if not prod(x.shape):
        return "leave out arrays without elements"
    if x.dtype.kind == "c":
        return "compute with real and imaginary parts as two arrays"
    return "the dtypes in C are float32, float64, bool, and int64 for indices"


def is_array(x: Any) -> bool:
    """True for a leaf that is an argument in C."""
    return isinstance(x, (ndarray, Tensor, np.generic))


def _copied(x: Any) -> Any:
    """A leaf of the arguments as C has it: in memory of its own, in C order."""
    if type(x) is ndarray:
        return np.array(x, order="C")
    if isinstance(x, Tensor) and type(x._array) is ndarray:
        made = x.detach().clone().contiguous()
        return made.requires_grad_() if x.requires_grad else made
    return x


def close_together(array: ndarray) -> ndarray:
    """A constant whose memory has no gaps; of equal numbers one is enough."""
    size = array.itemsize
    if array.size > 1 and array.tobytes() == array.flat[0].tobytes() * array.size:
        return np.broadcast_to(array.flat[0], array.shape)
    span = 1 + sum((n - 1) * s // size for n, s in zip(array.shape, array.strides, strict=True))
    fits = all(s >= 0 and s % size == 0 for s in array.strides) and span <= array.size
    return array if fits else np.array(array, order="C")


def _varying(steps: Sequence[Step], inputs: Sequence[Value]) -> list[Step]:
    """Without the guards that look at constants alone."""
    varying, found = {x.number for x in inputs}, []
    for step in steps:
        if not varying.isdisjoint(x.number for x in step.values()):
            varying.update(x.number for x in step.results)
        elif step.form is GUARD:
            continue
        found.append(step)
    return found


def _in_order(graph: Graph, x: Value) -> Step | None:
    """A step that brings a value into C order; None for one that is so."""
    wanted = contiguous(x.shape)
    if all(n == 1 or s == w * x.dtype.itemsize for n, s, w in zip(x.shape, x.strides, wanted, strict=True)):
        return None
    made = Step("contiguous", (x,), [Value(graph, np.empty(x.shape, x.dtype))], ONE, writes=False)
    made.pure = True
    return made
