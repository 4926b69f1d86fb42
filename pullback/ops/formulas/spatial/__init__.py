"""Helpers that formulas of the area spatial call."""
