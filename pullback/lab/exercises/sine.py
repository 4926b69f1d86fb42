"""The derivative of sin, as a backward.

Let L be some number that is computed from y = sin(x), element by element. Backward is told how L changes with y: this
is `grad`, an array of the shape of y. It must say how L changes with x. By the chain rule

    dL/dx = dL/dy * dy/dx

So a backward never returns the derivative alone: it *pulls back* what comes in.

Write sin_backward(grad, x). `grad` and `x` are ndarrays of one shape, and so is what you return.
"""

import numpy as np

from pullback.lab.judge import Answer, check_rule, inputs

TEMPLATE = '''\
import numpy as np


def sin_backward(grad, x):
    """The gradient of x, where y = sin(x) and grad is the gradient of y."""
    return grad  # replace this
'''

HINTS = (
    "What is the derivative of sin at one number x?",
    "The result is `grad` times this derivative, element by element: * does that for arrays.",
    "The derivative is cos, at x itself (not at y).",
)

SOLUTION = """\
import numpy as np


def sin_backward(grad, x):
    return grad * np.cos(x)
"""


def check(answer: Answer) -> None:
    """Against differences of sin."""
    check_rule("sin_backward", np.sin, answer["sin_backward"], inputs((4,)))
    check_rule("sin_backward, for a matrix", np.sin, answer["sin_backward"], inputs((2, 3)))
    (x,) = inputs((3,))
    check_rule("sin_backward, for numbers of both signs", np.sin, answer["sin_backward"], [x * [-1.0, 2.0, -2.0]])
