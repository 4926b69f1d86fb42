"""Node, OutputEdge and AccumulateGrad: the vertices and edges of the graph.

An edge says where a gradient goes: to a node, and to which of its outputs. For a node with one output the edge is the
node itself; for one with several it is a `OutputEdge`, one for each output. So an edge is a single reference, and a
tensor's `_fn` is what the edges of its consumers refer to.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NoReturn, TypeAlias, TypeVar, final

import numpy as np

from pullback.core import slots
from pullback.core.array_type import array_type
from pullback.core.errors import GradientError
from pullback.core.hook_dict import HookDict
from pullback.core.lock import one_thread
from pullback.core.sequence import newest_leaf, next_leaf_nr, next_sequence_nr
from pullback.core.tensor import Tensor, extra_of, new
from pullback.core.types import DType, Gradient, Shape

# What a gradient flows along: the Node of one output, or the OutputEdge of one with several, that it enters.
Edge: TypeAlias = "Node | OutputEdge"
# Gives what a node saved back to its formulas: unpack(saved, version, node).
Unpack: TypeAlias = "Callable[[Any, Any, Node], Any]"

_N = TypeVar("_N", bound="Node")
_M = TypeVar("_M", bound="MultiNode")


class NotCompiledError(Exception):
    """Raised where a backward must run as it is, and not as a program; says why."""


class InputMetadata:
    """Shape, dtype and device of the gradient that a node takes for one of its outputs."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, shape: Shape | None, dtype: DType | None, device: str = "cpu") -> None:
        self.shape, self.dtype, self.device = shape, dtype, device

    def __repr__(self) -> str:
        return f"InputMetadata(shape={self.shape}, dtype={self.dtype}, device={self.device!r})"


class NodeExtra:
    """The rarer fields of a node: hooks, retained gradients, user metadata."""

    __slots__ = ("metadata", "post_hooks", "pre_hooks", "retained", "tensor_hooks")
    pre_hooks: HookDict | None
    post_hooks: HookDict | None

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self.pre_hooks = self.post_hooks = None
        self.tensor_hooks: dict[int, HookDict] = {}  # by output number, in order of registration
        # By output number: the tensor that retains its grad.
        self.retained: dict[int, weakref.ref[Tensor]] = {}


# Stands in the `_extra` of an AccumulateGrad without hooks: it tells the engine's fast path to leave the node alone.
LEAF = NodeExtra()
# Stands in that of a node that masks, and has no hooks: the engine's fast path sees there that masks begin.
MASKING = NodeExtra()
# Stands in that of a node that keeps its only argument (graph.saving_nodes.SavesSelf): the fast path runs its formula.
KEEPS_ARGUMENT = NodeExtra()
# The same where that is an ndarray of few elements: its formula does without the kernels' fast ways for many.
KEEPS_FEW = NodeExtra()
STANDING_IN = (None, LEAF, MASKING, KEEPS_ARGUMENT, KEEPS_FEW)


@cache
def _showing(name: str) -> property:
    return property(lambda node: slots.show_saved(node, name))


@cache
def _showing_raw(name: str) -> property:
    return property(lambda node: slots.raw_saved(node, name))


class Node:
    """One recorded operation: how to pull a cotangent of its outputs back to its inputs.

    Subclasses implement `apply(ops, grad, unpack)` and return a tuple with one gradient (or None) for each edge.
    `grad` is the cotangent of the only output, or a list for a node with several. `ops` is the table of operators for
    what flows: NumPy's functions in an ordinary backward, Tensor functions under `create_graph`.

    Parameters
    ----------
    edges : iterable of Edge or None
        Where the gradients go.
    shape : tuple of int, optional
    dtype : dtype, optional
        Of the gradient that the only output takes.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> node = x.exp().sum().grad_fn
    >>> isinstance(node, pb.extend.Node), node.name(), node.next_functions[0][0].name()
    (True, 'SumBackward0', 'ExpBackward0')
    """

    __slots__ = ("__weakref__", "_dtype", "_extra", "_next0", "_next1", "_nexts", "_sequence_nr", "_shape")

    _next0: Edge | None
    _next1: Edge | None
    _nexts: tuple[Edge | None, ...] | None  # None: the edges are _next0 and _next1
    _extra: NodeExtra | None
    _sequence_nr: int
    _shape: Shape | None  # this and the next: of the gradient that the only output takes
    _dtype: DType | None

    output_nr = 0  # of a single-output node, which is its own edge
    outputs = 1
    pointwise = False  # whether each element of a gradient belongs to the same element of the cotangent alone
    structural = False  # whether apply() on 1 for what was touched, 0 for the rest, finds what is touched of the inputs
    placing = False  # whether its gradient is zeros of `self_shape` with the cotangent put at `arg_index`
    masking = False  # whether it also keeps the cotangent away from elements: structural zeros begin here
    unclean = False  # whether apply() of this structural node may leave NaNs where nothing is touched
    takes_undefined = False  # whether apply() runs although every incoming gradient is undefined

    def __init_subclass__(cls, **traits: Any) -> None:
        for name, value in traits.items():  # `class MulBackward0(Node, inputs=(0, 1), pointwise=True)`
            if not hasattr(cls, name):
                raise TypeError(f"{cls.__name__} has the keyword {name!r}, which is no attribute of a Node.")
            setattr(cls, name, value)
        if "inputs" in cls.__dict__:
            cls.arity = len(cls.inputs)
            # Recording fills the slots; cls() takes two thirds of the time of object.__new__(cls).
            cls.__init__ = object.__init__  # type: ignore[method-assign, assignment]
        cls.structural = cls.structural or cls.masking
        # `_saved_x` shows what the slots `saved_x` and `arg_x` hold, as in PyTorch. `__getattr__` would serve too, but
        # Python 3.11 reads every attribute of a class that has one three to four times as slowly.
        for slot in cls.__dict__.get("__slots__", ()):
            kind, _, name = slot.partition("_")
            if kind in ("saved", "arg"):
                setattr(cls, f"_saved_{name}", _showing(name))
            if kind == "saved":
                setattr(cls, f"_raw_saved_{name}", _showing_raw(name))

    def __init__(
        self, edges: Iterable[Edge | None] = (), shape: Shape | None = None, dtype: DType | None = None
    ) -> None:
        begin(self, next_sequence_nr(), shape, dtype, tuple(map(entrance_of, edges)))

    def save(self, out: Any, *args: Any) -> None:
        """Keep what `apply` will need of an operator's result (or results) and arguments."""

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        """The gradients of the inputs, one for each edge."""
        raise NotImplementedError(f"{self.name()} has no apply().")

    def pull_touched(self, ops: Any, touched: Any, unpack: Unpack) -> Sequence[Any]:
        """For a structural node: which elements of the inputs are touched, as numbers that are not 0."""
        return self.apply(ops, touched, unpack)

    def release(self) -> None:
        """Let go of the saved tensors; a second backward then raises."""

    def repack(self, pack: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        """Replace every saved tensor and its version by what `pack(saved, version)` returns."""
        for slot in saved_slots(type(self)):
            if not hasattr(self, slot):  # what no gradient needs was not saved
                continue
            version_slot = f"version_{slot.removeprefix('saved_')}"
            saved, version = getattr(self, slot), getattr(self, version_slot)
            if type(saved) is tuple:  # a list of tensors
                pairs = [pack(s, v) for s, v in zip(saved, version, strict=True)]
                saved, version = tuple(s for s, _ in pairs), tuple(v for _, v in pairs)
            else:
                saved, version = pack(saved, version)
            setattr(self, slot, saved)
            setattr(self, version_slot, version)

    def compiled_args(self, kept: Unpack) -> tuple[Any, ...]:
        """The part of this node in the key of a graph, for compiled autograd: plain arguments and saved forms.

        `kept(saved, version, node)` gives what stands for a saved tensor, whose array is an argument of the program.
        `apply` with another `unpack` applies the node to such arguments.
        """
        if not self.inputs or hasattr(self, "__dict__"):
            raise NotCompiledError(f"{self.name()} is no node of an operator")
        found: list[Any] = [getattr(self, "_output_metadata", None)]
        for slot in own_slots(type(self)):  # type: ignore[arg-type]  # types have a hash
            kind, _, name = slot.partition("_")
            x = getattr(self, slot, NotCompiledError)  # what no gradient needs was not saved
            if kind == "version":
                continue
            if kind == "saved" and x is not NotCompiledError:
                version = getattr(self, f"version_{name}")
                pairs = zip(x, version, strict=True) if type(x) is tuple else [(x, version)]
                found.append(tuple([kept(*pair, self) for pair in pairs]))
            else:
                found.append(fixed(x, self))
        return tuple(found)

    def node(self) -> Node:
        """The node that this entrance belongs to: itself."""
        return self

    def name(self) -> str:
        """Name of the node's class, as PyTorch has it: 'MulBackward0'."""
        return type(self).__name__

    def edges(self) -> tuple[Edge | None, ...]:
        """The outgoing edges: a Node, a OutputEdge or None (no gradient needed) for each input."""
        return (self._next0, self._next1)[: self.arity] if self._nexts is None else self._nexts

    inputs: tuple[int, ...] = ()  # of an operator's node: the positions of the arguments that get a gradient
    arity = 0  # their number; two edges at most are held in _next0 and _next1
    saves_self = False  # whether the value of the operator's first argument is kept

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Tuple of (node, output number) for each input; (None, 0) where no gradient goes."""
        return tuple((None, 0) if e is None else (e.node(), e.output_nr) for e in self.edges())

    @property
    def input_metadata(self) -> list[InputMetadata]:
        """Shape, dtype and device of each gradient that this node takes."""
        return [InputMetadata(self._shape, self._dtype)]

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for whatever the user wants to attach."""
        return node_extra(self).metadata

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle or copy {self.name()}: a node is part of its graph. Pickle or copy the leaves, or "
            "t.detach(), and compute the rest again."
        )

    def __call__(self, *grads: Tensor | None) -> Any:
        """Run this node's backward on tensors, recording it when grad mode is on: a tuple, a single gradient bare."""
        return bare(slots.call_node(self, grads))


def bare(results: tuple[Any, ...]) -> Any:
    """The results of a node that was called: a tuple, or the only one."""
    return results[0] if len(results) == 1 else results


class MultiNode(Node):
    """A node with several outputs, each with a OutputEdge. `grads` reaches apply() as a list, None where undefined."""

    __slots__ = ("_output_metadata",)

    _output_metadata: tuple[
        tuple[Shape, DType | None], ...
    ]  # shape and dtype of each output; no dtype where it is no tensor

    output_names: tuple[str, ...] = ()
    differentiable_outputs: tuple[bool, ...] = ()

    @property
    def outputs(self) -> int:  # type: ignore[override]  # read alone, here as there
        """Number of outputs."""
        return len(self._output_metadata)

    @property
    def input_metadata(self) -> list[InputMetadata]:
        return [InputMetadata(shape, dtype) for shape, dtype in self._output_metadata]

    def materialize(self, grads: Gradient, ops: Any) -> list[Gradient]:
        """The gradients with zeros for the undefined ones; for a single output, the gradient itself."""
        if len(self._output_metadata) == 1 and not isinstance(grads, (list, tuple)):
            grads = (grads,)
        if all(g is not None for g in grads):
            return list(grads)
        made = [
            ops.zeros(shape, dtype=dtype) if g is None else g
            for g, (shape, dtype) in zip(grads, self._output_metadata, strict=True)
        ]
        # Beside a dual cotangent the zeros must be marked as one, or a sum with them looks like one of two kinds.
        if all(g is None for g in grads):
            return made
        kind, like = max(((array_type(g), g) for g in grads if g is not None), key=lambda pair: pair[0].rank)
        return [kind.lift_constant(like, m) if g is None else m for g, m in zip(grads, made, strict=True)]


@final
class OutputEdge:
    """The edge into one output of a MultiNode, with the shape and dtype of that output."""

    __slots__ = ("_dtype", "_node", "_shape", "output_nr")

    def __init__(self, node: MultiNode, output_nr: int, shape: Shape, dtype: DType | None) -> None:
        self._node, self.output_nr = node, output_nr
        self._shape, self._dtype = shape, dtype

    def node(self) -> MultiNode:
        """The node that this entrance belongs to."""
        return self._node


class AccumulateGrad(Node):
    """Adds what arrives to `variable.grad`. Made by the first edge that leads to a leaf, shared by all of them."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        # begin written out: where operators take leaves, each makes one.
        data = variable._array
        self._shape, self._dtype = data.shape, data.dtype
        self._next0 = self._next1 = None
        self._nexts = ()
        self._sequence_nr = newest_leaf[variable._level] = next_leaf_nr()
        self._extra = LEAF
        self.variable = variable


def entrance_of(edge: Any) -> Edge | None:
    """The edge as the engine knows it, also of a `GradientEdge`, which users have."""
    if edge is None or isinstance(edge, (Node, OutputEdge)):
        return edge
    node, nr = edge.node, edge.output_nr
    if not isinstance(node, Node):
        raise TypeError(
            f"the node of a GradientEdge must be a Node, got {type(node).__name__}; get_gradient_edge(tensor) "
            "makes one."
        )
    if not 0 <= nr < node.outputs:
        raise GradientError(
            f"there is no output {nr} of {node.name()}, which has {node.outputs}; get_gradient_edge(tensor) gives the "
            "edge of a tensor."
        )
    return OutputEdge(node, nr, *node._output_metadata[nr]) if isinstance(node, MultiNode) else node


_FEW_BYTES = 4096  # of an index that is compared


@cache
def own_slots(cls: Any) -> tuple[str, ...]:
    """The slots of an operator's nodes."""
    bases = [base for base in cls.__mro__ if base not in (Node, MultiNode)]
    return tuple(name for base in bases for name in getattr(base, "__slots__", ()) if base is not object)


def fixed(x: Any, node: Node) -> Any:
    """An argument that a node keeps, as something to compare."""
    kind = type(x)
    if kind in (float, complex):
        return kind, repr(x)  # a NaN is no other than itself, and -0.0 another than 0.0
    if kind in (int, bool, str, type(None), type(Ellipsis), type) or isinstance(x, np.dtype):
        return kind, x
    if kind is tuple or kind is list:
        return kind, tuple([fixed(part, node) for part in x])
    if kind is slice:
        return kind, x.start, x.stop, x.step
    if kind is np.ndarray and x.nbytes <= _FEW_BYTES:  # an index
        return kind, x.shape, x.dtype, x.tobytes()
    raise NotCompiledError(f"{node.name()} keeps a {kind.__name__} among its arguments")


def saved_slots(cls: type[Node]) -> tuple[str, ...]:
    """The slots in which nodes of this class keep saved tensors: 'saved_self', ..."""
    names = (name for base in cls.__mro__ for name in getattr(base, "__slots__", ()))
    return tuple(name for name in names if name.startswith("saved_"))


def begin(
    node: Node,
    nr: int,
    shape: Shape | None = None,
    dtype: DType | None = None,
    edges: tuple[Edge | None, ...] | None = None,
) -> None:
    """Fill the slots that every node has. Closures that record write this out: see `codegen.emit_calls`."""
    node._sequence_nr = nr
    node._next0 = node._next1 = node._extra = None
    node._nexts = edges
    node._shape, node._dtype = shape, dtype


def start_node(cls: type[_N], out: Tensor) -> _N:
    """A fresh node of this class, with what every node has, as the function of its only output."""
    node = new(cls)
    data = out._array
    begin(node, next_sequence_nr(), data.shape, data.dtype)
    out._fn = node
    out._requires_grad = True
    return node


def start_multi(cls: type[_M], outs: Sequence[Tensor], differentiable: Sequence[bool]) -> _M:
    """Record a node of several outputs; those that are not differentiable get no edge."""
    node = new(cls)
    begin(node, next_sequence_nr())
    shapes = []
    for nr, (out, wanted) in enumerate(zip(outs, differentiable, strict=True)):
        data = out._array
        shape, dtype = data.shape, data.dtype
        shapes.append((shape, dtype))
        if wanted:
            out._fn = OutputEdge(node, nr, shape, dtype)
            out._requires_grad = True
    node._output_metadata = tuple(shapes)
    return node


def edge_to(x: object) -> Edge | None:
    """The edge towards `x`: its Node or OutputEdge, the AccumulateGrad of a leaf, None when no gradient is wanted."""
    if (type(x) is not Tensor and not isinstance(x, Tensor)) or not x._requires_grad:
        return None
    extra = x._extra
    if extra is None:
        return x._fn  # type: ignore[no-any-return]
    base = extra.base
    # A base and its views have a counter, always.
    fn = x._fn if base is None or extra.view_version == base._counter.n else slots.refresh_view(x)  # type: ignore[union-attr]
    if fn is None:
        reference = extra.accumulator
        fn = reference and reference()
        if fn is None:
            fn = accumulator(x)
    return fn  # type: ignore[no-any-return]


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad node of a leaf: one for all edges, kept alive by them, not by the leaf."""
    extra = leaf._extra or extra_of(leaf)
    with one_thread:  # threads that use a leaf for the first time must find the same node
        node: AccumulateGrad | None = extra.accumulator and extra.accumulator()
        if node is None:
            node = AccumulateGrad(leaf)
            extra.accumulator = weakref.ref(node)
    return node


def node_extra(node: Node) -> NodeExtra:
    """The NodeExtra of `node`, made if there is none yet."""
    extra = node._extra
    if extra in STANDING_IN:
        with one_thread:
            extra = node._extra
            if extra in STANDING_IN:
                extra = node._extra = NodeExtra()
    return extra
