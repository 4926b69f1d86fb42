"""Layer 4: kernels, one folder an array type."""
