"""Tools for tests of operators, and of code that uses operators.

`make_tensor` makes random Tensors and `assert_close` compares results. An `OpInfo` is the test record of an operator,
and `check_operator` runs every check on it.
"""

from pullback.testing.close import assert_close
from pullback.testing.make import make_tensor
from pullback.testing.opinfo.checks import check_operator
from pullback.testing.opinfo.core import DecorateInfo, Limit, OpInfo, Plain, Raises, Sample, Skip

__all__ = [
    "DecorateInfo",
    "Limit",
    "OpInfo",
    "Plain",
    "Raises",
    "Sample",
    "Skip",
    "assert_close",
    "check_operator",
    "make_tensor",
]
