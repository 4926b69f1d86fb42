"""How the kernels of NumPy's table become nodes, by area."""
