"""A custom Function: an argument that is not a tensor, and gradients that are None.

A class with forward and backward puts an operation of your own into the graph:

    class Powers(pb.autograd.Function):     # called as Powers.apply(x, n)
        @staticmethod
        def forward(ctx, x, n): ...         # computes; ctx keeps what backward needs
        @staticmethod
        def backward(ctx, grad_p, grad_q)   # one gradient comes in for each output

Powers gives two outputs, p = x**n and q = x**(n + 1). Three rules:

1. Backward returns one entry for *each argument* of forward. n is a plain int: its entry is None.
2. Tensors are kept with ctx.save_for_backward(x) and read as ctx.saved_tensors; plain numbers as ctx.n = n.
3. If only p is used, nothing arrives for q. Usually zeros are made for it. ctx.set_materialize_grads(False) in
   forward asks for None instead, and saves that work; then backward must look.

Write Powers so that it follows all three.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.lab.judge import Answer, Mistake, check_function, inputs, refuse

TEMPLATE = '''\
import pullback as pb


class Powers(pb.autograd.Function):
    """x**n and x**(n + 1)."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n, x ** (n + 1)

    @staticmethod
    def backward(ctx, grad_p, grad_q):
        (x,) = ctx.saved_tensors
        return grad_p  # replace this
'''

HINTS = (
    "d x**n / dx = n x**(n - 1). x goes into both outputs, so its gradient is the sum of two terms.",
    "Return two entries: `return grad_x, None`.",
    "Put ctx.set_materialize_grads(False) into forward. In backward, add a term only for a gradient that is not None.",
)

SOLUTION = """\
import pullback as pb


class Powers(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n, x ** (n + 1)

    @staticmethod
    def backward(ctx, grad_p, grad_q):
        (x,) = ctx.saved_tensors
        grad_x = None
        if grad_p is not None:
            grad_x = grad_p * ctx.n * x ** (ctx.n - 1)
        if grad_q is not None:
            term = grad_q * (ctx.n + 1) * x**ctx.n
            grad_x = term if grad_x is None else grad_x + term
        return grad_x, None
"""


def check(answer: Answer) -> None:
    """Both outputs, each alone, and whether None arrived."""
    powers = answer.function("Powers")
    arrived: list[bool] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        arrived.append(any(g is None for g in grads))
        return powers.backward(ctx, *grads)

    watched: Any = type(powers.__name__, (powers,), {"backward": staticmethod(backward)})

    (x,) = inputs((4,))
    check_function("Powers, both outputs", lambda x: watched.apply(x, 3), [x], check_undefined_grad=False)
    for k, name in enumerate("pq"):
        arrived.clear()
        check_function(f"Powers, {name} alone", lambda x, k=k: watched.apply(x, 2)[k], [x], check_undefined_grad=False)
        if not any(arrived):
            refuse(
                f"Powers, {name} alone",
                "materialized",
                "the gradients are right, but for the output that is not used backward still gets zeros, not None.",
                "Call ctx.set_materialize_grads(False) in forward.",
            )
    try:
        check_function("Powers, p + q", lambda x: pb.add(*watched.apply(x, 3)), [x], check_undefined_grad=False)
    except Mistake:
        refuse(
            "Powers, p + q",
            "dropped_gradient",
            "each gradient alone is right, but where both arrive the result is not their sum.",
            "x goes into both outputs: add the two terms.",
        )
    values = [v.detach().numpy() for v in powers.apply(pb.tensor(x), 2)]
    if not np.allclose(values, [x**2, x**3]):
        refuse("Powers.forward", "wrong_value", "forward does not give x**n and x**(n + 1).", "See the template.")
