"""scipy.fft, scipy.signal and scipy.ndimage on tensors: where rules meet their limits, maps over samples, refusals."""

import numpy as np
import pytest
from scipy import signal as scipy_signal

import pullback as pb
from pullback.scipy import fft, ndimage, signal
from pullback.scipy.rules.signal.kernels import correlated

x = np.array([1.37, 0.71, 2.2, 0.5])


IMAGE = np.arange(12.0).reshape(3, 4) ** 1.3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: signal.lfilter([1.0, 0.5], [1.0, -0.3], x),
        lambda x: signal.lfilter(x[:2], [1.0, 0.2 * x[2]], x),
        lambda x: signal.lfilter(x[:2], [1.0, 0.2 * x[2]], IMAGE),
        lambda x: signal.lfilter(x[:2], [1.0, 0.2], np.outer(x, x), axis=0),
        lambda x: signal.lfilter([1.0, 0.5j], [1.0, -0.3, x[1]], IMAGE, zi=np.outer(x[:3], x[:2]))[1].real,
        lambda x: signal.sosfilt([[1.0, x[0], 0.3, 1.0, 0.2, 0.1]] * 2, x),
        lambda x: fft.dct(x, 3),
        lambda x: fft.dstn(np.outer(x, x), 2, axes=(0,)),
        lambda x: signal.convolve(x, x[:2], "same"),
        lambda x: signal.convolve(np.outer(x, x), IMAGE),
        lambda x: signal.correlate(IMAGE, np.outer(x[:2], x[:2]) * (1 + 2j), "valid").imag,
        lambda x: signal.convolve2d(IMAGE, np.outer(x, x), boundary="symm"),
        lambda x: ndimage.gaussian_filter1d(x, 1.1),
        lambda x: ndimage.convolve(np.outer(x, x), x[:2, None] * x[2:]),
        lambda x: ndimage.spline_filter(np.outer(x, x), mode="grid-wrap"),
        lambda x: ndimage.map_coordinates(x, [x[:2]], order=3, mode="mirror"),
        lambda x: ndimage.map_coordinates(IMAGE, [x[:2], x[2:]], order=2, mode="reflect"),
        lambda x: ndimage.map_coordinates(np.outer(x, x), [[0.4, 1.7], [0.2, 2.1]], order=1, mode="nearest"),
    ],
)
def test_maps_over_samples(f):
    batch = np.stack([x, x[::-1], 0.5 + 0.1 * x])
    slopes = [pb.func.jacrev(f)(row) for row in batch]
    np.testing.assert_allclose(pb.func.vmap(f)(batch), np.stack([f(row) for row in batch]), rtol=1e-12)
    np.testing.assert_allclose(pb.func.vmap(pb.func.jacrev(f))(batch), np.stack(slopes), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(pb.func.vmap(pb.func.jacfwd(f))(batch), np.stack(slopes), rtol=1e-11, atol=1e-13)
    curves = pb.func.hessian(lambda x: np.sum(f(x) ** 2))
    found, each = pb.func.vmap(curves)(batch), np.stack([curves(row) for row in batch])
    np.testing.assert_allclose(found, each, rtol=1e-9, atol=1e-11 * np.abs(each).max())


@pytest.mark.filterwarnings("error")
def test_maps_of_maps_over_samples_and_filters():
    filters, signals = np.array([[1.0, 0.2], [0.5, -0.3], [2.0, 0.1]]), np.stack([x, x[::-1]])
    places = np.array([[[0.3, 1.2]], [[0.9, 2.2]]])
    for f, first in (
        (lambda b, x: signal.lfilter(b, [1.0, 0.3], x), filters),
        (lambda b, x: signal.lfilter([1.0], b, x), filters),
        (lambda b, x: signal.convolve(x, b), filters),
        (lambda p, x: ndimage.map_coordinates(x, p, mode="mirror"), places),
    ):
        slopes = pb.func.jacrev(f, argnums=(0, 1))
        outer = pb.func.vmap(pb.func.vmap(slopes, in_dims=(None, 0)), in_dims=(0, None))(first, signals)
        inner = pb.func.vmap(pb.func.vmap(slopes, in_dims=(0, None)), in_dims=(None, 0))(first, signals)
        for i, a in enumerate(first):
            for j, b in enumerate(signals):
                for k, part in enumerate(slopes(a, b)):
                    np.testing.assert_allclose(outer[k][i, j], part, rtol=1e-11, atol=1e-13)
                    np.testing.assert_allclose(inner[k][j, i], part, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("size", [40, 4000])  # by windows, by transforms
def test_correlations_of_stacks_are_those_of_each(size):
    rng = np.random.default_rng(0)
    long, kernels = rng.normal(size=(2, 1, size)), rng.normal(size=(3, size // 4))
    found = correlated(long, kernels, 1)
    each = [[np.correlate(row[0], kernel, "valid") for kernel in kernels] for row in long]
    np.testing.assert_allclose(found, each, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap", "wrap", "nearest"])
@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 200])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_adjoints_of_spline_filters(order, n, mode):
    rng = np.random.default_rng(n)
    y, g = rng.normal(size=(2, n))

    def filtered(y):
        return ndimage.spline_filter1d(y, order, mode=mode)

    adjoint = pb.func.grad(lambda y: np.sum(filtered(y) * g))(y)
    np.testing.assert_allclose(adjoint @ y, filtered(y) @ g, rtol=1e-11, atol=1e-11)


def test_kept_states_join_parts_of_a_signal():
    b, a, long = [0.5, x[0], 0.2], [2.0, 0.3, 0.1], np.sin(np.arange(20.0))

    def parts(b):
        first, kept = signal.lfilter(b, a, long[:7], zi=[0.0, 0.0])
        return np.sum(np.concatenate([first, signal.lfilter(b, a, long[7:], zi=kept)[0]]) ** 2)

    whole = pb.func.grad(lambda b: np.sum(signal.lfilter(b, a, long) ** 2))(np.array(b))
    np.testing.assert_allclose(pb.func.grad(parts)(np.array(b)), whole, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "named"),
    [
        (lambda x: ndimage.zoom(np.eye(4), x[0]), "zoom"),
        (lambda x: ndimage.median_filter(np.eye(4), 3, mode="constant", cval=x[0]), "median_filter"),
        (lambda x: ndimage.distance_transform_edt(np.ones((4, 4)), sampling=x[:2]), "distance_transform_edt"),
        (lambda x: signal.remez(5, [0, x[3] / 4, 0.3, 0.5], [1, 0]), "remez"),
        (lambda x: signal.residue(x[:2], x[1:]), "residue"),
        (lambda x: signal.savgol_coeffs(5, 2, pos=x[0]), "savgol_coeffs"),
        (lambda x: ndimage.fourier_ellipsoid(np.eye(4), x[0]), "fourier_ellipsoid"),
        (lambda x: signal.upfirdn(x, x[:1], mode="line"), "upfirdn"),
    ],
)
def test_refusals_name_the_function(f, named):
    with pytest.raises((TypeError, RuntimeError, ValueError), match=named):
        pb.func.grad(lambda x: np.sum(f(x)))(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda image, s: ndimage.shift(image, s, order=1),
        lambda image, s: ndimage.gaussian_filter(image, s),
        lambda image, s: ndimage.map_coordinates(image, [[s, 1.0], [s, 2.0]], order=1),
    ],
)
def test_an_image_of_integers_has_no_gradient_by_a_parameter(f):
    image = np.arange(12).reshape(3, 4)
    for derivative in (
        pb.func.grad(lambda s: np.sum(f(image, s))),
        lambda s: pb.func.jvp(lambda s: f(image, s), (s,), (1.0,)),
    ):
        with pytest.raises(pb.extend.UnsupportedError, match=r"scipy.ndimage.*int64.*astype\(float\)"):
            derivative(0.3)
    assert np.isfinite(pb.func.grad(lambda s: np.sum(f(image.astype(float), s)))(0.3))


@pytest.mark.parametrize("mode", ["interp", "nearest"])
def test_savgol_filter_by_the_distance_of_its_samples(mode):
    def f(delta):
        return np.sum(signal.savgol_filter(np.arange(9.0) ** 2, 5, 3, deriv=2, delta=delta, mode=mode) * np.arange(9.0))

    assert f(2) == pytest.approx(f(2.0))
    slope, curvature = pb.func.grad(f)(2.0), pb.func.grad(pb.func.grad(f))(2.0)
    assert slope == pytest.approx(-2 * f(2.0) / 2.0)
    assert curvature == pytest.approx(6 * f(2.0) / 4.0)


def test_tensors_whose_methods_are_those_of_pytorch_take_the_ways_of_arrays():
    b, a = pb.tensor([1.0, 2.0, 3.0], requires_grad=True), pb.tensor([1.0, 0.2])
    _, delay = signal.group_delay((b, a), 5)
    np.testing.assert_allclose(delay.detach().numpy(), scipy_signal.group_delay(([1.0, 2.0, 3.0], [1.0, 0.2]), 5)[1])
    np.sum(delay).backward()
    slope = pb.func.grad(lambda b: np.sum(signal.group_delay((b, np.array([1.0, 0.2])), 5)[1]))(
        np.array([1.0, 2.0, 3.0])
    )
    assert np.abs(slope).max() > 0.1
    np.testing.assert_allclose(b.grad.numpy(), slope)


def test_refusals_name_functions_of_scipy_by_their_module():
    with pytest.raises(pb.extend.DetachingError, match=r"scipy\.ndimage\.zoom uses it"):
        pb.func.grad(lambda z: np.sum(ndimage.zoom(IMAGE, z)))(2.0)


def _recorded_by(y):
    """The names of the nodes behind a result, all of which have one input that requires grad."""
    names, node = [], y.grad_fn
    while node.next_functions:
        names.append(node.name())
        node = node.next_functions[0][0]
    return names


def test_filters_record_no_more_than_they_compute():
    image = pb.tensor(IMAGE, requires_grad=True)
    axis = ["CorrelatedBackward0", "IndexBackward0"]
    assert _recorded_by(ndimage.gaussian_filter(image, 1.0)) == axis * 2
    recursive = signal.lfilter([2.0], [1.0, 0.5], image)
    assert _recorded_by(recursive) == ["RecursionBackward0", "MulBackward0"]
    np.testing.assert_allclose(recursive.detach().numpy(), scipy_signal.lfilter([2.0], [1.0, 0.5], IMAGE))
    array = pb.core.array_face.as_array(image)
    assert _recorded_by(ndimage.gaussian_filter(array, 1.0)) == axis * 2


def test_a_filter_that_leaves_the_image_as_it_is_gives_a_copy():
    image = pb.tensor(IMAGE)
    smoothed = ndimage.gaussian_filter(image, 0.0)
    smoothed += 1
    np.testing.assert_array_equal(image.numpy(), IMAGE)
