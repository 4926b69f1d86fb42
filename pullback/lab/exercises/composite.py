"""The same operator as a composite.

The Gudermannian function is made of operators that have derivatives: gd(x) = 2 atan(tanh(x / 2)). A *composite*
calls them, and needs no formula: the graph sees only what it calls. That is less work, and no formula can be wrong; it
costs one node for each operator, saves more, and has no say in rounding.

    which?       composite                         kernel and formula
    write        one function of operators         a function of ndarrays, and its derivatives
    graph        a node for each operator          one node
    choose if    it is fast and exact enough       a step loses digits, or the kernel is not of operators (C, SciPy)

A composite gets the operators as `ops`, and computes with nothing else: ops.sin(self), and Python's + - * / **. So it
runs on every kind of array. Write gd and complete DECLARED: it says `composite: gd` where it said `kernel: gd`, and has
no derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.lab.judge import Answer, check_array, check_function, inputs, refuse

TEMPLATE = '''\
def gd(self, *, ops):
    """2 atan(tanh(x / 2)), of operators."""
    return ops.atan(self)  # replace this


DECLARED = """
namespace: lab_composite
composites: answer
native_functions:
  - func: gd(Tensor self) -> Tensor
    composite: gd
    doc: The Gudermannian function.
"""
'''

HINTS = (
    "DECLARED is complete. Translate the formula: np.tanh becomes ops.tanh.",
    "ops.tanh(self / 2) is the inner part.",
    "return 2 * ops.atan(ops.tanh(self / 2))",
)

SOLUTION = '''\
def gd(self, *, ops):
    return 2 * ops.atan(ops.tanh(self / 2))


DECLARED = """
namespace: lab_composite
composites: answer
native_functions:
  - func: gd(Tensor self) -> Tensor
    composite: gd
    doc: The Gudermannian function.
"""
'''


def check(answer: Answer) -> None:
    """Values, then gradients of both orders; what it calls must be operators."""
    operators = answer.loaded("DECLARED")
    if not hasattr(operators, "gd"):
        refuse("DECLARED", "missing_name", "it declares no operator gd.", "Keep the signature of the template.")
    _refuse_numpy(answer["gd"])
    (x,) = inputs((4,))
    check_array("gd, its values", answer.call("gd", operators.gd, x), 2 * np.arctan(np.tanh(x / 2)), "the value")
    # The graph that gradcheck sees belongs to the operators; a constant in between is what can be wrong.
    check_function("gd, its gradient", operators.gd, [x], check_forward_ad=True)
    check_function("gd, its second derivative", operators.gd, [x], second=True)


class _Other:
    """Stands for an array of a kind that NumPy does not know: a composite computes with operators alone."""

    __array_ufunc__ = None

    def _same(self, *_: Any) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _same
    __neg__ = __gt__ = __lt__ = __ge__ = __le__ = _same


class _Operators:
    """Stands for `ops`: every operator there is."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: _Other()


def _refuse_numpy(gd: Any) -> None:
    try:
        gd(_Other(), ops=_Operators())
    except TypeError as error:
        if "__array_ufunc__" in str(error):
            refuse("gd", "numpy", "it calls a function of NumPy.", "Compute with `ops` alone: ops.tanh for np.tanh.")
    except Exception:  # noqa: BLE001, S110 - other mistakes show when it runs on numbers
        pass
