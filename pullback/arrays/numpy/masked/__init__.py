"""The area masked has composites alone, and no kernels of its own."""
