"""Helpers that formulas of the area fft call."""
