"""Functions that a solver calls many times: after some calls they run as programs."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from pullback.core import slots
from pullback.core.array_face import program_run
from pullback.core.tensor import Tensor
from pullback.graph.captured import Captured

_FIRST = {False: 32, True: 48}  # calls that run as they are: to make a program takes as long; more with watches
_MOST = 32  # functions whose programs are kept

Programs: TypeAlias = "dict[Hashable, Any]"  # by signature, as the compiler has them


class Stream:
    """Where the rounds of a loop find one input, or leave one output: in C order.

    Parameters
    ----------
    array : ndarray
    row : int, optional
        Of the first round; without it all of the array is for every round.
    step : int
        Rows from one round to the next.
    turns : bool
        It goes so far and back again, by turns.
    """

    __slots__ = ("address", "array", "by", "dtype", "shape", "turns")

    def __init__(self, array: Any, row: int | None = None, step: int = 1, turns: bool = False) -> None:
        self.array = array = np.asarray(array, order="C")
        self.shape, self.dtype, self.turns = array.shape[row is not None :], array.dtype, turns
        self.by = 0 if row is None else step * array.strides[0]
        self.address = array.ctypes.data + (0 if row is None else row * array.strides[0])


class Loan:
    """The programs of functions that do the same, lent to one of them; `uses` is how often they have been."""

    def __init__(self, programs: Programs, uses: int = 1) -> None:
        self.programs, self.uses = programs, uses
        self.borrower: Repeated | None = None


class Repeated:
    """A function of arrays that becomes a program when it has been called often.

    Parameters
    ----------
    function : callable
        Of arrays and NumPy's numbers, by position; if it is not `watched`, Tensors are what is differentiated.
    form : callable, optional
        What becomes a program in its place, if that is another one, which keeps nothing between its calls.
    watched : bool, default False
        Whether what it reads may change between calls, beyond what it changes itself.
    compile : bool, default True
        Whether it may become a program at all.
    loan : Loan, optional
        Where its programs are kept. If there are some, they run from the first call on.
    at_once : bool, default False
        It becomes a program at its second call.
    for_rounds : bool, default False
        It becomes one only where that is machine code, for `rounds`.
    captured : Captured, optional
        The functions that it calls. Where these have changed something by the time, there is no program `for_rounds`.
    """

    __slots__ = ("_as_it_is", "_captured", "_for_rounds", "_form", "_known", "_left", "_watched", "at_once", "function")

    def __init__(
        self,
        function: Callable[..., Any],
        form: Any = None,
        *,
        watched: bool = False,
        compile: bool = True,
        loan: Loan | None = None,
        at_once: bool = False,
        for_rounds: bool = False,
        captured: Captured | None = None,
    ) -> None:
        self._for_rounds, self._captured = for_rounds, captured
        self.at_once = at_once
        self.function, self._as_it_is, self._form, self._watched = function, function, form or function, watched
        self._left = self._first() if compile and os.environ.get("PULLBACK_COMPILE") != "0" else -1
        self._known = None
        if loan is not None:
            loan.borrower, self._known = self, loan.programs
            if loan.programs and self._left > 0:
                self._left = 0

    def _first(self) -> int:
        return 1 if self.at_once else _FIRST[self._watched]

    def __call__(self, *args: Any) -> Any:
        if not self._watched and any(isinstance(x, Tensor) for x in args):
            return self._form(*args)  # a derivative of what the solver finds
        if self._left >= 0:
            self._left -= 1
            if self._left < 0:
                self._compile()
        return self.function(*args)

    def begin(self) -> None:
        """Let the next call make a program."""
        self._left = min(self._left, 0)

    def _compile(self) -> None:
        self._left = -1
        captured = self._captured
        if self._for_rounds and not self._known and captured is not None and captured.has_changed():
            return
        spaces = captured.namespaces() if self._for_rounds and captured is not None else ()
        made = slots.callback(self._form, self._watched, self._known, self._for_rounds, spaces)
        self.function = made or self._as_it_is

    def rounds(self, args: Sequence[Any], wanted: Sequence[int], ends: int | None = None) -> Any:
        """The machine code of as many calls as one likes, the first of which would be with these arguments.

        It writes the `wanted` ones of the results' leaves; the one at `ends` says whether another round comes. None as
        long as there is none, or a text that says why there will be none.
        """
        if not self._left and self._known:
            self._compile()
        find = getattr(self.function, "rounds", None)
        return find and find(args, wanted, ends)

    def give_back(self) -> None:
        """Begin again without the programs that were lent: a derivative of what the solver has found comes later."""
        if self.function is not self._as_it_is:
            self.function, self._left = self._as_it_is, self._first()
        self._known = None


def while_solving(
    captured: Captured, function: Callable[..., Any], form: Any = None, loan: Loan | None = None,
    for_rounds: bool = False,
) -> Repeated:  # fmt: skip
    """A function that calls these captured ones, for a solver: a program in the end, unless they have effects.

    While the solver runs nobody else changes what they read. In a compiled function it is a program at once, if that
    is kept.
    """
    may_be = captured.is_alone() and not captured.has_effects
    at_once = loan is not None and program_run.get() is not None
    return Repeated(
        function, form, compile=may_be, loan=loan, at_once=at_once, for_rounds=for_rounds, captured=captured
    )


_kept: OrderedDict[Hashable, tuple[Programs, Lock, Iterator[int]]] = OrderedDict()


@contextmanager
def programs_of(key: Hashable | None) -> Iterator[Loan | None]:
    """The programs of functions that do the same, for one of them at a time; None for others, and where `key` is.

    A step is mostly written inside of the function that is differentiated, so it is a new function at each call.
    """
    if key is None:
        yield None
        return
    programs, used, uses = _kept.setdefault(key, ({}, Lock(), count(1)))
    _kept.move_to_end(key)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    if not used.acquire(blocking=False):
        yield None
        return
    loan = Loan(programs, next(uses))
    try:
        yield loan
    finally:
        if loan.borrower is not None:
            loan.borrower.give_back()
        for variants in programs.values():
            variants.let_go()
        used.release()
