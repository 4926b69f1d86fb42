"""Forward-mode differentiation: tangents that travel beside the values.

    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
        jvp = forward_ad.unpack_dual(y).tangent  # J(x) v

See docs/autograd/forward_mode.md.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

from pullback.arrays import dual
from pullback.arrays.dual import DualArray, ForwardLevel
from pullback.arrays.dual.array import Kin
from pullback.arrays.dual.boundary import at_level
from pullback.arrays.dual.levels import ENTERED
from pullback.arrays.masks import mask_in
from pullback.autograd.function import jvp as _function_jvp  # noqa: F401 - lets custom Functions meet duals
from pullback.core.array_type import memory_of
from pullback.core.blocks import Block, Steps, several
from pullback.core.errors import GradientError, type_name
from pullback.core.modes import Modes, ModeSwitch
from pullback.core.named import named
from pullback.core.observers import Observer
from pullback.core.tensor import Tensor, inside_tensors, ndarray
from pullback.core.version import counter_of
from pullback.graph.kept_values import refuse_kept_in
from pullback.graph.view import Origin, make_view, shares_memory


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`: the primal, and the tangent or None.

    Parameters
    ----------
    primal : Tensor
    tangent : Tensor or None
        Of the shape and dtype of `primal`.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     primal, tangent = forward_ad.unpack_dual(forward_ad.make_dual(pb.ones(2), pb.tensor([1.0, 2.0])))
    >>> primal, tangent
    (tensor([1., 1.]), tensor([1., 2.]))
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter a forward level; `dual_level` does it for a block.

    Returns
    -------
    int
        The number of the level, 0 for the outermost.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> dual = forward_ad.make_dual(pb.tensor(2.0), pb.tensor(1.0), level=level)
    >>> forward_ad.unpack_dual(dual * dual).tangent
    tensor(4.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    levels = ENTERED.get()
    ENTERED.set((*levels, ForwardLevel()))
    return len(levels)


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the innermost forward level, whose tangents are gone from then on.

    Parameters
    ----------
    level : int, optional
        Its number, as `enter_dual_level` gave it; a check.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        There is no level to leave, or `level` is not the innermost.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> dual = forward_ad.make_dual(pb.tensor(2.0), pb.tensor(1.0))
    >>> forward_ad.exit_dual_level(level=level)
    >>> forward_ad.unpack_dual(dual).tangent is None
    True
    """
    levels = ENTERED.get()
    if not levels:
        raise GradientError(
            "Dual level must be a positive number: exit_dual_level: no dual level was entered; every exit needs an "
            "enter_dual_level() before."
        )
    if level is not None and level != len(levels) - 1:
        raise GradientError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported: "
            f"exit_dual_level: level {level} is not the innermost one, which is {len(levels) - 1}. Levels are left in "
            "the reverse of the order in which they were entered."
        )
    levels[-1].open = False
    ENTERED.set(levels[:-1])


class dual_level(Block):
    """Context manager: inside, tensors can have tangents.

    Blocks nest, each with tangents of its own (PyTorch has one level): the inner one differentiates what the outer one
    does. When the block ends its tangents are gone. `with dual_level() as level` gives the level's number, which
    `make_dual` and `unpack_dual` take.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> x = pb.tensor([1.0, 2.0])
    >>> with forward_ad.dual_level():
    ...     d = forward_ad.make_dual(x, pb.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(d * d).tangent
    tensor([2., 0.])
    """

    def _steps(self) -> Steps:
        before, level, left = ENTERED.get(), ForwardLevel(), list[tuple[ForwardLevel, ...]]()
        return (
            ENTERED.set,
            (*before, level),
            *several(
                partial(left.extend, map(ENTERED.get, ((),))),
                partial(setattr, level, "open", False),
                partial(ENTERED.set, before),
                partial(_check_left, left, len(before)),
            ),
        )

    def _named(self) -> int:
        return len(ENTERED.get())  # the number of the level


def _check_left(left: list[tuple[ForwardLevel, ...]], number: int) -> None:
    """Raise unless every level entered inside a block was left at its end."""
    if len(left[0]) > number + 1:
        raise GradientError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported: "
            f"exit_dual_level: level {number} is not the innermost one at the end of its block, which is "
            f"{len(left[0]) - 1}. Levels are left in the reverse of the order in which they were entered."
        )


class _TangentsDropped(Observer):
    """Switched on where forward mode is off."""

    drops_tangents = True


_DROPPED = _TangentsDropped()


def tangents_kept(state: Modes, kept: bool = True) -> Modes:
    """The state in which operators compute tangents, or do not."""
    others = tuple(observer for observer in state.observers if observer is not _DROPPED)
    return state.with_observers(others if kept else (*others, _DROPPED))


class _set_fwd_grad_enabled(ModeSwitch):
    """Context manager and decorator: with False, operators compute no tangents, as `no_grad` records no nodes."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def _changed(self, modes: Modes) -> Modes:
        return tangents_kept(modes, self.mode)

    def _fresh(self) -> Self:
        return type(self)(self.mode)


@named("autograd.forward_ad.make_dual", "Tensor tensor, Tensor tangent, *, int? level=None")
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent: operators on it compute the Jacobian-vector product beside the value.

    Parameters
    ----------
    tensor : Tensor
        The primal, floating or complex. The result shares its memory.
    tangent : Tensor
        Of its shape and dtype. The result shares its memory too, unless its elements lie in another order, or one of
        both alone is a part of a larger memory.
    level : int, optional
        The number of a level that was entered; default: the innermost.

    Returns
    -------
    Tensor
        Differentiable with respect to both.

    Raises
    ------
    RuntimeError
        There is no level, shapes or dtypes differ, or the tensor has a tangent of this level already.
    ValueError
        The dtype of either is neither floating nor complex.
    TypeError
        Either is not a Tensor.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> x = pb.tensor(2.0)
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(x, pb.tensor(1.0)) ** 3
    ...     forward_ad.unpack_dual(y).tangent
    tensor(12.)
    """
    at = _level(level)
    if at is None:
        raise GradientError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first "
            "(or write `with forward_ad.dual_level():` around it)."
        )
    _check_parts(tensor, tangent)
    if _dual_in(tensor, at) is not None:
        raise GradientError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level is not "
            "supported: unpack_dual it first, or enter another dual_level for a second derivative."
        )
    if _dual_in(tangent, at) is not None:
        raise GradientError(
            "Setting a forward grad that itself has a forward gradient at the same level is not supported: "
            "make_dual: the tangent is itself a dual Tensor of this level. Take it apart with unpack_dual first, or "
            "enter another dual_level for a second derivative."
        )
    out: Tensor = dual.make_dual(tensor, tangent, at)
    if out._level == tensor._level and memory_of(tensor) is not None:  # a value is replaced when it is written into
        counter_of(tensor)
        make_view(out, tensor)._extra.made_by = Origin("function", "make_dual")  # type: ignore[union-attr]
    made = at_level(out, at)
    if made is not None:
        if inside_tensors(made.tangent) is inside_tensors(tangent):
            made.kin = kin = Kin()
            kin.share(tangent)
            if made.tangent is tangent._array:
                made.given = kin.given = tangent
        made.touched = mask_in(tangent, made.tangent)
    return out


def _check_parts(tensor: Any, tangent: Any) -> None:
    for name, x in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(x, Tensor):
            raise TypeError(f"make_dual: the {name} must be a Tensor, got {type_name(x)}; use pullback.tensor(...).")
        if x.dtype.kind not in "fc":
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {x.dtype}. Convert it first, for example "
                "with .to(pullback.float64)."
            )
    if tensor.shape != tangent.shape:
        raise GradientError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {tensor.shape} while the given forward gradient is of size {tangent.shape}."
        )
    if tensor.dtype != tangent.dtype:
        raise GradientError(
            f"make_dual: the tangent has dtype {tangent.dtype}, the primal {tensor.dtype}; convert it with .to(...)."
        )


@named("autograd.forward_ad.unpack_dual", "Tensor tensor, *, int? level=None")
def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Take a dual tensor apart.

    Parameters
    ----------
    tensor : Tensor
    level : int, optional
        The number of a level that was entered; default: the innermost.

    Returns
    -------
    UnpackedDualTensor
        A namedtuple (primal, tangent), both differentiable. The tangent of what `make_dual` gave is the Tensor that it
        was given, where the two share memory, and the tangent of a view is a view of that Tensor. The tangent is None,
        and the primal `tensor` itself, where there is no tangent of that level: outside of one, or for what does not
        depend on a dual tensor.

    Raises
    ------
    RuntimeError
        There is no such level, or the tangent is inside that of another transform; or the function has kept a value of
        an earlier call of one.

    Examples
    --------
    >>> from pullback.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(pb.tensor([1.0, 2.0]), pb.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(dual.exp()).tangent
    tensor([2.71828183, 0.        ])
    """
    at = _level(level)
    if at is None or not isinstance(tensor, Tensor):
        return UnpackedDualTensor(tensor, None)
    if type(tensor._array) is not ndarray:
        refuse_kept_in(tensor, at.begun)
    found = _dual_in(tensor, at)
    if found is None:
        if _holds(tensor, at):
            raise GradientError(
                "unpack_dual: the tangent of this level is inside another transform's, such as that of a func.jvp "
                "around whose argument was combined with a dual Tensor of this level. Make the dual Tensor of what "
                "that transform differentiates, or write func.jvp for both."
            )
        return UnpackedDualTensor(tensor, None)
    primal = dual.primal_of(tensor, at)
    if found.tangent is None:
        return UnpackedDualTensor(primal, None)
    given = found.given
    if given is not None and found.tangent is given._array:
        return UnpackedDualTensor(primal, given)
    tangent = dual.tangent_of(tensor, at)
    _note_view(tangent, found)
    return UnpackedDualTensor(primal, tangent)


def _note_view(tangent: Tensor, found: DualArray) -> None:
    """The tangent of a view of what `make_dual` gave is a view of the Tensor that it was given."""
    given = None if found.kin is None else found.kin.given
    if given is None or given._level != tangent._level or memory_of(given._array) is None:
        return
    if shares_memory(found.tangent, given._array):
        make_view(tangent, given)


def _dual_in(tensor: Tensor, level: ForwardLevel) -> DualArray | None:
    """The dual number of a tensor at a forward level, also where it is wrapped by tensors of other transforms."""
    return at_level(inside_tensors(tensor), level)


def _holds(array: Any, level: ForwardLevel) -> bool:
    """True if something of a forward level is anywhere in an array."""
    if isinstance(array, Tensor):
        return _holds(array._array, level)
    if type(array) is not DualArray:
        return False
    return array.level.number == level.number or _holds(array.primal, level) or _holds(array.tangent, level)


def _level(number: int | None) -> ForwardLevel | None:
    levels = ENTERED.get()
    if number is None:
        return levels[-1] if levels else None
    if not 0 <= number < len(levels):
        raise GradientError(f"there is no dual level {number}: {len(levels)} are entered, counted from 0.")
    return levels[number]


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
