"""Kernels of the area decompositions: solves, factorisations, eigenvalues, norms."""
