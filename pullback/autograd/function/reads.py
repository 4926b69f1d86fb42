"""Finds whether the backward of a custom Function reads what depends on the inputs where the graph cannot see it.

    forward:  ctx.slope = 3 * x.detach().numpy() ** 2        backward:  return grad * ctx.slope

A derivative of such a backward would lack a part. An ndarray on ctx is one way; a float, an attribute of an object, a
closure, a global or a store are others. Whatever the way, one test finds it: forward runs at inputs like those of the
call, and again at inputs close by; backward runs after each, with the tensors that were saved at the call, and so with
all that the graph knows of. If its results differ, it has read something else that depends on the inputs.

These runs work on copies of what forward and backward can change, so that they leave nothing behind.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from copy import deepcopy
from itertools import islice
from math import inf
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from pullback.arrays.numpy.random.draws import default_generator
from pullback.autograd.api import gradients_of
from pullback.autograd.function.arrays import differentiated_inside
from pullback.autograd.saved_hooks import pack
from pullback.core import cuts, modes
from pullback.core.array_type import array_type, carries_derivative, innermost, numbers_of
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray, new_extra, wrap
from pullback.explain.call_site import is_users_file
from pullback.graph.captured import Captured
from pullback.graph.held_objects import is_of_library, is_users_class, is_users_module, names_in
from pullback.graph.held_records import NOTHING, owner_of
from pullback.graph.node import AccumulateGrad, Node, edge_to
from pullback.graph.packed import Packed

_CONSTANT = (int, str, bytes, slice, range, type(None), type(...), np.dtype, np.ufunc, BuiltinFunctionType)
# Names by which code leaves the graph.
_LEAVING = {"data", "detach", "enable_grad", "item", "no_grad", "numpy", "set_grad_enabled", "tensor", "tolist"}
_RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_ANYWHERE = {"globals", "vars", "setattr", "exec", "eval", "__dict__", "__setattr__"}  # may rebind any name
_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_DEREF", "DELETE_ATTR")


def is_plain(x: Any) -> bool:
    """True if an object carries nothing that depends smoothly on anything: a whole number, a library's function."""
    if isinstance(x, _CONSTANT):
        return True
    if issubclass(type(x), (ndarray, np.generic)):
        return x.dtype.kind not in "fcOV"
    if isinstance(x, ModuleType):
        return not is_users_module(x)
    if isinstance(x, type):
        return not is_users_class(x)
    return isinstance(x, FunctionType) and is_of_library(x)


def reads_outside(function: Any, seen: set[int] | None = None) -> bool:
    """True if a function may read numbers that are not given to it, or detach, as can be told at little expense."""
    if not isinstance(function, FunctionType):
        return not is_plain(function)
    seen = set() if seen is None else seen
    if id(function) in seen:
        return False
    seen.add(id(function))
    scope, values = function.__globals__, [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for name in names_in(function.__code__)[0]:
        if name not in scope and not hasattr(builtins, name):
            return True
        values.append(scope.get(name))
    if _LEAVING.intersection(names_in(function.__code__)[1]):
        return True
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not filled yet
            return True
    return any(reads_outside(x, seen) for x in values if not is_plain(x))


class _Captured(Captured):
    """The values that functions hold, but for operators that are called: these run as they are."""

    def _note(self, part: Any, parent: int) -> None:
        if not getattr(type(part), "_is_operator", False):
            super()._note(part, parent)


def may_share(name: str, computing: Sequence[Any], pulling: Any) -> bool:
    """True if what runs at the call can change what `pulling` reads besides what it is given."""
    writer = _Captured(name, *computing)
    stored: set[str] = set()
    for code in _codes(writer):
        stored |= {i.argval for i in dis.get_instructions(code) if i.opname in _STORES}
        if _ANYWHERE.intersection(code.co_names):
            return True
    mutable = {here for here, held in writer._records.items() if not held.of_module and _is_mutable(held.holder)}
    if not (mutable or stored or writer._arrays or writer.held_tensors):
        return False
    reader = _Captured(name, pulling)
    for one, other in ((writer._arrays, reader._arrays), (writer.held_tensors, reader.held_tensors)):
        if set(map(_owner, one)) & set(map(_owner, other)):
            return True
    if mutable & reader._records.keys():
        return True
    return any(stored.intersection((*code.co_names, *code.co_freevars)) for code in _codes(reader))


def _owner(x: Any) -> int:
    return id(owner_of(x) if issubclass(type(x), ndarray) else x)


def _is_mutable(x: Any) -> bool:
    kind: Any = type(x)
    if kind is ndarray:  # of objects
        return True
    fixed = (FunctionType, CellType, ModuleType, type, tuple, frozenset, staticmethod, classmethod, property)
    return not isinstance(x, fixed) and (
        isinstance(x, (list, dict, set, deque, SimpleNamespace)) or is_users_class(kind)
    )


def _codes(captured: Captured) -> Iterator[CodeType]:
    todo = [held.holder.__code__ for held in captured._records.values() if isinstance(held.holder, FunctionType)]
    todo = [code for code in todo if is_users_file(code.co_filename)]
    while todo:
        yield (code := todo.pop())
        todo += [x for x in code.co_consts if isinstance(x, CodeType)]


class Draws:
    """Inside, random numbers come as they did when this was made; outside, as if nothing had been drawn inside."""

    def __init__(self) -> None:
        self.generator: Any = default_generator().bit_generator
        self.state = self.generator.state

    def __enter__(self) -> None:
        self.state, self.generator.state = self.generator.state, self.state

    def __exit__(self, *_: object) -> None:
        self.generator.state = self.state


class Cuts(cuts.Log):
    """Notes where a backward leaves the graph with what depends on the inputs, or on its gradients.

    Parameters
    ----------
    level : int
        At which it is differentiated.
    edges : sequence of Edge or None, optional
        Of the inputs and gradients; None counts whatever is differentiated at that level.
    """

    def __init__(self, level: int, edges: Sequence[Any] | None = None) -> None:
        super().__init__()
        self.level, self.found = level, ""
        self.targets = None if edges is None else {edge.node() for edge in edges if edge is not None}

    def watch(self, function: Any, *args: Any) -> Any:
        """`function(*args)`, watched."""
        try:
            cuts.WATCHED.append(self)
            return function(*args)
        finally:
            cuts.WATCHED.remove(self)

    def left(self, what: str, tensors: tuple[Any, ...], place: cuts.Place, made: Any = None) -> None:
        if not self.found and any(map(self._depends, tensors)):
            self._note(what, place)

    def switched_off(self, name: str, level: int, place: cuts.Place) -> None:
        if not self.found and level == self.level:
            self._note(name, place)

    def _note(self, what: str, place: cuts.Place) -> None:
        frame = sys._getframe(1)
        while frame.f_code is not Cuts.watch.__code__ and frame.f_back is not None:
            if frame.f_code in (Packed.tensor.__code__, pack.__code__):  # such a hook may detach
                return
            frame = frame.f_back
        self.found = f"leaves the graph by {what} ({place[0]}:{place[1]})"

    def _depends(self, x: Any) -> bool:
        while isinstance(x, Tensor) and x._level > self.level:
            x = x._array
        if not isinstance(x, Tensor) or x._level < self.level or not x._requires_grad:
            return isinstance(x, Tensor) and x._level == self.level and carries_derivative(x._array)
        return self.targets is None or _reaches(x, self.targets)


def _reaches(x: Tensor, targets: set[Node]) -> bool:
    """True if the graph behind a tensor comes to one of these nodes, of which none is older than all."""
    edge = edge_to(x)
    oldest = min((node._sequence_nr for node in targets if type(node) is not AccumulateGrad), default=inf)
    todo = [] if edge is None else [edge.node()]
    seen = set(todo)
    while todo:
        node = todo.pop()
        if node in targets:
            return True
        new = {edge.node() for edge in node.edges() if edge is not None} - seen
        if all(type(n) is not AccumulateGrad for n in targets):
            new = {n for n in new if n._sequence_nr >= oldest}
        seen |= new
        todo += new
    return False


_apart: ContextVar[bool] = ContextVar("apart", default=False)  # inside, nobody looks at what a backward reads


def is_apart() -> bool:
    """True if this is a run on copies, whose results nobody sees."""
    return _apart.get()


class Apart:
    """Functions of a user's as copies, which share with each other, and with nobody else, what they can change.

    What a class has for all of its objects is no copy: it is put back as it was when the block ends.
    """

    def __init__(self, name: str, *functions: Any) -> None:
        self.captured = _Captured(name, *functions)

    def __enter__(self) -> tuple[Any, ...]:
        held, self._legacy = self.captured, np.random.get_state()  # noqa: NPY002 - the user's forward may draw there
        self._of_classes = [(cls, dict(held._records[id(cls)].items)) for cls in held._classes]
        classes = {id(cls) for cls in held._classes}
        replaced: dict[int, Any] = {}
        x: Any
        for x in (*held._arrays, *held.held_tensors):
            if classes.isdisjoint(held._parents[id(x)]):
                if issubclass(type(x), ndarray):
                    replaced[id(x)] = x.copy()
                elif type(x._array) is ndarray and not x._requires_grad:
                    replaced[id(x)] = wrap(x._array.copy(), x._level)
        for here, record in held._records.items():
            if isinstance(record.holder, _RANDOM):
                replaced[here] = deepcopy(record.holder)
        held._changed = [
            here
            for here, record in held._records.items()
            if here not in classes and (isinstance(record.holder, (CellType, dict)) or _is_mutable(record.holder))
        ]
        copies = held._copied(replaced)
        self._token = _apart.set(True)
        return copies

    def __exit__(self, *_: object) -> None:
        _apart.reset(self._token)
        np.random.set_state(self._legacy)  # noqa: NPY002
        for cls, before in self._of_classes:
            for name, x in before.items():
                if vars(cls).get(name, NOTHING) is x:
                    continue
                if x is NOTHING:  # which has come since
                    delattr(cls, name)
                else:
                    setattr(cls, name, x)


def unseen(ctx: Any, args: Sequence[Any] | None, names: Sequence[str], outer: bool = False) -> str | None:
    """Say what the backward of a node reads that depends on the inputs unseen; None if there is nothing.

    `args` are the inputs of the call, or others like them; None if they are gone. `names` are those of attributes of
    ctx that hold more than whole numbers and names. `outer`: only transforms further out differentiate these inputs.
    """
    function, (*computing, pulling) = ctx._function, ctx._function._written()
    several = sorted({nr for _, _, nr in ctx._saved if nr is not None}) if ctx.outputs > 1 else []
    outside = function._reads_outside and may_share(ctx.name(), computing, pulling)
    lost = {i for i, x in enumerate(ctx.saved_tensors) if ctx._saved[i][2] is None and _is_lost(ctx, x)}
    if not (names or several or outside or lost):
        return None
    if args is None:
        return _UNKNOWN.format("they are gone")
    try:
        near, here = (_Trial(ctx, args, h, lost, outer) for h in (1, 0))  # what is left behind is of the inputs
        for nr in several:
            if here.ignores(nr) and not alike(here.results, here.pulled(moved={nr: near.outputs[nr]})):
                return _IGNORED.format(nr)
        if alike(here.results, near.results):
            far = _far(ctx, args, lost, outer, here)
            if far is None:
                return None
            near = far
        found = [name for name in names if here.differs_with(near, name)]
    except Exception as error:  # noqa: BLE001 - it may do what cannot be done again
        return _UNKNOWN.format(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    if found:
        return _KNOWN.format(f"ctx.{found[0]}{_place(computing, found[0])}")
    if lost and not outside:
        return _KNOWN.format(f"a saved tensor{_place(computing, 'save_for_backward')}")
    return _KNOWN.format(_outside(pulling))


def _far(ctx: Any, args: Sequence[Any], lost: set[int], outer: bool, here: _Trial) -> _Trial | None:
    """A run further away, if its backward gives what grows with the distance: not as a mask does, which jumps."""
    try:
        one, two = (_Trial(ctx, args, h, lost, outer, 0.2) for h in (1, 2))
    except Exception:  # noqa: BLE001 - such inputs may not be allowed
        return None
    grows = False
    for results in zip(here.results, one.results, two.results, strict=True):
        if any(x is None for x in results):
            continue
        a, b, c = (np.asarray(all_numbers(x)) for x in results)
        rough = 64 * np.finfo(a.dtype).eps * np.max(np.abs(a), initial=0)
        seen = np.abs(c - a) > rough
        rates = np.abs(c - a)[seen] / np.maximum(np.abs(b - a)[seen], rough / 8)
        if not np.all((rates > 1.6) & (rates < 5)):  # 2 or, where the derivative is 0, 4
            return None
        grows = grows or bool(seen.any())
    return two if grows else None


def _is_lost(ctx: Any, x: Any) -> bool:
    """True if the graphs of a node do not know how a tensor that it keeps depends on the inputs, if it does."""
    if not isinstance(x, Tensor) or x.dtype.kind not in "fc":
        return False
    if x._requires_grad and x._level == ctx._level:
        return not _reaches(x, {edge.node() for edge in ctx.edges() if edge is not None})
    return bool(ctx._outer) and not differentiated_inside((x,))


_KNOWN = "reads {}, which depends on the inputs where the graph does not see it"
_IGNORED = "reads output {0} of forward, which it has saved, and ignores the gradient of that output"
_UNKNOWN = (
    "reads what forward has computed, and running forward again, to see whether that depends on the inputs, failed ({})"
)


class _Trial:
    """One more run of forward, at the inputs of a node or close by, and what its backward then gives."""

    def __init__(
        self, ctx: Any, args: Sequence[Any], distance: float, lost: set[int], outer: bool, power: float = 0.5
    ) -> None:
        self.ctx, self.lost = ctx, lost  # places among the saved tensors
        rng = np.random.default_rng(0)
        self.grads = [
            None if dtype is None else wrap(np.asarray(rng.standard_normal(shape), dtype), ctx._level)
            for shape, dtype in ctx._output_metadata
        ]
        before = modes.current()
        try:
            modes.set_modes(before.with_recording(False, ctx._level))
            moves = [
                (needs and not outer) or differentiated_inside((x,))
                for x, needs in zip(args, ctx.needs_input_grad, strict=True)
            ]
            points = tuple(moved(x, rng, distance if m else 0, power) for x, m in zip(args, moves, strict=True))
            self._run(ctx._function, args, points)
        finally:
            modes.restore(before)

    def _run(self, function: Any, args: Sequence[Any], points: tuple[Any, ...]) -> None:
        with Apart(self.ctx.name(), *function._written()) as copies, Draws():
            self.function = copy = function._with(copies)
            made = self._ctx(copy, points)
            found = copy._run_forward(made, points)
            self.outputs = found if isinstance(found, tuple) else (found,)
            self.kept, self.saved = dict(islice(made.__dict__.items(), made._own, None)), made._to_save
            self.backward = copies[-1]
            self._exchange(points, args)
            self.results = self.pulled()

    def _ctx(self, function: Any, points: Any) -> Any:
        made = self.ctx._like(function, points)
        made.needs_input_grad, made._materialize = self.ctx.needs_input_grad, self.ctx._materialize
        return made

    def _exchange(self, points: Sequence[Any], args: Sequence[Any]) -> None:
        """Put what the graph knows of in its place: inputs, Tensors that are followed. Whole numbers do not move."""
        for name, x in self.kept.items():
            (new, structure), (old, other) = flatten(x), flatten(self.ctx.__dict__.get(name))
            if structure == other:
                pairs = [
                    (a, self._stays(a) or (issubclass(type(a), ndarray) and is_plain(a)), b)
                    for a, b in zip(old, new, strict=True)
                ]
                self.kept[name] = unflatten(structure, [a if stays else b for a, stays, b in pairs])
        given = {id(p): x for p, x in zip(points, args, strict=True) if isinstance(x, Tensor)}
        held = _Captured(self.ctx.name(), self.kept, self.backward)
        if given.keys() & held._parents.keys():
            self.kept, self.backward = held._copied(given)

    def _stays(self, x: Any) -> bool:
        return isinstance(x, Tensor) and not _is_lost(self.ctx, x)

    def differs_with(self, other: _Trial, name: str) -> bool:
        """True if backward gives something else with this attribute of ctx as another run has it."""
        try:
            return not alike(self.results, self.pulled({**self.kept, name: other.kept.get(name)}))
        except Exception:  # noqa: BLE001 - it belongs to a graph, of which the rest is from this run
            return True

    def ignores(self, nr: int) -> bool:
        """True if backward makes nothing of the gradient of output `nr`."""
        if self.grads[nr] is None:
            return False
        other = [None if g is None else 2 * g if i == nr else g for i, g in enumerate(self.grads)]
        return alike(self.results, self.pulled(grads=other))

    def pulled(self, kept: Any = None, moved: Any = None, grads: Any = None) -> Sequence[Any]:
        """Return what backward gives with these attributes on ctx, and the tensors that were saved at the call."""
        made = self._ctx(self.function, ())
        saved = enumerate(zip(self.ctx.saved_tensors, self.ctx._saved, strict=True))
        made._in_jvp, made._for_forward = (
            True,
            tuple(self.saved[i] if i in self.lost else (moved or {}).get(nr, x) for i, (x, (_, _, nr)) in saved),
        )
        made._output_metadata = self.ctx._output_metadata
        made.__dict__.update(self.kept if kept is None else kept)
        before = modes.current()
        try:
            modes.set_modes(before.with_recording(False, self.ctx._level))
            found = self.function._pull(self.backward, made, *(self.grads if grads is None else grads))
        finally:
            modes.restore(before)
        return found if isinstance(found, tuple) else (found,)


def moved(x: Any, rng: np.random.Generator, distance: float, power: float = 0.5) -> Any:
    """A tensor or array like `x`: at distance 1 as close as numbers allow that must differ in half of their digits."""
    if not issubclass(type(x), (Tensor, ndarray)) or x.dtype.kind not in "fc":
        return x
    step = np.finfo(x.dtype).eps ** power * np.sign(rng.uniform(-1, 1, x.shape)) * rng.uniform(1, 2, x.shape)
    step = np.asarray(distance * step, x.dtype)
    numbers = all_numbers(x)
    step, one = (wrap(step), wrap(1 + step)) if isinstance(x, Tensor) else (step, 1 + step)
    return x * one if numbers is None or np.any(numbers) else x + step


def alike(ones: Sequence[Any], others: Sequence[Any]) -> bool:
    """True if two backwards have given the same, as closely as sums may have it."""
    if len(ones) != len(others):
        return False
    for one, other in zip(ones, others, strict=True):
        if (one is None) != (other is None):
            return False
        if one is not None:
            a, b = np.asarray(all_numbers(one)), np.asarray(all_numbers(other))
            rough = 64 * np.finfo(a.dtype).eps * np.max(np.abs(a), initial=0, where=np.isfinite(a))
            if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=rough, equal_nan=True):
                return False
    return True


def all_numbers(x: Any) -> Any:
    """The numbers at the bottom of `x`, those of all samples if it is batched."""
    bottom = innermost(x)
    kind = array_type(bottom)
    if kind.many:
        ((_, holder, name),) = kind.components(bottom)
        return all_numbers(getattr(holder, name))
    if (numbers := numbers_of(bottom)) is not None:
        return numbers
    inside = kind.detached(bottom)  # of what moves along a curve: its value
    return None if inside is bottom else all_numbers(inside)


def as_differences(ctx: Any, args: Sequence[Any]) -> bool:
    """True if the derivative that the graph gives of what a backward returns is that of central differences.

    For a backward that detaches: it may have good reasons, such as a shift that cancels, or a log.
    """
    if not isinstance(ctx._function, type) or any(
        isinstance(x, Tensor) and type(x._array) is not ndarray for x in args
    ):
        return False
    function: Any = ctx._function
    rng, level = np.random.default_rng(0), ctx._level
    points = {i: np.asarray(args[i]._array, np.result_type(args[i].dtype, "f8")) for i, e in enumerate(ctx._nexts) if e}
    grads = {nr: rng.standard_normal(shape) for nr, (shape, d) in enumerate(ctx._output_metadata) if d is not None}
    turns, steps = ({i: _step(x, rng) for i, x in xs.items()} for xs in (grads, points))
    weights = {i: rng.standard_normal(x.shape) for i, x in points.items()}

    def slope(copy: Any, h: float, recorded: bool) -> Any:
        """(what backward gives as a number, its size, the slope of that in the graph) at a distance."""
        xs = {i: _leaf(x + h * steps[i], level) for i, x in points.items()}
        gs = {nr: _leaf(g + h * turns[nr], level) for nr, g in grads.items()}
        found = copy.apply(*(xs.get(i, x) for i, x in enumerate(args)))
        outputs = {nr: y for nr, y in enumerate(found if isinstance(found, tuple) else (found,)) if nr in gs}
        outputs = {nr: y for nr, y in outputs.items() if isinstance(y, Tensor) and y._requires_grad}
        pulled = gradients_of(
            tuple(outputs.values()), tuple(xs.values()), [gs[nr] for nr in outputs], True, recorded, True
        )
        parts = [x * wrap(w, level) for x, w in zip(pulled, weights.values(), strict=True) if x is not None]
        total, size = sum(x.sum() for x in parts), sum(float(np.abs(x._array).sum()) for x in parts)
        if not recorded:
            return float(total._array.real), size
        moving = [
            (x, s) for among, by in ((xs, steps), (gs, turns)) for x, s in zip(among.values(), by.values(), strict=True)
        ]
        slopes = (
            gradients_of((total,), tuple(x for x, _ in moving), None, True, False, True) if total._requires_grad else ()
        )
        return sum(float((x._array * s).sum().real) for x, (_, s) in zip(slopes, moving, strict=False) if x is not None)

    before = modes.current()
    try:
        modes.set_modes(before.with_recording(True, level))
        with Apart(ctx.name(), *function._written()) as copies, Draws():
            copy = function._with(copies)
            copy.double_backward = "exact"
            there = slope(copy, 0.0, True)
            for h in (1e-5, 1e-4, 1e-6):
                (up, size), (down, _) = slope(copy, h, False), slope(copy, -h, False)
                if abs((up - down) / (2 * h) - there) <= 1e-6 * abs(there) + 1e-8 * size:
                    return True
    except Exception:  # noqa: BLE001 - it may do what cannot be done again
        return False
    finally:
        modes.restore(before)
    return False


def _leaf(x: Any, level: int) -> Tensor:
    leaf = wrap(x, level)
    leaf._requires_grad, leaf._extra = True, new_extra()
    return leaf


def _step(x: Any, rng: np.random.Generator) -> Any:
    """A step from `x`, of a size that fits each number."""
    size = np.abs(x)
    return np.where(size, size, np.max(size, initial=0) or 1) * rng.uniform(-1, 1, x.shape)


def _place(functions: Sequence[Any], name: str) -> str:
    """Where code of these functions sets or reads `name`: " (file:line)"."""
    codes = list(_codes(_Captured("", *functions)))
    for kinds in ("STORE", ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CONST", "LOAD_ATTR", "LOAD_METHOD")):
        for code in codes:
            for i in dis.get_instructions(code):
                if i.argval == name and i.positions and i.opname.startswith(kinds):
                    return f" ({code.co_filename}:{i.positions.lineno})"
    return f" ({codes[0].co_filename}:{codes[0].co_firstlineno})" if codes else ""


def _outside(backward: Any) -> str:
    """Names of the variables that a backward reads, and where."""
    found = {}
    for held in _Captured("", backward)._records.values():
        function = held.holder
        if isinstance(function, FunctionType) and is_users_file(function.__code__.co_filename):
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                found[name] = cell.cell_contents
            found |= {name: function.__globals__.get(name) for name in names_in(function.__code__)[0]}
    names = [n for n, x in found.items() if not (is_plain(x) or isinstance(x, FunctionType))]
    return ", ".join(f"{name}{_place((backward,), name)}" for name in sorted(names)) or "what is outside of ctx"
