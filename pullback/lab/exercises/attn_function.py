"""Attention as a custom Function: undefined gradients, and inputs that need none.

The same operator, with a backward of your own. Derive it on paper, from the end to the front: which gradient of the
result comes back to a, to x, to q, k and v? Two things make it more than a chain:

    x = q @ k.T      a = tanh(x)      o = a @ v          outputs o and a

1. a goes two ways. It is an output, whose gradient grad_a comes in, *and* o is made of it. The two add up.
2. Not everything is there, and not everything is wanted. With ctx.set_materialize_grads(False) the gradient of an
   output that nobody used arrives as None: either of the two, while the other is there. And ctx.needs_input_grad[i]
   says whether input i needs its gradient: for any other return None, and compute nothing.

The derivative of tanh is 1 - tanh(x)**2 = 1 - a**2. So backward needs a, which forward gives anyhow: save the output,
and not x. Saved outputs belong to the graph, so that second derivatives come out right as well.

Write Attn.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import pullback as pb
from pullback.lab.judge import Answer, Mistake, check_array, check_function, inputs, refuse

TEMPLATE = '''\
import pullback as pb


class Attn(pb.autograd.Function):
    """o, a = attn(q, k, v)."""

    @staticmethod
    def forward(ctx, q, k, v):
        a = pb.tanh(q @ k.T)
        o = a @ v
        ctx.save_for_backward(q, k, v, a)
        return o, a

    @staticmethod
    def backward(ctx, grad_o, grad_a):
        q, k, v, a = ctx.saved_tensors
        grad_q = grad_k = grad_v = None
        return grad_q, grad_k, grad_v  # replace this
'''

HINTS = (
    "o = a @ v is a matrix product: exercise 2 has its gradients, by a and by v. a gets one as an output, too.",
    "grad_v is a.T @ grad_o, and grad_o @ v.T comes back to a.",
    "All that comes back to a is grad_a + grad_o @ v.T, as far as they are there. Of tanh: times (1 - a * a).",
    "With grad_x: grad_q is grad_x @ k, and grad_k is grad_x.T @ q. Look at the shapes.",
    "Begin with total = grad_a. If grad_o is not None, add grad_o @ v.T, or let it stand alone where total is None.",
)

SOLUTION = """\
import pullback as pb


class Attn(pb.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.set_materialize_grads(False)
        a = pb.tanh(q @ k.T)
        o = a @ v
        ctx.save_for_backward(q, k, v, a)
        return o, a

    @staticmethod
    def backward(ctx, grad_o, grad_a):
        q, k, v, a = ctx.saved_tensors
        needs_q, needs_k, needs_v = ctx.needs_input_grad
        grad_q = grad_k = grad_v = None
        total = grad_a
        if grad_o is not None:
            if needs_v:
                grad_v = a.T @ grad_o
            if needs_q or needs_k:
                term = grad_o @ v.T
                total = term if total is None else total + term
        if total is not None and (needs_q or needs_k):
            grad_x = total * (1 - a * a)
            if needs_q:
                grad_q = grad_x @ k
            if needs_k:
                grad_k = grad_x.T @ q
        return grad_q, grad_k, grad_v
"""

SHAPES = ((2, 3), (4, 3), (4, 5))


def gradients(
    grad_o: Any, grad_a: Any, q: Any, k: Any, v: Any, *, of_a: bool = True, of_o: bool = True, slope: Any = None
) -> Any:
    """The gradients by q, k and v, on ndarrays; or those with a usual mistake."""
    x = q @ k.T
    a = np.tanh(x)
    total = (grad_a if of_a else 0) + (grad_o @ v.T if of_o else 0)
    grad_x = total * (1 - a * a if slope is None else slope(x, a))
    return grad_x @ k, grad_x.T @ q, a.T @ grad_o


# What is wrong: kind, text, advice, and the gradients that come of it.
USUAL = (
    (
        "forgotten_gradient", "the gradient of a, which is an output too, is forgotten.",
        "What comes back to a is grad_a + grad_o @ v.T.", {"of_a": False},
    ),
    (
        "dropped_gradient", "what comes back to a from o, grad_o @ v.T, is dropped where grad_a is there.",
        "What comes back to a is grad_a + grad_o @ v.T.", {"of_o": False},
    ),
    (
        "saved_wrong", "1 - x**2 stands there, of the input of tanh: its output must be squared.",
        "Save a, the output, and write 1 - a * a.", {"slope": lambda x, a: 1 - x * x},
    ),
    (
        "saved_wrong", "1 - tanh(a)**2 stands there: tanh is taken twice.",
        "a is tanh(x) already: write 1 - a * a.", {"slope": lambda x, a: 1 - np.tanh(a) ** 2},
    ),
    (
        "missing_factor", "the derivative of tanh, 1 - a**2, is missing.",
        "Between a and x stands tanh.", {"slope": lambda x, a: 1.0},
    ),
)  # fmt: skip


def explain(part: str, name: str, number: int, given: Any, cotangents: Any, arrays: Any) -> None:
    """Refuse a gradient that a usual mistake explains."""
    for kind, text, advice, how in USUAL:
        wrong = gradients(*cotangents, *arrays, **how)[number]
        if given is not None and np.shape(given) == wrong.shape and np.allclose(given, wrong, rtol=1e-8):
            refuse(f"{part}, the gradient of {name}", kind, text, advice)


def check(answer: Answer) -> None:
    """Every subset of outputs and inputs; then what arrives and what is computed, and the second derivative."""
    attn = answer.function("Attn")
    arrays = inputs(*SHAPES)
    a = np.tanh(arrays[0] @ arrays[1].T)
    values = answer.call("Attn.forward", lambda: attn.apply(*map(pb.tensor, arrays)))
    if not isinstance(values, tuple) or len(values) != 2:
        refuse("Attn.forward", "wrong_count", "forward does not give two outputs.", "Write `return o, a`.")
    for name, found, value in zip("oa", values, (a @ arrays[2], a), strict=True):
        check_array(f"Attn.forward, its output {name}", found, value, "the value")
    cotangents = [np.random.default_rng(5).uniform(0.4, 1.6, value.shape) for value in (a @ arrays[2], a)]
    for used in ((True, True), (True, False), (False, True)):
        for wanted in product((True, False), repeat=3):
            if any(wanted):
                _compare(answer, attn, arrays, cotangents, used, wanted)
    check_function(
        "Attn, its second derivative",
        attn.apply,
        inputs((2, 1), (1, 1), (1, 2)),
        second=True,
        check_undefined_grad=False,
    )


def _compare(answer: Any, attn: Any, arrays: Any, cotangents: Any, used: Any, wanted: Any) -> None:
    """One backward, in which some outputs are used and some inputs need gradients."""
    seen = {}

    def backward(ctx: Any, *grads: Any) -> Any:
        seen["grads"] = grads
        seen["found"] = found = attn.backward(ctx, *grads)
        return found

    watched: Any = type(attn.__name__, (attn,), {"backward": staticmethod(backward)})
    outputs = " and ".join(name for name, use in zip("oa", used, strict=True) if use)
    part = f"Attn, {outputs} used" + ("" if all(used) else " alone")
    tensors = [pb.tensor(x, requires_grad=need) for x, need in zip(arrays, wanted, strict=True)]

    def run() -> Any:
        outs = watched.apply(*tensors)
        taken = [(o, pb.tensor(c)) for o, c, use in zip(outs, cotangents, used, strict=True) if use]
        needing = [t for t, need in zip(tensors, wanted, strict=True) if need]
        return pb.autograd.grad(
            [o for o, _ in taken if o.requires_grad],
            needing,
            [c for o, c in taken if o.requires_grad],
            allow_unused=True,
        )

    if wanted == (False, False, True) and not used[0]:
        return  # v has no part in a: PyTorch gives no gradient, or zeros
    given = [c if use else np.zeros_like(c) for c, use in zip(cotangents, used, strict=True)]
    right = gradients(*given, *arrays)
    try:
        found = list(answer.call(part, run))
    except Mistake as mistake:
        _explain_failure(part, mistake, seen, used)
        _explain_shapes(part, seen.get("found"), right)
        raise
    if not all(used) and not any(g is None for g in seen["grads"]):
        refuse(
            part, "materialized", "for the output that is not used backward still gets zeros, not None.",
            "Call ctx.set_materialize_grads(False) in forward.",
        )  # fmt: skip
    for number, name in enumerate("qkv"):
        if wanted[number]:
            mine = found.pop(0)
            _judge(part, name, number, mine, right[number], (given, arrays) if all(used) else None)
        elif isinstance(seen["found"], tuple) and len(seen["found"]) == 3 and seen["found"][number] is not None:
            refuse(
                part, "unneeded", f"{name} needs no gradient, and backward computes one.",
                f"Look at ctx.needs_input_grad[{number}] first, and return None.",
            )  # fmt: skip


def _judge(part: str, name: str, number: int, mine: Any, right: Any, origin: Any) -> None:
    """Refuse a gradient that is not the right one, by what explains it."""
    if mine is None:
        if np.any(right):
            text = f"{name} gets no gradient (None)."
            refuse(part, "missing_gradient", text, "Return one for every input that needs one.")
        return
    mine = mine.detach().numpy()
    if mine.shape == right.shape and np.allclose(mine, right, rtol=1e-9):
        return
    if origin is not None:
        explain(part, name, number, mine, *origin)
    check_array(part, mine, right, f"the gradient of {name}")


def _explain_failure(part: str, mistake: Any, seen: Any, used: Any) -> None:
    """Refuse in words what fails where an output was not used."""
    if all(used) or "grads" not in seen or mistake.diagnosis.kind != "raises" or "found" in seen:
        return
    name, shape = ("o", "(n, e)") if not used[0] else ("a", "(n, m)")
    if "None" in mistake.diagnosis.text:
        refuse(
            part, "undefined", f"grad_{name} is None, and backward computes with it: {mistake.diagnosis.text}",
            f"Where nobody used {name} its gradient is None: leave its terms out.",
        )  # fmt: skip
    refuse(
        part, "wrong_zeros", f"what stands in for grad_{name}, which is None, does not fit: {mistake.diagnosis.text}",
        f"The gradient of {name} has the shape of {name}, {shape}. Better: leave its terms out.",
    )  # fmt: skip


def _explain_shapes(part: str, returned: Any, right: Any) -> None:
    """Refuse a gradient of a wrong shape, which the engine refuses too, by what makes it right."""
    if isinstance(returned, tuple):
        for name, mine, wanted in zip("qkv", returned, right, strict=False):
            if isinstance(mine, pb.Tensor) and mine.shape != wanted.shape:
                check_array(part, mine, wanted, f"the gradient of {name}")
