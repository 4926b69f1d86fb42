"""NumPy's forms of methods that PyTorch names too, where PyTorch's own form would be an error; and `copy`, `fill`.

A call that means something in PyTorch keeps that meaning: `t.repeat(2, 2)` tiles, `t.std()` divides by n - 1.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.named import named
from pullback.core.numpy_types import Axis, Mask, Order
from pullback.core.tensor import Tensor
from pullback.dispatch.call_errors import explained_call
from pullback.ops.late import method as method_of


@named("Tensor.copy", "Tensor self, str order='C'")
def copy(self: Tensor, order: Order = "C") -> Tensor:
    """A copy, recorded: NumPy's name of `clone`.

    Parameters
    ----------
    order : {'C', 'F', 'A', 'K'}, default 'C'
        How the elements lie in memory.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> x = pb.ones(2, requires_grad=True)
    >>> x.copy().grad_fn.name()
    'CloneBackward0'
    """
    copied: Callable[..., Tensor] = np.copy
    return copied(self, order)


@named("Tensor.compress")
def compress(self: Tensor, condition: Mask, axis: Axis = None) -> Tensor:
    """The elements, or the slices along `axis`, where `condition` holds: np.compress.

    Parameters
    ----------
    condition : sequence of bool
    axis : int, optional
        By default the elements of the flattened tensor are taken.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `condition` is longer than the axis, or not one-dimensional.

    Examples
    --------
    >>> pb.tensor([1.0, 2.0, 3.0]).compress([True, False, True])
    tensor([1., 3.])
    """
    chosen: Callable[..., Tensor] = np.compress
    return chosen(condition, self, axis)


@named("Tensor.fill", "Tensor self, Tensor value")
def fill(self: Tensor, value: Any) -> None:
    """Write one number everywhere, as ndarray.fill does; `fill_` returns the tensor too.

    Parameters
    ----------
    value : number, or Tensor of one element

    Returns
    -------
    None

    Examples
    --------
    >>> x = pb.ones(2)
    >>> x.fill(7)
    >>> x
    tensor([7., 7.])
    """
    self.fill_(value)


def extended(name: str) -> Callable[..., Any]:
    """The method `name` of Tensor, which first asks whether this is NumPy's form of the call."""
    original, form = method_of(name), _FORMS[name]

    @functools.wraps(original)
    def method(self: Tensor, *args: object, **kwargs: object) -> object:
        try:
            function = form(self, args, kwargs)
        except Exception as error:  # noqa: BLE001 - raised again, with what was called
            raise explained_call(f"Tensor.{name}", original, (self, *args), kwargs, error)  # noqa: B904
        return original(self, *args, **kwargs) if function is None else function(self, *args, **kwargs)

    method.__qualname__ = f"Tensor.{name}"  # where pickle finds it: the function of that name is another
    return method


def _transpose(self: Tensor, args: Sequence[object], kwargs: dict[str, object]) -> Callable[..., Any] | None:
    """t.transpose(), t.transpose((2, 0, 1)), t.transpose(2, 0, 1)."""
    if kwargs or (len(args) == 2 and not isinstance(args[0], tuple)):
        return None
    return lambda t, *axes: np.transpose(t, (axes if len(axes) > 1 else axes[0]) if axes else None)


def _dot(self: Tensor, args: Sequence[Any], kwargs: dict[str, object]) -> Callable[..., Any] | None:
    """t.dot(u) unless both are vectors."""
    plain = len(args) == 1 and not kwargs and not (self.ndim == 1 and np.ndim(args[0]) == 1)
    return np.dot if plain else None


def _spread(name: str) -> Callable[..., Any]:
    def form(self: Tensor, args: Sequence[object], kwargs: dict[str, object]) -> Callable[..., Any] | None:
        """t.var(axis, ddof=1)."""
        return getattr(np, name) if "ddof" in kwargs else None

    return form


def _running(name: str) -> Callable[..., Any]:
    def form(self: Tensor, args: Sequence[object], kwargs: dict[str, object]) -> Callable[..., Any] | None:
        """t.cumsum() of all elements."""
        without = not args and "dim" not in kwargs and kwargs.get("axis") is None
        return getattr(np, name) if without else None

    return form


def _along(name: str) -> Callable[..., Any]:
    def form(self: Tensor, args: Sequence[object], kwargs: dict[str, object]) -> Callable[..., Any] | None:
        """t.take(indices, axis=0), t.repeat(2, axis=0)."""
        return getattr(np, name) if "axis" in kwargs else None

    return form


_FORMS: dict[str, Callable[..., Any]] = {
    "transpose": _transpose, "dot": _dot,
    **{name: _along(name) for name in ("take", "repeat")},
    **{name: _spread(name) for name in ("var", "std")},
    **{name: _running(name) for name in ("cumsum", "cumprod")},
}  # fmt: skip
