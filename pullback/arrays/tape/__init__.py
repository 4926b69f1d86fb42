"""Arrays that write down what is computed with them, for the same to be computed again of other numbers.

Importing it registers the array type, which nothing but `func.linearize` needs.
"""

from pullback.arrays.tape.array import Tape, TapeArray

__all__ = ["Tape", "TapeArray"]
