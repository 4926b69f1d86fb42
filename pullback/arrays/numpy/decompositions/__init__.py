"""Kernels of the area decompositions: solves, factorisations, eigenvalues, norms."""

from pullback.arrays.numpy import kernels_in

KERNELS = kernels_in(__name__, __path__)
globals().update(KERNELS)
