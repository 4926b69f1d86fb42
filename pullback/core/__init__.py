"""Floor 1: what a graph is made of. No mathematics here."""
