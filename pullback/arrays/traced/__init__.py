"""Arrays that record the kernels they go through, for `pullback.compile`."""
