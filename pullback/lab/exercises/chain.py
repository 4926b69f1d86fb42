"""A chain, by hand and by the engine.

y = log(1 + sin(x)**2) is a chain of four functions:

    a = sin(x)      b = a**2      c = 1 + b      y = log(c)

Backward walks it from the end. It begins with the gradient of y, multiplies it by the derivative of log at c, then by
that of 1 + b, then by that of a**2, then by that of sin. Each step needs one number from the way forward: c, a or x.

The engine does the same. A tensor with requires_grad=True records what is computed with it; y.sum().backward() walks
back and leaves the gradient in x.grad.

    chain_backward(grad, x)    by hand: the gradient of x
    by_the_engine(x)           x an ndarray; the gradient of y.sum(), made with pb.tensor and backward(), as an ndarray
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.lab.judge import Answer, check_array, check_rule, inputs

TEMPLATE = '''\
import numpy as np
import pullback as pb


def chain_backward(grad, x):
    """The gradient of x, where y = log(1 + sin(x)**2)."""
    a = np.sin(x)
    c = 1 + a**2
    # y = np.log(c); now back, one function at a time
    grad_c = grad  # replace this
    grad_a = grad_c  # and this
    return grad_a  # and this


def by_the_engine(x):
    """The same for grad = 1, by backward()."""
    t = pb.tensor(x, requires_grad=True)
    return t  # replace this
'''

HINTS = (
    "grad_c = grad * (derivative of log at c), and the derivative of log is 1/c.",
    "grad_a = grad_c * (derivative of a**2 at a). Adding 1 changes no derivative.",
    "The last step is exercise 1: grad_a times the derivative of sin at x.",
    "The engine: y = np.log(1 + np.sin(t)**2); y.sum().backward(); return t.grad.numpy()",
)

SOLUTION = """\
import numpy as np
import pullback as pb


def chain_backward(grad, x):
    a = np.sin(x)
    c = 1 + a**2
    grad_c = grad / c
    grad_a = grad_c * 2 * a
    return grad_a * np.cos(x)


def by_the_engine(x):
    t = pb.tensor(x, requires_grad=True)
    np.log(1 + np.sin(t) ** 2).sum().backward()
    return t.grad.numpy()
"""


def check(answer: Answer) -> None:
    """By hand against differences; the engine's gradient against the right one."""
    (x,) = inputs((5,))
    factors = {
        "cos(x), the derivative of sin": np.cos(x),
        "a, of the derivative of a**2": np.sin(x),
        "2 a, the derivative of a**2": 2 * np.sin(x),
        "1/c, the derivative of log": 1 / (1 + np.sin(x) ** 2),
    }
    check_rule("chain_backward", _chain, answer["chain_backward"], [x], factors=factors)
    right = 2 * np.sin(x) * np.cos(x) / (1 + np.sin(x) ** 2)
    check_array("by_the_engine", answer.run("by_the_engine", x), right, factors=factors)


def _chain(x: Any) -> Any:
    return np.log(1 + np.sin(x) ** 2)
