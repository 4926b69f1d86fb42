"""Composite operators of the area reductions."""
