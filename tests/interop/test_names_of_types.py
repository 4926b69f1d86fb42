"""NumPy's functions of flags and types, which see a Tensor without asking it."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import UnsupportedError


@pytest.mark.parametrize("requires_grad", [False, True])
def test_isfortran_sees_the_memory_of_a_tensor(requires_grad):
    x = pb.ones(2, 3, requires_grad=requires_grad)
    assert (np.isfortran(x), np.isfortran(x.T)) == (False, True)
    assert pb.func.grad(lambda x: x.sum() * (2 if np.isfortran(x.T) else 3))(x)[0, 0] == 2


@pytest.mark.parametrize("x", [np.ones(3), pb.ones(3)], ids=["array", "tensor"])
def test_typename_says_that_it_takes_a_character(x):
    with pytest.raises(UnsupportedError, match=r"np\.typename(.|\n)*Write np\.typename\(x\.dtype\.char\)"):
        pb.func.grad(lambda x: x.sum() * len(np.typename(x)))(x)


def test_a_key_that_the_users_own_table_lacks_stays_a_key_error():
    with pytest.raises(KeyError):
        pb.func.grad(lambda x: {}[x])(pb.ones(3))
