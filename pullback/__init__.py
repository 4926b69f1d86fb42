"""pullback: PyTorch's autograd for NumPy arrays.

>>> import pullback as pb
>>> x = pb.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

import numpy as _np

from pullback.core import printing as _printing
from pullback.core.factory import asarray, from_numpy, tensor
from pullback.core.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pullback.core.tensor import Tensor
from pullback.ops import methods as _methods
from pullback.ops import tables as _tables

_methods.attach()

from pullback import autograd, func, interop, nn, ops, random  # noqa: E402 - they need Tensor's methods
from pullback.random import default_generator, get_rng_state, manual_seed, set_rng_state  # noqa: E402

__version__ = "0.1.0"

for _name in ("float64", "float32", "float16", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint8",
              "uint16", "uint32", "uint64"):  # fmt: skip
    globals()[_name] = _np.dtype(_name)
bool = _np.dtype("bool")
double, half, long, cdouble, cfloat = (_np.dtype(c) for c in ("f8", "f2", "i8", "c16", "c8"))
inf, nan, pi, e, newaxis = _np.inf, _np.nan, _np.pi, _np.e, None

globals().update(_tables.PUBLIC[""])
