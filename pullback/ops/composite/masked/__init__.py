"""Composite operators of the area masked."""
