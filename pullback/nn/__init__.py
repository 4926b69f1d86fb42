"""Functions for neural networks, under the names of torch.nn. They are in `nn.functional`."""

import sys as _sys
from importlib import import_module as _import_module

from pullback.explain.missing_names import missing_name as _missing_name
from pullback.nn import functional
from pullback.ops.tables import PUBLIC as _HOMES

__all__ = ["LinearCrossEntropyOptions", "functional"]


def __getattr__(name: str) -> object:
    if name == "LinearCrossEntropyOptions":  # imported when first used, as the loss is
        return _import_module("pullback.ops.composite.nn.linear_losses").LinearCrossEntropyOptions
    raise _missing_name(_sys.modules[__name__], name, _HOMES)
