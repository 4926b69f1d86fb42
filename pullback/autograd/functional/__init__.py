"""Derivatives of a function at a point, under the names of torch.autograd.functional.

    vjp, jvp    the products v^T J and J v with the Jacobian J, which is never formed
    vhp, hvp    the products v^T H and H v with the Hessian H of a scalar function
    jacobian    the whole matrix J
    hessian     the whole matrix H

The function gets new Tensors that share memory with the inputs. Any other Tensor that it uses is a constant. No `.grad`
is changed.
"""

from pullback.autograd.functional.matrices import _construct_standard_basis_for as _construct_standard_basis_for
from pullback.autograd.functional.matrices import hessian, jacobian
from pullback.autograd.functional.products import hvp, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
