"""A sum and a broadcast, as pull-backs of each other.

s = x.sum(axis) adds numbers up. If one of them grows by h, so does the sum: each gets the gradient of the sum that it
went into. So the backward of a sum *repeats* grad along the axis that is gone.

y = x + b with b of shape (3,) and x of shape (4, 3) uses each number of b four times. What each copy gets must be
added up. So the backward of a broadcast *sums*.

Each is the other's transpose. Write both:

    sum_backward(grad, x, axis)   y = x.sum(axis), x a matrix, axis 0 or 1; the gradient of x
    add_backward(grad, x, b)      y = x + b, x a matrix, b a row of it; the gradients of x and of b
"""

from pullback.lab.judge import Answer, check_rule, inputs

TEMPLATE = '''\
import numpy as np


def sum_backward(grad, x, axis):
    """The gradient of x, where y = x.sum(axis)."""
    return grad  # replace this


def add_backward(grad, x, b):
    """The gradients of x and b, where y = x + b and b is broadcast to the rows of x."""
    return grad, grad  # replace what is wrong
'''

HINTS = (
    "The gradient of x has the shape of x. np.expand_dims(grad, axis) puts the axis back, with length 1.",
    "np.broadcast_to(array, shape) repeats along dimensions of length 1.",
    "In x + b the gradient of x is grad as it is. That of b is a sum of rows of grad: which axis must go?",
)

SOLUTION = """\
import numpy as np


def sum_backward(grad, x, axis):
    return np.broadcast_to(np.expand_dims(grad, axis), x.shape)


def add_backward(grad, x, b):
    return grad, grad.sum(axis=0)
"""


def check(answer: Answer) -> None:
    """Each axis, a matrix that is not square and one that is."""
    for shape in ((4, 3), (3, 3)):
        for axis in (0, 1):
            check_rule(
                f"sum_backward, axis {axis} of {shape}",
                lambda x, axis=axis: x.sum(axis),
                lambda grad, x, axis=axis: answer["sum_backward"](grad, x, axis),
                inputs(shape),
                names="x",
            )
    for shape in ((4, 3), (3, 3)):
        check_rule(
            f"add_backward, {shape} + (3,)",
            lambda x, b: x + b,
            answer["add_backward"],
            inputs(shape, (3,)),
            names="xb",
        )
