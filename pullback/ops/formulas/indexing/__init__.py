"""Helpers that formulas of the area indexing call."""
