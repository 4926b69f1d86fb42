"""How far long work has come: a bar of tqdm, where that is installed and somebody looks at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Self

from pullback.core.errors import with_article

_DELAY = 2.0  # seconds: what is done sooner shows nothing, and does not import tqdm
_switch: list[bool | None] = [None]


def show_progress(wanted: bool | None) -> None:
    """Say whether long work shows a bar: `optimize`, `checkpointed_loop`, gradcheck.

    Parameters
    ----------
    wanted : bool or None
        None, as at the start: after two seconds, if tqdm is installed and the error stream is a terminal. True: always.
        False: never, though a call has `progress=True`. An argument `progress` overrules the other two.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        `wanted` is neither.

    Examples
    --------
    >>> pb.show_progress(False)
    >>> pb.show_progress(None)
    """
    if wanted is not None and not isinstance(wanted, bool):
        raise TypeError(f"show_progress: wanted must be True, False or None, got {with_article(wanted)}.")
    _switch[0] = wanted


class Progress:
    """One bar; a `with` block closes it.

    Parameters
    ----------
    label : str
    total : int, optional
        How many steps there are, where that is known.
    wanted : bool, optional
        As `show_progress` has it, which decides by default and where it said False. True without tqdm is an error.
    """

    __slots__ = ("_bar", "_count", "_due", "_label", "_total")

    def __init__(self, label: str, total: int | None = None, wanted: bool | None = None) -> None:
        self._label, self._total, self._count, self._bar = label, total, 0, None
        given, wanted = wanted, _switch[0] if wanted is None or _switch[0] is False else wanted
        self._due: float | None = None  # when the bar appears, if it does
        if wanted:
            self._bar = self._made(required=given is True)
        elif wanted is None and sys.stderr is not None and sys.stderr.isatty():
            self._due = monotonic() + _DELAY

    @property
    def is_wanted(self) -> bool:
        """True if there is a bar, or may be one."""
        return self._bar is not None or self._due is not None

    def update(self, steps: int = 1, facts: Callable[[], Mapping[str, Any]] | None = None) -> None:
        """So many steps are done; `facts` are shown behind the bar, and asked for only if there is one."""
        if self._bar is None:
            if self._due is None:
                return
            self._count += steps
            if monotonic() < self._due:
                return
            self._due, self._bar = None, self._made(required=False)
            steps = self._count
            if self._bar is None:
                return
        if facts is not None:
            self._bar.set_postfix(facts(), refresh=False)
        self._bar.update(steps)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, *, required: bool) -> Any:
        try:
            from tqdm.auto import tqdm
        except ModuleNotFoundError:
            if required:
                raise ModuleNotFoundError(
                    "progress=True needs tqdm, which is not installed: pip install 'pullback[progress]' (or tqdm "
                    "itself)."
                ) from None
            return None
        return tqdm(desc=self._label, total=self._total, unit="it")
