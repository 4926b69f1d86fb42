"""Functions that a solver calls many times: after some calls they run as programs."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias

from pullback.core import slots
from pullback.core.tensor import Tensor
from pullback.graph.captured import Captured

_FIRST = {False: 32, True: 48}  # calls that run as they are: to make a program takes as long; more with watches
_MOST = 32  # functions whose programs are kept

Programs: TypeAlias = "dict[Hashable, Any]"  # by signature, as the compiler has them


class Loan:
    """The programs of functions that do the same, lent to one of them."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
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
    """

    __slots__ = ("_as_it_is", "_form", "_known", "_left", "_watched", "function")

    def __init__(
        self,
        function: Callable[..., Any],
        form: Any = None,
        *,
        watched: bool = False,
        compile: bool = True,
        loan: Loan | None = None,
    ) -> None:
        self.function, self._as_it_is, self._form, self._watched = function, function, form or function, watched
        self._left = _FIRST[watched] if compile and os.environ.get("PULLBACK_COMPILE") != "0" else -1
        self._known = None
        if loan is not None:
            loan.borrower, self._known = self, loan.programs
            if loan.programs and self._left > 0:
                self._left = 0

    def __call__(self, *args: Any) -> Any:
        if not self._watched and any(isinstance(x, Tensor) for x in args):
            return self._form(*args)  # a derivative of what the solver finds
        if self._left >= 0:
            self._left -= 1
            if self._left < 0:
                self.function = slots.callback(self._form, self._watched, self._known)
        return self.function(*args)

    def give_back(self) -> None:
        """Begin again without the programs that were lent: a derivative of what the solver has found comes later."""
        if self.function is not self._as_it_is:
            self.function, self._left = self._as_it_is, _FIRST[self._watched]
        self._known = None


def while_solving(
    captured: Captured, function: Callable[..., Any], form: Any = None, loan: Loan | None = None
) -> Repeated:
    """A function that calls these captured ones, for a solver: a program in the end, unless they have effects.

    While the solver runs nobody else changes what they read.
    """
    may_be = captured.is_alone() and not captured.has_effects
    return Repeated(function, form, compile=may_be, loan=loan)


_kept: OrderedDict[Hashable, tuple[Programs, Lock]] = OrderedDict()


@contextmanager
def programs_of(key: Hashable | None) -> Iterator[Loan | None]:
    """The programs of functions that do the same, for one of them at a time; None for others, and where `key` is.

    A step is mostly written inside of the function that is differentiated, so it is a new function at each call.
    """
    if key is None:
        yield None
        return
    programs, used = _kept.setdefault(key, ({}, Lock()))
    _kept.move_to_end(key)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    if not used.acquire(blocking=False):
        yield None
        return
    loan = Loan(programs)
    try:
        yield loan
    finally:
        if loan.borrower is not None:
            loan.borrower.give_back()
        for variants in programs.values():
            variants.let_go()
        used.release()
