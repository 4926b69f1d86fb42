"""Helpers that formulas of the area nn call."""
