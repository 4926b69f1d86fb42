"""Floor 3: which operators exist and how they differentiate. Importing it fills the tables and Tensor's methods."""

import sys as _sys
from functools import cache

from pullback.arrays import numpy as kernels
from pullback.arrays.numpy.in_formulas import IN_FORMULAS
from pullback.core import slots
from pullback.core.absent import absent as _absent
from pullback.core.dispatch import NUMPY
from pullback.ops import late, tables
from pullback.ops.generated import tables as generated
from pullback.ops.tables import PUBLIC as _HOMES

NUMPY.kernels.update({name: getattr(kernels, name) for name in kernels.__all__})
generated.fill_tables(tables)
late.announce()
NUMPY.register(IN_FORMULAS)


@cache
def _forward_rules():
    """The tangent rules of all kernels, loaded when forward mode is first used."""
    from pullback.ops.generated.tangents import RULES

    return RULES


slots.forward_rules = _forward_rules


def __getattr__(name):
    if name == "load":  # the generator and the YAML reader come with it, so only when it is wanted
        from pullback.ops.loading import load

        return load
    raise _absent(_sys.modules[__name__], name, _HOMES)
