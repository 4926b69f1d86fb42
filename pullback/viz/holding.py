"""One row of what a graph holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Holding:
    """Sums up what the nodes of one operator, recorded by one line, hold.

    Parameters
    ----------
    Made by `memory`, of the fields below.

    Attributes
    ----------
    where : str
        The line, as "model.py:12"; empty if nothing noted it.
    code : str
        Its text.
    operator : str
        The nodes' name.
    nodes : int
        How many there are.
    bytes : int
        What they hold that no node before them holds: memory that several share counts once.

    Examples
    --------
    >>> x = pb.ones(1000, requires_grad=True)
    >>> with pb.viz.recording():
    ...     loss = (x * x).exp().sum()
    >>> found = pb.viz.memory(loss)
    >>> found.rows[0].operator, found.rows[0].bytes
    ('ExpBackward0', 8000)
    """

    where: str
    code: str
    operator: str
    nodes: int
    bytes: int
