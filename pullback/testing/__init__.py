"""For tests of operators and of code that uses them: `make_tensor`, `assert_close`, `check_operator`, OpInfo."""

from pullback.testing.close import assert_close
from pullback.testing.make import make_tensor
from pullback.testing.opinfo.checks import check_operator
from pullback.testing.opinfo.core import Limit, OpInfo, Plain, Raises, Sample, Skip

__all__ = ["Limit", "OpInfo", "Plain", "Raises", "Sample", "Skip", "assert_close", "check_operator", "make_tensor"]
