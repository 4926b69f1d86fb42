"""Arrays with a batch dimension of which the program does not know, for vmap.

Importing it registers the array type, which nothing but vmap needs.
"""

from pullback.arrays.batched import described as _described  # noqa: F401 - registers the type
from pullback.arrays.batched.array import Batch, BatchedArray

__all__ = ["Batch", "BatchedArray"]
