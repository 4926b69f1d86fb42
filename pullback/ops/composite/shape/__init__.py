"""Composite operators of the area shape."""
