"""From the steps of a trace to nodes: views become windows, kernels become maps, reductions, writes and products.

Each area of operators has its rules in a file of its own (`rules/`). A step without a rule, or of arrays that a rule
does not take (complex or whole numbers, no elements), is left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from pullback.arrays.traced.graph import GUARD, ONE, Graph, Step, Value
from pullback.compiler.cleaning import RAISING
from pullback.compiler.native import simple
from pullback.compiler.native.nodes import (
    ALONE,
    CHECK,
    CONSTANT,
    GATHER,
    INPUT,
    MAP,
    REDUCE,
    WRITE,
    Alone,
    Check,
    Index,
    Map,
    Node,
    Reduce,
    Strides,
    Window,
    Write,
    contiguous,
    dense,
    long_last,
)
from pullback.compiler.native.outlined import scalar
from pullback.core.array_type import NUMPY
from pullback.core.late import ready
from pullback.core.tensor import ndarray
from pullback.core.types import Shape
from pullback.dispatch.operator import tags_of

FLOATS = {np.dtype(np.float32): 32, np.dtype(np.float64): 64}
WHOLE = np.dtype(np.int64)
STATUS = np.dtype(np.int32)
BOOL = np.dtype(bool)
FIT = frozenset({*FLOATS, WHOLE, BOOL})

Rule: TypeAlias = Callable[["Lowering", Step], bool]
RULES: dict[Any, Rule] = {}  # by what a step does; filled by the modules of `rules`


def lowers(*names: Any) -> Callable[[Rule], Rule]:
    """A function of (lowering, step), which gives results or returns False, as the rule of these kernels."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


class Lowering:
    """Nodes in the making, for steps that run one after the other.

    Attributes
    ----------
    nodes : list of Node
    checks : list of Node
        Those that may end the run, whoever wants what they give.
    calls : bool
        Steps that NumPy does faster may stay calls of NumPy.
    """

    calls = True

    def __init__(self, graph: Graph, wanted: Iterable[Value]) -> None:
        self.graph, self.nodes, self.checks = graph, list[Node](), list[Node]()
        self._windows: dict[int, Window] = {}
        self._constants = {value.number: (array, live) for value, array, live in graph.constants}
        self._wanted = {x.number for x in wanted}
        self._inputs = 0

    # -- what there is -------------------------------------------------------------------------------------------------
    def input(self, value: Value) -> Node:
        """A node for an array that is given at each run."""
        node = self._leaf(INPUT, self._inputs, value, value)
        self._inputs += 1
        return node

    def _leaf(self, op: str, attr: Any, value: Value, like: Value | ndarray) -> Node:
        """A node for a value that lies in memory as `like` does."""
        strides = tuple(s // like.dtype.itemsize for s in like.strides)
        kept = [d for d, n in enumerate(like.shape) if n != 1]
        node = self.add(op, attr, (), tuple(like.shape[d] for d in kept), [strides[d] for d in kept], like.dtype)
        self._windows[value.number] = Window(node, like.shape, strides, 0)
        return node

    def knows(self, value: Value) -> bool:
        """True if a value has a node."""
        return value.number in self._windows or value.number in self._constants

    def window(self, x: Value) -> Window:
        """The value, as an array of its shape."""
        if (found := self._windows.get(x.number)) is None:
            array, _ = self._constants[x.number]
            self._leaf(CONSTANT, array, x, array)  # a copy need not lie as the value did
            found = self._windows[x.number]
        return found

    def number(self, x: Any) -> float | int | bool | None:
        """The one number of a constant, or of a Python number; None of what is none."""
        kind = type(x)
        if kind in (bool, int, float) or issubclass(kind, (np.floating, np.bool_, np.integer)):
            found: float | int | bool = x if kind in (bool, int, float) else x.item()
            return found
        if type(x) is Value and x.number not in self._windows and x.number in self._constants:
            array, live = self._constants[x.number]
            if not live and array.size and (array.size == 1 or not any(array.strides)) and array.dtype.kind in "fbi":
                return array.flat[0].item()  # type: ignore[no-any-return]
        return None

    # -- what is made --------------------------------------------------------------------------------------------------
    def add(
        self, op: str, attr: Any, operands: Sequence[Any], shape: Shape, strides: Sequence[int], dtype: Any
    ) -> Node:
        """A further node."""
        node = Node(len(self.nodes), op, attr, operands, shape, tuple(strides), dtype)
        self.nodes.append(node)
        return node

    def map(
        self, name: str, rule: Callable[..., Any], operands: Sequence[Any], like: Value | None = None, *,
        shape: Shape | None = None, dtype: Any = None, bits: int | None = None, ordered: bool = False,
    ) -> Window:  # fmt: skip
        """Element by element, for a result in the form of `like`, or of this shape and dtype.

        `ordered`: in C order, else as the operands lie.
        """
        given = [self._operand(x) if type(x) is Value else x for x in operands]
        if like is not None:
            shape, dtype = like.shape, like.dtype
        assert shape is not None
        dtype = np.dtype(dtype)
        kept = [d for d, n in enumerate(shape) if n != 1]
        space = tuple(shape[d] for d in kept)
        read = [x.spread(shape).squeezed() if type(x) is Window else x for x in given]
        strides = (
            contiguous(space)
            if ordered
            else self._strides(
                space,
                like is not None and like.number in self._wanted,
                [like.strides[d] for d in kept] if like is not None else None,
                read,
            )
        )
        bits = bits or FLOATS.get(dtype) or max([_width(x.node) for x in read if type(x) is Window], default=64)
        kind = "i" if dtype == WHOLE or _compares_whole(dtype, read) else "f"
        attr = Map(name, rule, 64 if kind == "i" else bits, kind)
        found = scalar(attr, read).returns  # it raises where the rule does not take these
        assert (found.kind == "m") == (dtype == BOOL), (attr, read, found)
        node = self.add(MAP, attr, read, space, strides, dtype)
        return self.shown(node, shape)

    def _operand(self, x: Value) -> Window | float | int | bool:
        number = self.number(x)
        return self.window(x) if number is None else number

    @staticmethod
    def _strides(space: Shape, wanted: bool, like: Sequence[int] | None, read: Sequence[Any]) -> Sequence[int]:
        """Those of a result that somebody wants, or of an operand; of new ones vectors run along what is long."""
        whole = [x.strides for x in read if type(x) is Window and 0 not in x.strides and x.shape == space]
        if wanted and like is not None:
            return dense(space, like)
        if whole:
            return dense(space, whole[0])
        return long_last(space, contiguous(space) if like is None else dense(space, like))

    @staticmethod
    def shown(node: Node, shape: Shape) -> Window:
        """A node with the dimensions of one element again."""
        strides = iter(node.strides)
        return Window(node, shape, tuple(0 if n == 1 else next(strides) for n in shape), 0)

    def reduce(self, how: str, x: Window, axes: Sequence[int], keepdim: bool = False) -> Window:
        """Over these dimensions; what is left lies as it did."""
        axes = sorted(d % len(x.shape) for d in axes)
        shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        kept = [d for d, n in enumerate(x.shape) if n != 1]
        places = tuple(nr for nr, d in enumerate(kept) if d in axes)
        read = x.squeezed()
        space = tuple(n for d, n in enumerate(shape) if n != 1)
        if not places:
            found = self.map("copy", simple.copy, [read], shape=space, dtype=x.node.dtype).node
        else:
            left = [s for d, s in enumerate(read.strides) if d not in places]
            strides = long_last(space, contiguous(space)) if 0 in left else dense(space, left)
            found = self.add(REDUCE, Reduce(how, places), (read,), space, strides, x.node.dtype)
        window = self.shown(found, shape)
        if keepdim:
            return window
        left = [d for d in range(len(shape)) if d not in axes]
        return window.only(left)

    def write(self, target: Window, where: Window, value: Window | float, adds: bool) -> Window:
        """`target`, in which the window `where` of its node has got, or is increased by, a value."""
        given = value.spread(where.shape).squeezed() if type(value) is Window else value
        where = where.squeezed()
        if type(given) is not Window:
            given = self.map("fill", simple.fill, [given], shape=where.shape, dtype=target.node.dtype)
        node = self.add(
            WRITE, Write(where.strides, where.offset, adds), (target.node.whole(), given),
            target.node.shape, target.node.strides, target.node.dtype,
        )  # fmt: skip
        return target._replace(node=node)

    def gather(self, x: Window, index: Window, at: Index) -> Window:
        """x, each element as many steps of `at` further as the index says; both have the shape of the result."""
        read = x.squeezed(), index.squeezed()
        node = self.add(
            GATHER, at, read, read[0].shape, long_last(read[0].shape, contiguous(read[0].shape)), x.node.dtype
        )
        return self.shown(node, x.shape)

    def scatter(self, target: Window, where: Window, value: Window, index: Window, at: Index) -> Window:
        """`target`, to whose window `where` values have been added, each as many steps further as the index says."""
        operands = target.node.whole(), value.spread(where.shape).squeezed(), index.squeezed()
        where = where.squeezed()
        write = Write(where.strides, where.offset, adds=True, by=at)
        node = self.add(WRITE, write, operands, target.node.shape, target.node.strides, target.node.dtype)
        return target._replace(node=node)

    def alone(
        self, name: str, sizes: Sequence[int], items: Sequence[Shape], batch: Shape, operands: Sequence[Window]
    ) -> Window:
        """The result of a kernel with an order of its own, of these operands: leading dimensions, then items."""
        shape = (*batch, *items[-1])
        space = tuple(n for n in shape if n != 1)
        attr = Alone(name, tuple(sizes), tuple(items), tuple(batch))
        node = self.add(ALONE, attr, operands, space, contiguous(space), operands[0].node.dtype)
        return self.shown(node, shape)

    def check(self, wrong: Window) -> None:
        """End the run where one of these truth values is true."""
        read = wrong.squeezed()
        self.checks.append(self.add(CHECK, Check(_width(wrong.node)), (read,), (), (), BOOL))

    def constant(self, array: ndarray) -> Window:
        """An array that does not change."""
        kept = [d for d, n in enumerate(array.shape) if n != 1]
        array = np.ascontiguousarray(array)
        shape = tuple(array.shape[d] for d in kept)
        return self.shown(self.add(CONSTANT, array, (), shape, contiguous(shape), array.dtype), array.shape)

    def zeros(self, shape: Shape, dtype: Any) -> Window:
        """Zeros in memory."""
        return self.map("fill", simple.fill, [0.0], shape=shape, dtype=dtype)

    def gives(self, step: Step, *windows: Window) -> bool:
        """These are the results of a step; returns True."""
        for value, window in zip(step.results, windows, strict=True):
            assert window.shape == value.shape, (step, window.shape, value.shape)
            self._windows[value.number] = window
        return True

    def made_whole(self, value: Value, ordered: bool = False) -> Node:
        """The node of a value that the caller wants, with memory of its own: in the value's form, or in C order."""
        x = self.window(value)
        layout = contiguous(value.shape) if ordered else self.layout(value)
        wanted = tuple(s for n, s in zip(value.shape, layout, strict=True) if n != 1)
        node = x.node
        lies = x.squeezed()  # in the same memory, though perhaps with other dimensions
        if node.op in (INPUT, CONSTANT) or x.offset or lies.strides != wanted or prod(lies.shape) != node.size:
            node = self.in_order(x).node if ordered else self.map("copy", simple.copy, [x], like=value).node
            self._windows[value.number] = self.shown(node, value.shape)
        return node

    @staticmethod
    def layout(value: Value) -> Strides:
        """The strides, in elements, of memory of its own for a value."""
        kept = [d for d, n in enumerate(value.shape) if n != 1]
        strides = iter(dense(tuple(value.shape[d] for d in kept), [value.strides[d] for d in kept]))
        found = [0 if n == 1 else next(strides) for n in value.shape]
        for d in reversed(range(len(found))):  # of one element: as if the dimension after it ended there
            if value.shape[d] == 1:
                found[d] = found[d + 1] * value.shape[d + 1] if d + 1 < len(found) else 1
        return tuple(found)

    def in_order(self, x: Window) -> Window:
        """A copy in C order."""
        return self.map("copy", simple.copy, [x], shape=x.shape, dtype=x.node.dtype, ordered=True)

    def copied(self, node: Node) -> Node:
        """A copy with memory of its own."""
        kind = MAP, Map("copy", simple.copy, _width(node))
        return self.add(*kind, [node.whole()], node.shape, node.strides, node.dtype)

    # -- steps ---------------------------------------------------------------------------------------------------------
    def take(self, step: Step) -> bool:
        """Lower a step; False if it must stay a call of NumPy."""
        if step.form is GUARD or step.kept or not all(map(self._is_fit, (*step.values(), *step.results))):
            return False
        if not all(self.knows(x) for x in step.values()):
            return False
        rule = RULES.get(step.what)
        if rule is None and is_view(step):
            rule = viewed
        mark = len(self.nodes)
        if rule is not None and rule(self, step):
            if step.what in RAISING:
                self.checks += [self.window(x).node for x in step.results]
            return True
        del self.nodes[mark:]  # what a rule has made before it saw that it cannot
        self._windows = {nr: x for nr, x in self._windows.items() if x.node.number < mark}
        return False

    def _is_fit(self, x: Value) -> bool:
        """True for arrays with elements that native code may meet; whole numbers are read as indices alone.

        Of int32 are statuses alone, which nodes have as int64.
        """
        if x.dtype == STATUS and x.number not in self._constants:
            window = self._windows.get(x.number)
            return bool(prod(x.shape)) and (window is None or window.node.dtype == WHOLE)
        return bool(prod(x.shape)) and x.dtype in FIT and x.dtype.isnative


def is_view(step: Step) -> bool:
    """True for a kernel that gives a view."""
    return isinstance(step.what, str) and "view" in tags_of(step.what)


def viewed(lowering: Lowering, step: Step) -> bool:
    """A view: NumPy is asked what it is of the window; where NumPy copies, a copy is made."""
    if step.form is not ONE or not step.args or type(step.args[0]) is not Value or len(step.values()) != 1:
        return False
    kernel: Any = ready(NUMPY.kernels[step.what]) if isinstance(step.what, str) else step.what
    x = lowering.window(step.args[0])
    try:
        found = x.through(lambda probe: kernel(probe, *step.args[1:]))
        if found is None:  # memory in another order, in which it is a view
            found = lowering.in_order(x).through(lambda probe: kernel(probe, *step.args[1:]))
    except (TypeError, ValueError):  # it asks for the dtype
        return False
    return found is not None and found.shape == step.results[0].shape and lowering.gives(step, found)


def _width(node: Node) -> int:
    """The bits of its numbers, or of those that were compared for it."""
    return FLOATS.get(node.dtype) or (node.attr.bits if node.op == MAP else 32)


def _compares_whole(dtype: Any, read: Sequence[Any]) -> bool:
    """True for a mask made of whole numbers."""
    return dtype == BOOL and any(type(x) is Window and x.node.dtype == WHOLE for x in read)
