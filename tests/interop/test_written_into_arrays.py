"""A Tensor that requires grad is written into an ndarray: the error has the line, and what to write."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError


def row(s, t):
    s[1] = t


def rows(s, t):
    s[:2] = 2 * t


def added(s, t):
    s[1] += t


def out(s, t):
    np.multiply(t, t, out=s[0])


def copied(s, t):
    np.copyto(s[0], t)


ADVICE = {
    row: "join them by np.stack, or write into a Tensor (np.zeros(n, like=t))",
    rows: "join them by np.stack, or write into a Tensor (np.zeros(n, like=t))",
    added: "Write it out of place",
    out: "Write it out of place",
    copied: "np.where",
}


@pytest.mark.parametrize("write", ADVICE)
def test_the_line_and_the_remedy_are_named(write):
    s, t = np.zeros((3, 2)), pb.tensor([1.0, 2.0], requires_grad=True)
    place = rf'(?s:.*)File ".*test_written_into_arrays\.py", line \d+, in {write.__name__}(?s:.*)'
    with pytest.raises(DetachingError, match=place + re.escape(ADVICE[write])):
        write(s, t)
    assert not s.any()


def test_the_error_says_it_once():
    def f(x):
        out = np.zeros(2)
        out[0] = x[0]
        return out.sum()

    with pytest.raises(DetachingError, match="would write a Tensor") as raised:
        pb.func.grad(f)(np.ones(2))
    assert not [note for note in raised.value.__notes__ if "would write" in note]


def test_ufunc_at_on_a_plain_array_says_what_a_store_says():
    def f(x):
        out = np.zeros(3)
        np.add.at(out, [0, 2, 2], x)
        return out.sum()

    with pytest.raises(DetachingError, match=r"(?s)np\.add\.at would write .*, in f\n.*pullback\.adopt\(\)"):
        pb.func.grad(f)(np.ones(3))
