"""Pictures of what autograd recorded: `graph` draws it, in notebooks and into files."""

from pullback.viz.drawing import Graph, graph

__all__ = ["Graph", "graph"]
