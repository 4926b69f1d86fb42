"""Two programs that use pullback as anyone would: ``python -m pullback demo digits`` and ``... demo fit``.

They stand above the public face and import it like any user's code; nothing in the package imports them.
"""
