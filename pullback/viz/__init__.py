"""Pictures of the graph that autograd has recorded.

`graph` draws it. `explore` writes an HTML page in which you can search it and fold its parts. `memory` lists how many
bytes it holds. `recording` notes what the graph does not keep: source lines, times, and the gradients of a backward.
"""

from pullback.viz.drawing import Graph, graph
from pullback.viz.explorer import explore
from pullback.viz.holding import Holding
from pullback.viz.holdings import Memory, memory
from pullback.viz.pieces import Pieces
from pullback.viz.recording import recording

__all__ = ["Graph", "Holding", "Memory", "Pieces", "explore", "graph", "memory", "recording"]
