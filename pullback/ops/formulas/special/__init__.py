"""Helpers that formulas of the area special call."""
