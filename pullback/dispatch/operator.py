"""An operator: what is known of one primitive overload, and how its node is recorded.

How it runs is written elsewhere, once for all: the common case in the closures of `pullback.ops.generated.calls`, one
for each shape of operators; everything else in `dispatch.pipeline`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pullback.core.late import LateDict
from pullback.core.sequence import next_sequence_nr
from pullback.core.tensor import Tensor, new
from pullback.graph.node import MultiNode, Node, edge_to, start_multi
from pullback.graph.saving_nodes import standing_in
from pullback.graph.undifferentiable import not_implemented

# What a user wrote, by the name of the internal operator that it calls.
CALLED = {
    "slice_view": "__getitem__",
    "advanced_index": "__getitem__",
    "setitem": "__setitem__",
    "_index_put": "index_put",
    "_strided_view": "as_strided",
    "_numpy_argsort": "argsort",
    "_numpy_argpartition": "argpartition",
    "_order_of_partition": "partition",
    "numpy_T": "T",
    "_to_copy": "to",
    "hermitian_map": "linalg.matrix_function",
}

OPERATORS: LateDict[Operator] = LateDict()  # by name, for what looks on at operators and tells of them
BY_KERNEL: LateDict[dict[str, Operator]] = LateDict()  # kernel -> the operators that it runs, by name
# (kernel, number of arguments, if need be for which type) -> what an array type has made of these operators; forgotten
# when one is declared.
FOUND: dict[tuple[Any, ...], Callable[..., Any]] = {}


class Operator:
    """One overload of a primitive.

    Parameters
    ----------
    name : str
        In the tables, with its overload: 'max.dim', 'linalg_inv'.
    shown : str, optional
        As users write it: 'max', 'linalg.inv'.
    kernel : str
        Its kernel's name in the table of every array type.
    tensors, lists : sequence of (position, name)
        The Tensor and Tensor? arguments, and the Tensor[] ones.
    node : subclass of Node, or None
        What is recorded. None: no output is differentiable, or (`underived`) nobody has derived it.
    record : function (out or outs, *arguments) -> None, optional
        Records in a way of its own, where there is no `node`.
    multi : namedtuple class, optional
        That of several results.
    returns_list, returns_value : bool
        Whether the result is a list of arrays, or a Python value.
    view : bool
        Whether the result may share memory with the first argument.
    takes_dtype : bool
        Whether the caller may ask for a dtype, which may be one without derivative.
    mutates : bool
        Whether the kernel writes into its first argument.
    optional : collection of str
        The names of arguments that may be None.
    tags : collection of str
        Those of native_functions.yaml that say how it runs and how tangents go through it.
    along : str, optional
        The name of the argument that says which dimensions must be whole: any other may be cut.
    arity : int
        The number of arguments, 0 if no other operator has the same kernel.
    holds : bool
        Whether it makes an array that holds others, or takes one apart: NumPy's kernel does so for every storage.
    """

    __slots__ = (
        "along", "arity", "array_calls", "calls", "derived", "factory", "floating", "holds", "inplace_name", "kernel",
        "kernel_on_ndarrays", "lists", "multi", "mutates", "name", "node", "optional", "quick", "record",
        "returns_list", "returns_value", "row", "rule", "saves_self", "shown", "signature", "tags", "takes_dtype",
        "tensors", "view",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kernel: str,
        tensors: Sequence[tuple[int, str]],
        *,
        shown: str | None = None,
        lists: Sequence[tuple[int, str]] = (),
        node: type[Node] | None = None,
        record: Callable[..., None] | None = None,
        underived: bool = False,
        multi: Any = None,
        returns_list: bool = False,
        returns_value: bool = False,
        view: bool = False,
        takes_dtype: bool = False,
        mutates: bool = False,
        tags: Collection[str] = (),
        along: str | None = None,
        optional: Collection[str] = (),
        arity: int = 0,
        holds: bool = False,
    ) -> None:
        self.name, self.kernel, self.tensors, self.lists = name, kernel, tensors, lists
        self.shown = CALLED.get(name) or shown or name
        self.inplace_name = "__setitem__" if name == "setitem" else name if mutates else f"{self.shown}_"
        self.signature = ""  # its declaration, for what says which argument does not fit: see explain.calls
        self.node, self.multi, self.returns_list, self.returns_value = node, multi, returns_list, returns_value
        self.view, self.takes_dtype, self.mutates, self.arity = view, takes_dtype, mutates, arity
        self.along, self.holds = along, holds
        self.tags, self.floating, self.optional = frozenset(tags), "floating" in tags, frozenset(optional)
        self.saves_self = node is not None and node.saves_self  # whether the value of the first argument is kept
        self.quick = not (lists or returns_list or view)
        # (out or outs, *arguments) -> None: makes a node the function of what was computed
        self.record = record
        if node is not None:
            self.record = recorder(node, self)
        elif underived:
            self.record = not_implemented(name, self)
        self.array_calls: dict[type, Any] = {}  # by class, of Arrays: the same
        self.calls: dict[type, Any] = {}  # by type of array: how it runs in the usual case, see dispatch.pipeline
        # The factory of its calls (see ops.generated.calls) and the kernel that they run; ops.declarations sets them.
        self.factory: Any = None
        self.kernel_on_ndarrays: Any = None
        # What records it, where a derivative is registered after the declaration: see pullback.library.
        self.derived: Callable[..., None] | None = None
        self.rule: Any = None  # its tangent rule, made when first asked for
        self.row: Any = None  # its overload, which knows the public function: see ops.declarations
        OPERATORS[name] = self
        BY_KERNEL.setdefault(kernel, {})[name] = self
        FOUND.clear()


def tags_of(kernel: str) -> frozenset[str]:
    """The tags of the operators that a kernel runs: an array type need not keep lists of their names.

    Parameters
    ----------
    kernel : str

    Returns
    -------
    frozenset of str

    Examples
    --------
    >>> from pullback.extend import tags_of
    >>> "pointwise" in tags_of("sin")
    True
    """
    return frozenset().union(*(op.tags for op in BY_KERNEL.get(kernel, {}).values()))


def parameters_of(op: Operator) -> list[str]:
    """The names of the arguments, as the declaration gives them."""
    return [part.partition("=")[0].split()[-1] for part in _declared(op) if part != "*"]


def defaults_of(op: Operator) -> tuple[int, list[str]]:
    """(how many arguments are given by position, the defaults of all, in the words of the declaration; "" of none)."""
    parts = _declared(op)
    count = parts.index("*") if "*" in parts else len(parts)
    return count, [part.partition("=")[2] for part in parts if part != "*"]


def _declared(op: Operator) -> list[str]:
    inside = op.signature[op.signature.index("(") + 1 : op.signature.rindex(") ->")]
    parts = [part.strip() for part in re.split(r",(?![^\[(]*[\])])", inside)]
    return [part for part in parts if part]


def recorder(cls: type[Node], op: Operator) -> Callable[..., None]:
    """The function that records nodes of this class."""
    inputs, lists = cls.inputs, {position for position, _ in op.lists}
    lead, takes_dtype, extra = _leading(cls, lists), op.takes_dtype, standing_in(cls)
    if op.multi is not None or op.returns_list:
        differentiable = getattr(cls, "differentiable_outputs", ())
        assert issubclass(cls, MultiNode)

        def record_several(outs: Sequence[Tensor], *args: Any) -> None:
            node = start_multi(cls, outs, differentiable or (True,) * len(outs))
            node._extra = extra
            lead(node, args)
            node.save(outs, *args)

        return record_several

    few = len(inputs) in (1, 2) and not lists.intersection(inputs)
    first: Any = inputs[0] if few else None
    second: Any = inputs[1] if few and len(inputs) == 2 else None

    def record(out: Tensor, *args: Any) -> None:
        data: Any = out._array
        dtype = data.dtype
        if takes_dtype and dtype.kind not in "fc":
            return  # whole numbers have no derivative
        node = out._fn = new(cls)  # start_node and the usual ways to lead written out
        out._requires_grad = True
        node._sequence_nr, node._shape, node._dtype = next_sequence_nr(), data.shape, dtype
        node._nexts, node._extra = None, extra
        if few:
            node._next0, node._next1 = edge_to(args[first]), None if second is None else edge_to(args[second])
        else:
            node._next0 = node._next1 = None
            lead(node, args)
        node.save(out, *args)

    return record


def _leading(cls: type[Node], lists: set[int]) -> Callable[[Node, Sequence[Any]], None]:
    """The function that leads a node's edges to its inputs."""
    inputs = cls.inputs
    if lists.issuperset(inputs) and len(inputs) == 1:
        (only,) = inputs

        def lead_to_list(node: Node, args: Sequence[Any]) -> None:
            node._nexts = tuple([edge_to(x) for x in args[only]])

        return lead_to_list
    if lists.intersection(inputs):
        own = getattr(cls, "list_edges", ())  # names of the slots for the edges of each input, where there are several

        def lead_to_lists(node: Node, args: Sequence[Any]) -> None:
            edges = [tuple(map(edge_to, args[i])) if i in lists else edge_to(args[i]) for i in inputs]
            for slot, found in zip(own, edges, strict=False):
                setattr(node, slot, found)
            node._nexts = tuple(e for i, found in zip(inputs, edges, strict=True) for e in _each(found, i in lists))

        return lead_to_lists
    if len(inputs) == 1:
        (only,) = inputs

        def lead_to_one(node: Node, args: Sequence[Any]) -> None:
            node._next0 = edge_to(args[only])

        return lead_to_one
    if len(inputs) == 2:
        first, second = inputs

        def lead_to_two(node: Node, args: Sequence[Any]) -> None:
            node._next0, node._next1 = edge_to(args[first]), edge_to(args[second])

        return lead_to_two

    def lead_to_many(node: Node, args: Sequence[Any]) -> None:
        node._nexts = tuple([edge_to(args[i]) for i in inputs])

    return lead_to_many


def _each(found: Any, is_list: bool) -> Any:
    return found if is_list else (found,)


def plain_node(op: Operator, inputs: tuple[int, ...]) -> bool:
    """True if a closure may record the operator's node itself, which has just these inputs."""
    return op.node is not None and op.node.inputs == inputs


def saves_something(cls: type[Node]) -> bool:
    """True if nodes of this class keep anything."""
    return cls.save is not Node.save
