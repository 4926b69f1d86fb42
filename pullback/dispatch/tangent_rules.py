"""The registry of tangent (JVP) rules by kernel. The layer `ops`, where operators are declared, registers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pullback.core import slots
from pullback.core.array_type import OperatorTable
from pullback.dispatch.operator import BY_KERNEL, Operator


class Rule(NamedTuple):
    """The tangent (JVP) rule for the kernel of one operator overload.

    `function(*values, ops)` takes for each argument its primal and, if it is one of `inputs`, its tangent (None where
    undefined), then the outputs; it returns a tangent for each of the outputs whose positions are in `moving`.
    """

    operator: str  # with its overload, for messages
    function: Callable[..., tuple[Any, ...]] | None  # None: nobody has derived it
    arity: int  # of the kernel's arguments
    inputs: tuple[int, ...] = ()  # the positions of the differentiable arguments
    tensors: tuple[int, ...] = ()  # the positions of Tensor arguments, where numbers may stand, and of lists of these
    lists: bool = False  # whether there are lists among them
    outputs: int = 1
    moving: tuple[int, ...] = (0,)
    returns_list: bool = False
    mutates: bool = False  # whether the kernel writes into its first argument
    view: bool = False  # whether the result may share memory with the first argument
    pointwise: bool = False
    structural: bool = False  # whether it only copies, moves and adds elements: see arrays.dual.touched
    masking: bool = False  # whether it keeps some tangents away, so that elements of the result stand still
    copying: bool = False  # whether each element of the result is one of the arguments', or a constant: no sums
    placing: bool = False  # whether it may set elements that stand still beside those that move, as cat does
    underived: tuple[tuple[int, str], ...] = ()  # positions and names of inputs whose tangents the function ignores

    def push(
        self, primals: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any], ops: OperatorTable
    ) -> tuple[Any, ...]:
        """The tangents of the outputs in `moving`."""
        values: list[Any] = []
        for i, primal in enumerate(primals):
            values.append(primal)
            if i in self.inputs:
                values.append(tangents[i])
        assert self.function is not None, "asked before"
        return self.function(*values, *outputs, ops=ops)


def rule_for(kernel: str, arity: int) -> Rule | None:
    """The rule of the overload with so many arguments; None for an operator that has no derivative by its nature."""
    operators = [op for op in BY_KERNEL.get(kernel, {}).values() if op.arity in (0, arity)]
    rules = [rule for op in operators if (rule := _rule_of(op, arity)) is not None]
    # Operators of a third party may share a kernel; one of them that has a formula has it for all.
    return next((rule for rule in rules if rule.function is not None), rules[0] if rules else None)


def _rule_of(op: Operator, arity: int) -> Rule | None:
    if op.record is None:
        return None
    if op.rule is None:
        op.rule = _made(op, arity)
    return op.rule  # type: ignore[no-any-return]


def _made(op: Operator, arity: int) -> Rule:
    tangents, underived = slots.tangents()
    function, node = tangents.get(op.name), op.node
    if function is None or node is None:
        return Rule(op.name, None, arity)
    return rule_of(
        op, function, arity, node.inputs, getattr(node, "differentiable_outputs", ()), node.structural,
        underived.get(op.name, ()),
    )  # fmt: skip


def rule_of(
    op: Operator,
    function: Callable[..., tuple[Any, ...]],
    arity: int,
    inputs: tuple[int, ...],
    differentiable: Sequence[bool] = (),
    structural: bool = False,
    underived: tuple[tuple[int, str], ...] = (),
) -> Rule:
    """The rule of an operator with this function; `differentiable` tells which of its outputs move (default: all)."""
    outputs = 1 if op.multi is None else len(op.multi._fields)
    return Rule(
        op.name,
        function,
        arity,
        inputs=inputs,
        tensors=tuple(sorted(position for position, _ in (*op.tensors, *op.lists))),
        lists=bool(op.lists),
        outputs=outputs,
        moving=tuple(i for i, moves in enumerate(differentiable or (True,) * outputs) if moves),
        returns_list=op.returns_list,
        mutates=op.mutates,
        view=op.view,
        pointwise="pointwise" in op.tags,
        structural=structural,
        masking="masking" in op.tags and "view" not in op.tags,
        copying="copying" in op.tags or op.view,
        placing="structural" in op.tags and "view" not in op.tags,
        underived=underived,
    )
