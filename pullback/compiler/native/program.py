"""A native program: nodes of the steps, nests, their kernels, and the table of steps by which they run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pullback.arrays.traced.graph import Graph, Step, Value
from pullback.compiler.native import entry, nans, runtime, toolchain
from pullback.compiler.native.code import Code, Module, Type
from pullback.compiler.native.functions import helpers
from pullback.compiler.native.kernel import Kernel, Place
from pullback.compiler.native.lowering import Lowering
from pullback.compiler.native.memory import Memory, settled, stored
from pullback.compiler.native.nodes import CHECK, CONSTANT, DOT, INPUT, Node
from pullback.compiler.native.outlined import Outlined
from pullback.compiler.native.product import Product
from pullback.compiler.native.schedule import Nest, scheduled
from pullback.compiler.native.solo import Solo
from pullback.core.tensor import ndarray

_AREAS = (
    "pointwise",
    "reductions",
    "rows",
    "windows",
    "products",
    "indices",
    "triangles",
    "spatial",
    "running",
    "matrices",
)
_LONG = 20_000  # elements of all nests together, from which on other threads of Python run meanwhile


def load_rules() -> None:
    """Let all areas register their rules."""
    for area in _AREAS:
        import_module(f"pullback.compiler.native.rules.{area}")


class Target(NamedTuple):
    """The machine that kernels are written for.

    Attributes
    ----------
    vector_bytes : int
        Of a register; 0 for scalars alone.
    blas : bool
        Large products of matrices are BLAS's.
    """

    vector_bytes: int
    blas: bool

    def lanes(self, bits: int) -> int:
        """How many numbers of so many bits are computed at a time."""
        return max(1, self.vector_bytes * 8 // bits)


class Kernels:
    """The kernels that compute some values of a graph from others, and the data of each.

    Parameters
    ----------
    graph : Graph
    inputs : sequence of Value
        What is given at each run; the graph's constants are known.
    steps : sequence of Step
        Each has a rule.
    results : sequence of Value
        One may stand several times: each has memory of its own.
    target : Target
    ordered : bool
        Results lie in C order, and not as they did at the trace.

    Attributes
    ----------
    nests, kernels
        One kernel for each nest.
    module : Module
        The distinct functions.
    names : list of str
        For each kernel that of its function.
    data : list of list of int
        For each kernel its row, by which it finds its bases: the workspace, inputs, constants, results.
    constants : list of ndarray
    workspace : int
        Bytes that it needs besides its results.
    """

    lowering: type[Lowering] = Lowering

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value], target: Target,
        ordered: bool = False,
    ) -> None:  # fmt: skip
        self._target = target
        lowering = self.lowering(graph, results)
        for value in inputs:
            lowering.input(value)
        for step in steps:
            if not lowering.take(step):
                raise AssertionError(f"{step} has no rule")
        wanted = _apart(lowering, results, ordered)
        needed = [*wanted, *lowering.checks]
        nodes = settled(lowering.nodes, needed)
        self.nests = scheduled(nodes, needed)
        kept = stored(self.nests, [node for node in needed if node.op != CHECK])
        leaves = [node for node in nodes if node.op == CONSTANT]
        self.constants: list[ndarray] = [node.attr for node in leaves]
        memory = Memory(self.nests, kept, _given(nodes, leaves, wanted, len(inputs)))
        outlined = Outlined(nodes)
        self.kernels = [self._kernel(nest, kept, outlined) for nest in self.nests]
        self.workspace = memory.size + memory.of_rows(self.kernels)
        self.data = [kernel.data(memory.of_kernel(kernel)) for kernel in self.kernels]
        self.module, self.names = _module(self.kernels, outlined)
        self.work = sum(prod(nest.space) for nest in self.nests)

    def _kernel(self, nest: Nest, kept: set[int], outlined: Outlined) -> Kernel | Product | Solo:
        lanes = self._target.lanes(nest.bits)
        if nest.apart is not None:
            return Product(nest.apart, lanes, self._target.blas) if nest.apart.op == DOT else Solo(nest.apart)
        return Kernel(nest, kept, lanes, outlined)


class Native(Kernels):
    """The program of these kernels in machine code: see Kernels for the parameters."""

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], steps: Sequence[Step], results: Sequence[Value],
        tool: toolchain.Toolchain, ordered: bool = False,
    ) -> None:  # fmt: skip
        self._inputs, self._results, self._tool = inputs, results, tool
        target = Target(toolchain.vector_bytes() if tool.vectors else 0, blas=True)
        super().__init__(graph, inputs, steps, results, target, ordered)

    def _type(self, x: Value) -> Type:
        """The type of vectors of a result's elements."""
        bits = 8 * x.dtype.itemsize
        return Type("f", bits, self._target.lanes(bits))

    def loaded(
        self,
        numbers: Sequence[bool] = (),
        single: bool = False,
        watches: Any = None,
        keep: Any = None,
        suspect: Sequence[int] = (),
    ) -> Callable[..., Any]:
        """The function of arrays; with watches as `entry.made` has it, the results of which are numbers so.

        It raises LeftError where there is a NaN in one of the results at `suspect`.
        """
        steps, libraries = self.table(suspect)
        results = [_form(x, result=True) for x in self._results]
        if numbers:
            results = [form._replace(number=number) for form, number in zip(results, numbers, strict=True)]
        return entry.made(
            [_form(x) for x in self._inputs], results, self.constants, self.workspace, steps,
            single=single, releases=self.work > _LONG, keep=(libraries, keep), tool=self._tool, watches=watches,
        )  # fmt: skip

    def table(self, suspect: Sequence[int] = (), looks: Sequence[tuple[str, int, bool]] = ()) -> tuple[ndarray, Any]:
        """(the rows of the steps, the libraries that they call).

        A run ends where there is a NaN in one of the results at `suspect`. `looks` are kernels of `runtime.checks`,
        each with the result that it looks at, and what that must be.
        """
        library = self._tool.build(self.module, toolchain.store())
        libraries, words = [library], list[int]()
        for name, data in zip(self.names, self.data, strict=True):
            words += [2 + len(data), library.address(name), *data]
        first = 1 + len(self._inputs) + len(self.constants)
        watching = [(nr, self._results[nr], nans.watch(self._type(self._results[nr]))) for nr in suspect]
        if watching:
            watches = Module(list({x.name: x for _, _, x in watching}.values()))
            libraries.append(self._tool.build(watches, toolchain.store()))
        for nr, value, code in watching:
            words += [4, libraries[-1].address(code.name), first + nr, prod(value.shape)]
        if looks:
            libraries.append(self._tool.build(runtime.checks(), toolchain.store()))
        for kernel, nr, expected in looks:
            words += [4, libraries[-1].address(kernel), first + nr, int(expected)]
        return np.array(words, np.int64), libraries


def _apart(lowering: Lowering, results: Sequence[Value], ordered: bool) -> list[Node]:
    """The nodes of the results, each with memory of its own."""
    wanted: list[Node] = []
    for value in results:
        node = lowering.made_whole(value, ordered)
        if any(node is other for other in wanted):
            node = lowering.copied(node)
        wanted.append(node)
    return wanted


def _given(nodes: Sequence[Node], constants: Sequence[Node], wanted: Sequence[Node], inputs: int) -> dict[int, Place]:
    """The places of what is no memory of the program's own: its bases are workspace, inputs, constants, results."""
    found = {node.number: Place(1 + node.attr, 0) for node in nodes if node.op == INPUT}
    found |= {node.number: Place(1 + inputs + nr, 0) for nr, node in enumerate(constants)}
    first = 1 + inputs + len(constants)
    return found | {node.number: Place(first + nr, 0) for nr, node in enumerate(wanted)}


def _module(kernels: Sequence[Kernel | Product | Solo], outlined: Outlined) -> tuple[Module, list[str]]:
    """(the module of the distinct functions, the name of each kernel's)."""
    by_form: dict[Hashable, Code] = {}
    forms = [kernel.form for kernel in kernels]
    for form, kernel in zip(forms, kernels, strict=True):
        if form not in by_form:
            by_form[form] = code = kernel.write()
            code.name = f"kernel{len(by_form) - 1}"
    functions = list(by_form.values())
    names = [by_form[form].name for form in forms]
    called = list(outlined.functions.values())
    return Module([*helpers([*called, *functions]), *called, *functions]), names


def _form(x: Value, result: bool = False) -> entry.Form:
    size = x.dtype.itemsize
    strides = tuple(s * size for s in Lowering.layout(x)) if result else x.strides
    return entry.Form(x.shape, strides, x.dtype, result and x.single)
