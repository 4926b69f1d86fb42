"""Where a Tensor leaves for plain arrays and numbers: never silently when a gradient would be lost."""

import sys
import warnings
from opcode import opmap

import numpy as np

from pullback.core.cuts import WATCHED, note
from pullback.core.errors import DetachingError, OperatorError, UnsupportedError, with_article
from pullback.core.factory import from_numpy
from pullback.core.named import named
from pullback.core.tensor import Tensor, ndarray
from pullback.interop.operands import needs_grad

_STORES = frozenset(opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opmap)


def plain_array(self, dtype=None, copy=None):
    """`__array__`: the values, for NumPy and plotting libraries; refused where a gradient would be lost.

    Without a copy it is read-only: a library that solves in the memory of its argument would change the tensor behind
    the back of its version. `numpy()` gives an array that can be written into.
    """
    if needs_grad(self):
        raise DetachingError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead: a Tensor that "
            "requires "
            "grad was about to become a plain ndarray, which would lose its gradient without a "
            "word. To plot or store values, write t.detach().numpy(). Inside a model, call NumPy's functions on the "
            "Tensor itself (np.sin(t)) and join Tensors with np.stack or np.concatenate instead of np.array([...]); "
            "a library function that converts its input must be wrapped in a pullback.autograd.Function with a "
            "backward of its own."
        )
    data = self.numpy()
    if not isinstance(data, ndarray):
        raise UnsupportedError(
            f"a Tensor around {with_article(data)} has no values yet, so it cannot become an ndarray."
        )
    array = np.array(data, dtype=dtype, copy=copy)
    if array is data:
        array = data.view()
        array.flags.writeable = False
    return array


def _number(kind):
    def convert(self):
        if self._array.size != 1:
            raise OperatorError(
                "only one element tensors can be converted to Python scalars: "
                f"only a Tensor of one element can be converted to a Python {kind.__name__}, not shape {self.shape}."
            )
        if needs_grad(self):
            _say_that_gradient_is_lost(self, kind.__name__, sys._getframe(1))
        if WATCHED:
            note(f"{kind.__name__}()", self)
        return kind(self.item())

    convert.__name__ = f"to_{kind.__name__}"
    return convert


def _say_that_gradient_is_lost(tensor, kind, frame):
    """Raise where the number goes into an array or out of a function being differentiated, else warn.

    `ndarray[i] = t` asks for a number by `__float__`, like `float(t)`: the caller's instruction tells them apart.
    """
    if frame.f_code.co_code[frame.f_lasti] in _STORES:
        raise DetachingError(
            "array[i] = t would write a Tensor that requires grad into a plain array, which cannot hold its gradient. "
            "Collect the Tensors in a list and join them with np.stack, or write into a Tensor (pullback.zeros(n))."
        )
    if tensor._level:
        raise DetachingError(
            f"a value that is being differentiated was about to become a Python {kind}, which would lose its gradient. "
            "Use NumPy's or pullback's functions instead of those of `math`; to look at the value, write t.item()."
        )
    warnings.warn(
        f"{kind}(t) takes a Tensor that requires grad out of the graph; write t.item() to say so, or use pullback's or "
        "NumPy's function instead of a function of `math`.",
        stacklevel=3,
    )


def dlpack(self, **options):
    """`__dlpack__`: the memory, shared with another library."""
    if needs_grad(self):
        raise DetachingError(
            "a Tensor that requires grad was about to be handed to another library, where its gradient would be lost; "
            "write library.from_dlpack(t.detach())."
        )
    return self.numpy().__dlpack__(**options)


def dlpack_device(self):
    """`__dlpack_device__`: (kind of device, number)."""
    return self.numpy(force=True).__dlpack_device__()


@named("from_dlpack")
def from_dlpack(x, *, copy=None):
    """A Tensor that shares memory with another library's array.

    Parameters
    ----------
    x : object with `__dlpack__` and `__dlpack_device__`, on the CPU
    copy : bool, optional
        True always copies; False raises a BufferError or ValueError where a copy would be needed.

    Returns
    -------
    Tensor
        Outside any graph.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> pb.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.])
    """
    if isinstance(x, Tensor) and needs_grad(x):
        dlpack(x)
    return from_numpy(np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy))


METHODS = {
    "__array__": plain_array,
    "__float__": _number(float),
    "__int__": _number(int),
    "__complex__": _number(complex),
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
}
