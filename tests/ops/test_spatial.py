"""Convolution, pooling and resampling where they are delicate: blocks, infinities, NaN, ties, far places."""

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy.spatial import convolutions, depthwise, maps, maxima, samples, transposed
from tests.opinfo.spatial import references as reference

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


def test_of_repeated_places_of_max_unpool_the_last_alone_has_a_gradient():
    places = np.array([[[1, 1]]])
    x = pb.tensor([[[3.0, 5.0]]], requires_grad=True)
    y = F.max_unpool1d(x, places, 2)
    (y * pb.tensor([[[1.0, 2.0, 3.0, 4.0]]])).sum().backward()
    assert y.tolist() == [[[0, 5, 0, 0]]]
    assert x.grad.tolist() == [[[0, 2]]]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_unpool_with_random_places_has_the_derivatives_that_differences_give(dims):
    rng = np.random.default_rng(dims)
    unpool = getattr(F, f"max_unpool{dims}d")
    for _ in range(5):
        shape = (2, 2, *[2] * dims)
        places = rng.integers(0, 4**dims, shape)
        x = pb.tensor(rng.normal(size=shape), requires_grad=True)
        assert pb.autograd.gradcheck(lambda x, at=places: unpool(x, at, 2), (x,), check_forward_ad=True)
        assert pb.autograd.gradgradcheck(lambda x, at=places: unpool(x, at, 2), (x,))


def test_convolution_is_one_node_with_pytorchs_name():
    x, w, b = (pb.ones(s, requires_grad=True) for s in ((1, 1, 3), (1, 1, 2), (1,)))
    assert type(pb.conv1d(x, w, b).grad_fn).__name__ == "ConvolutionBackward0"


@pytest.mark.parametrize("deep", [1, 1000])
@pytest.mark.parametrize("how", [{"padding": 1}, {"dilation": (2, 1), "groups": 2}, {"stride": (1, 2)}])
def test_lines_of_the_kernel_may_be_copied_or_looped_over(monkeypatch, deep, how):
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(2, 4, 6, 5)), rng.normal(size=(4, 4 // how.get("groups", 1), 3, 2))
    monkeypatch.setattr(convolutions, "DEEP", deep)
    monkeypatch.setattr(convolutions, "BLOCK", 2000)
    np.testing.assert_allclose(F.conv2d(x, w, **how), reference.convolution(x, w, **how))
    (to_weight,) = gradient(lambda w: F.conv2d(x, w, **how), w)
    unit = np.eye(w.size).reshape(-1, *w.shape)
    np.testing.assert_allclose(to_weight.ravel(), [reference.convolution(x, u, **how).sum() for u in unit])


@pytest.mark.parametrize("many", [0, 16])
@pytest.mark.parametrize("deep", [1, 1000])
@pytest.mark.parametrize("how", [{"stride": 3, "padding": 1}, {"stride": (2, 1), "output_padding": (1, 0)}])
def test_transposed_convolution_gathers_what_it_would_lay_down(monkeypatch, many, deep, how):
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(2, 4, 3, 4)), rng.normal(size=(4, 2, 2, 4))
    monkeypatch.setattr(transposed, "MANY", many)
    monkeypatch.setattr(transposed, "DEEP", deep)
    monkeypatch.setattr(transposed, "BLOCK", 1000)
    found = F.conv_transpose2d(x, w, groups=2, **how)
    np.testing.assert_allclose(found, reference.transposed_convolution(x, w, groups=2, **how))


@pytest.mark.parametrize(("channels", "block"), [(3, 1), (3, 1 << 20), (1, 1)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_channels_apart_give_the_same_convolution_in_tiles_of_any_size(monkeypatch, channels, block, outputs):
    rng = np.random.default_rng(6)
    x, w = rng.normal(size=(3, channels, 5, 6)), rng.normal(size=(channels * outputs, 1, 3, 2))
    monkeypatch.setattr(depthwise, "BLOCK", block)
    expected = reference.convolution(x, w, None, 1, 1, (1, 2), channels)
    np.testing.assert_allclose(F.conv2d(x, w, None, 1, 1, (1, 2), channels), expected)


def test_an_infinity_between_rows_of_windows_leaves_the_weights_alone():
    x = np.ones((1, 2, 3, 4))
    x[0, 0, 0, 3] = INF  # the last number of a row: the place (0, 0) of the kernel never meets it
    (to_weight,) = gradient(lambda w: F.conv2d(x, w, groups=2), np.ones((2, 1, 2, 2)))
    assert to_weight[0, 0].tolist() == [[6, INF], [6, 6]]
    assert to_weight[1].tolist() == [[[6, 6], [6, 6]]]


def test_without_channels_a_convolution_is_zero():
    x, w = (pb.ones(shape, requires_grad=True) for shape in ((2, 0, 4), (3, 0, 2)))
    y = pb.conv1d(x, w)
    y.sum().backward()
    assert y.tolist() == np.zeros((2, 3, 3)).tolist()
    assert (x.grad.shape, w.grad.shape) == ((2, 0, 4), (3, 0, 2))


def test_half_precision_is_summed_in_single():
    x, w = np.full((1, 4096, 1), 1, np.float16), np.full((1, 4096, 1), 0.001, np.float16)
    y = F.conv1d(x, w)
    assert y.dtype == np.float16
    assert y.item() == np.float16(4096 * float(w[0, 0, 0]))


def test_a_window_that_steps_over_the_array_has_no_maximum():
    x = pb.tensor([[[5.0]]], requires_grad=True)
    y = F.max_pool1d(x, 2, 1, 1, 2)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([[[-INF]]], [[[0]]])
    assert F.max_pool1d(np.array([[[5]]]), 2, 1, 1, 2).item() == np.iinfo(np.int64).min


def test_the_last_nan_counts_in_windows_that_leave_the_array():
    x = np.array([[[0.0, NAN, NAN, 1.0, NAN]]])
    assert F.max_pool1d(x, 3, 1, 1, return_indices=True)[1].tolist() == [[[1, 2, 2, 4, 4]]]
    assert F.adaptive_max_pool1d(x, 3, return_indices=True)[1].tolist() == [[[1, 2, 4]]]


@pytest.mark.parametrize(
    ("p", "row", "value", "slope"),
    [(1, [1, -3], -2, [1, 1]), (INF, [1, -3], 3, [0, -1]), (-INF, [1, -3], 1, [1, 0]), (2, [3, -4], 5, [0.6, -0.8])],
)
def test_power_means_of_negative_numbers_and_of_infinite_order(p, row, value, slope):
    found = F.lp_pool1d(np.array([[row]], float), p, 2)
    (to_x,) = gradient(lambda x: F.lp_pool1d(x, p, 2), [[row]])
    np.testing.assert_allclose(found.item(), value)
    np.testing.assert_allclose(to_x.ravel(), slope)


def test_places_outside_of_a_grid_meet_no_infinity():
    x = np.full((1, 2, 2, 2), INF)
    places = np.array([[[[-3.0, 0.0], [0.0, 3.0]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        assert F.grid_sample(x, places, mode, align_corners=False).tolist() == [[[[0, 0]], [[0, 0]]]]
        to_x, to_grid = gradient(lambda x, g, m=mode: F.grid_sample(x, g, m, align_corners=False), x, places)
        assert not to_x.any()
        assert not to_grid.any()


def test_reflection_is_exact_far_away():
    x = np.arange(1.0, 5.0).reshape(1, 1, 1, 4)
    for far in (1e5 + 0.25, -1e7 - 0.5, 3e9 + 1.5):
        place = (far + 1) * 1.5 % 6
        expected = 1 + min(place, 6 - place)
        found = F.grid_sample(x, np.array([[[[far, 0.0]]]]), padding_mode="reflection", align_corners=True)
        np.testing.assert_allclose(found.item(), expected)


def test_memory_of_lines_as_long_as_a_page_changes_nothing():
    rng = np.random.default_rng(7)
    x, y, index = rng.normal(size=(1, 2, 512)), rng.normal(size=(1, 2, 3)), rng.integers(-1, 512, (1, 3, 4))
    weight = rng.normal(size=index.shape)
    inside = np.where(index < 0, 0, weight)
    np.testing.assert_allclose(samples.sample_at(x, index, weight), (x[0][:, index[0]] * inside[0]).sum(2)[None])
    both = (samples.spread_at(y, index, weight, 512) * x).sum(), (samples.sample_at(x, index, weight) * y).sum()
    np.testing.assert_allclose(*both)


def test_no_boxes_give_no_regions():
    assert F.roi_align(np.ones((1, 2, 3, 3)), [], 2).shape == (0, 2, 2, 2)
    assert F.roi_pool(np.ones((1, 2, 3, 3)), np.zeros((0, 5)), 2).shape == (0, 2, 2, 2)


def test_what_was_repeated_gets_sums_of_windows():
    adjoint = maps.Pick(np.repeat(np.arange(3), 4), 3).adjoint()
    assert isinstance(adjoint, maps.WindowSum)
    assert adjoint.apply(np.arange(12.0), 0).tolist() == [6, 22, 38]
    uneven = maps.Pick(np.array([0, 0, 2, 1]), 3).adjoint()
    assert uneven.apply(np.array([1.0, 2.0, 4.0, 8.0]), 0).tolist() == [3, 8, 4]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(1, 4), (4, 1)])
def test_smoothed_values_of_a_single_line_are_those_of_the_adjoint(mode, size):
    x = np.random.default_rng(8).normal(size=(1, 2, 6, 3))
    (to_x,) = gradient(lambda x: F.interpolate(x, size, mode=mode, antialias=True), x)
    np.testing.assert_allclose(F.interpolate(x, size, mode=mode, antialias=True).sum().item(), (x * to_x).sum())


def test_circular_padding_may_repeat_what_a_cut_has_left():
    x, cotangent = pb.tensor([[[1.0, 2.0, 3.0]]], requires_grad=True), np.array([[[1.0, 10.0, 100.0, 1000.0]]])
    y = F.pad(x, (-2, 3), mode="circular")
    (y * cotangent).sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([[[3, 3, 3, 3]]], [[[0, 0, 1111]]])


def test_convolutions_in_several_light_products_are_those_of_all_windows():
    rng = np.random.default_rng(0)
    x, w, g = (rng.standard_normal(shape) for shape in ((2, 32, 30, 28), (16, 32, 3, 3), (2, 16, 28, 26)))
    assert len(convolutions.pieces(w[:, :, 0].size, 28 * 26)) > 1
    leaves = [pb.from_numpy(a).requires_grad_() for a in (x, w)]
    out = F.conv2d(*leaves)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    np.testing.assert_allclose(out.detach().numpy(), np.einsum("ncijkl,ockl->noij", windows, w), atol=1e-11)
    to_input, to_weight = pb.autograd.grad(out, leaves, pb.from_numpy(g))
    np.testing.assert_allclose(to_weight.numpy(), np.einsum("ncijkl,noij->ockl", windows, g), atol=1e-11)
    wide = np.lib.stride_tricks.sliding_window_view(np.pad(g, ((0, 0), (0, 0), (2, 2), (2, 2))), (3, 3), (2, 3))
    expected = np.einsum("noijkl,ockl->ncij", wide, w[..., ::-1, ::-1])
    np.testing.assert_allclose(to_input.numpy(), expected, atol=1e-11)


@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((3, 2), (1, 2)), ((4, 4), (3, 1))])
def test_maxima_found_at_once_are_those_found_dimension_by_dimension(kernel, stride, monkeypatch):
    x = np.random.default_rng(0).integers(0, 4, (3, 2, 12, 13)).astype(np.float32)  # many ties
    found = F.max_pool2d(pb.from_numpy(x), kernel, stride, return_indices=True)
    monkeypatch.setattr(maxima, "_max_at_once", lambda *_: None)
    plain = F.max_pool2d(pb.from_numpy(x), kernel, stride, return_indices=True)
    for a, b in zip(found, plain, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())
