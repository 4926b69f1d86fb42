"""Helpers that formulas call, one module an area."""
