"""PyTorch's methods that inspect a tensor: sizes, strides, data pointer, kind of dtype."""

from __future__ import annotations

from typing import Any

from pullback.core.array_type import kernel_for, memory_of
from pullback.core.errors import GradientError
from pullback.core.factory import tensor
from pullback.core.named import named
from pullback.core.tensor import Tensor, ndarray, strided


def owner_of(array: ndarray) -> ndarray:
    """The ndarray that owns the memory of another."""
    while type(array.base) is ndarray:
        array = array.base
    return array


def element_size(self: Tensor) -> int:
    """Bytes of one element.

    Returns
    -------
    int

    Examples
    --------
    >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.element_size()
    8
    """
    return self.itemsize


def storage_offset(self: Tensor) -> int:
    """Elements between the beginning of the ndarray that owns the memory and the first element of this tensor.

    Returns
    -------
    int

    Examples
    --------
    >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x[1].storage_offset()
    3
    """
    array = strided(self, "storage_offset")
    if array is not memory_of(self):  # several share that, each of which has a place in memory of its own
        return kernel_for((self._array,), "storage_geometry")(self._array)[2]  # type: ignore[no-any-return]
    return int(array.ctypes.data - owner_of(array).ctypes.data) // self.itemsize


class Storage:
    """The memory in which a tensor, and every view of the same base, lies; for PyTorch's sake.

    Parameters
    ----------
    array : ndarray
        That owns the memory.

    Examples
    --------
    >>> x = pb.ones(5)
    >>> len(x[:2].storage()), x[1:].storage().data_ptr() == x.data_ptr()
    (5, True)
    """

    __slots__ = ("_array",)

    def __init__(self, array: ndarray) -> None:
        self._array = array

    def __len__(self) -> int:
        return int(self._array.size)

    def __repr__(self) -> str:
        return f"Storage(address={self.data_ptr():#x}, size={len(self)}, dtype={self._array.dtype})"

    def size(self) -> int:
        """The number of elements.

        Returns
        -------
        int

        Examples
        --------
        >>> pb.ones(5)[:2].storage().size()
        5
        """
        return len(self)

    def nbytes(self) -> int:
        """The number of bytes.

        Returns
        -------
        int

        Examples
        --------
        >>> pb.ones(5)[:2].storage().nbytes()
        40
        """
        return int(self._array.nbytes)

    def data_ptr(self) -> int:
        """The address of the first byte.

        Returns
        -------
        int

        Examples
        --------
        >>> x = pb.ones(5)
        >>> x[2:].data_ptr() - x[2:].storage().data_ptr()
        16
        """
        return int(self._array.ctypes.data)


def storage(self: Tensor) -> Storage:
    """The memory in which the tensor lies, with what else lies in it.

    Returns
    -------
    Storage

    Examples
    --------
    >>> x = pb.ones(2, 3)
    >>> x.storage().data_ptr() == x.T.storage().data_ptr(), len(x[0].storage())
    (True, 6)
    """
    return Storage(owner_of(strided(self, "storage")))


def data_ptr(self: Tensor) -> int:
    """The address of the first element.

    Returns
    -------
    int

    Examples
    --------
    >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x[1].data_ptr() - x.data_ptr()
    24
    """
    return int(strided(self, "data_ptr").ctypes.data)


def get_device(self: Tensor) -> int:
    """-1: everything is on the CPU.

    Returns
    -------
    int

    Examples
    --------
    >>> x = pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.get_device()
    -1
    """
    return -1


@named("is_same_size", "Tensor input, Tensor other")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if both have the same shape.

    Parameters
    ----------
    input, other : Tensor

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        One is neither a Tensor nor an ndarray.

    Examples
    --------
    >>> pb.is_same_size(pb.ones(2, 3), pb.ones(3, 2))
    False
    """
    return input.shape == other.shape


@named("is_signed", "Tensor input")
def is_signed(input: Tensor) -> bool:
    """True if the dtype has negative numbers.

    Parameters
    ----------
    input : Tensor

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        `input` is not a Tensor, ndarray or number.

    Examples
    --------
    >>> pb.is_signed(pb.tensor([1, 2], dtype=pb.uint8))
    False
    """
    return input.dtype.kind in "ifc"


@named("is_nonzero", "Tensor input")
def is_nonzero(input: Tensor) -> bool:
    """True if the only element is not zero.

    Parameters
    ----------
    input : Tensor, of one element

    Returns
    -------
    bool

    Raises
    ------
    RuntimeError
        There are several elements, or none.

    Examples
    --------
    >>> pb.is_nonzero(pb.tensor([0.5]))
    True
    """
    if input.numel() != 1:
        raise GradientError(
            f"is_nonzero: a truth value needs one element, and this tensor has {input.numel()} (shape {input.shape}); "
            "use .any() or .all()."
        )
    return bool(input.item())


@named("Tensor.new_tensor", "Tensor self, any data, *, ScalarType? dtype, any device, bool requires_grad")
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = "cpu", requires_grad: bool = False
) -> Tensor:
    """A leaf with a copy of `data`, in the dtype of `self` unless another is asked for.

    Parameters
    ----------
    data : number, nested sequence of numbers, ndarray or Tensor
    dtype : dtype, optional
        By default that of `self`.
    device : 'cpu'
    requires_grad : bool, default False

    Returns
    -------
    Tensor

    Examples
    --------
    >>> pb.ones(2, dtype=pb.float32).new_tensor([1, 2, 3])
    tensor([1., 2., 3.], dtype=float32)
    """
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


METHODS = {
    "data_ptr": data_ptr,
    "element_size": element_size,
    "get_device": get_device,
    "is_cpu": property(lambda self: True, doc="True: everything is on the CPU."),
    "is_cuda": property(lambda self: False, doc="False: everything is on the CPU."),
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "is_signed": is_signed,
    "is_sparse": property(lambda self: False, doc="False: every tensor is dense."),
    "ndimension": Tensor.dim,
    "nelement": Tensor.numel,
    "new_tensor": new_tensor,
    "storage": storage,
    "storage_offset": storage_offset,
}
