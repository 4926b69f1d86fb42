"""Layer 6: which operators exist and how they differentiate. Importing it names them in the tables; see `late`."""

from __future__ import annotations

import sys as _sys
from functools import cache
from typing import Any

from pullback.arrays.numpy.fast.updates import WRITE_OUT
from pullback.core import slots
from pullback.core.array_type import NUMPY
from pullback.core.late import calling
from pullback.explain.missing_names import missing_name as _missing_name
from pullback.ops import late
from pullback.ops.tables import PUBLIC as _HOMES

NUMPY.write_out = WRITE_OUT
late.announce()


@cache
def _tangents() -> Any:
    """The tangent function of every operator, and the inputs that it ignores, loaded with the first forward mode."""
    from pullback.ops.generated.tangents import TANGENTS, UNDERIVED

    return TANGENTS, UNDERIVED


slots.tangents = _tangents
slots.formula_failed = calling("pullback.ops.failed_formulas", "tell")
slots.array_call = calling("pullback.ops.array_calls", "array_call")


def __getattr__(name: str) -> Any:
    if name == "load":  # the generator and the YAML reader come with it, so only when it is wanted
        from pullback.ops.loading import load

        return load
    loaded = _sys.modules.get(f"{__name__}.loaded.{name}")  # the operators of a namespace: pb.ops.mylib.sinc2
    if loaded is not None:
        return loaded
    raise _missing_name(_sys.modules[__name__], name, _HOMES)
