"""Floor 3: which operators exist and how they differentiate. Importing it fills the tables and Tensor's methods."""

from pullback.arrays import numpy as kernels
from pullback.arrays.numpy import sincos
from pullback.core.dispatch import NUMPY
from pullback.ops import tables
from pullback.ops.generated import tables as generated

NUMPY.kernels.update({name: getattr(kernels, name) for name in kernels.__all__})
generated.fill(tables)
NUMPY.register({"sin": sincos.sin, "cos": sincos.cos})  # quicker on large arrays, within 3 units in the last place
