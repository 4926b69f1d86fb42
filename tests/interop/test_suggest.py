"""The error for a function without rule: a TypeError that names it, the nearest, and what to write."""

import numpy as np
import pytest
import scipy.special

import pullback as pb
from pullback.core.errors import UnsupportedError
from pullback.interop.suggest import nearest

x = pb.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: np.nanmedian(x), ["np.nanmedian has no rule", "pullback.nanmedian", "pullback.autograd.Function"]),
        (lambda: np.insert(x, 0, 1.0), ["np.insert", "np.concatenate"]),
        (lambda: np.unwrap(x), ["np.unwrap has no rule"]),
        (lambda: np.polyfit([1.0, 2.0], x[0], 1), ["np.polyfit has no rule", "np.linalg.lstsq(np.vander("]),
        (lambda: scipy.special.gamma(x), ["scipy.special.gamma has no rule", "np.exp(scipy.special.gammaln(x))"]),
    ],
)
def test_message(call, parts):
    with pytest.raises(UnsupportedError) as caught:
        call()
    assert isinstance(caught.value, (TypeError, RuntimeError))
    for part in parts:
        assert part in str(caught.value)


def test_nearest_prefers_the_same_home():
    assert nearest("linalg.matrx_power")[0] == "np.linalg.matrix_power"
    assert nearest("sumn")[0] == "np.sum"
    assert nearest("logsumexp")[0] == "pullback.logsumexp"
    assert nearest("zzzzqqq") == []


def test_nearest_names_nothing_that_is_refused_itself():
    assert nearest("putt") == nearest("putmaks") == []


def test_remedies_are_right():
    degree, t = 1, np.arange(3.0)
    y = pb.tensor([1.0, 3.0, 4.0], requires_grad=True)
    fitted = np.linalg.lstsq(np.vander(t, degree + 1), y)[0]
    assert np.allclose(fitted.detach(), np.polyfit(t, y.detach().numpy(), degree))
    assert np.allclose(np.exp(scipy.special.gammaln(x)).detach(), scipy.special.gamma(x.detach().numpy()))
