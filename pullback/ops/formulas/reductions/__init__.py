"""Helpers that formulas of the area reductions call."""
