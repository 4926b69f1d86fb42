"""Helpers that formulas of the area decompositions call."""
