"""Composite operators of the area special."""
