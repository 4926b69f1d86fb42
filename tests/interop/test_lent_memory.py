"""Objects that keep a plain view of a buffer, into which something differentiated is written afterwards."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse

import pullback as pb
from pullback.core.errors import InplaceError

X = np.array([2.0, 3.0])


def buffer(x):
    return np.zeros_like(x)


HOLDERS = {
    "masked array": lambda b: np.ma.array(b, mask=[0, 0]),
    "a part of a masked array": lambda b: np.ma.array(b).data[1:][:1],
    "dlpack": np.from_dlpack,
    "asarray": np.asarray,
    "nditer": np.nditer,
    "sparse matrix": lambda b: scipy.sparse.coo_matrix((b, ([0, 1], [0, 1]))),
    "spline": lambda b: scipy.interpolate.BSpline([0, 0, 1, 1.0], b, 1),
}


@pytest.mark.parametrize("write", [lambda b, x: b.__setitem__(0, x[0]), lambda b, x: b.__iadd__(x)])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_a_write_that_its_holder_would_not_see_is_refused(hold, write):
    def f(x):
        b = buffer(x)
        held = hold(b)
        write(b[:] if write.__code__.co_consts else b, x)
        return np.sum(b) + 0 * len(str(held))

    for differentiate in (pb.func.grad(f), pb.func.grad(lambda x: np.sum(pb.func.grad(f)(x)))):
        with pytest.raises(InplaceError, match="another object holds a plain view"):
            differentiate(X)


def test_what_looks_and_goes_is_no_holder():
    def f(x):
        b = buffer(x)
        text = str(np.asarray(b)) + str(HOLDERS["sparse matrix"](b).sum())
        b[:] = x
        late = np.ma.array(np.asarray(x.detach()))
        return np.sum(b * b) + 0 * len(text) + 0 * late.sum()

    np.testing.assert_array_equal(pb.func.grad(f)(X), 2 * X)


def test_plain_numbers_may_be_written_where_others_look():
    def f(x):
        b = buffer(x)
        held = np.asarray(b)
        b[0] = 5.0
        assert held.tolist() == [5, 0]
        assert not held.flags.writeable
        return np.sum(b * x)

    np.testing.assert_array_equal(pb.func.grad(f)(X), [5, 0])
