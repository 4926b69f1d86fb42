"""An array type that tells nobody its numbers: what looks at them but through its kernels is found out.

It computes like NumPy, on numbers that only this module reaches, so its results can be judged all the same.
"""

from typing import ClassVar

import numpy as np

from pullback.core.array_type import NUMPY, ArrayType, innermost, register_array_type
from pullback.core.errors import ReadError
from pullback.core.tensor import wrap
from pullback.dispatch.mixed import Arithmetic, MixedTable
from pullback.dispatch.operator import BY_KERNEL


class Refusing(Arithmetic):
    """Shape and dtype, and no numbers."""

    __slots__ = ("__numbers", "dtype", "shape")

    def __init__(self, numbers):
        self.__numbers = np.array(numbers)
        self.__numbers.flags.writeable = False
        self.shape, self.dtype = self.__numbers.shape, self.__numbers.dtype

    def _refuse(self, *args, **kwargs):
        raise ReadError(f"something looks at the numbers of an array that shows none, of shape {self.shape}")

    __array__ = __float__ = __int__ = __complex__ = __index__ = __contains__ = item = tolist = _refuse

    def __repr__(self):
        return f"Refusing({self.shape}, {self.dtype})"


def bare(x):
    """ndarrays for Refusing arrays, in lists and slices too."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(bare, x))
    return x._Refusing__numbers if type(x) is Refusing else x


class Kernels(dict):
    """NumPy's kernels, on what is inside."""

    def __missing__(self, name):
        writes = any(op.mutates for op in BY_KERNEL.get(name, {}).values())

        def kernel(*args):
            args = bare(args)
            result = NUMPY.kernels[name](*((args[0].copy(), *args[1:]) if writes else args))
            if isinstance(result, (list, tuple)):
                return tuple(map(Refusing, result))
            if not isinstance(result, (np.ndarray, np.generic)):
                raise ReadError(f"{name} gives a Python value")
            return Refusing(result)

        self[name] = kernel
        return kernel


class RefusingType(ArrayType):
    """Checks of numbers wait in `waiting`, until somebody runs them."""

    waiting: ClassVar = []

    def check(self, examine, arrays):
        self.waiting.append(lambda: examine(*bare(arrays)))

    def flows_through(self, nodes):
        """True where leaves are such arrays: a cotangent that a user gives may stay an ndarray beside them."""
        return any(type(innermost(getattr(node, "variable", None))) is Refusing for node in nodes)


# Where an array lies in memory is no secret: in C order.
KERNELS = Kernels(is_contiguous=lambda x: True, storage_geometry=lambda x: NUMPY.kernels["storage_geometry"](bare(x)))
register_array_type(Refusing, RefusingType(MixedTable("refusing", KERNELS)))


def hidden(t):
    """A tensor with the same numbers, which it does not show; it requires grad if `t` does."""
    return wrap(Refusing(t.numpy(force=True))).requires_grad_(t.requires_grad)


def shown(t):
    """The numbers of a tensor around such an array, or of what a formula has given."""
    return bare(innermost(t))
