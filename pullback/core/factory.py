"""Tensors from data: `tensor` copies, `from_numpy` shares memory, `asarray` shares when it can."""

from __future__ import annotations

import warnings
from typing import Any, Never

import numpy as np

from pullback.core import modes
from pullback.core.arguments import a_flag, number_type, unknown_keyword
from pullback.core.array_face import show_as_tensor, stands_for_ndarray
from pullback.core.array_type import REGISTERED, TENSOR, array_type
from pullback.core.cuts import WATCHED, note, note_creation
from pullback.core.errors import DetachingError, UnsupportedError, type_name
from pullback.core.named import named
from pullback.core.tensor import Tensor, mark_inference, ndarray, note_made, set_requires_grad, wrap
from pullback.core.text_signature import TextSignature
from pullback.core.types import RawArray

_KINDS = "biufc"


def tensor(
    data: Any, *, dtype: Any = None, device: Any = "cpu", requires_grad: bool = False, **misspelt: Never
) -> Tensor:
    """A tensor with a copy of `data`.

    Parameters
    ----------
    data : number, nested sequence of numbers, ndarray, Tensor or array of a registered type
    dtype : NumPy dtype, optional
        Default: that of an array, float64 for Python floats, int64 for ints, bool for bools.
    device : 'cpu'
    requires_grad : bool, default False

    Returns
    -------
    Tensor
        A leaf.

    Raises
    ------
    TypeError, ValueError
        `data` holds something other than numbers, or is ragged.
    RuntimeError
        `requires_grad` for a dtype that is neither floating nor complex.

    Examples
    --------
    >>> pb.tensor([[1, 2], [3, 4]], dtype=pb.float32, requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], dtype=float32, requires_grad=True)
    """
    if misspelt:
        raise unknown_keyword("tensor", misspelt, ("dtype", "device", "requires_grad"))
    _only_cpu("tensor", device)
    if isinstance(data, Tensor):
        if data._requires_grad or data._level or array_type(data._array).dual:
            _say_that_copies_are_detached(data)
            if WATCHED:
                note("tensor()", data)
        data = data.numpy(force=True)
    elif isinstance(data, (list, tuple)):
        data = _plain("tensor", data)
    return note_made(_leaf("tensor", _array("tensor", data, dtype, copy=True), requires_grad))


# As a user should see them: `misspelt` is there to be refused.
_SHOWN = "(data, *, dtype=None, device='cpu', requires_grad=False{})"
tensor.__signature__ = TextSignature.of(_SHOWN.format(""))  # type: ignore[attr-defined]


@named("from_numpy")
def from_numpy(array: ndarray) -> Tensor:
    """A tensor that shares memory with an ndarray.

    Parameters
    ----------
    array : ndarray of numbers or bools

    Returns
    -------
    Tensor
        Of the same shape and dtype. Modifying one modifies the other; what is done to the ndarray itself autograd
        cannot see.

    Raises
    ------
    TypeError
        `array` is not an ndarray of numbers.

    Examples
    --------
    >>> array = np.zeros(2)
    >>> x = pb.from_numpy(array)
    >>> x[0] = 5
    >>> array
    array([5., 0.])
    """
    if stands_for_ndarray(array):
        return show_as_tensor(TENSOR.alias(array))  # type: ignore[no-any-return]
    if not issubclass(type(array), ndarray):
        raise TypeError(f"expected an ndarray, got {type_name(array)}; use pullback.tensor for other data.")
    made = wrap(_checked("from_numpy", np.asarray(array)))
    if WATCHED:
        note_creation(made)
    return made


def asarray(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = "cpu",
    requires_grad: bool = False,
    copy: bool | None = None,
    **misspelt: Never,
) -> Tensor:
    """A tensor of `data`, sharing memory with an ndarray or Tensor of the wanted dtype unless `copy` is True.

    Parameters
    ----------
    data : anything that `tensor` takes
    dtype : NumPy dtype, optional
    device : 'cpu'
    requires_grad : bool, default False
        Whether the result, a leaf then, requires a gradient.
    copy : bool, optional
        True always copies; False raises a ValueError where a copy would be needed.

    Returns
    -------
    Tensor
        `data` itself if it is a Tensor that need not change.

    Raises
    ------
    TypeError, ValueError
        `data` holds something other than numbers, or is ragged; or a copy is needed, and `copy` is False.

    Examples
    --------
    >>> array = np.zeros(2)
    >>> pb.asarray(array).fill_(1)
    tensor([1., 1.])
    >>> array
    array([1., 1.])
    """
    if misspelt:
        raise unknown_keyword("asarray", misspelt, ("dtype", "device", "requires_grad", "copy"))
    _only_cpu("asarray", device)
    if copy is not None:
        copy = a_flag("asarray", "copy", copy)
    requires_grad = a_flag("asarray", "requires_grad", requires_grad)
    if isinstance(data, Tensor):
        if stands_for_ndarray(data):
            data = show_as_tensor(TENSOR.alias(data))
        if copy:
            data = data.clone()
        if dtype is not None and (dtype := number_type("asarray", dtype)) != data.dtype:
            data = data.to(dtype)
        return set_requires_grad(data.detach()) if requires_grad and not data.requires_grad else data
    if isinstance(data, (list, tuple)):
        data = _plain("asarray", data)
    made = _leaf("asarray", _array("asarray", data, dtype, copy=copy), requires_grad)
    if WATCHED:
        note_creation(made)
    return made


asarray.__signature__ = TextSignature.of(_SHOWN.format(", copy=None"))  # type: ignore[attr-defined]


def _array(name: str, data: Any, dtype: Any, copy: bool | None) -> RawArray:
    if dtype is not None:
        dtype = number_type(name, dtype)
    if type(data) in REGISTERED:
        found: RawArray = array_type(data).copy(data) if copy else data
        return found if dtype is None else wrap(found).to(dtype)._array
    try:
        array = np.array(data, dtype=dtype, copy=copy)
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        why = "its parts differ in length" if "inhomogeneous" in str(error) else error
        raise kind(f"{name}(): cannot make a tensor of this {type(data).__name__}: {why}") from None
    return _checked(name, array)


def _checked(name: str, array: ndarray) -> ndarray:
    if array.dtype.kind not in _KINDS:
        raise TypeError(
            f"{name}(): can't convert an array of dtype {array.dtype} to a Tensor: the supported dtypes are floating "
            "point, complex, integer and bool."
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _plain(name: str, data: Any) -> Any:
    """A nested sequence with the Tensors in it (0-d or not) turned into arrays; those that require grad are refused."""
    if isinstance(data, Tensor):
        if data._requires_grad or data._level:
            raise DetachingError(
                f"pullback.{name}([...]) would detach a Tensor that requires grad. To build a tensor of tensors, use "
                "pullback.stack(list); to copy values, call .detach() on them."
            )
        return data.numpy()
    if isinstance(data, (list, tuple)):
        return [_plain(name, x) for x in data]
    return data


def _leaf(name: str, array: RawArray, requires_grad: bool) -> Tensor:
    out = wrap(array)
    if modes.current().inference:
        mark_inference(out)
    return out if requires_grad is False else set_requires_grad(out, a_flag(name, "requires_grad", requires_grad))


def _say_that_copies_are_detached(data: Tensor) -> None:
    if data._level or array_type(data._array).carries_derivative(data._array):
        raise UnsupportedError(
            "pullback.tensor(t) copies numbers, which would silently lose the gradient that is being taken of t. "
            "Use t.clone() for a copy that is differentiated, t.detach().clone() for a constant."
        )
    if not data._requires_grad:
        return
    warnings.warn(
        "pullback.tensor(t) copies a Tensor that requires grad out of the graph; write t.detach().clone() to say so, "
        "or t.clone() for a copy that stays in it.",
        stacklevel=3,
    )


def _only_cpu(name: str, device: Any) -> None:
    if str(device) != "cpu":
        raise UnsupportedError(f"{name}(): device {device!r} is not available: this version supports only 'cpu'.")


def is_tensor(obj: object) -> bool:
    """True if `obj` is a Tensor.

    Parameters
    ----------
    obj : object

    Returns
    -------
    bool

    Examples
    --------
    >>> pb.is_tensor(pb.ones(2)), pb.is_tensor(np.ones(2))
    (True, False)
    """
    return isinstance(obj, Tensor) and not stands_for_ndarray(obj)


@named("is_inference", "Tensor input")
def is_inference(input: Tensor) -> bool:
    """True if this tensor was made in inference mode.

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
    >>> with pb.inference_mode():
    ...     x = pb.ones(2)
    >>> pb.is_inference(x)
    True
    """
    return input.is_inference()


@named("numel", "Tensor input")
def numel(input: Tensor) -> int:
    """The number of elements.

    Parameters
    ----------
    input : Tensor

    Returns
    -------
    int

    Raises
    ------
    TypeError
        `input` is not a Tensor, ndarray or number.

    Examples
    --------
    >>> pb.numel(pb.ones(2, 3))
    6
    """
    return input.numel()
