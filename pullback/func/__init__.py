"""Function transforms: they take a plain function and return one that computes its derivatives.

The names are those of torch.func and JAX. Transforms nest, in any order and to any depth.
"""

from __future__ import annotations

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from pullback.explain.missing_names import missing_name as _missing_name
from pullback.func.gradient import grad, grad_and_value, value_and_grad
from pullback.ops.tables import PUBLIC as _HOMES

if _typing.TYPE_CHECKING:
    from pullback.func.batching import vmap
    from pullback.func.checking import check_grads
    from pullback.func.checkpoint import checkpoint
    from pullback.func.forward import jvp
    from pullback.func.implicit.api import custom_fixed_point, custom_linear_solve, custom_minimum, custom_root
    from pullback.func.implicit.ode import odeint
    from pullback.func.jacobians import hessian, jacfwd, jacobian, jacrev
    from pullback.func.linearization import linearize
    from pullback.func.loops.checkpointed import checkpointed_loop
    from pullback.func.loops.cond import cond
    from pullback.func.loops.scan import fori_loop, scan, while_loop
    from pullback.func.products import hvp, vhp
    from pullback.func.ravel import ravel_pytree
    from pullback.func.reverse import vjp
    from pullback.func.sparse import (
        Coloring,
        color_hessian,
        color_jacobian,
        hessian_sparsity,
        jacobian_sparsity,
        sparse_hessian,
        sparse_jacobian,
    )
    from pullback.func.substitution import functional_call, stop_gradient
    from pullback.func.taylor import jet

__all__ = [
    "Coloring",
    "check_grads",
    "checkpoint",
    "checkpointed_loop",
    "color_hessian",
    "color_jacobian",
    "cond",
    "custom_fixed_point",
    "custom_linear_solve",
    "custom_minimum",
    "custom_root",
    "fori_loop",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "hessian_sparsity",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacobian_sparsity",
    "jacrev",
    "jet",
    "jvp",
    "linearize",
    "odeint",
    "ravel_pytree",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
    "while_loop",
]

_LATE = {  # name -> module, imported when it is first asked for: arrays with tangents, say, come with jvp
    "Coloring": "sparse",
    "check_grads": "checking",
    "checkpoint": "checkpoint",
    "checkpointed_loop": "loops.checkpointed",
    "color_hessian": "sparse",
    "color_jacobian": "sparse",
    "cond": "loops.cond",
    "custom_fixed_point": "implicit.api",
    "custom_linear_solve": "implicit.api",
    "custom_minimum": "implicit.api",
    "custom_root": "implicit.api",
    "fori_loop": "loops.scan",
    "functional_call": "substitution",
    "hessian": "jacobians",
    "hessian_sparsity": "sparse",
    "hvp": "products",
    "jacfwd": "jacobians",
    "jacobian": "jacobians",
    "jacobian_sparsity": "sparse",
    "jacrev": "jacobians",
    "jet": "taylor",
    "jvp": "forward",
    "linearize": "linearization",
    "odeint": "implicit.ode",
    "ravel_pytree": "ravel",
    "scan": "loops.scan",
    "sparse_hessian": "sparse",
    "sparse_jacobian": "sparse",
    "stop_gradient": "substitution",
    "vhp": "products",
    "vjp": "reverse",
    "vmap": "batching",
    "while_loop": "loops.scan",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATE:
        raise _missing_name(_sys.modules[__name__], name, _HOMES)
    found = globals()[name] = getattr(_import_module(f"{__name__}.{_LATE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
