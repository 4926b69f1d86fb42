"""Helpers that formulas of the area pointwise call."""
