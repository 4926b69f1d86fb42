"""`memory`: what a graph holds for backward, who made it hold that, and what the backward will need at its highest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pullback.autograd.profiler import units
from pullback.core.array_type import memory_of
from pullback.graph.node import AccumulateGrad, Node
from pullback.viz import memory_picture
from pullback.viz.drawing import reachable, start_node, tensors_in
from pullback.viz.held import Held, address, buffer_of, held_by
from pullback.viz.holding import Holding
from pullback.viz.peak import Course, course
from pullback.viz.pieces import Pieces, best_pieces
from pullback.viz.places import place_of


@dataclass(frozen=True)
class Memory:
    """Lists what a graph holds in memory, made by `memory`. It prints itself as a table, and shows itself in notebooks.

    Parameters
    ----------
    Made by `memory`, of the fields below.

    Attributes
    ----------
    held : int
        Bytes that the graph holds for backward, without its leaves.
    leaves : int
        Bytes of the leaves, which are there with the graph or without.
    rows : list of Holding
        `held` by line and operator, the most first.
    peak : int
        Bytes in use when the backward needs most, leaves and Python's own objects included.
    peak_at : str
        The node that runs then, with its line if that was noted.
    pieces : Pieces or None
        How many pieces to checkpoint, and what would be held then: `count`, `held`. None if that saves nothing.
    untried : list of str
        Nodes of which `peak` counts the gradients alone: custom Functions, and what hooks other than those of
        checkpoints have packed.

    Examples
    --------
    >>> x = pb.ones(1000, requires_grad=True)
    >>> with pb.viz.recording():
    ...     loss = (x * x).exp().sum()
    >>> found = pb.viz.memory(loss)
    >>> found.held
    8000
    """

    held: int
    leaves: int
    rows: list[Holding]
    peak: int
    peak_at: str
    pieces: Pieces | None
    untried: list[str]
    course: Course = field(repr=False, compare=False)

    def table(self, row_limit: int = 20) -> str:
        """The figures as text, with at most so many lines for rows; -1 for all.

        Parameters
        ----------
        row_limit : int, default 20

        Returns
        -------
        str

        Examples
        --------
        >>> x = pb.ones(1000, requires_grad=True)
        >>> found = pb.viz.memory((x * x).exp().sum())
        >>> print(found.table().splitlines()[0])
        The graph holds 7.81 KiB for backward, in 3 nodes; its leaves 7.81 KiB.
        """
        return "\n".join([*self._summary(), "", *_aligned(self._cells(row_limit))])

    def __str__(self) -> str:
        return self.table()

    def svg(self) -> str:
        """A picture: memory while backward runs, and the rows that hold most.

        Returns
        -------
        str

        Examples
        --------
        >>> x = pb.ones(1000, requires_grad=True)
        >>> found = pb.viz.memory((x * x).exp().sum())
        >>> found.svg()[:4]
        '<svg'
        """
        return memory_picture.svg(self.course, self.peak_at, self.held, self.rows)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file, whose name must end in .svg.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            The name ends otherwise.

        Examples
        --------
        >>> x = pb.ones(1000, requires_grad=True)
        >>> found = pb.viz.memory((x * x).exp().sum())
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.save(folder + "/memory.svg").name
        'memory.svg'
        """
        path = Path(path)
        if path.suffix != ".svg":
            raise ValueError(f"save: cannot write {path.name!r}; the name must end in .svg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg(), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return memory_picture.html(self.svg(), self._summary(), self._cells(20))

    def _summary(self) -> Iterator[str]:
        nodes, held = sum(row.nodes for row in self.rows), units.memory(self.held)
        yield f"The graph holds {held} for backward, in {nodes} nodes; its leaves {units.memory(self.leaves)}."
        yield f"Backward needs {units.memory(self.peak)} at its highest, at {self.peak_at}."
        if self.untried:
            names = ", ".join(dict.fromkeys(self.untried))
            yield f"Not tried, so counted by what they hold and their gradients alone: {names}."
        if self.pieces is not None:
            yield (
                f"Checkpointed in {self.pieces.count} pieces it would hold {units.memory(self.pieces.held)} at most, "
                "for one more forward (utils.checkpoint)."
            )

    def _cells(self, row_limit: int) -> list[tuple[str, ...]]:
        """The table: a heading, and the rows."""
        shown = self.rows if row_limit < 0 else self.rows[:row_limit]
        cells: list[tuple[str, ...]] = [("held", "share", "nodes", "operator", "line", "")]
        for row in shown:
            share = f"{100 * row.bytes / self.held:.1f}%" if self.held else "0.0%"
            cells.append(
                (units.memory(row.bytes), share, str(row.nodes), row.operator, row.where or "not recorded", row.code)
            )
        left_out = len(self.rows) - len(shown)
        if left_out:
            rest = sum(row.bytes for row in self.rows[len(shown) :])
            cells.append((units.memory(rest), "", "", f"{left_out} rows more", "", ""))
        return cells


def memory(outputs: Any, *, retain_graph: bool = False) -> Memory:
    """Return what the graph behind a tensor holds before its backward, by line and operator, and what backward needs.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
        Where backward would start.
    retain_graph : bool
        Whether the backward will keep the graph, as `loss.backward(retain_graph=True)` does. Then nothing that the
        graph holds is released on the way, and the peak is higher.

    Returns
    -------
    Memory
        It prints itself as a table; in notebooks it has a picture too, which `save("memory.svg")` writes.

    Raises
    ------
    ValueError
        No output has a graph, or backward has released what it had saved.
    TypeError
        An output is not a Tensor.

    Notes
    -----
    Counted is the memory of arrays, each piece once, however many views of it are saved; a view keeps the whole of what
    it is a view of. A piece that several nodes hold counts for the first of them. Source lines are there if the graph
    was made inside `recording`, or under `autograd.detect_anomaly`.

    The peak is found by running the formula of each kind of node once, alone, on ones, and by going through the graph
    in the engine's order, from gradients that nobody else holds. So it takes up to the time of
    a backward, and the memory of one node. While it looks, tracemalloc is on, and its peak is reset.

    Checkpoints are rehearsed: their functions run once more, as in backward and with the same random numbers, and what
    they compute is counted until its node has used it. So it takes the time of their recomputation, and its memory.
    Custom Functions (reentrant checkpoints too), what other hooks have packed, and checkpoints whose `context_fn` gives
    a context manager of your own are not run: `untried` names them, and the peak may be higher.

    Not seen are the records of checkpoints (about 1 KiB for each tensor to be computed again), what custom Functions
    keep in closures, hooks elsewhere than in arrays, and Arrays of elements that were overwritten after a node had
    saved them.

    The pieces are those of `utils.checkpoint_sequential`, cut where they are about equal: held are the values at the
    cuts, and what one piece saves. What nodes hold that nothing in the graph has computed (data, masks) stays.

    Examples
    --------
    >>> from pullback import viz
    >>> x = pb.ones(1000, 100, requires_grad=True)
    >>> with viz.recording():
    ...     loss = (x.exp() * x.sin()).sum()
    >>> usage = viz.memory(loss)
    >>> usage.held, usage.leaves
    (1600000, 800000)
    >>> [(row.operator, row.bytes) for row in usage.rows]
    [('ExpBackward0', 800000), ('MulBackward0', 800000), ('SinBackward0', 0), ('SumBackward0', 0)]
    """
    tensors = tensors_in(outputs, "memory")
    starts = [start_node(tensor, "memory") for tensor in tensors]
    nodes = reachable(starts, float("inf"), "memory")
    kept = {id(node): list(held_by(node)) for node in nodes}
    _refuse_released(nodes, kept)
    leaves = _leaves(nodes)
    operators = sorted((n for n in nodes if not isinstance(n, AccumulateGrad)), key=lambda node: node._sequence_nr)
    own = _own(operators, kept, leaves)
    way = course([(node, tensor.output_nr) for tensor, node in zip(tensors, starts, strict=True)], nodes, retain_graph)
    at = way.nodes[way.during.index(way.peak)]
    where, code = place_of(at)
    return Memory(
        held=sum(sum(pieces.values()) for pieces in own.values()),
        leaves=sum(leaves.values()),
        rows=_rows(operators, own),
        peak=way.peak,
        peak_at=f"{at.name()} ({where}: {code})" if where else at.name(),
        pieces=best_pieces(operators, kept, own),
        untried=[node.name() for node in way.untried],
        course=way,
    )


def _refuse_released(nodes: Sequence[Node], kept: dict[int, list[Held]]) -> None:
    for node in nodes:
        if any(held.state == "released" for held in kept[id(node)]):
            raise ValueError(
                f"memory: {node.name()} has released what it had saved: a backward has run. Ask before backward, or "
                "run it with retain_graph=True."
            )


def _leaves(nodes: Sequence[Node]) -> dict[int, int]:
    """The memory of leaves: bytes by place."""
    found = {}
    for node in nodes:
        array = memory_of(node.variable) if isinstance(node, AccumulateGrad) else None
        if array is not None:
            whole = buffer_of(array)
            found[address(whole)] = whole.nbytes
    return found


def _own(operators: Sequence[Node], kept: dict[int, list[Held]], leaves: dict[int, int]) -> dict[int, dict[int, int]]:
    """For each node, what it holds that neither leaves nor nodes before it do: bytes by place."""
    seen = set(leaves)
    own: dict[int, dict[int, int]] = {}
    for node in operators:
        mine = own[id(node)] = {}
        for held in kept[id(node)]:
            if held.whole and held.place not in seen:
                seen.add(held.place)
                mine[held.place] = held.whole
    return own


def _rows(operators: Sequence[Node], own: dict[int, dict[int, int]]) -> list[Holding]:
    sums: dict[tuple[str, str, str], list[int]] = {}
    for node in operators:
        count = sums.setdefault((*place_of(node), node.name()), [0, 0])
        count[0] += 1
        count[1] += sum(own[id(node)].values())
    rows = [Holding(where, code, name, nodes, size) for (where, code, name), (nodes, size) in sums.items()]
    return sorted(rows, key=lambda row: -row.bytes)


def _aligned(cells: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(
            cell.rjust(width) if number < 3 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
