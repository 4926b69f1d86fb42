"""Layer 3: what a graph is made of: nodes and edges, saved tensors, views, in-place rules."""
