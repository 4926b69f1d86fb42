"""Nodes at the border between plain and dual numbers: how gradients cross it.

Three linear operators make a dual number and take one apart:

    make_dual(p, t) = p + eps t        primal_of(d) = p        tangent_of(d) = t

Inside, the formulas of ordinary backwards run on dual numbers. What they pull back may be one of two things.

A *dual cotangent* is that of a loss which is itself dual, l0 + eps l1: its primal is the gradient of l0 and its
tangent the derivative of that gradient along the tangents (forward over reverse). It needs no rule: make_dual hands it
on as the gradient of p.

A *co-dual* c = v + eps u stands for the real functional <u, p> + <v, t> of a dual number d = p + eps t (reverse over
forward): that is the eps part of <c, d>. The backward formula of an operator is linear in the cotangent and made of
arithmetic that dual numbers have too, so it maps co-duals to co-duals exactly. Whence the three gradients

    primal_of:  u -> 0 + eps u       tangent_of:  v -> v + eps 0       make_dual:  v + eps u -> (u for p, v for t)

which are made of the same three operators, so that they can be differentiated again. Every kernel hands the mark of a
co-dual on. A plain tensor that requires grad and meets a dual is made dual first, by a recorded make_dual(w, 0), at
every level of that dual: so no co-dual ever reaches a plain tensor, where it would be added to a plain gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pullback.arrays.dual.array import DualArray, Kin
from pullback.arrays.dual.errors import MixedCotangentsError, data_in_transform, data_of_other_form
from pullback.arrays.dual.kernels import DUAL, highest, like, primal_at, tangent_at
from pullback.arrays.dual.levels import ForwardLevel
from pullback.arrays.dual.pairing import in_layout_of
from pullback.core import modes
from pullback.core.array_type import NUMPY, REGISTERED, TENSOR, array_type, innermost, table_of
from pullback.core.inspection import owner_of
from pullback.core.tensor import Tensor, inside_tensors, ndarray, wrap
from pullback.core.types import Gradient
from pullback.core.version import counter_inside, counter_of
from pullback.dispatch.operator import Operator
from pullback.dispatch.pipeline import dispatch
from pullback.graph.node import Node, Unpack, edge_to, start_node


# -- the kernels: on raw arrays of any type --------------------------------------------------------------------------
def pack(primal: Any, tangent: Any, level: ForwardLevel, co: bool) -> Any:
    """primal + eps tangent; None for either is zero."""
    inner = None if type(primal) is ndarray and type(tangent) is ndarray else highest((primal, tangent))
    if inner is not None and inner.number > level.number:  # linear, so it goes into the components
        p = pack(primal_at(primal, inner), primal_at(tangent, inner), level, co)
        dp, dt = tangent_at(primal, inner), tangent_at(tangent, inner)
        mark = any(x.co for x in (primal, tangent) if type(x) is DualArray and x.level.number == inner.number)
        return DualArray(p, None if dp is None and dt is None else pack(dp, dt, level, co), inner, mark)
    if inner is not None and inner.number == level.number:
        raise MixedCotangentsError
    if primal is None:
        made = DualArray(table_of((tangent,)).zeros_like(tangent), tangent, level, co)
        made.kin = Kin(zero_primal=True)
        return made
    if type(primal) is ndarray and type(tangent) is ndarray and tangent.strides != primal.strides:
        tangent = like(tangent, primal)
    elif type(primal) is ndarray and type(tangent) in REGISTERED and primal.ndim > 1:
        tangent = in_layout_of(primal, tangent)
    return DualArray(primal, tangent, level, co)


def _pack_in_memory(primal: Any, tangent: Any, level: ForwardLevel, co: bool) -> Any:
    """The same of what a user gives: beside a part of a larger memory the tangent lies in one of that size too.

    So `as_strided`, which may reach out of the part, has tangents, of zeros, there as well. A batched tangent has
    nothing around it, so that this is an error.
    """
    if type(primal) is ndarray and primal.base is not None and primal.size and tangent is not None:
        owner = owner_of(primal)
        if type(tangent) is not ndarray:
            tangent = alone_in_memory(tangent)
        elif owner.flags.forc and owner.dtype == primal.dtype and owner.size != owner_of(tangent).size:
            begin = primal.ctypes.data - owner.ctypes.data
            held = ndarray(primal.shape, primal.dtype, np.zeros(owner.size, owner.dtype), begin, primal.strides)
            held[...] = tangent
            tangent = held
    return pack(primal, tangent, level, co)


def alone_in_memory(tangent: Any) -> Any:
    """A tangent that a user gave, copied if it is a part of a larger memory: what lies around it is no tangent."""
    memory = innermost(tangent)
    if type(memory) is not ndarray or memory.base is None or owner_of(memory).size == memory.size:
        return tangent
    return array_type(tangent).copy(tangent)


def primal_part(dual: Any, level: ForwardLevel) -> Any:
    """The primal at `level`."""
    return _part(dual, level, "primal")


def tangent_part(dual: Any, level: ForwardLevel) -> Any:
    """The tangent at `level`; zeros where there is none."""
    found = _part(dual, level, "tangent")
    return table_of((dual,)).zeros_like(primal_part(dual, level)) if found is None else found


def with_data(dual: Any, data: Any) -> Any:
    """A dual array with the values of other data, and copies of its tangents."""
    if type(dual) is not DualArray:
        return array_type(data).values(data) if type(data) is DualArray else data
    if not dual.level.open:
        return with_data(dual.primal, data)
    if dual.level.run is not None:
        raise data_in_transform(dual.level.run.transform)
    if dual.tangent is not None and (data.shape, data.dtype) != (dual.shape, dual.dtype):
        raise data_of_other_form(dual, data)
    tangent = None if dual.tangent is None else array_type(dual.tangent).copy(dual.tangent)
    return pack(with_data(dual.primal, data), tangent, dual.level, dual.co)


def _part(dual: Any, level: ForwardLevel, name: str) -> Any:
    if type(dual) is not DualArray or dual.level.number < level.number:
        return dual if name == "primal" else None  # a constant at this level
    if dual.level.number == level.number:
        return getattr(dual, name)
    tangent = None if dual.tangent is None else _part(dual.tangent, level, name)
    primal = _part(dual.primal, level, name)
    if primal is None:
        primal = table_of((dual,)).zeros_like(dual.primal)
    return DualArray(primal, tangent, dual.level, dual.co)


# -- the nodes -------------------------------------------------------------------------------------------------------
class MakeDualBackward0(Node):
    """A dual number of a primal and a tangent."""

    __slots__ = ("level",)
    level: ForwardLevel
    arity = 2
    pointwise = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        found = at_level(grad, self.level)
        if found is None or not found.co:
            return grad, None  # of a dual loss, or zeros that a formula made
        level = self.level.lasting
        to_primal = None if found.tangent is None or self._next0 is None else tangent_of(grad, level)
        # Of a dual that was taken apart again at once, a loss of one part has no gradient of the other.
        unused = found.has_zero_primal() and inside_tensors(grad) is found
        return to_primal, None if unused or self._next1 is None else primal_of(grad, level)


class FwPrimalBackward0(Node):
    """The primal of a dual number."""

    __slots__ = ("level",)
    level: ForwardLevel
    arity = 1
    pointwise = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (make_dual(None, grad, self.level.lasting, True),)


class FwTangentBackward0(Node):
    """The tangent of a dual number."""

    __slots__ = ("level",)
    level: ForwardLevel
    arity = 1
    pointwise = True

    def apply(self, ops: Any, grad: Gradient, unpack: Unpack) -> Sequence[Gradient]:
        return (make_dual(grad, None, self.level.lasting, True),)


CROSSINGS = frozenset({MakeDualBackward0, FwPrimalBackward0, FwTangentBackward0})


def record_pack(out: Tensor, primal: Any, tangent: Any, level: ForwardLevel, co: bool) -> None:
    """Record `pack` of Tensors."""
    node = start_node(MakeDualBackward0, out)
    node._next0, node._next1, node.level = edge_to(primal), edge_to(tangent), level


def _record_primal(out: Tensor, dual: Any, level: ForwardLevel) -> None:
    node = start_node(FwPrimalBackward0, out)
    node._next0, node.level = edge_to(dual), level


def _record_tangent(out: Tensor, dual: Any, level: ForwardLevel) -> None:
    node = start_node(FwTangentBackward0, out)
    node._next0, node.level = edge_to(dual), level


# -- the operators: on Tensors, recorded, or on raw arrays -----------------------------------------------------------
_PACK = Operator(
    "make_dual",
    "_make_dual",
    ((0, "primal"), (1, "tangent")),
    record=record_pack,
    optional=("primal", "tangent"),
    holds=True,
)
_PRIMAL = Operator("primal_of", "_fw_primal", ((0, "dual"),), record=_record_primal, holds=True)
_TANGENT = Operator("tangent_of", "_fw_tangent", ((0, "dual"),), record=_record_tangent, holds=True)
OPERATORS = frozenset({_PACK, _PRIMAL, _TANGENT})


def make_dual(primal: Any, tangent: Any, level: ForwardLevel, co: bool = False) -> Any:
    """primal + eps tangent, on Tensors or raw arrays."""
    if isinstance(primal, Tensor) or isinstance(tangent, Tensor):
        return _crossing(_PACK, primal, tangent, level, co)
    return pack(primal, tangent, level, co)


def make_dual_at(number: int, primal: Any, tangent: Any, level: ForwardLevel, co: bool = False) -> Any:
    """`make_dual` of Tensors of the level `number`, or of the raw arrays in these, be they Tensors of lower levels.

    It stands beside dual numbers of such Tensors, as func.jvp makes them, not inside of these.
    """
    parts = [x._array if isinstance(x, Tensor) and x._level == number else x for x in (primal, tangent)]
    if not any(isinstance(x, Tensor) for x in parts):
        return make_dual(primal, tangent, level, co)
    made = pack(parts[0], parts[1], level, co)
    if parts[0] is primal and parts[1] is tangent:
        return made
    out = wrap(made, number)
    _share_counter(out, primal)
    if modes.current().records(number) and any(isinstance(x, Tensor) and x._requires_grad for x in (primal, tangent)):
        record_pack(out, primal, tangent, level, co)
    return out


def primal_of(dual: Any, level: ForwardLevel) -> Any:
    """The primal at `level`, on Tensors or raw arrays."""
    return _crossing(_PRIMAL, dual, level) if isinstance(dual, Tensor) else primal_part(dual, level)


def tangent_of(dual: Any, level: ForwardLevel) -> Any:
    """The tangent at `level`, on Tensors or raw arrays."""
    return _crossing(_TANGENT, dual, level) if isinstance(dual, Tensor) else tangent_part(dual, level)


def _crossing(op: Operator, *args: Any) -> Any:
    """Run one of these operators, with a counter by which a write into one of what shares memory is noticed."""
    out = dispatch(op, args)
    if op is not _TANGENT:
        _share_counter(out, args[0])
    elif (found := at_level(args[0], args[1])) is not None and found.tangent is not None and isinstance(out, Tensor):
        found.kin = found.kin or Kin()
        found.kin.share(out)
    return out


def _share_counter(out: Any, primal: Any) -> None:
    if not (isinstance(out, Tensor) and isinstance(primal, Tensor)):
        return
    counter = out._counter = (counter_of if primal._level == out._level else counter_inside)(primal)
    if type(primal._array) is ndarray:  # which has none of its own, where the tangent is a Tensor
        while isinstance(out := out._array, Tensor):
            out._counter = counter


def at_level(array: Any, level: ForwardLevel) -> DualArray | None:
    """The dual at `level` of a raw array, or of the one in Tensors, however many; None if it has none there."""
    while True:
        if isinstance(array, Tensor):
            array = array._array
        elif type(array) is DualArray and array.level.number > level.number:
            array = array.primal
        else:
            return array if type(array) is DualArray and array.level.number == level.number else None


def _register() -> None:
    kernels: dict[str, Any] = {"_make_dual": _pack_in_memory, "_fw_primal": primal_part, "_fw_tangent": tangent_part}
    for name, op in (("_make_dual", _PACK), ("_fw_primal", _PRIMAL), ("_fw_tangent", _TANGENT)):
        NUMPY.kernels[name] = kernels[name]
        TENSOR.kernels[name] = partial(_crossing, op)
    DUAL.kernels.update(kernels)


_register()
