"""A view, and a write into it.

    y = x.clone()
    y[1:] *= v

y[1:] is a *view*: it shares the memory of y. The write changes y, and the graph must know. After it, y[0] is still
x[0], and the rest is x[1:] * v. So its backward splits grad: where nothing was written it passes; where v was
multiplied, x gets grad times v and v gets grad times *what stood there before the write*.

    write_backward(grad, x, v)   by hand: the gradients of x (a vector) and of v (as long as x[1:])

`grad` still belongs to others: do not write into it.

A write can also destroy what a node has saved. exp saves its own result; the template's exp_plus_one then overwrites
that, and its backward raises. Try it, read the error, mend it:

    exp_plus_one(x)              exp(x) + 1 of a tensor
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.lab.judge import Answer, check_array, check_function, check_rule, inputs

TEMPLATE = '''\
import numpy as np


def write_backward(grad, x, v):
    """The gradients of x and v, where y = x.copy(); y[1:] *= v."""
    return grad, grad[1:]  # replace both


def exp_plus_one(x):
    y = x.exp()
    y += 1
    return y
'''

HINTS = (
    "Begin with a copy: grad_x = grad.copy(). Its first number is right already.",
    "y[1:] = x[1:] * v is a product: exercise 2 for numbers. Each factor gets grad[1:] times the other one.",
    "grad_x[1:] *= v, and for v: grad[1:] * x[1:].",
    "exp_plus_one: y = y + 1 makes a new tensor, and leaves what exp has saved alone.",
)

SOLUTION = """\
import numpy as np


def write_backward(grad, x, v):
    grad_x = grad.copy()
    grad_x[1:] *= v
    return grad_x, grad[1:] * x[1:]


def exp_plus_one(x):
    return x.exp() + 1
"""


def check(answer: Answer) -> None:
    """The formula against differences of the program; then the function of tensors."""
    check_rule("write_backward", _written, answer["write_backward"], inputs((4,), (3,)), names="xv")
    (x,) = inputs((4,))
    check_function("exp_plus_one", answer["exp_plus_one"], [x])
    check_array("exp_plus_one, its values", answer.run_on_tensors("exp_plus_one", x), np.exp(x) + 1, "the value")


def _written(x: Any, v: Any) -> Any:
    y = x.copy()
    y[1:] *= v
    return y
