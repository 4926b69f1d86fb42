"""The terms of a sum, as a worker computes them: one partition after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.arrays.numpy.random.draws import drawing_from
from pullback.core.errors import GradientError, GradientTypeError, with_article
from pullback.core.pytree import flatten, unflatten
from pullback.core.tensor import Tensor, ndarray
from pullback.distributed.partitions import loaded
from pullback.distributed.trees import TreeSum

Derivation = Callable[[Callable[..., Any]], Callable[..., Any]]


class Terms:
    """Terms of a sum, with all that a worker must know of it.

    Parameters
    ----------
    function : callable
        The user's, of the arguments and the data of one partition.
    derivations : sequence of callable
        What makes of it, as a function of the arguments alone, the function whose values are added.
    seed : int
        With the number of a partition, the key of its random numbers.
    retries : int
        How often a partition may fail.
    """

    def __init__(
        self, function: Callable[..., Any], derivations: Sequence[Derivation], seed: int, retries: int
    ) -> None:
        self.function, self.derivations, self.seed, self.retries = function, derivations, seed, retries

    def derived(self, derivation: Derivation, *, first: bool = False) -> Terms:
        """Return the terms that a derivation makes of these, or of the function itself where it comes `first`."""
        derivations = (derivation, *self.derivations) if first else (*self.derivations, derivation)
        return Terms(self.function, derivations, self.seed, self.retries)

    def sum(self, args: tuple[Any, ...], start: int, partitions: Sequence[Any]) -> Any:
        """Add up the terms of these partitions, the first of which has the number `start`."""
        leaves, structure = flatten(args)
        args = unflatten(structure, [_read_only(x) for x in leaves])
        total = TreeSum(len(partitions))
        for i, partition in enumerate(partitions):
            total.put(i, i + 1, self._term(args, start + i, partition))
        return total.total()

    def _term(self, args: tuple[Any, ...], number: int, partition: Any) -> Any:
        for left in reversed(range(self.retries + 1)):
            try:
                data = loaded(partition)

                function = self._of_data(number, data)
                for derivation in self.derivations:
                    function = derivation(function)
                return _numbers(function(*args))
            except Exception as error:
                if not left:
                    error.add_note(f"in partition {number}")
                    raise
        raise AssertionError("the last round returns or raises")

    def _of_data(self, number: int, data: tuple[Any, ...]) -> Callable[..., Any]:
        """The function of the arguments alone."""

        @functools.wraps(self.function)  # whose name errors have, and by whose names arguments are chosen
        def function(*args: Any) -> Any:
            with drawing_from((self.seed, number)):  # anew in each call, so that a derivative is of what was computed
                return self.function(*args, *data)

        return function


def _read_only(x: Any) -> Any:
    """An argument that stays as it is: the next partition needs it."""
    if type(x) is ndarray and x.flags.writeable:
        x = x.view()
        x.flags.writeable = False
    return x


def _numbers(value: Any) -> Any:
    """Return what a function gives for a partition, as plain arrays and numbers."""
    leaves, structure = flatten(value)
    if not leaves:
        raise GradientTypeError(
            f"a sum over partitions: the function returned {value!r}, nothing to add up. Is a `return` missing?"
        )
    return unflatten(structure, [_plain(x) for x in leaves])


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        if x._requires_grad or x._level:
            raise GradientError(
                "a sum over partitions: the function uses a variable that is being differentiated and is not one of "
                f"its arguments (the result is of shape {tuple(x.shape)}): its gradient would be lost. Pass it as an "
                "argument, or detach() it."
            )
        return x.numpy()
    if issubclass(type(x), (ndarray, np.number, int, float, complex)):
        return x
    raise GradientTypeError(
        f"a sum over partitions: the function must return a number, an array or a tree of these, got {with_article(x)}."
    )
