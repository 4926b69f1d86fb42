"""The area masked has composites alone, and no kernels of its own."""

from pullback.arrays.numpy import kernels_in

KERNELS = kernels_in(__name__, __path__)
globals().update(KERNELS)
