"""Layer 2: what a graph is made of: nodes and edges, saved tensors, views, in-place rules."""
