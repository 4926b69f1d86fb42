"""Finding the operator that makes the first NaN or inf, in forward or backward."""

from __future__ import annotations

import contextvars
import linecache
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from pullback.autograd.anomaly.nonfinite import (
    NonFinite,
    arrays_in,
    finding,
    finding_in_backward,
    made,
    named_arguments,
    saved_values,
)
from pullback.autograd.anomaly.source_lines import line_now, line_of, place_now, remember_traceback
from pullback.autograd.function.node import FunctionNode
from pullback.core.arguments import spread_lists
from pullback.core.array_type import memory_of
from pullback.core.errors import NonFiniteError
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor, ndarray
from pullback.core.types import Gradient
from pullback.graph.node import Node

_MODES = ("raise", "warn", "collect")


class _Call:
    """An operator or node that is running, inside the one that called it."""

    __slots__ = ("before", "inputs", "node", "outer", "told")

    def __init__(self, outer: _Call | None, inputs: Sequence[Any], node: Node | None = None) -> None:
        self.outer, self.inputs, self.node = outer, inputs, node
        self.told = False  # whether something in it has been reported: what contains it is then no news
        # Inputs that the operator itself overwrites, as they were: (tensor, array).
        self.before: list[tuple[Any, ndarray]] = []

    def keep(self, target: Tensor) -> None:
        """Copy the inputs that share memory with what is about to be written."""
        memory = memory_of(target)
        for x in self.inputs:
            array = memory_of(x)
            if array is not None and memory is not None and np.may_share_memory(array, memory):
                self.before.append((x, array.copy()))

    def as_it_was(self, x: Any) -> Any:
        """An input as the operator found it."""
        return next((array for kept, array in self.before if kept is x), x)

    def tell(self) -> None:
        """Note a report here and in all that contains this."""
        call: _Call | None = self
        while call is not None:
            call.told, call = True, call.outer


_innermost: contextvars.ContextVar[_Call | None] = contextvars.ContextVar("pullback_trace_nans", default=None)


class trace_nans(Observer, ModeSwitch):
    """Context manager and decorator: stop at the first operator that makes NaN or inf out of finite numbers.

    The report names the operator, or in backward the node, the line of the program that called it, the entries of the
    result that are not finite and what the inputs hold there.

    Parameters
    ----------
    mode : {"raise", "warn", "collect"}, default "raise"
        What to do: raise `NonFiniteError`; warn, with a RuntimeWarning, and go on; or go on without a word. The last
        two keep what they find in `found`.
    check_inf : bool, default True
        Whether inf counts. With False only NaN does, for programs that mean their infinities (a mask of -inf, say).

    Attributes
    ----------
    found : list of NonFinite
        What was found so far, in order.

    Raises
    ------
    NonFiniteError
        A RuntimeError and FloatingPointError, in mode "raise"; its `finding` is the `NonFinite`.
    ValueError
        The mode is none of these.

    Notes
    -----
    An operator makes inf if no input has inf or NaN, and NaN if no input has NaN: inf - inf is found even where the inf
    was meant. What comes with the data, or was computed outside by NumPy, no operator has made, and is not reported.
    In backward a node is judged by the gradients that it is given and returns; the values it has saved are shown. The
    inner workings of built-in nodes are not looked at, those of custom Functions are.

    It belongs to this thread or asyncio task, and disables all fast paths: for debugging alone.

    Examples
    --------
    >>> x = pb.tensor([4.0, 0.0], requires_grad=True)
    >>> with pb.autograd.trace_nans():
    ...     y = x.sqrt().sum()
    ...     y.backward()
    Traceback (most recent call last):
    NonFiniteError: SqrtBackward0 made inf out of a finite gradient, in 1 of 2 entries of the gradient of its input 0
    (float64 (2,)):
      [1]: inf  from grad = 1.0, saved result = 0.0
    """

    watches_operators = watches_nodes = True

    def __init__(self, mode: str = "raise", *, check_inf: bool = True) -> None:
        if mode not in _MODES:
            raise ValueError(f"trace_nans: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}.")
        self.mode, self.check_inf = mode, bool(check_inf)
        self.found: list[NonFinite] = []

    def _fresh(self) -> Self:
        return self  # findings of all calls of a decorated function come together

    def _changed(self, modes: Modes) -> Modes:
        if self in modes.observers:  # a decorated function that calls itself
            return modes
        linecache.checkcache()  # files may have changed since lines of them were last shown
        return modes.with_observer(self)

    def recorded(self, node: Node, level: int) -> None:
        remember_traceback(node)

    def mutating(self, target: Tensor, name: str) -> None:
        call = _innermost.get()
        if call is not None:
            call.keep(target)

    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        outer = _innermost.get()
        if outer is not None and outer.node is not None and not isinstance(outer.node, FunctionNode):
            return run()  # a step of a built-in formula, which may pass through inf on its way
        inputs = spread_lists(args)
        call = _Call(outer, inputs)
        result = self._inside(call, run)
        if call.told:
            return result
        given = [array for x in inputs for array in arrays_in(call.as_it_was(x))]
        new = made(arrays_in(result), given, self.check_inf)
        if new:
            results = result if isinstance(result, (tuple, list)) else (result,)
            named = {n: call.as_it_was(x) for n, x in named_arguments(name, args).items()}
            during = _during(outer)
            self._report(call, finding(name, new, results, named, line_now(), during))
        return result

    def run_node(self, node: Node, grad: Gradient, run: Callable[[], Sequence[Gradient]]) -> Sequence[Gradient]:
        call = _Call(_innermost.get(), (), node)
        grads: Sequence[Gradient] = self._inside(call, run)
        if call.told:
            return grads
        new = made(arrays_in(grads), arrays_in(grad), self.check_inf)
        if new:
            given = {"grad": grad} if node.outputs == 1 else {f"grad[{i}]": g for i, g in enumerate(grad)}
            named = {n: g for n, g in given.items() if g is not None} | saved_values(node)
            self._report(call, finding_in_backward(node, new, grads, named, line_of(node)))
        return grads

    def _inside(self, call: _Call, run: Callable[[], Any]) -> Any:
        outer = _innermost.get()
        try:
            _innermost.set(call)
            return run()
        finally:
            _innermost.set(outer)

    def _report(self, call: _Call, found: NonFinite) -> None:
        call.tell()
        self.found.append(found)
        if self.mode == "raise":
            raise NonFiniteError(found.text, found)
        if self.mode == "warn":
            file, line = place_now()
            warnings.warn_explicit(found.text, RuntimeWarning, file, line)


def _during(call: _Call | None) -> str:
    """The part of the message that names the custom backward that called the operator."""
    while call is not None and call.node is None:
        call = call.outer
    if call is None:
        return ""
    where = line_of(call.node)  # type: ignore[arg-type]  # not None: the loop's end
    return f"in the backward of {call.node.name()}" + (f", whose forward was called by\n{where}" if where else ".")  # type: ignore[union-attr]
