"""What Array and Scalar have beside what Tensors have, given to them by `pullback.interop.array`: NumPy's, of any type.

Written by hand; tests/interop/array has the same names.
"""

from collections.abc import Callable
from typing import Any

from pullback.core.array_face import Array

class ArrayMethods:
    def __class_getitem__(cls, item: Any) -> Any: ...
    T: Array
    def __abs__(self) -> Array: ...
    def __add__(self, other: Any, /) -> Array: ...
    __and__: Any
    __array_interface__: Any
    __array_namespace__: Any
    __array_struct__: Any
    __bytes__: Any
    __contains__: Any
    __copy__: Any
    __deepcopy__: Any
    __divmod__: Any
    def __floordiv__(self, other: Any, /) -> Array: ...
    __ge__: Any
    def __getitem__(self, index: Any, /) -> Array: ...
    __gt__: Any
    __iadd__: Any
    __ifloordiv__: Any
    __imatmul__: Any
    __imod__: Any
    __imul__: Any
    __invert__: Any
    __ipow__: Any
    __isub__: Any
    __iter__: Any
    __itruediv__: Any
    __le__: Any
    __lshift__: Any
    __lt__: Any
    def __matmul__(self, other: Any, /) -> Array: ...
    def __mod__(self, other: Any, /) -> Array: ...
    def __mul__(self, other: Any, /) -> Array: ...
    def __neg__(self) -> Array: ...
    __or__: Any
    def __pos__(self) -> Array: ...
    def __pow__(self, other: Any, /) -> Array: ...
    def __radd__(self, other: Any, /) -> Array: ...
    __rand__: Any
    __rdivmod__: Any
    def __rfloordiv__(self, other: Any, /) -> Array: ...
    __rlshift__: Any
    def __rmatmul__(self, other: Any, /) -> Array: ...
    def __rmod__(self, other: Any, /) -> Array: ...
    def __rmul__(self, other: Any, /) -> Array: ...
    __ror__: Any
    def __rpow__(self, other: Any, /) -> Array: ...
    __rrshift__: Any
    __rshift__: Any
    def __rsub__(self, other: Any, /) -> Array: ...
    def __rtruediv__(self, other: Any, /) -> Array: ...
    __rxor__: Any
    __setitem__: Any
    def __sub__(self, other: Any, /) -> Array: ...
    def __truediv__(self, other: Any, /) -> Array: ...
    __xor__: Any
    all: Any
    any: Any
    argmax: Any
    argmin: Any
    argpartition: Any
    argsort: Any
    astype: Any
    base: Any
    byteswap: Any
    choose: Any
    clip: Any
    compress: Any
    conj: Callable[..., Array]
    conjugate: Callable[..., Array]
    copy: Callable[..., Array]
    ctypes: Any
    cumprod: Callable[..., Array]
    cumsum: Callable[..., Array]
    data: Any
    diagonal: Callable[..., Array]
    dot: Any
    dtype: Any
    dump: Any
    dumps: Any
    fill: Any
    flags: Any
    flat: Any
    flatten: Callable[..., Array]
    getfield: Any
    imag: Any
    item: Any
    mT: Array
    max: Any
    mean: Any
    min: Any
    nonzero: Any
    partition: Any
    prod: Any
    put: Any
    ravel: Callable[..., Array]
    real: Any
    repeat: Callable[..., Array]
    reshape: Callable[..., Array]
    resize: Any
    round: Any
    searchsorted: Any
    setfield: Any
    setflags: Any
    shape: Any
    size: Any
    sort: Any
    squeeze: Callable[..., Array]
    std: Any
    strides: Any
    sum: Any
    swapaxes: Callable[..., Array]
    take: Callable[..., Array]
    to_device: Any
    tobytes: Any
    tofile: Any
    tolist: Any
    trace: Any
    transpose: Callable[..., Array]
    var: Any
    view: Any

class NumberMethods:
    __ceil__: Any
    __floor__: Any
    __round__: Any
    __trunc__: Any
    as_integer_ratio: Any
    fromhex: Any
    hex: Any
    is_integer: Any
