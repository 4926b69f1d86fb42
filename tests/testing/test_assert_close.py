"""assert_close: what counts as close, and what the report says."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def test_within_tolerance_passes():
    assert_close(pb.tensor([1.0, 2.0]), np.array([1.0, 2.0 + 1e-8]))
    assert_close(np.float32([1]), np.float32([1 + 1e-6]))
    assert_close(pb.tensor([1, 2]), [1, 2])
    assert_close(1.0, pb.tensor(1.0))


def test_tolerance_is_that_of_the_coarser_dtype():
    a, b = np.array([1.0]), np.array([1 + 5e-7])
    with pytest.raises(AssertionError):
        assert_close(a, b)
    assert_close(a.astype(np.float32), b, check_dtype=False)


def test_integers_must_be_equal_even_where_float64_cannot_tell():
    with pytest.raises(AssertionError, match="1 of 1"):
        assert_close(np.array([2**62]), np.array([2**62 + 1]))


def test_report_shows_the_worst_elements_first():
    expected = np.zeros((2, 3))
    actual = expected.copy()
    actual[1, 2], actual[0, 1] = 5, 1
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    text = str(caught.value)
    assert "2 of 6 elements differ (33.3%)" in text
    assert text.index("(1, 2)") < text.index("(0, 1)")


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (np.ones(2), np.ones(3), "Shapes differ"),
        (np.ones(2), np.ones(2, np.float32), "Dtypes differ: got float64, expected float32"),
        ((1.0, 2.0), (1.0,), "length 2, expected tuple of length 1"),
        ([np.ones(2), np.zeros(2)], [np.ones(2), np.ones(2)], r"At item \[1\]"),
        ({"a": 1.0}, {"b": 1.0}, "Keys differ"),
        ("x", "y", "Got 'x', expected 'y'"),
    ],
)
def test_what_differs_is_named(actual, expected, words):
    with pytest.raises(AssertionError, match=words):
        assert_close(actual, expected)


def test_nan_equals_nan_only_on_request():
    with pytest.raises(AssertionError):
        assert_close(np.array([np.nan]), np.array([np.nan]))
    assert_close(np.array([np.nan]), np.array([np.nan]), equal_nan=True)


def test_infinities_of_one_sign_are_equal():
    assert_close(np.array([np.inf]), np.array([np.inf]))
    with pytest.raises(AssertionError):
        assert_close(np.array([np.inf]), np.array([-np.inf]))


def test_msg_replaces_or_wraps_the_report():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(AssertionError, match=r"(?s)^mine: .*1 of 1"):
        assert_close(1.0, 2.0, msg=lambda report: f"mine: {report}")


def test_rtol_without_atol_is_refused():
    with pytest.raises(ValueError, match="both"):
        assert_close(1.0, 1.0, rtol=0.1)


def test_tensors_that_require_grad_are_compared_by_value():
    assert_close(pb.ones(2, requires_grad=True) * 2, np.full(2, 2.0))
