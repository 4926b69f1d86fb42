"""What autograd recorded, to look at: `graph` draws it, `explore` makes a page to walk through, `memory` weighs it.

`recording` notes what these cannot know by themselves: source lines, times, and the gradients of a backward.
"""

from pullback.viz.drawing import Graph, graph
from pullback.viz.explorer import explore
from pullback.viz.holdings import Holding, Memory, memory
from pullback.viz.pieces import Pieces
from pullback.viz.recording import recording

__all__ = ["Graph", "Holding", "Memory", "Pieces", "explore", "graph", "memory", "recording"]
