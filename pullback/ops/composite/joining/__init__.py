"""Composite operators of the area joining."""
