"""SciPy's packages, whose functions take our tensors: the same names, arguments and results.

>>> import numpy as np
>>> import pullback as pb
>>> from pullback.scipy import linalg
>>> A = np.array([[2.0, 1.0], [0.0, 3.0]])
>>> pb.func.grad(lambda A: linalg.expm(A).sum())(A).round(4)
array([[12.6965, 12.6965],
       [27.4746, 27.4746]])

For those who prefer an import to `adopt()`, by which `scipy` itself means the same in one's own modules. Calls without
our tensors go to SciPy as they are. docs/scipy.md lists each function, and how it is differentiated.

    rules   the rules, by area: what `adopt()` and these packages have in common
    fft          discrete Fourier, sine and cosine transforms
    integrate    quadrature and differential equations
    interpolate  splines and interpolation
    linalg       linear algebra
    ndimage      filters, transformations and measures of images
    optimize     minimisers, roots and least squares, by the implicit function theorem
    signal       filters and convolutions
    sparse       sparse matrices and their solvers
    spatial      distances
    special      special functions
    stats        distributions and statistics
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

__all__ = [
    "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
