"""Reports of NaN and inf that an operator produced: which entries, from which inputs, and the message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.core.array_type import ARRAY_TYPES, NUMPY, array_type, is_array, parts_of, read
from pullback.core.tensor import ndarray
from pullback.dispatch.operator import OPERATORS
from pullback.graph.node import Node, saved_slots
from pullback.graph.packed import Packed
from pullback.graph.saved import Released

_SHOWN = 5  # entries that a report has room for
_REMEDY = (
    "Where a derivative is infinite or undefined, keep such values away from the operator: with clamp(), a small "
    "constant added, or where() on its input (where() on its result comes too late: 0 times inf is nan)."
)
_WIDEST = 200  # characters of a shape or a value


@dataclass(frozen=True)
class Entry:
    """One NaN or inf: where it is, what it is, and what each input held there, by name."""

    index: tuple[int, ...]
    value: Any
    inputs: dict[str, Any]

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]: " if self.index else ""
        given = ", ".join(f"{name} = {value}" for name, value in self.inputs.items())
        return f"  {place}{self.value}" + (f"  from {given}" if given else "")


@dataclass(frozen=True)
class NonFinite:
    """The findings of `trace_nans`: an operator, or a node in backward, that made NaN or inf out of finite values.

    Attributes
    ----------
    name : str
        Of the operator ("log"), the custom Function, or the node ("SqrtBackward0").
    backward : bool
        Whether it is a node in backward.
    made : str
        "nan", "inf" or "nan and inf".
    output : int
        Which result of the operator, or which gradient of the node, holds them.
    count : int
        How many entries of it do.
    entries : list of Entry
        The first of these: `index`, `value`, and `inputs`, a dict of what the inputs hold there. It is empty for an
        operator that is not elementwise.
    where : str
        The line of the program that called the operator; for a node, that recorded it. Empty if it is not known.
    text : str
        All of it as a message.
    """

    name: str
    backward: bool
    made: str
    output: int
    count: int
    entries: list[Entry]
    where: str
    text: str

    def __str__(self) -> str:
        return self.text


def arrays_in(value: Any) -> list[ndarray]:
    """The float and complex arrays at the bottom of a result, argument or gradient, or of a list of them."""
    if isinstance(value, (list, tuple)):
        return [array for x in value for array in arrays_in(x)]
    if type(value) not in ARRAY_TYPES:
        return []
    arrays = [array_type(part).numbers(part) for part in parts_of(value)]
    return [array for array in arrays if array is not None and array.dtype.kind in "fc"]


def values_of(x: Any) -> ndarray:
    """The numbers of an argument; of a dual one the primal ones."""
    return read(x, "a report of NaN and inf")


def kinds(arrays: Iterable[ndarray]) -> set[str]:
    """Which of "nan" and "inf" are in these arrays."""
    found = set()
    for array in arrays:
        if not np.isfinite(array).all():
            nan = np.isnan(array)
            if nan.any():
                found.add("nan")
            if (np.isinf(array) & ~nan).any():
                found.add("inf")
    return found


def made(result: Iterable[ndarray], inputs: Iterable[ndarray], check_inf: bool) -> set[str]:
    """Which of "nan" and "inf" the result has and the inputs do not explain. NaN explains both, inf itself alone."""
    new = kinds(result)
    if not check_inf:
        new.discard("inf")
    if not new:
        return new
    given = kinds(inputs)
    return set() if "nan" in given else new - {"inf"} if given else new


def named_arguments(name: str, args: Sequence[Any]) -> dict[str, Any]:
    """The array arguments of an operator, or of a custom Function, by name."""
    op = OPERATORS.get(name) or OPERATORS.get(name.removesuffix("_"))
    if op is None:
        return {f"argument {i}": x for i, x in enumerate(args) if is_array(x)}
    named = {argument: args[i] for i, argument in op.tensors if args[i] is not None}
    for i, argument in op.lists:
        named |= {f"{argument}[{j}]": x for j, x in enumerate(args[i])}
    return named


def is_elementwise(name: str) -> bool:
    """True if each entry of the operator's result comes from the entries of the arguments at the same place."""
    op = OPERATORS.get(name) or OPERATORS.get(name.removesuffix("_"))
    if op is None:
        return False
    kernel = NUMPY.kernels.get(op.kernel)
    return (isinstance(kernel, np.ufunc) and kernel.signature is None) or "pointwise" in op.tags


def saved_values(node: Node) -> dict[str, Any]:
    """Return what a node has saved, by name; without what hooks have packed, which only backward itself may unpack."""
    found = {}
    for slot in saved_slots(type(node)):
        name = slot.removeprefix("saved_")
        version = getattr(node, f"version_{name}", None)
        if hasattr(node, slot) and type(version) is not Packed and version is not Released:
            found[f"saved {name}"] = getattr(node, f"_{slot}")
    return found


def finding(
    name: str, new: set[str], results: Sequence[Any], inputs: Mapping[str, Any], where: str, during: str = ""
) -> NonFinite:
    """The finding for an operator that made these kinds of numbers from its inputs."""
    what = " and ".join(sorted(new, reverse=True))
    number, array = next((i, a) for i, x in enumerate(results) for a in arrays_in(x) if kinds([a]) & new)
    mask = _offending(array, new)
    entries = _entries(array, mask, inputs) if is_elementwise(name) else []
    which = f"its result {number}" if len(results) > 1 else "its result"
    if arrays_in(results[number])[0] is not array:  # they come with the primal first
        which = f"the tangent of {which}"
    of = f"{_part(mask)} of {which} ({_shape(array)})"
    lines = [
        f"{name} made {what} out of {_adjective(inputs.values())} inputs, in {of}:",
        *_details(entries, mask, array, inputs),
        f"It was called by\n{where.rstrip()}" if where else "Where it was called from is not known.",
    ]
    if during:
        lines.append(during.rstrip())
    return NonFinite(name, False, what, number, int(mask.sum()), entries, where, "\n".join(lines))


def finding_in_backward(
    node: Node, new: set[str], grads: Sequence[Any], inputs: Mapping[str, Any], where: str
) -> NonFinite:
    """The finding for a node that made these kinds of numbers from its incoming gradients."""
    what = " and ".join(sorted(new, reverse=True))
    number, array = next((i, a) for i, x in enumerate(grads) for a in arrays_in(x) if kinds([a]) & new)
    mask = _offending(array, new)
    entries = _entries(array, mask, inputs) if node.pointwise else []
    adjective = _adjective(x for name, x in inputs.items() if not name.startswith("saved "))
    given = f"a {adjective} gradient" if node.outputs == 1 else f"{adjective} gradients"
    of = f"{_part(mask)} of the gradient of its input {number} ({_shape(array)})"
    lines = [
        f"{node.name()} made {what} out of {given}, in {of}:",
        *_details(entries, mask, array, inputs),
        f"Its operator was called by\n{where.rstrip()}"
        if where
        else "Where its operator was called is not known; enter trace_nans() before the forward pass to see it.",
        _REMEDY,
    ]
    return NonFinite(node.name(), True, what, number, int(mask.sum()), entries, where, "\n".join(lines))


def _adjective(inputs: Iterable[Any]) -> str:
    """An adjective for inputs without NaN."""
    return "nan-free" if any(kinds(arrays_in(x)) for x in inputs) else "finite"


def _offending(array: ndarray, new: set[str]) -> ndarray:
    nan: ndarray = np.isnan(array)
    mask: ndarray = np.zeros(array.shape, dtype=bool)
    if "nan" in new:
        mask = mask | nan
    return mask | (np.isinf(array) & ~nan) if "inf" in new else mask


def _part(mask: ndarray) -> str:
    return f"{int(mask.sum()):,} of {mask.size:,} {'entry' if mask.size == 1 else 'entries'}"


def _shape(array: ndarray) -> str:
    return f"{array.dtype} {array.shape}"


def _entries(array: ndarray, mask: ndarray, inputs: Mapping[str, Any]) -> list[Entry]:
    """The first offending entries with what the inputs hold there, as far as they broadcast to the result."""
    spread = {}
    for name, x in inputs.items():
        try:
            spread[name] = np.broadcast_to(values_of(x), array.shape)
        except ValueError:
            continue
    found = []
    for position in np.argwhere(mask)[:_SHOWN]:
        index = tuple(int(i) for i in position)
        found.append(Entry(index, array[index].item(), {name: x[index].item() for name, x in spread.items()}))
    return found


def _details(entries: list[Entry], mask: ndarray, array: ndarray, inputs: Mapping[str, Any]) -> list[str]:
    """The entries where they say what came of what; else the places in the result and what the inputs are like."""
    if entries:
        lines = [str(entry)[:_WIDEST] for entry in entries]
        more = int(mask.sum()) - len(entries)
        return [*lines, f"  ... and {more:,} more"] if more else lines
    places = [tuple(int(i) for i in position) for position in np.argwhere(mask)[:_SHOWN]]
    lines = [str(Entry(place, array[place].item(), {}))[:_WIDEST] for place in places]
    if int(mask.sum()) > len(places):
        lines.append(f"  ... and {int(mask.sum()) - len(places):,} more")
    summaries = [f"  {name}: {_summary(values_of(x))}"[:_WIDEST] for name, x in inputs.items()]
    if len(summaries) > _SHOWN:
        summaries[_SHOWN:] = [f"  ... and {len(summaries) - _SHOWN} inputs more"]
    return [*lines, "Inputs:", *summaries] if summaries else lines


def _summary(x: ndarray) -> str:
    """Dtype, shape and range."""
    if x.dtype.kind not in "biufc" or not x.size:
        return _shape(x)
    finite = x[np.isfinite(x)]
    text = f"{_shape(x)}, "
    if not x.ndim:
        return f"{x.item()}"
    if finite.size:
        sizes = np.abs(finite) if x.dtype.kind == "c" else finite
        text += f"{'absolute ' * (x.dtype.kind == 'c')}values from {sizes.min().item()} to {sizes.max().item()}"
    bad = x.size - finite.size
    return text + (f"{', ' * bool(finite.size)}{bad:,} not finite" if bad else "")
