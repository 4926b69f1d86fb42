"""Forward mode, from the same formula.

Reverse mode pulls a gradient back, from the output to the inputs. Forward mode pushes a *tangent* forward: if x moves
by dx, how does y move? Both multiply by the same derivative:

    backward   grad_x = slope(x) * grad        J^T times a cotangent
    forward    dy     = slope(x) * dx          J times a tangent

So for a function of one number the formula is written once (`result: auto_element_wise` in YAML). A matrix product is
its own tangent, by the product rule: both factors move, and nothing is transposed.

    slope(x)                      the derivative of y = x * exp(-x), on ndarrays
    y_backward(grad, x)           uses slope
    y_forward(dx, x)              uses slope
    matmul_forward(dA, dB, A, B)  the tangent of A @ B
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.lab.judge import Answer, check_rule, check_tangent, inputs

TEMPLATE = '''\
import numpy as np


def slope(x):
    """The derivative of x * exp(-x)."""
    return x  # replace this


def y_backward(grad, x):
    return grad  # replace this


def y_forward(dx, x):
    return dx  # replace this


def matmul_forward(dA, dB, A, B):
    """The tangent of A @ B, where A moves by dA and B by dB."""
    return dA @ dB  # replace this
'''

HINTS = (
    "The product rule: (u v)' = u' v + u v'. Here u = x and v = exp(-x), whose derivative is -exp(-x).",
    "slope(x) = (1 - x) * exp(-x). Both rules are this, times what comes in.",
    "matmul_forward: the product rule again, u' v + u v', in the order of the matrices.",
    "dA @ B + A @ dB",
)

SOLUTION = """\
import numpy as np


def slope(x):
    return (1 - x) * np.exp(-x)


def y_backward(grad, x):
    return grad * slope(x)


def y_forward(dx, x):
    return dx * slope(x)


def matmul_forward(dA, dB, A, B):
    return dA @ B + A @ dB
"""


def check(answer: Answer) -> None:
    """Both directions by gradcheck, which knows forward mode too."""
    (x,) = inputs((4,))
    check_rule("slope", _y, lambda grad, x: grad * answer["slope"](x), [x])
    check_rule("y_backward", _y, answer["y_backward"], [x])
    check_tangent("y_forward", _y, answer["y_forward"], [x])
    for part, shapes in (("", ((3, 3), (3, 3))), (", 2 x 3 times 3 x 4", ((2, 3), (3, 4)))):
        rule = answer["matmul_forward"]
        check_tangent(f"matmul_forward{part}", np.matmul, rule, inputs(*shapes), names=("dA", "dB"))


def _y(x: Any) -> Any:
    return x * np.exp(-x)
