"""Composite operators of the area pointwise."""
