"""Importing this lets doctest compare errors with their notes, as Python does from 3.11.5 on.

Before, it took the last line of what a traceback shows for an error, and that is a note where there is one.
"""

import doctest
import traceback


class _InOnePiece:
    """The module `traceback`, of which one function gives the lines of an error joined."""

    def __getattr__(self, name):
        return getattr(traceback, name)

    @staticmethod
    def format_exception_only(kind, error):
        lines = traceback.format_exception_only(kind, error)
        return lines if issubclass(kind, SyntaxError) else ["".join(lines)]


doctest.traceback = _InOnePiece()
