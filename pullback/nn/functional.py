"""Functions for neural networks, under the names of torch.nn.functional.

There are activations, losses, linear layers, attention, normalisation, dropout, convolution, pooling and resampling.
Each is a plain function: parameters are arguments.
"""

import sys as _sys

from pullback.explain.missing_names import missing_name as _missing_name
from pullback.ops.late import late_function as _late_function
from pullback.ops.tables import PUBLIC as _PUBLIC

__all__ = list(_PUBLIC["nn.functional"])


def __getattr__(name):
    if name in _PUBLIC["nn.functional"]:
        function = globals()[name] = _late_function("nn.functional", name)  # found at once from now on
        return function
    raise _missing_name(_sys.modules[__name__], name, _PUBLIC)


def __dir__():
    return __all__
