"""An array type that tells nobody its numbers: what looks at them but through its kernels is found out.

It computes like NumPy, on numbers that this module alone can reach, so its results can be judged all the same.
"""

from weakref import WeakKeyDictionary

import numpy as np

from pullback.core.errors import ReadError
from pullback.dispatch.mixed import Arithmetic

_NUMBERS = WeakKeyDictionary()


class Refusing(Arithmetic):
    """Shape and dtype, and no numbers."""

    __slots__ = ("__weakref__", "dtype", "shape")
    __hash__ = Arithmetic.__hash__

    def __init__(self, numbers):
        numbers = np.array(numbers)
        numbers.flags.writeable = False
        self.shape, self.dtype = numbers.shape, numbers.dtype
        _NUMBERS[Key(self)] = numbers

    def _refuse(self, *args, **kwargs):
        raise ReadError(f"something looks at the numbers of an array that shows none, of shape {self.shape}")

    __array__ = __bool__ = __float__ = __int__ = __complex__ = __index__ = __iter__ = __contains__ = item = _refuse


class Key:
    """What stands for an array in the dictionary: `==` on arrays themselves would be an operator."""
