"""Attention forward and in batches, and what is saved.

What is left of attn(q, k, v) -> (o, a), where x = q @ k.T, a = tanh(x), o = a @ v:

    attn_tangent(dq, dk, dv, q, k, v, a)         forward mode: how o and a move (do, da) if q, k and v move
    attn_batched(grads_o, grads_a, q, k, v, a)   backward for p cotangents at once, (p, n, e) and (p, n, m)

A product moves by both of its factors, so there are two terms each time, in x and in o. In a batch the first dimension
is that of the cotangents, and q, k, v, a have none of it: a transpose swaps the last two, swapaxes(-1, -2) and not .T.
The gradients are (p, n, d), (p, m, d) and (p, m, e).

Then three questions on what is saved. Answer by sets of names out of "q", "k", "v", "o", "a", "x":

    NEEDS        for each input: which values its gradient is computed of, apart from grad_o and grad_a. The fewest,
                 and of two that do the same the one that exists anyhow
    ONLY_V       which are saved if v alone requires a gradient
    MAY_CHANGE   which of the arguments and outputs a program may write into between forward and backward, if all
                 three inputs require gradients, and backward is still right
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.lab.exercises.attn_function import SHAPES, gradients
from pullback.lab.judge import Answer, check_array, inputs, refuse

TEMPLATE = '''\
import numpy as np


def attn_tangent(dq, dk, dv, q, k, v, a):
    """do, da."""
    return dv, dq  # replace this


def attn_batched(grads_o, grads_a, q, k, v, a):
    """The gradients by q, k and v for all cotangents at once."""
    return grads_o, grads_a, grads_o  # replace this


NEEDS = {"q": set(), "k": set(), "v": set()}
ONLY_V = set()
MAY_CHANGE = set()
'''

HINTS = (
    "x = q @ k.T moves by dq @ k.T + q @ dk.T; then comes 1 - a * a of tanh; then o by the product rule again.",
    "attn_batched: @ works on the last two dimensions, and broadcasts those in front: grads_o @ v.T is as it was.",
    "grad_x.swapaxes(-1, -2) @ q, and a.T @ grads_o: a has no batch.",
    "Look at the backward formulas, and note which names stand in each. What stands in none may be written into.",
)

SOLUTION = """\
import numpy as np


def attn_tangent(dq, dk, dv, q, k, v, a):
    da = (dq @ k.T + q @ dk.T) * (1 - a * a)
    return da @ v + a @ dv, da


def attn_batched(grads_o, grads_a, q, k, v, a):
    grad_x = (grads_a + grads_o @ v.T) * (1 - a * a)
    return grad_x @ k, grad_x.swapaxes(-1, -2) @ q, a.T @ grads_o


NEEDS = {"q": {"k", "v", "a"}, "k": {"q", "v", "a"}, "v": {"a"}}
ONLY_V = {"a"}
MAY_CHANGE = {"o"}
"""


def check(answer: Answer) -> None:
    """Tangents, then batched gradients against one after the other, then the questions."""
    arrays = inputs(*SHAPES)
    a = np.tanh(arrays[0] @ arrays[1].T)
    _check_tangents(answer, arrays, a)
    for count in (2, 3):  # the second is as long as a row of q
        _check_batch(answer, arrays, a, count)
    _check_questions(answer)


def _check_tangents(answer: Any, arrays: Any, a: Any) -> None:
    (q, k, v), rng = arrays, np.random.default_rng(9)
    dq, dk, dv = (rng.uniform(0.4, 1.6, x.shape) for x in arrays)
    found = answer.run("attn_tangent", dq, dk, dv, q, k, v, a)
    if not isinstance(found, tuple) or len(found) != 2:
        refuse("attn_tangent", "wrong_count", "it must give two tangents, do and da.", "Write `return do, da`.")
    slope = 1 - a * a
    da = (dq @ k.T + q @ dk.T) * slope
    right = {"o": da @ v + a @ dv, "a": da}
    usual = {
        "o": (
            (da @ v, "the second term is missing: v moves too.", "o = a @ v moves by da @ v + a @ dv."),
            (a @ dv, "the first term is missing: a moves too.", "o = a @ v moves by da @ v + a @ dv."),
        ),
        "a": (
            (dq @ k.T * slope, "the second term is missing: k moves too.", "x moves by dq @ k.T + q @ dk.T."),
            (q @ dk.T * slope, "the first term is missing: q moves too.", "x moves by dq @ k.T + q @ dk.T."),
            (dq @ k.T + q @ dk.T, "the derivative of tanh, 1 - a**2, is missing.", "Between x and a stands tanh."),
        ),
    }
    for name, given in (("a", found[1]), ("o", found[0])):
        for wrong, text, advice in usual[name]:
            if np.shape(given) == wrong.shape and np.allclose(given, wrong, rtol=1e-9):
                kind = "missing_factor" if "tanh" in text else "missing_term"
                refuse(f"attn_tangent, the tangent of {name}", kind, text, advice)
        check_array("attn_tangent", given, right[name], f"the tangent of {name}")


def _check_batch(answer: Any, arrays: Any, a: Any, count: int) -> None:
    rng = np.random.default_rng(5)
    n, m, e = SHAPES[0][0], SHAPES[1][0], SHAPES[2][1]
    grads_o, grads_a = rng.uniform(0.4, 1.6, (count, n, e)), rng.uniform(0.4, 1.6, (count, n, m))
    right = [
        np.stack(g)
        for g in zip(*(gradients(o, s, *arrays) for o, s in zip(grads_o, grads_a, strict=True)), strict=True)
    ]
    part = f"attn_batched, {count} cotangents"
    found = answer.run("attn_batched", grads_o, grads_a, *arrays, a)
    if not isinstance(found, tuple) or len(found) != 3:
        refuse(part, "wrong_count", "it must give three gradients.", "return grads_q, grads_k, grads_v")
    for name, given, wanted in zip("qkv", found, right, strict=True):
        given = np.asarray(given)
        if given.shape == wanted.shape[1:]:
            refuse(
                part, "mixed_samples", f"there is not one gradient of {name} for each cotangent: they are added up.",
                "The first dimension is that of the cotangents: it stays.",
            )  # fmt: skip
        check_array(part, given, wanted, f"the gradients of {name}")


def _check_questions(answer: Any) -> None:
    needs = answer["NEEDS"]
    right = {"q": {"k", "v", "a"}, "k": {"q", "v", "a"}, "v": {"a"}}
    for name, wanted in right.items():
        mine = set(needs.get(name, ())) if isinstance(needs, dict) else set()
        _compare(f'NEEDS["{name}"]', mine, wanted, f"The gradient of {name}")
    _compare("ONLY_V", set(answer["ONLY_V"]), {"a"}, "grad_v = a.T @ grad_o")
    changed = set(answer["MAY_CHANGE"])
    if saved := sorted(changed & {"q", "k", "v", "a"}):
        refuse(
            "MAY_CHANGE", "saved_changed", f"{saved[0]} is saved, and backward computes with it: {_refused(saved[0])}",
            "What is written into after it was saved makes backward raise.",
        )  # fmt: skip
    if "x" in changed:
        refuse("MAY_CHANGE", "not_visible", "x is neither an argument nor an output.", "Only the five others are.")
    if changed != {"o"}:
        refuse("MAY_CHANGE", "missing_saved", "something may be written into.", "Which name stands in no formula?")


def _compare(part: str, mine: Any, wanted: Any, subject: Any) -> None:
    if "x" in mine:
        refuse(
            part, "saved_wrong", "x need not be kept: the slope of tanh is 1 - a**2, and the output a exists anyhow.",
            "Save the output where the formula can be written with it.",
        )  # fmt: skip
    if extra := sorted(mine - wanted):
        refuse(
            part, "extra_saved", f"{subject} does not use {extra[0]}.", "Look at its formula: which names stand in it?"
        )
    if lacking := wanted - mine:
        text = f"{len(lacking)} of the values that it is computed of {'is' if len(lacking) == 1 else 'are'} missing."
        refuse(part, "missing_saved", text, "Look at its formula: which names stand in it?")


def _refused(name: str) -> Any:
    """Return what the engine says of a program that writes into it."""
    q, k, v = (pb.tensor(x, requires_grad=True) for x in inputs(*SHAPES))
    values = {"q": q * 1, "k": k * 1, "v": v * 1}
    values["a"] = pb.tanh(values["q"] @ values["k"].mT)
    o = values["a"] @ values["v"]
    values[name].mul_(2)
    try:
        o.sum().backward()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    raise AssertionError(f"writing into {name} was not noticed")
