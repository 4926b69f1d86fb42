"""Functions of numbers: the node and the tangent of an operator, both from its slope in each argument.

A slope is a function of `ops` and of those arguments and results that it names, which are what a node must keep for it:
the cotangent of an argument is that of the result times the conjugate of the slope, the tangent of the result the sum
of the arguments' tangents times their slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.graph.node import MultiNode, Node
from pullback.graph.saving import Saves
from pullback.graph.undifferentiable import derivative_not_implemented


def weighed(grads: Sequence[Any], slopes: Sequence[Any], ops: Any) -> Any:
    """The sum of the outputs' slopes, weighed by their cotangents; an output without one has no say."""
    shares = [grad * ops.conj(slope) for grad, slope in zip(grads, slopes, strict=True) if grad is not None]
    return sum(shares[1:], shares[0]) if shares else None


class Slopes:
    """Makes the nodes and tangents of the operators of a module, of one namespace.

    Parameters
    ----------
    module : str
    namespace : str

    Attributes
    ----------
    tangents : dict from an operator to its tangent function
    underived : dict from an operator to the places and names of inputs whose slope nobody has derived
    schemas : dict from an operator, without its namespace, to its declaration
    """

    def __init__(self, module: str, namespace: str) -> None:
        self.module, self.space = module, namespace
        self.tangents: dict[str, Callable[..., Any]] = {}
        self.underived: dict[str, tuple[tuple[int, str], ...]] = {}
        self.schemas: dict[str, str] = {}

    def __call__(self, name: str, schema: str, /, **slopes: Any) -> type[Node]:
        """Make the class of node of an operator, and note its tangent.

        Parameters
        ----------
        name : str
            The name of the class.
        schema : str
            The declaration, which is the documentation of the class.
        **slopes : the slope in each argument that is differentiated
            For several results a tuple of slopes; the operator's name where nobody has derived any.

        Returns
        -------
        a subclass of Node
        """
        head, _, returned = schema.partition(" -> ")
        function, _, given = head.removesuffix(")").partition("(")
        args = [text.rpartition(" ")[2] for text in given.split(", ")]
        multi = returned[0] == "("
        outputs = tuple(text.rpartition(" ")[2] for text in returned[1:-1].split(", ")) if multi else ("result",)
        names = [*args, *outputs]
        table = []  # for each input its name, what was given, and each slope with the places of what it takes
        for arg, of in slopes.items():
            each = () if isinstance(of, str) else of if multi else (of,)
            table.append((arg, of, [(slope, _places(slope, names)) for slope in each]))
        self.schemas[function] = schema
        key = f"{self.space}.{function}"
        if any(parts for _, _, parts in table):
            self.tangents[key] = _tangent(key, args, outputs, table)
            if ignored := tuple((args.index(arg), arg) for arg, _, parts in table if not parts):
                self.underived[key] = ignored
        return _node(name, schema, self.module, names, outputs, table)


def _node(name: str, schema: str, module: str, names: Any, outputs: Any, table: Any) -> type[Node]:
    """The class: its slots, and what the engine asks of it."""
    multi, arity = outputs != ("result",), len(names) - len(outputs)
    inputs = tuple(names.index(arg) for arg, _, _ in table)
    users = [
        [nr for nr, (_, _, parts) in enumerate(table) if any(i in at for _, at in parts)] for i in range(len(names))
    ]
    kept = [i for i, of in enumerate(users) if of]
    tensors = [i for i in kept if i in inputs or i >= arity]
    # Kept for some of the inputs alone, or () for all of them.
    needed = {i: () if len(users[i]) == len(table) else tuple(users[i]) for i in tensors}
    underived = {i for i, (_, _, parts) in zip(inputs, table, strict=True) if not parts}
    words = ["_"] * len(names)
    for i in kept:
        words[i] = f"{names[i]}=copy"
        if i in tensors:
            words[i] = names[i] + "!" * (i in underived) + ":" * bool(needed[i]) + "|".join(map(str, needed[i]))
    space = {
        "__slots__": Saves(" ".join([*words[:arity], "->", *words[arity:]])), "__doc__": schema, "__module__": module,
        "inputs": inputs, "pointwise": True,
    }  # fmt: skip
    if multi:
        space |= {"output_names": outputs, "differentiable_outputs": (True,) * len(outputs)}
    cls: Any = type(name, (MultiNode if multi else Node,), space)
    cls.apply = _pulling(cls, names, table, needed, [i for i in kept if i not in tensors])
    return cls  # type: ignore[no-any-return]


def _places(slope: Callable[..., Any], names: Sequence[str]) -> tuple[int, ...]:
    code = slope.__code__
    return tuple(names.index(name) for name in code.co_varnames[1 : code.co_argcount])


def _pulling(cls: Any, names: Sequence[str], table: Any, tensors: Any, plain: Any) -> Any:
    """The method `apply`; `tensors` are the places of those, each with the inputs that need it (none: all of them)."""
    slots = [(i, getattr(cls, f"saved_{names[i]}"), getattr(cls, f"version_{names[i]}")) for i in tensors]
    reads = [(i, saved.__get__, version.__get__, tensors[i]) for i, saved, version in slots]
    others = [(i, getattr(cls, f"arg_{names[i]}").__get__) for i in plain]
    multi, several = issubclass(cls, MultiNode), len(table) > 1

    def apply(self: Any, ops: Any, grad: Any, unpack: Any) -> Any:
        values = [None] * len(names)  # which, as slope_of below, an error is told by
        for i, saved, version, needed in reads:
            if not needed or _any_needed(self, needed):
                values[i] = unpack(saved(self), version(self), self)
        for i, get in others:
            values[i] = get(self)
        edges = self._nexts or (self._next0, self._next1)
        grads: list[Any] = []
        for (slope_of, given, parts), edge in zip(table, edges, strict=False):
            if edge is None and several:
                grads.append(None)
            elif not parts:
                raise derivative_not_implemented(self, given, slope_of)
            elif multi:
                grads.append(weighed(grad, [slope(ops, *[values[i] for i in at]) for slope, at in parts], ops))
            else:
                slope, at = parts[0]
                grads.append(grad * slope(ops, *[values[i] for i in at]).conjugate())
        return grads

    return apply


def _any_needed(node: Any, inputs: tuple[int, ...]) -> bool:
    edges = node._nexts or (node._next0, node._next1)
    return any(edges[i] is not None for i in inputs)


def _tangent(key: str, args: Sequence[str], outputs: Sequence[str], table: Any) -> Any:
    """The function that pushes tangents forward: it takes each primal and its tangent, if any, then the outputs."""
    inputs, names = {arg for arg, _, _ in table}, [*args, *outputs]
    parameters = [p for arg in args for p in ((f"{arg}_p", f"{arg}_t") if arg in inputs else (f"{arg}_p",))]
    parameters += outputs
    place = [parameters.index(name if i >= len(args) else f"{name}_p") for i, name in enumerate(names)]
    moved = [
        (parameters.index(f"{arg}_t"), [(slope, [place[i] for i in at]) for slope, at in parts])
        for arg, _, parts in table
        if parts
    ]
    count, told = len(outputs), (key, parameters)

    def slopes_tangent(*given: Any, ops: Any) -> Any:
        rule = told  # noqa: F841 - an error is told by it
        sums: list[Any] = [None] * count
        for at, parts in moved:
            t = given[at]
            if t is not None:
                for nr, (slope, places) in enumerate(parts):
                    term = t * slope(ops, *[given[i] for i in places])
                    sums[nr] = term if sums[nr] is None else sums[nr] + term
        return tuple(sums)

    # The outputs that it takes: arrays.taylor reads them in the code of other rules.
    slopes_tangent.takes = {names[i] for _, _, parts in table for _, at in parts for i in at if i >= len(args)}  # type: ignore[attr-defined]
    return slopes_tangent
