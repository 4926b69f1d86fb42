"""Lets another library differentiate our functions: our derivatives as functions of plain arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.pytree import flatten, unflatten
from pullback.exchange.guests import moves
from pullback.func.reverse import vjp

Function = Callable[..., Any]


def host(function: Function, is_theirs: Function, recorded: Function) -> Function:
    """`function` of a library's arrays, wherever they stand in the arguments.

    `recorded(of_arrays, arrays)` gives the leaves of what a function of arrays alone gives, as that library follows
    them, and their structure.
    """

    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> object:
        leaves, structure = flatten((args, kwargs))
        places = [i for i, x in enumerate(leaves) if is_theirs(x)]

        def of_arrays(*arrays: object) -> object:
            given = dict(zip(places, arrays, strict=True))
            args, kwargs = unflatten(structure, [given.get(i, x) for i, x in enumerate(leaves)])
            return function(*args, **kwargs)

        found, form = recorded(of_arrays, [leaves[i] for i in places])
        return unflatten(form, found)

    return called


def results(found: object) -> tuple[list[Any], Any]:
    """The leaves of a result as arrays, and its structure."""
    leaves, structure = flatten(found)
    return [np.asarray(x) for x in leaves], structure


def derivative(function: Function, moving: Sequence[int], count: int) -> Function:
    """(*arguments, *cotangents of the floating-point results) -> the gradients of the arguments `moving`."""

    def gradients(*given: object) -> object:
        args, cotangents = given[:count], given[count:]

        def of_moving(*xs: object) -> tuple[Any, ...]:
            values = dict(zip(moving, xs, strict=True))
            found = flatten(function(*[values.get(i, x) for i, x in enumerate(args)]))[0]
            return tuple([y for y in found if moves(y)])

        _, back = vjp(of_moving, *[args[i] for i in moving])
        return back(tuple(cotangents))

    return gradients
