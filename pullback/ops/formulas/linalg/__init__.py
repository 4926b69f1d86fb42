"""Helpers that formulas of the area linalg call."""
