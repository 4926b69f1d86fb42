"""Special functions of Tensors under SciPy's names, where SciPy itself looks for them (`SCIPY_ARRAY_API=1`)."""

from typing import Any

import scipy.special as _special

from pullback.array_api.functions import of_numpy as _of_numpy


def __getattr__(name: str) -> Any:
    found = getattr(getattr(_special, "_ufuncs", _special), name, None)  # not SciPy's wrapper, which asks here
    if name.startswith("_") or found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _of_numpy(found)
