"""Functions of other libraries inside our graph, and ours inside theirs: values cross the border, derivatives too.

torch_function, jax_function    theirs, differentiable here
for_torch, for_jax              ours, differentiable there
"""

from pullback.exchange.of_jax import for_jax, jax_function
from pullback.exchange.of_torch import for_torch, torch_function

__all__ = ["for_jax", "for_torch", "jax_function", "torch_function"]
