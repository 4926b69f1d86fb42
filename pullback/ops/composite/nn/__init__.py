"""Composite operators of the area nn."""
