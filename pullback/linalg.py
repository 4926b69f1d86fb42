"""Linear algebra, under the names of torch.linalg: norms, solves, decompositions."""

from pullback.core.errors import LinAlgError
from pullback.explain.missing_names import getter as _getter
from pullback.func.matrix_function import matrix_function
from pullback.ops.late import public_functions as _public_functions
from pullback.ops.tables import PUBLIC as _HOMES

_FUNCTIONS = _public_functions("linalg")
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
__all__ += ["LinAlgError", "matrix_function"]
__getattr__ = _getter(__name__, _HOMES)
