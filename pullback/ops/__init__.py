"""Floor 3: which operators exist and how they differentiate. Importing it fills the tables and Tensor's methods."""

from pullback.arrays import numpy as kernels
from pullback.arrays.numpy.in_formulas import IN_FORMULAS
from pullback.core.dispatch import NUMPY
from pullback.ops import late, tables
from pullback.ops.generated import tables as generated

NUMPY.kernels.update({name: getattr(kernels, name) for name in kernels.__all__})
generated.fill_tables(tables)
late.announce()
NUMPY.register(IN_FORMULAS)


def __getattr__(name):
    if name == "load":  # the generator and the YAML reader come with it, so only when it is wanted
        from pullback.ops.loading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
