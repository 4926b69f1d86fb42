"""Boxes and arrows: the data of a drawing, before a program lays it out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Vertex:
    """One box: an operator's node, a leaf tensor, or the tensor that was asked about."""

    key: str
    kind: str  # "operator", "leaf", "result", or "fused" for several operators
    label: str
    detail: str  # shapes and dtypes, one tensor a line


@dataclass(frozen=True)
class Arrow:
    """A value that flowed from one box to the next. `label` tells outputs apart where there are several."""

    tail: str
    head: str
    label: str = ""
