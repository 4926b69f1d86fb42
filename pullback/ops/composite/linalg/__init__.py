"""Composite operators of the area linalg."""
