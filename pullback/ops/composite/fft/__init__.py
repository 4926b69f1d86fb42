"""Composite operators of the area fft."""
