"""Attention in the two YAML files: several outputs, one formula for three gradients, a record of checks.

Now attn is an operator like those of pullback: a kernel on ndarrays and two entries, one in `native_functions`, one in
`derivatives`. New are

- two outputs, with names: `-> (Tensor o, Tensor a)`. In formulas grad_o and grad_a are their gradients. (They are
  zeros where nobody used the output; the tag `undefined` would ask for None.)
- one formula for three inputs, so that what they share is computed once. It gives a tuple, and gets `grad_input_mask`,
  one flag an input: compute only what is wanted, None stands for the rest.
- a helper, since the formula is long: a function with `*, ops` at its end, which computes with operators alone. So it
  runs on arrays in a backward, and on Tensors in a second one.
- a result by its name: the formula says `a`. So the output is saved, and not computed again.

Write attn_backward, which the formula calls. Then INFO: a reference, which gives both outputs, and samples, whose sizes
are all different. (Tangents follow in the next exercise; Skip says that they are not checked yet.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.core.array_type import TENSOR
from pullback.extend import check_operator
from pullback.lab.exercises.attn_function import SHAPES, explain, gradients
from pullback.lab.judge import Answer, check_array, check_function, inputs, refuse, running

TEMPLATE = '''\
import numpy as np
from pullback.testing import OpInfo, Sample, Skip


def attn(q, k, v):
    """The kernel, on ndarrays."""
    a = np.tanh(q @ k.T)
    return a @ v, a


def attn_backward(grad_o, grad_a, q, k, v, a, wanted, *, ops):
    """The gradients by q, k and v; None for those that are not wanted."""
    return None, None, None  # replace this: ops.matmul(grad_o, ops.mT(v)), ...


DECLARED = """
namespace: lab_attn_declared
kernels: answer
helpers: answer
native_functions:
  - func: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    kernel: attn
    doc: Attention without a softmax.
derivatives:
  - name: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    q, k, v: attn_backward(grad_o, grad_a, q, k, v, a, grad_input_mask)
"""


def reference(q, k, v):
    """Both outputs by another way."""
    return q, k  # replace this


def samples(make):
    """Calls that are checked: make(shape) draws an array."""
    return [Sample(make((3, 3)), make((3, 3)), make((3, 3)))]


INFO = OpInfo("attn", reference, samples, dtypes=(np.float64,), skips=[Skip("tangent", because="not declared yet")])
'''

HINTS = (
    "attn_backward is the backward of the exercise before, with ops.matmul, and ops.mT for the transpose.",
    "wanted[0], wanted[1], wanted[2] say whether q, k and v need a gradient. Compute grad_x if q or k does.",
    "The reference by another way: np.einsum('nd,md->nm', q, k), then np.sinh(x) / np.cosh(x), then np.einsum again.",
    "Samples: Sample(make((2, 3)), make((4, 3)), make((4, 5))).",
)

SOLUTION = '''\
import numpy as np
from pullback.testing import OpInfo, Sample, Skip


def attn(q, k, v):
    a = np.tanh(q @ k.T)
    return a @ v, a


def attn_backward(grad_o, grad_a, q, k, v, a, wanted, *, ops):
    grad_q = grad_k = grad_v = None
    if wanted[2]:
        grad_v = ops.matmul(ops.mT(a), grad_o)
    if wanted[0] or wanted[1]:
        grad_x = (grad_a + ops.matmul(grad_o, ops.mT(v))) * (1 - a * a)
        if wanted[0]:
            grad_q = ops.matmul(grad_x, k)
        if wanted[1]:
            grad_k = ops.matmul(ops.mT(grad_x), q)
    return grad_q, grad_k, grad_v


DECLARED = """
namespace: lab_attn_declared
kernels: answer
helpers: answer
native_functions:
  - func: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    kernel: attn
    doc: Attention without a softmax.
derivatives:
  - name: attn(Tensor q, Tensor k, Tensor v) -> (Tensor o, Tensor a)
    q, k, v: attn_backward(grad_o, grad_a, q, k, v, a, grad_input_mask)
"""


def reference(q, k, v):
    x = np.einsum("nd,md->nm", q, k)
    a = np.sinh(x) / np.cosh(x)
    return np.einsum("nm,me->ne", a, v), a


def samples(make):
    return [Sample(make((2, 3)), make((4, 3)), make((4, 5)))]


INFO = OpInfo("attn", reference, samples, dtypes=(np.float64,), skips=[Skip("tangent", because="not declared yet")])
'''


def check(answer: Answer) -> None:
    """The helper by itself, for its diagnosis; the operator; then all that the record asks."""
    arrays = inputs(*SHAPES)
    a = np.tanh(arrays[0] @ arrays[1].T)
    cotangents = [np.random.default_rng(5).uniform(0.4, 1.6, value.shape) for value in (a @ arrays[2], a)]
    _check_helper(answer, arrays, a, cotangents)
    operators = answer.loaded("DECLARED")
    if not hasattr(operators, "attn"):
        refuse("DECLARED", "missing_name", "it declares no operator attn.", "Keep the signature of the template.")
    q, k, v = (pb.tensor(x, requires_grad=True) for x in arrays)
    outputs = answer.call("attn", operators.attn, q, k, v)
    if getattr(outputs, "_fields", None) != ("o", "a"):
        refuse("DECLARED", "missing_name", "its outputs are not called o and a.", "Write -> (Tensor o, Tensor a).")
    if not any(name.startswith("_saved_a") for name in dir(outputs.o.grad_fn)):
        refuse(
            "DECLARED", "recomputed", "the formula does not name the output a, so that it computes it again.",
            "Give attn_backward `a`: what a formula names is saved.",
        )  # fmt: skip
    check_function("attn, its gradients", operators.attn, arrays)
    info = answer["INFO"]
    info.call, info.inplace, info.out = operators.attn, False, False
    _refuse_square(answer, info)
    with running("INFO"):
        check_operator(info)


def _check_helper(answer: Any, arrays: Any, a: Any, cotangents: Any) -> None:
    ops = TENSOR  # the operators that a helper gets, on Tensors
    right = gradients(*cotangents, *arrays)
    for wanted in ((True, True, True), (True, False, False), (False, True, False), (False, False, True)):
        found = answer.run("attn_backward", *map(pb.tensor, (*cotangents, *arrays, a)), wanted, ops=ops)
        if not isinstance(found, tuple) or len(found) != 3:
            refuse(
                "attn_backward", "wrong_count", "it does not give three gradients.", "return grad_q, grad_k, grad_v",
            )  # fmt: skip
        for number, name in enumerate("qkv"):
            given = found[number]
            if not wanted[number]:
                if given is not None:
                    refuse(
                        "attn_backward", "unneeded", f"{name} needs no gradient, and one is computed.",
                        f"Look at wanted[{number}], and give None.",
                    )  # fmt: skip
                continue
            if given is None:
                text = f"{name} gets no gradient (None)."
                refuse("attn_backward", "missing_gradient", text, "Return one where it is wanted.")
            given = given.detach().numpy() if isinstance(given, pb.Tensor) else np.asarray(given)
            if given.shape == right[number].shape and np.allclose(given, right[number], rtol=1e-9):
                continue
            explain("attn_backward", name, number, given, cotangents, arrays)
            check_array("attn_backward", given, right[number], f"the gradient of {name}")


def _refuse_square(answer: Any, info: Any) -> None:
    """A sample of square matrices alone lets a transposed factor pass."""

    def make(shape: Any, *args: Any, **kwargs: Any) -> Any:
        return np.zeros(shape)

    with running("INFO"):
        sizes = [{n for x in sample.args for n in np.shape(x)} for sample in info.samples(make)]
    if sizes and all(len(s) == 1 for s in sizes):
        refuse(
            "INFO", "square_samples", "all samples are square matrices: a transposed factor may go unseen.",
            "Use sizes that are all different: (2, 3), (4, 3), (4, 5).",
        )  # fmt: skip
    if info.reference is answer["attn"]:
        refuse(
            "INFO", "own_reference", "the reference is the kernel itself, so the check would accept every kernel.",
            "Compute the outputs by another way: np.einsum, sinh / cosh.",
        )  # fmt: skip
