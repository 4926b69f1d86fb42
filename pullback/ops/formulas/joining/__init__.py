"""Helpers that formulas of the area joining call."""
