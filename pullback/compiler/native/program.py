"""A native program: nests, their kernels, and the table of steps by which they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.arrays.traced.graph import Graph, Step, Value
from pullback.compiler.native.code import Code, Module
from pullback.compiler.native.kernel import Kernel, Place
from pullback.compiler.native.lowering import Lowering
from pullback.compiler.native.memory import Memory, settled, stored
from pullback.compiler.native.nodes import CONSTANT, INPUT, Node
from pullback.compiler.native.outlined import Outlined
from pullback.compiler.native.schedule import Nest, scheduled


class Native(NamedTuple):
    """What a native program is made of.

    Attributes
    ----------
    nests, kernels
        One kernel for each nest.
    module : Module
        The distinct functions.
    rows : list of (int, list of int)
        Of each step the number of its function, and its data.
    workspace : int
        Bytes.
    constants : list of ndarray
    """

    nests: list[Nest]
    kernels: list[Any]
    module: Module
    rows: list[tuple[int, list[int]]]
    workspace: int
    constants: list[Any]


def native(graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value], lanes: int) -> Native | None:
    """The program that computes these results; None if a step has no rule."""
    from pullback.compiler.native.rules import pointwise, products, reductions, windows  # noqa

    lowering = Lowering(graph, steps, results)
    for value in inputs:
        lowering.input(value)
    for step in steps:
        if not lowering.take(step):
            print("no rule", step)
            return None
    wanted = []
    for x in results:
        node = lowering.made_whole(x)
        if any(node is y for y in wanted):
            node = lowering.map("copy", lambda c, t, x: x, [node.whole()], shape=node.shape, dtype=node.dtype).node
        wanted.append(node)
    nodes = settled(lowering.nodes, wanted)
    nests = scheduled(nodes, wanted)
    kept = stored(nests, wanted)
    constants = [node.attr for node in nodes if node.op == CONSTANT]
    begin = 1 + len(inputs)
    given = {node.number: Place(1 + node.attr, 0) for node in nodes if node.op == INPUT}
    for nr, node in enumerate(node for node in nodes if node.op == CONSTANT):
        given[node.number] = Place(begin + nr, 0)
    begin += len(constants)
    for nr, node in enumerate(wanted):
        given[node.number] = Place(begin + nr, 0)
    memory = Memory(nests, kept, given)
    width = {32: lanes * 2, 64: lanes} if lanes > 1 else {32: 1, 64: 1}
    outlined = Outlined(nodes)
    kernels = [Kernel(nest, kept, width[nest.bits], outlined) for nest in nests]
    from pullback.compiler.native import render_c

    from pullback.compiler.native.functions import helpers
    by_text: dict[str, int] = {}
    functions: list[Code] = []
    rows = []
    for kernel in kernels:
        text = render_c.render(Module([kernel.code]))
        if text not in by_text:
            by_text[text] = len(functions)
            functions.append(kernel.code)
            kernel.code.name = f"kernel{by_text[text]}"
        rows.append((by_text[text], kernel.data(memory.of_kernel(kernel))))
    return Native(nests, kernels, Module([*helpers([*outlined.functions.values(), *functions]), *outlined.functions.values(), *functions]), rows, memory.size + memory.of_rows(kernels), constants)
