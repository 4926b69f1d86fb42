"""An operator with two outputs: attention, as a composite with its tests.

The last four exercises write one operator in four ways. It is an attention without a softmax: every row of q asks,
every row of k answers how well it fits, and v is mixed by the answers.

    x = q @ k.T          q (n, d)   k (m, d)
    a = tanh(x)          a (n, m)
    o = a @ v            v (m, e)   o (n, e)         attn(q, k, v) -> (o, a)

It gives o and a. First as a composite: write attn of operators alone (ops.matmul, ops.mT, ops.tanh), in the order
(o, a). No derivative is written: the graph sees what it calls.

Then write its test. test_attn(attn) gets a function on tensors that may be wrong, and raises AssertionError if it is.
It needs a reference in NumPy for both outputs, gradcheck for the gradients of both, and sizes that are all different:
with square matrices a transposed factor may go unseen. Your test is run on attn as it should be, and on some that are
wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.lab.judge import Answer, Mistake, check_array, check_function, inputs, refuse

TEMPLATE = '''\
import numpy as np

import pullback as pb


def attn(q, k, v, *, ops):
    """o, a: of operators."""
    a = ops.tanh(q)  # replace this
    return a, a


DECLARED = """
namespace: lab_attn_composite
composites: answer
native_functions:
  - func: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    composite: attn
    doc: Attention without a softmax.
"""


def test_attn(attn):
    """Raise AssertionError if attn, on tensors, is wrong."""
    q, k, v = (pb.randn(3, 3, requires_grad=True) for _ in range(3))
    o, a = attn(q, k, v)
    assert a.shape == (3, 3)  # write more
'''

HINTS = (
    "The transpose of a matrix is ops.mT(k), the product ops.matmul(q, ops.mT(k)).",
    "In the test compute both outputs with NumPy, of q.detach().numpy() and so on. np.testing has assert_allclose.",
    "Sizes: q (2, 3), k (4, 3), v (4, 5). pb.autograd.gradcheck(attn, (q, k, v)) looks at both outputs.",
)

SOLUTION = '''\
import numpy as np

import pullback as pb


def attn(q, k, v, *, ops):
    a = ops.tanh(ops.matmul(q, ops.mT(k)))
    return ops.matmul(a, v), a


DECLARED = """
namespace: lab_attn_composite
composites: answer
native_functions:
  - func: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    composite: attn
    doc: Attention without a softmax.
"""


def test_attn(attn):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((2, 3), (4, 3), (4, 5))]
    q, k, v = (pb.tensor(x, requires_grad=True) for x in arrays)
    o, a = attn(q, k, v)
    right = np.tanh(arrays[0] @ arrays[1].T)
    np.testing.assert_allclose(a.detach().numpy(), right)
    np.testing.assert_allclose(o.detach().numpy(), right @ arrays[2])
    assert pb.autograd.gradcheck(attn, (q, k, v))
'''


def attention(q: Any, k: Any, v: Any) -> Any:
    """The operator, on tensors."""
    a = pb.tanh(pb.matmul(q, k.mT))
    return pb.matmul(a, v), a


def _by_hand(grad_of_q: Any, grad_of_a: bool = True) -> Any:
    """attn with a backward by hand in which something is wrong."""

    class Wrong(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any) -> Any:
            o, a = attention(q, k, v)
            ctx.save_for_backward(q, k, v, a)
            return o, a

        @staticmethod
        def backward(ctx: Any, grad_o: Any, grad_a: Any) -> Any:
            q, k, v, a = ctx.saved_tensors
            total = grad_o @ v.mT
            if grad_of_a:
                total = total + grad_a
            x = total * (1 - a * a)
            return grad_of_q(x, q, k), x.mT @ q, a.mT @ grad_o

    return Wrong.apply


# What a test must see: what is wrong, and an attn in which it is.
WRONG = (
    ("swapped", "the outputs stand in the order (a, o)", lambda q, k, v: attention(q, k, v)[::-1]),
    ("no_tanh", "a has no tanh", lambda q, k, v: ((q @ k.mT) @ v, q @ k.mT)),
    ("wrong_o", "o is twice too large", lambda q, k, v: (2 * attention(q, k, v)[0], attention(q, k, v)[1])),
    (
        "forgotten_gradient",
        "no gradient goes to a (it is detached)",
        lambda q, k, v: (attention(q, k, v)[0], attention(q, k, v)[1].detach() + 0 * q.sum()),
    ),
    ("forgotten_gradient", "the backward forgets the gradient of a", _by_hand(lambda x, q, k: x @ k, grad_of_a=False)),
    ("wrong_gradient", "the gradient of q has no factor k", _by_hand(lambda x, q, k: q * x.sum())),
)


def check(answer: Answer) -> None:
    """Values and gradients of the composite; then the test, on what is right and on what is wrong."""
    operators = answer.loaded("DECLARED")
    if not hasattr(operators, "attn"):
        refuse("DECLARED", "missing_name", "it declares no operator attn.", "Keep the signature of the template.")
    arrays = inputs((2, 3), (4, 3), (4, 5))
    found = answer.call("attn", operators.attn, *arrays)
    right = np.tanh(arrays[0] @ arrays[1].T)
    wanted = {"o": right @ arrays[2], "a": right}
    if np.shape(found[0]) == right.shape and np.shape(found[1]) == wanted["o"].shape:
        refuse("attn", "swapped_outputs", "it gives a, o; it must give o, a.", "Return them in the declared order.")
    if np.shape(found[1]) == right.shape and np.allclose(found[1], arrays[0] @ arrays[1].T):
        refuse("attn", "missing_factor", "the tanh is missing.", "a = tanh(q @ k.T).")
    for (name, value), given in zip(wanted.items(), found, strict=True):
        check_array(f"attn, its output {name}", given, value, "the value")
    check_function("attn, its gradients", operators.attn, arrays)
    test, sizes = answer["test_attn"], []

    def watched(q: Any, k: Any, v: Any) -> Any:
        sizes.append({*q.shape, *k.shape, *v.shape})
        return attention(q, k, v)

    try:
        answer.call("test_attn", test, watched)
    except Mistake as mistake:
        refuse(
            "test_attn",
            "fails_on_right",
            f"it fails for an attn that is right: {mistake.diagnosis.text}",
            "The function gets tensors, and returns o and a. Compare with q.detach().numpy().",
        )
    for kind, text, wrong in WRONG:
        if _passes(test, wrong):
            advice = "Compare both outputs with NumPy, and call gradcheck on attn: it looks at both outputs."
            refuse("test_attn", f"misses_{kind}", f"it passes for an attn that is wrong: {text}.", advice)
    if all(len(found) == 1 for found in sizes):
        refuse(
            "test_attn",
            "misses_transposed",
            "its matrices are square, so that a transposed factor may go unseen.",
            "Use sizes that are all different: q (2, 3), k (4, 3), v (4, 5).",
        )


def _passes(test: Any, wrong: Any) -> bool:
    try:
        test(wrong)
    except Exception:  # noqa: BLE001 - a test may fail in any way
        return False
    return True
