"""Layer 5: kernels, one folder an array type."""
