"""vmap of every operator, and of its derivatives, against a loop; what has no rule says so by its name."""

import numpy as np
import pytest

from pullback.core.errors import UnsupportedError
from pullback.testing.opinfo.calls import accepted, sampling
from tests.arrays.batched.looping import check_derivatives, check_second_derivatives, check_values
from tests.opinfo.records import OPINFOS

SAMPLES = 6
SAMPLES_OF_DERIVATIVES = 2
NO_RULE = "has no batching rule"
BY_VALUES = "depends on the values"
# Operators that vmap refuses, for some of their samples at least, and what the error says: docs/operators.md has them.
REFUSED = {
    "lobpcg": NO_RULE, "lobpcg_pairs": NO_RULE,
    "masked_select": BY_VALUES, "masked_select_backward": BY_VALUES, "argwhere": BY_VALUES, "nonzero": BY_VALUES,
    "unique": BY_VALUES, "unique_consecutive": BY_VALUES, "repeat_interleave": BY_VALUES, "bincount": BY_VALUES,
    "nn.functional.one_hot": BY_VALUES, "tensor_split": "looks at the numbers",
    "equal": "give one bool", "allclose": "give one bool",
}  # fmt: skip
# With respect to what is differentiated alone: the counts, offsets and masks of these are no floating-point numbers.
ACCEPTED = ("repeat_interleave", "tensor_split", "bincount", "masked_select", "masked_select_backward")
OF_DERIVATIVES = {name: why for name, why in REFUSED.items() if name not in ACCEPTED}
OF_SECOND_DERIVATIVES = OF_DERIVATIVES


def cases(order=0):
    chosen = [info for info in OPINFOS if not info.random and info.order >= order]
    return [pytest.param(info, id=info.full_name) for info in chosen]


def checked(info, dtypes, check, count, known):
    """Run a check on samples; some of them must be refused, for the reason that is known, if one is."""
    dtype, refused = np.float64 if np.float64 in dtypes else dtypes[0], False
    for sample in accepted(info, dtype)[:count]:
        with sampling(info, sample):
            try:
                check(info, sample)
            except UnsupportedError as error:
                if known.get(info.name, "nothing") not in str(error):
                    raise
                refused = True
    assert refused == (info.name in known)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", cases())
def test_values(info):
    checked(info, info.dtypes, check_values, SAMPLES, REFUSED)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.each_operator
@pytest.mark.parametrize("info", cases(order=1))
def test_derivatives(info):
    checked(info, info.grad_dtypes, check_derivatives, SAMPLES_OF_DERIVATIVES, OF_DERIVATIVES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", cases(order=2))
def test_second_derivatives(info):
    checked(info, info.grad_dtypes, check_second_derivatives, 1, OF_SECOND_DERIVATIVES)
