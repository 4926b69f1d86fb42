"""`explore`: the autograd graph as a page for a browser, to be folded, searched and walked through."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

from pullback.autograd.anomaly.source_lines import traceback_of
from pullback.autograd.function.node import FunctionNode
from pullback.core.array_type import memory_of
from pullback.viz.drawing import edges, metadata, reachable, start_node, tensors_in
from pullback.viz.formulas import rule_of
from pullback.viz.held import address, buffer_of, held_by
from pullback.viz.names import Names, names_of, names_of_leaves
from pullback.viz.places import frame_of
from pullback.viz.recording import flow, noted

_SCRIPTS = ("model.js", "layout.js", "picture.js", "panels.js", "page.js")  # in the order in which they are read


def explore(
    outputs: Any,
    path: str | Path,
    params: Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
    limit: int = 20_000,
) -> Path:
    """Write a page that shows the autograd graph behind a tensor, for any browser, of 10 nodes or of 10,000.

    The page is one file that needs nothing else and no network. It folds the graph by file, function and line of the
    program, opens what is double-clicked, searches names, shapes and lines, and highlights the way from a tensor to
    the result. A card for each node has its formula, the shapes and dtypes, what it saved and how many bytes that is,
    the line that recorded it, its time, and the norm of its gradient with the shares of NaNs and zeros. The key ``?``
    lists the keys.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
        Where backward would start, or has started: a graph stays as it is after backward, without what was saved.
    path : str or Path
        The file to write, which ends in .html; folders are made.
    params : mapping from str to Tensor, optional
        Names for leaves, for instance of a model's parameters, and for what was computed from them. The page lists
        those that the graph does not reach: they get no gradient. A leaf without a name has that of the caller's
        variable, also within a dict, list or tuple: ``weights[0]``.
    title : str, optional
        The page's heading; by default the name of the file.
    limit : int, default 20000
        The most nodes that are written.

    Returns
    -------
    Path
        That file.

    Raises
    ------
    ValueError
        No output has a graph, the graph has more than `limit` nodes, or the file's name does not end in .html.
    TypeError
        An output or one of `params` is not a Tensor.

    Notes
    -----
    A graph keeps no lines, times and gradients: run the forward inside `recording` for lines and the times of
    operators, the backward too for gradients, their times, and what was saved before backward released it. Lines are
    there as well if `autograd.detect_anomaly` or `autograd.trace_nans` was active. Without lines the page says so, and
    folds by operator. The gradients of leaves, and of tensors that `retain_grad`, are those in ``.grad``.

    Examples
    --------
    >>> from pullback import viz
    >>> W = pb.ones(3, 2, requires_grad=True)
    >>> with viz.recording():
    ...     loss = (pb.ones(4, 3) @ W).tanh().sum()
    ...     loss.backward()
    >>> viz.explore(loss, "graph.html", params={"W": W})  # doctest: +SKIP
    PosixPath('graph.html')
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"explore: it writes a page of HTML, which no program opens as {path.name!r}: the name must end in .html, "
            f"as in explore(loss, {str(path.with_suffix('.html') if path.name else 'graph.html')!r}). "
            'For a picture: viz.graph(loss).save("graph.svg").'
        )
    tensors = tensors_in(outputs, "explore")
    starts = [start_node(tensor, "explore") for tensor in tensors]
    nodes = reachable(starts, limit, "explore")
    given = names_of(params, "explore")
    content = _Content(nodes, given, names_of_leaves(nodes, given, sys._getframe(1)))
    numbers = content.numbers
    results = [
        {
            "name": content.names.get((id(node), tensor.output_nr)),
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype),
            "node": numbers[id(node)],
            "output": tensor.output_nr,
        }
        for tensor, node in zip(tensors, starts, strict=True)
    ]
    data = {"title": title or path.stem, "results": results, **content.data()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(data), encoding="utf-8")
    return path


def page(data: Mapping[str, Any]) -> str:
    """The page with its style, its scripts and its data inside."""
    folder = files("pullback.viz") / "page"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    # "<" can stand in JSON within strings alone; written so, none ends the script or begins a comment.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    scripts = "\n".join(map(read, _SCRIPTS))
    scripts = f'"use strict";\n(() => {{\n{scripts}}})();'
    parts = {"/*style*/": read("page.css"), "/*data*/": text, "/*scripts*/": scripts}
    before, *rest = re.split(r"(/\*(?:style|data|scripts)\*/)", read("page.html"))
    return before + "".join(parts.get(piece, piece) for piece in rest)


class _Content:
    """The nodes as JSON, with what many of them share (frames, stacks, rules) in tables beside them."""

    def __init__(self, nodes: Sequence[Any], given: Names, names: Names) -> None:
        self.nodes, self.names = nodes, names
        self.unused = dict(given)  # until its tensor is met
        self.numbers = {id(node): number for number, node in enumerate(nodes)}
        self.frames: dict[str, int] = {}
        self.stacks: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.rules: dict[tuple[str, str], int] = {}
        self.places: dict[int, int] = {}

    def data(self) -> dict[str, Any]:
        """All of it."""
        return {
            "nodes": [self.node(node) for node in self.nodes],  # fills the tables
            "frames": [frame_of(text) for text in self.frames],
            "stacks": list(self.stacks),
            "rules": list(self.rules),
            "unused": list(self.unused.values()),
        }

    def node(self, node: Any) -> dict[str, Any]:
        """One node, without what is empty."""
        variable = getattr(node, "variable", None)
        entry = self._leaf(node, variable) if variable is not None else self._operator(node)
        entry["from"] = [[self.numbers[id(source)], nr] for source, nr in edges(node)]
        entry["nr"] = node._sequence_nr % (1 << 62)
        return {key: value for key, value in entry.items() if value not in (None, "", [])}

    def _leaf(self, node: Any, variable: Any) -> dict[str, Any]:
        array = memory_of(variable)
        return {
            "name": self._name((id(variable), 0)),
            "kind": "leaf",
            "outputs": [self._output(node, 0, variable)],
            "flow": _numbers(flow(None if variable.grad is None else variable.grad)),
            **({} if array is None else {"memory": self._place(address(buffer_of(array)))}),
        }

    def _operator(self, node: Any) -> dict[str, Any]:
        inner = getattr(node, "fn", None)  # of CopySlices: the node of the in-place operator
        ruled = node if inner is None else inner
        record = noted(node)
        saved = list(held_by(node))
        if record is not None and record.saved and any(held.state == "released" for held in saved):
            saved = record.saved
        retained = {} if node._extra is None else node._extra.retained
        seen = None if record is None else record.flow
        if seen is None:
            kept = (reference() for reference in retained.values())
            seen = flow([tensor.grad for tensor in kept if tensor is not None and tensor.grad is not None])
        return {
            "name": node.name() if inner is None else f"{node.name()}: {inner.name()}",
            "kind": "custom" if isinstance(ruled, FunctionNode) else "operator",
            "outputs": [self._output(node, number, output) for number, output in enumerate(metadata(node))],
            "saved": [self._saved(held) for held in saved],
            "stack": self._stack(traceback_of(node), () if record is None else record.calls),
            "rule": self.rules.setdefault(rule_of(ruled), len(self.rules)),
            "flow": _numbers(seen),
            "times": None if record is None else [_microseconds(record.forward), _microseconds(record.backward)],
        }

    def _output(self, node: Any, number: int, tensor: Any) -> dict[str, Any]:
        """Shape and dtype of an output, and the name it was given."""
        if tensor.dtype is None:
            return {"dtype": "no tensor", "shape": []}
        size = prod(tensor.shape) * tensor.dtype.itemsize
        output = {"dtype": str(tensor.dtype), "shape": list(tensor.shape), "bytes": size}
        name = self._name((id(node), number))
        return output if name is None else {**output, "name": name}

    def _name(self, key: tuple[int, int]) -> str | None:
        """The name that somebody gave to a tensor."""
        self.unused.pop(key, None)
        return self.names.get(key)

    def _saved(self, held: Any) -> dict[str, Any]:
        """A saved tensor. Those in one piece of memory have one number for it."""
        entry = {"name": held.name, "text": held.text, "bytes": held.bytes}
        if held.whole:
            entry |= {"memory": self._place(held.place), "whole": held.whole}
        if held.state:
            entry["state"] = held.state
        return entry

    def _place(self, place: int) -> int:
        """The number of a piece of memory."""
        return self.places.setdefault(place, len(self.places))

    def _stack(self, lines: Sequence[str], calls: tuple[int, ...]) -> int | None:
        """The number of a traceback, None where nothing noted it."""
        if not lines:
            return None
        frames = tuple(self.frames.setdefault(line, len(self.frames)) for line in lines)
        return self.stacks.setdefault((frames, calls), len(self.stacks))


def _numbers(found: Any) -> dict[str, Any] | None:
    """A gradient's size for JSON, which has no NaN and no infinity: those are texts."""
    if found is None:
        return None
    entry = asdict(found)
    norm = entry["norm"]
    return entry if norm - norm == 0 else {**entry, "norm": str(norm)}


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 1)
