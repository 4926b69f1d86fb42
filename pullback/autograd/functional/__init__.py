"""Derivatives of functions at a point, as torch.autograd.functional has them: products with and whole matrices.

    vjp, jvp     v^T J and J v: one row, one column of the Jacobian, without forming it
    vhp, hvp     v^T H and H v of a scalar function
    jacobian     all of J, one backward a row
    hessian      all of H: the Jacobian of the gradient

A function is called once for a product or a matrix, on new Tensors that share memory with the inputs: what else it
uses (captured Tensors) is a constant, and no `.grad` is touched.
"""

from pullback.autograd.functional.matrices import hessian, jacobian
from pullback.autograd.functional.products import hvp, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
