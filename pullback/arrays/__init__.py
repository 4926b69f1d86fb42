"""Floor 2: kernels, one folder an array type."""
