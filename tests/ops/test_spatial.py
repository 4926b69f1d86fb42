"""Convolution, pooling and resampling where they are delicate: blocks, infinities, NaN, ties, far places."""

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy.spatial import convolutions
from pullback.testing.opinfo import spatial_references as reference

F = pb.nn.functional
INF, NAN = np.inf, np.nan


def gradient(function, *inputs):
    """The gradients of the sum of a function."""
    leaves = [pb.tensor(np.asarray(x, float), requires_grad=True) for x in inputs]
    return [g.numpy() for g in pb.autograd.grad(function(*leaves).sum(), leaves)]


@pytest.mark.parametrize("block", [1, 400, 3000])
@pytest.mark.parametrize("how", [{"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}])
def test_blocks_of_any_size_give_the_same_convolution(monkeypatch, block, how):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 2, 7, 6)), rng.normal(size=(4, 2 // how.get("groups", 1), 3, 2))
    whole = gradient(lambda x, w: F.conv2d(x, w, **how).sin(), x, w)
    monkeypatch.setattr(convolutions, "BLOCK", block)
    np.testing.assert_allclose(F.conv2d(x, w, **how), reference.convolution(x, w, **how))
    for got, expected in zip(gradient(lambda x, w: F.conv2d(x, w, **how).sin(), x, w), whole, strict=True):
        np.testing.assert_allclose(got, expected)


def test_a_kernel_larger_than_the_result_is_laid_down_window_by_window():
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(1, 1, 3)), rng.normal(size=(1, 2, 9))
    np.testing.assert_allclose(F.conv_transpose1d(x, w, stride=2), reference.transposed_convolution(x, w, stride=2))


def test_convolution_of_single_numbers_copies_no_columns():
    x = np.random.default_rng(2).normal(size=(2, 3, 4, 5))
    assert np.shares_memory(convolutions.columns_of(x, (1, 1), (4, 5), (1, 1), (1, 1), 1, slice(0, 2), slice(0, 4)), x)


@pytest.mark.parametrize(
    ("row", "value", "place"),
    [([1, 1, 0], 1, 0), ([NAN, 2, NAN], NAN, 2), ([-INF, -INF, -INF], -INF, 0), ([0.0, -0.0, 0.0], 0, 0)],
)
def test_the_first_of_equal_maxima_and_the_last_nan_count(row, value, place):
    for pool in (F.max_pool1d, F.adaptive_max_pool1d):
        found, indices = pool(np.array([[row]], float), 3 if pool is F.max_pool1d else 1, return_indices=True)
        np.testing.assert_equal((found.item(), indices.item()), (value, place))


def test_padding_never_wins_a_maximum():
    found, indices = F.max_pool2d(np.full((1, 1, 2, 2), -INF), 2, 2, 1, return_indices=True)
    assert (np.asarray(found) == -INF).all()
    assert np.asarray(indices).ravel().tolist() == [0, 1, 2, 3]
    assert F.max_pool2d(np.full((1, 1, 2, 2), -7), 2, 2, 1).tolist() == [[[[-7, -7], [-7, -7]]]]


def test_an_infinity_stays_in_the_windows_that_have_it():
    x = np.array([[[INF, 1.0, 2.0, 3.0, 4.0]]])
    assert F.avg_pool1d(x, 2, 1).tolist() == [[[INF, 1.5, 2.5, 3.5]]]
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[INF, 2.0, 3.5]]]
    assert np.isfinite(np.asarray(F.interpolate(x, 10, mode="linear"))[..., 3:]).all()


def test_averages_of_integers_are_cut_as_in_pytorch():
    assert F.avg_pool1d(np.array([[[-3, 0, 3, 4]]]), 2).tolist() == [[[-1, 3]]]


def test_means_of_integers_are_refused_where_they_would_need_fractions():
    with pytest.raises(RuntimeError, match=r"adaptive_avg_pool1d.*int64"):
        F.adaptive_avg_pool1d(np.array([[[1, 2, 3]]]), 2)
    assert F.interpolate(np.array([[[1, 2]]]), 4).tolist() == [[[1, 1, 2, 2]]]


def test_a_window_that_ends_behind_the_array_counts_what_it_has():
    x = np.ones((1, 1, 5))
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[1, 1, 1]]]
    assert F.avg_pool1d(x, 2, padding=1).tolist() == [[[0.5, 1, 1]]]
    assert F.avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist() == [[[1, 1, 1]]]


@pytest.mark.parametrize(
    ("padding_mode", "value", "slope"), [("zeros", 0.0, 0.0), ("border", 4.0, 0.0), ("reflection", None, None)]
)
@pytest.mark.parametrize("far", [1e30, INF])
def test_places_far_outside_of_a_grid(padding_mode, value, slope, far):
    x, places = np.arange(1.0, 5.0).reshape(1, 1, 2, 2), np.full((1, 1, 1, 2), far)
    found = F.grid_sample(x, places, padding_mode=padding_mode, align_corners=True).item()
    (to_grid,) = gradient(lambda g: F.grid_sample(x, g, padding_mode=padding_mode, align_corners=True), places)
    assert np.isfinite(found)
    if value is not None:
        assert found == value
        assert (to_grid == slope).all()


def test_nan_in_a_grid_is_the_first_corner():
    x = np.arange(1.0, 5.0).reshape(1, 1, 2, 2)
    assert F.grid_sample(x, np.full((1, 1, 1, 2), NAN), align_corners=True).item() == 1


def test_the_border_itself_has_no_slope_in_border_mode():
    x = np.arange(1.0, 5.0).reshape(1, 1, 2, 2)
    at = np.array([[[[1.0, 0.0]]]])
    (to_grid,) = gradient(lambda g: F.grid_sample(x, g, padding_mode="border", align_corners=True), at)
    assert to_grid.ravel().tolist() == [0.0, 1.0]


def test_every_pixel_gets_back_what_resampling_gave_away():
    x = np.random.default_rng(3).normal(size=(1, 1, 5, 4))
    for mode in ("bilinear", "bicubic"):
        (grad,) = gradient(lambda x, m=mode: F.interpolate(x, (3, 9), mode=m, antialias=True), x)
        np.testing.assert_allclose(grad.sum(), 27)


def test_repeated_places_of_max_unpool_share_the_gradient_of_theirs():
    places = np.array([[[1, 1]]])
    x = pb.tensor([[[3.0, 5.0]]], requires_grad=True)
    y = F.max_unpool1d(x, places, 2)
    (y * pb.tensor([[[1.0, 2.0, 3.0, 4.0]]])).sum().backward()
    assert y.tolist() == [[[0, 5, 0, 0]]]
    assert x.grad.tolist() == [[[2, 2]]]


def test_convolution_is_one_node_with_pytorchs_name():
    x, w, b = (pb.ones(s, requires_grad=True) for s in ((1, 1, 3), (1, 1, 2), (1,)))
    assert type(pb.conv1d(x, w, b).grad_fn).__name__ == "ConvolutionBackward0"
