"""The two gradients of a matrix product.

Y = A @ B has two inputs, so its backward gives two gradients: one with the shape of A, one with the shape of B. `grad`
has the shape of Y. For one number of Y

    Y[i, k] = sum over j of A[i, j] B[j, k]

so A[i, j] meets each B[j, k], and gets the sum over k of grad[i, k] B[j, k]. Which matrix product is that sum? If
you are lost, let the shapes lead: with A of 2 x 3 and B of 3 x 4 few products fit.

For complex matrices the backward multiplies by the *conjugate* of the derivative: of z -> c z it is grad * conj(c).
Your formula is tried with these last.

Write matmul_backward(grad, A, B); return the gradients of A and of B, in this order.
"""

from __future__ import annotations

from typing import Any

from pullback.lab.judge import Answer, check_rule, inputs

TEMPLATE = '''\
import numpy as np


def matmul_backward(grad, A, B):
    """The gradients of A and B, where Y = A @ B and grad is the gradient of Y."""
    return A, B  # replace both
'''

HINTS = (
    "sum over k of grad[i, k] B[j, k]: the summed index k is the second of both, so one of the two is transposed.",
    "For B[j, k]: the sum over i of A[i, j] grad[i, k]. The summed index i is the first of both.",
    "grad @ B.T and A.T @ grad are right for real matrices. Conjugate what is transposed: .conj().T.",
)

SOLUTION = """\
import numpy as np


def matmul_backward(grad, A, B):
    return grad @ B.conj().T, A.conj().T @ grad
"""


def check(answer: Answer) -> None:
    """Square first, where a transpose shows in numbers; then not, where it shows in shapes; then complex."""
    rule, names = answer["matmul_backward"], ("A", "B")
    check_rule("matmul_backward, square", _product, rule, inputs((3, 3), (3, 3)), names=names)
    check_rule("matmul_backward, 2 x 3 times 3 x 4", _product, rule, inputs((2, 3), (3, 4)), names=names)
    check_rule("matmul_backward, complex", _product, rule, inputs((2, 3), (3, 2), complex=True), names=names)


def _product(A: Any, B: Any) -> Any:
    return A @ B
