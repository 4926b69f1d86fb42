"""Double backward, and a Function that gets it wrong.

With create_graph=True the backward is itself recorded, and can be differentiated: that is how second derivatives are
made. So everything in a backward must be *made of tensors that the graph knows*. A number that was computed aside, on
an ndarray or after detach(), is a constant there: the first derivative is right, the second one lacks a term.

The template is such a Function, for x**3. gradcheck is content with it; gradgradcheck is not. (y'' = 6 x comes from the
factor 3 x**2, which is a constant here.)

Mend Cube. Its backward must give 3 x**2 grad, in such a way that this can be differentiated again, by x and by grad.
"""

import pullback as pb
from pullback.lab.judge import Answer, check_array, check_function, inputs

TEMPLATE = '''\
import pullback as pb


class Cube(pb.autograd.Function):
    """x**3, with a backward that cannot be differentiated."""

    @staticmethod
    def forward(ctx, x):
        ctx.slope = 3 * x.detach().numpy() ** 2
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.slope
'''

HINTS = (
    "Keep x, not a number made of it: ctx.save_for_backward(x) is what the graph follows.",
    "Compute the slope in backward, from (x,) = ctx.saved_tensors.",
    "In backward: (x,) = ctx.saved_tensors; return grad * 3 * x**2. No detach, no numpy().",
)

SOLUTION = """\
import pullback as pb


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2
"""


def check(answer: Answer) -> None:
    """Values, then first derivatives, then second ones."""
    cube = answer.function("Cube").apply
    (x,) = inputs((3,))
    check_array("Cube, its values", answer.call("Cube", cube, pb.tensor(x)), x**3, "the value")
    check_function("Cube, first derivative", cube, [x])
    check_function("Cube, second derivative", cube, [x], second=True)
