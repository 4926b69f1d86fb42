"""Composite operators of the area indexing."""
