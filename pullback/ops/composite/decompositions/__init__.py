"""Composite operators of the area decompositions."""
