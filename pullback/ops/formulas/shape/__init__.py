"""Helpers that formulas of the area shape call."""
