"""Floor 5: which operators exist and how they differentiate. Importing it fills the tables and Tensor's methods."""

import sys as _sys
from functools import cache

from pullback.arrays.numpy import KERNELS
from pullback.arrays.numpy.fast.updates import WRITE_OUT
from pullback.arrays.numpy.formula_kernels import IN_FORMULAS
from pullback.core import slots
from pullback.core.array_type import NUMPY
from pullback.core.missing_names import missing_name as _missing_name
from pullback.ops import late
from pullback.ops.tables import PUBLIC as _HOMES

NUMPY.write_out = WRITE_OUT
NUMPY.kernels.update(KERNELS)
for _area in ("pointwise", "reductions", "shape", "indexing", "joining", "linalg", "creation"):
    late.enter_area(_area)
late.announce()
NUMPY.register(IN_FORMULAS)


@cache
def _tangents():
    """The tangent function of every operator, and the inputs that it ignores, loaded with the first forward mode."""
    from pullback.ops.generated.tangents import TANGENTS, UNDERIVED

    return TANGENTS, UNDERIVED


slots.tangents = _tangents


def _formula_failed(error):
    """`ops.failed_formulas.tell`, imported when the first formula fails."""
    from pullback.ops.failed_formulas import tell

    tell(error)


slots.formula_failed = _formula_failed


def __getattr__(name):
    if name == "load":  # the generator and the YAML reader come with it, so only when it is wanted
        from pullback.ops.loading import load

        return load
    raise _missing_name(_sys.modules[__name__], name, _HOMES)
