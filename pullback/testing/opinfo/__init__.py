"""One record (OpInfo) for each operator, in a file an area; `OPINFOS` has all. `core` says how to write one."""

from pullback.testing.opinfo import (
    creation,
    elementary,
    fft,
    indexing,
    joining,
    linalg,
    nn,
    pointwise,
    random,
    reductions,
    shape,
    special,
)
from pullback.testing.opinfo.core import OpInfo

__all__ = ["OPINFOS"]

AREAS = (pointwise, reductions, shape, indexing, joining, linalg, nn, random, creation, fft, elementary, special)
OPINFOS: list[OpInfo] = [info for area in AREAS for info in area.OPINFOS]
