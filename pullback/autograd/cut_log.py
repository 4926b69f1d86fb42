"""`why_no_grad`: where the graph of a tensor was cut; `watch_cuts`: the log of a program that tells the lines."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from pullback.core import cuts, modes
from pullback.core.arguments import spread_lists
from pullback.core.array_face import ARRAYS
from pullback.core.array_type import carries_derivative
from pullback.core.blocks import Steps, several
from pullback.core.cuts import Log, Place, users_frame
from pullback.core.errors import with_article
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor
from pullback.graph.kept_values import reached
from pullback.graph.node import AccumulateGrad, edge_to
from pullback.ops.tables import OPERATORS

_MANY = 8  # cuts that are kept for a tensor, and leaves that are named
_DETACHED = ("detach()", "detach_()", "data")
_NUMBERS = ("item()", "float()", "complex()", "tolist()", "numpy()", "pickle", "deepcopy", "int", "tensor()")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "bool()")
# Operators as a program writes them.
_AS_WRITTEN = {
    "__setitem__": "x[...] = v",
    **dict.fromkeys(("slice_view", "advanced_index"), "x[...]"),
    "_to_copy": "to()",
}
_REMEDIES = {
    "detach": "Leave it out, or compute the gradient before it.",
    "no_grad": "Compute it outside of that block.",
    "integer": "Whole numbers have no gradient: compute with floating-point numbers.",
    "comparison": "Truth values have no gradient; where(condition, a, b) has one for a and b.",
    "item": "Compute with the Tensor itself.",
    "no derivative": "Its result is constant almost everywhere; take a smooth function instead, or a custom Function.",
    "created": "Call requires_grad_() on what is to be differentiated, before computing.",
    "unused": "Compute with it, not with a copy or another variable.",
}


@dataclass(frozen=True)
class Cut:
    """One place where values left the graph.

    Attributes
    ----------
    what : str
        The operator or method: "detach()", "gt", "mul under no_grad".
    reason : str
        One of "detach", "no_grad", "integer", "comparison", "item", "no derivative", "created", "unused".
    file, line : str, int
        Of the program; "" and 0 where nobody watched.
    sure : bool
        False where numbers left the graph there, and nothing tells whether the tensor was made of them.
    """

    what: str
    reason: str
    file: str = ""
    line: int = 0
    sure: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        what = self.what if self.sure else f"perhaps {self.what}"
        return f"{what} at {self.file}:{self.line}" if self.file else what


@dataclass(frozen=True)
class WhyNoGrad:
    """The findings of `why_no_grad`; it prints itself as text.

    Attributes
    ----------
    requires_grad : bool
    cuts : tuple of Cut
        Where the graph was cut, as far as it is known.
    text : str
    """

    requires_grad: bool
    cuts: tuple[Cut, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


# What is known of tensors without gradient, by id; not a WeakKeyDictionary, because Tensors compare by elements.
_last: list[watch_cuts | None] = [None]
_origins: dict[int, tuple[weakref.ref[Tensor], tuple[Cut, ...]]] = {}


def _remember(tensor: Tensor, found: Iterable[Cut]) -> None:
    key = id(tensor)
    _origins[key] = (weakref.ref(tensor, lambda _: _origins.pop(key, None)), tuple(dict.fromkeys(found))[:_MANY])


def _origins_of(tensor: Any) -> tuple[Cut, ...]:
    known = _origins.get(id(tensor))
    return known[1] if known is not None and known[0]() is tensor else ()


class watch_cuts(Log, Observer, ModeSwitch):
    """Context manager and decorator: keep a log of where values leave the graph, for `why_no_grad` and for errors.

    Inside, every tensor that does not require grad remembers which operator or call made it so, and at which line:
    `detach`, `no_grad`, a comparison, a cast to whole numbers, an operator without derivative, a number taken out by
    `item()`. What it remembers stays when the block has ended. It costs some microseconds an operator and disables all
    fast paths: for debugging alone. Values stay the same.

    Attributes
    ----------
    cuts : list of Cut
        All that were seen, in order, each line once.

    Notes
    -----
    It belongs to this thread or asyncio task.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.watch_cuts() as log:
    ...     y = (x.detach() * 2).sum()
    >>> [cut.reason for cut in log.cuts]
    ['detach']
    """

    watches_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.cuts: list[Cut] = []
        self._numbers: list[Cut] = []  # cuts behind which there are plain numbers
        self._functions = 0  # custom ones whose forward runs
        self._blocks: dict[int, Cut] = {}  # level -> what switched recording off there last

    def _fresh(self) -> Self:
        return self

    def _changed(self, modes: Modes) -> Modes:
        return modes.with_observer(self)

    def _steps(self) -> Steps:
        before = modes.current()
        self.thread = threading.get_ident()
        enter = several(partial(cuts.WATCHED.append, self), partial(modes.restore, self._changed(before)))
        return (*enter, *several(partial(cuts.WATCHED.remove, self), partial(modes.restore, before)))

    # -- what is seen ----------------------------------------------------------------------------------------------
    def run_operator(self, name: str, args: Sequence[Any], run: Callable[[], Any]) -> Any:
        function = name not in OPERATORS and name.removesuffix("_") not in OPERATORS and name != "__setitem__"
        if self._functions:
            return self._run_function(run) if function else run()
        given = [x for x in spread_lists(args) if isinstance(x, Tensor)]
        differentiable = any(map(_is_differentiated, given))
        result = self._run_function(run) if function else run()
        for out in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(out, Tensor):
                recorded = _is_differentiated(out)  # then what was cut from others is not in its gradient
                origins = [cut for x in given if recorded or not _is_differentiated(x) for cut in _origins_of(x)]
                if differentiable and not recorded and not function:
                    origins.insert(0, self._seen(self._cut_by(name, out)))
                if origins:
                    _remember(out, origins)
                    if out is args[0] and out._base is not None:  # written into a view: the whole holds it now
                        _remember(out._base, [*origins, *_origins_of(out._base)])
        return result

    def _run_function(self, run: Callable[[], Any]) -> Any:
        """Run the forward of a custom Function, which records nothing inside: its result gets its node afterwards."""
        self._functions += 1
        try:
            return run()
        finally:
            self._functions -= 1

    def left(self, what: str, tensors: tuple[Any, ...], place: Place, made: Any = None) -> None:
        """Called where a value leaves for Python or NumPy, or is detached."""
        if self._functions:
            return
        given = [x for x in tensors if isinstance(x, Tensor)]
        found: tuple[Cut, ...]
        if any(map(_is_differentiated, given)):
            found = (self._seen(Cut(what, _reason(what), *place)),)
        else:
            found = tuple(cut for x in given for cut in _origins_of(x) if cut.reason != "created")
        if not found:
            return
        if made is not None:
            _remember(made, found)
        elif any(cut.reason in ("item", "detach") for cut in found) or any(type(x) in ARRAYS for x in given):
            # Of Arrays NumPy's own truth values and whole numbers are made, of Tensors again Tensors.
            self._numbers = list(dict.fromkeys((*found, *self._numbers)))[:_MANY]

    def switched_off(self, name: str, level: int, place: Place) -> None:
        """Called where a block begins that does not record."""
        self._blocks[level] = Cut(name, "no_grad", *place)

    def created(self, tensor: Any, place: Place) -> None:
        """Called for what creation functions make."""
        if not tensor._requires_grad:
            _remember(tensor, (Cut("a tensor made", "created", *place), *self.perhaps()))

    def perhaps(self) -> list[Cut]:
        """Where numbers have left the graph: what holds numbers may hold these."""
        return [replace(cut, sure=False) for cut in self._numbers]

    def _cut_by(self, name: str, out: Tensor) -> Cut:
        frame = users_frame(sys._getframe(2))
        place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        state = modes.current()
        if not state.records(out._level) or state.inference:
            block = self._blocks.get(out._level)
            shown = _AS_WRITTEN.get(name, name)
            return Cut(f"{shown} under {'no_grad' if block is None else block}, called", "no_grad", *place)
        if name == "_to_copy":
            return Cut(f"the cast to {out.dtype}", "integer", *place)
        if out.dtype.kind not in "fc" and (name.endswith("_") or name == "__setitem__"):
            return Cut(f"the write into {out.dtype}", "integer", *place)
        return Cut(name, _reason(name), *place)

    def _seen(self, cut: Cut) -> Cut:
        if cut not in self.cuts:
            self.cuts.append(cut)
        _last[0] = self
        return cut


def _reason(what: str) -> str:
    if what in _DETACHED:
        return "detach"
    if what in _NUMBERS:
        return "item"
    if what in _COMPARISONS:
        return "comparison"
    return "integer" if what.startswith("the cast to") else "no derivative"


def _is_differentiated(tensor: Tensor) -> bool:
    return bool(tensor._requires_grad or carries_derivative(tensor._array))


# -- the answer --------------------------------------------------------------------------------------------------------
def why_no_grad(tensor: Any, input: Tensor | None = None) -> WhyNoGrad:
    """Say why `tensor` does not require grad, or has no gradient with respect to `input`: where the graph was cut.

    Parameters
    ----------
    tensor : Tensor
        Any shape and dtype. Arrays and numbers are taken too: they never have a gradient.
    input : Tensor, optional
        What a gradient is wanted for.

    Returns
    -------
    WhyNoGrad
        Prints itself. Has `requires_grad`, `cuts` (a tuple of `Cut`: `what`, `reason`, `file`, `line`) and `text`.

    Raises
    ------
    TypeError
        `input` is not a Tensor.

    Notes
    -----
    What was cut cannot be seen in what is left of a graph. So lines are known only where the program ran within
    ``with pullback.watch_cuts():``; without it the answer is what dtype, leaves and graph tell.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.watch_cuts():
    ...     loss = (x.detach() * 2).sum()
    >>> why = pb.why_no_grad(loss)
    >>> why.cuts[0].what, why.cuts[0].reason
    ('detach()', 'detach')
    >>> pb.why_no_grad(pb.tensor([1, 2])).cuts[0].reason
    'integer'
    """
    if input is not None and not isinstance(input, Tensor):
        raise TypeError(f"why_no_grad: input must be a Tensor, got {with_article(input)}.")
    if not isinstance(tensor, Tensor):
        return _answer(
            False,
            [Cut("it", "item"), *_numbers_now()],
            f"{with_article(tensor)} is not a Tensor, so nothing records what it came from.",
        )
    if tensor._requires_grad:
        return _of_graph(tensor, input)
    known = _origins_of(tensor)
    real = [cut for cut in known if cut.reason != "created"]
    if any(cut.sure for cut in real):
        return _answer(False, real, "the tensor does not require grad.")
    if tensor.dtype.kind not in "fc":
        return _answer(False, [Cut(f"the dtype {tensor.dtype}", "integer")], "the tensor does not require grad.")
    said = f"the tensor ({tensor.dtype}, shape {tuple(tensor.shape)}) does not require grad"
    if known:
        return _answer(False, [*real, *known], f"{said}: no tensor that it was computed from does.")
    numbers = _numbers_now()
    return _answer(False, numbers, f"{said} and has no history: it was made so, detached, or computed by no_grad.")


def _of_graph(tensor: Tensor, input: Tensor | None) -> WhyNoGrad:
    edge: Any = edge_to(tensor)
    nodes = reached([edge.node()])
    if input is not None:
        if not input._requires_grad:
            text = "the input does not require grad: call requires_grad_() on it before computing."
            return _answer(True, _origins_of(input) or [Cut("the input", "created")], text)
        to: Any = edge_to(input)
        if to.node() in nodes:
            text = "a path leads from the tensor to the input, so there is a gradient (which may be 0 in numbers)."
            return _answer(True, (), text)
        text = f"the tensor requires grad, but no path leads from it to the input; {_leaves(nodes)}."
        behind = [cut for cut in _origins_of(tensor) if cut.reason != "created"]
        return _answer(True, [Cut("the input", "unused"), *behind], text)
    if tensor.is_leaf:
        text = "the tensor is a leaf that requires grad: backward() of what is computed from it fills its .grad."
    else:
        text = (
            f"the tensor requires grad: {edge.node().name()} computed it, and {_leaves(nodes)}. Only leaves keep "
            ".grad; call retain_grad() on others before backward()."
        )
    return _answer(True, (), text)


def _leaves(nodes: Iterable[Any]) -> str:
    found = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
    shown = ", ".join(str(tuple(x.shape)) for x in found[:_MANY] if x is not None)
    count = f"{len(found)} {'leaf' if len(found) == 1 else 'leaves'}"
    return f"its graph leads to {count}" + (f", of shape {shown}" if shown else "")


def _answer(requires_grad: bool, found: Iterable[Cut], text: str) -> WhyNoGrad:
    found = tuple(dict.fromkeys(found))
    lines = [text[:1].upper() + text[1:]]
    shown = {(cut.reason, cut.file, cut.line): cut for cut in reversed(found)}  # of several on one line the first
    lines += [
        f"  {cut}. {_REMEDIES[cut.reason]}"
        for cut in reversed(shown.values())
        if cut.file or cut.reason in ("integer", "unused")
    ]
    known = any(cut.file or cut.reason == "integer" for cut in found)
    if not known and (found or not requires_grad) and not (requires_grad and _logs()):
        lines.append(
            "Run the program within `with pullback.watch_cuts():`, in the thread that computes, to learn at which line "
            "the graph was cut."
        )
    return WhyNoGrad(requires_grad, found, "\n".join(lines))


def _logs() -> list[watch_cuts]:
    """Those that are kept now, or the last one that saw anything."""
    return [log for log in cuts.WATCHED if isinstance(log, watch_cuts)] or list(filter(None, _last))


def _numbers_now() -> list[Cut]:
    return [cut for log in _logs() for cut in log.perhaps()]


def _explained(tensor: Tensor) -> str:
    """Return what an error adds for this tensor; "" where nothing is known."""
    known = [cut for cut in _origins_of(tensor) if cut.file]
    shown = [f"{Path(cut.file).name}:{cut.line} ({'' if cut.sure else 'perhaps '}{cut.what})" for cut in known]
    return f" The graph was cut at {', '.join(shown)}." if shown else ""


cuts.EXPLAIN.append(_explained)
