"""Composite operators of the area spatial."""
