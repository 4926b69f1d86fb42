"""Whole functions of plain NumPy code through pullback.func: values and gradients against finite differences."""

import numpy as np
import pytest

import pullback as pb

rng = np.random.default_rng(7)


def differences(f, x, step=1e-6):
    """The gradient of f by central differences."""
    slopes = np.empty_like(x)
    for i in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[i] = step
        slopes[i] = (f(x + shift) - f(x - shift)) / (2 * step)
    return slopes


def check(f, x, rtol=1e-6, atol=1e-7):
    value, gradient = pb.func.value_and_grad(f)(x)
    assert isinstance(gradient, np.ndarray)
    assert gradient.dtype == x.dtype
    assert value == pytest.approx(float(f(x)), rel=1e-13)
    np.testing.assert_allclose(gradient, differences(f, x), rtol=rtol, atol=atol)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_rosenbrock():
    check(rosenbrock, np.linspace(-1.2, 1.3, 10), rtol=1e-5, atol=1e-5)


def test_logistic_regression():
    features, labels = rng.standard_normal((20, 3)), rng.integers(0, 2, 20)

    def loss(w):
        scores = np.einsum("ij,j->i", features, w[:3]) + w[3]
        signed = np.where(labels == 1, scores, -scores)
        return np.mean(np.logaddexp(0.0, -signed)) + 0.1 * np.dot(w, w)

    check(loss, rng.standard_normal(4))


def test_softmax_classifier():
    features, labels = rng.standard_normal((15, 4)), rng.integers(0, 3, 15)

    def loss(w):
        scores = features @ w
        scores = scores - np.max(scores, axis=1, keepdims=True)
        logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        return -logs[np.arange(15), labels].mean()

    check(loss, rng.standard_normal((4, 3)))


def test_ode_by_runge_kutta():
    def rates(y, p):
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def error(p):
        y, h, path = np.array([1.0, 0.5]), 0.1, []
        for _ in range(30):
            k1 = rates(y, p)
            k2 = rates(y + h / 2 * k1, p)
            k3 = rates(y + h / 2 * k2, p)
            k4 = rates(y + h * k3, p)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        return np.sum((np.array(path, like=p) if isinstance(p, pb.Tensor) else np.array(path)) ** 2)

    check(error, np.array([1.1, 0.4, 0.3, 0.8]))


def test_dict_of_parameters():
    inputs, targets = rng.standard_normal((12, 2)), rng.standard_normal(12)

    def loss(params, scale):
        hidden = np.tanh(inputs @ params["w1"] + params["b1"])
        out = np.squeeze(hidden @ params["w2"], axis=-1) * scale
        return np.average((out - targets) ** 2) + np.sum(np.abs(params["w1"])) * 0.01

    params = {"w1": rng.standard_normal((2, 5)), "b1": rng.standard_normal(5), "w2": rng.standard_normal((5, 1))}
    value, gradients = pb.func.value_and_grad(loss)(params, 1.5)
    assert value == pytest.approx(loss(params, 1.5), rel=1e-13)
    for name, gradient in gradients.items():
        expected = differences(lambda x, name=name: loss(params | {name: x}, 1.5), params[name])
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def test_gaussian_mixture_likelihood():
    data = rng.standard_normal(30)

    def loss(p):
        weights = np.exp(p[:2]) / np.exp(p[:2]).sum()
        z = (data[:, None] - p[2:4]) / np.exp(p[4:])
        logs = np.log(weights) - 0.5 * z**2 - p[4:] - 0.5 * np.log(2 * np.pi)
        return -np.logaddexp.reduce(logs, axis=1).mean()

    check(loss, np.array([0.1, -0.3, -0.5, 0.8, 0.0, 0.2]))


def test_image_filter_and_total_variation():
    image = rng.standard_normal((8, 9))

    def energy(kernel):
        padded = np.pad(image, 1, mode="reflect")
        out = sum(kernel[i, j] * padded[i : i + 8, j : j + 9] for i in range(3) for j in range(3))
        return np.sqrt(np.diff(out, axis=0)[:, :-1] ** 2 + np.diff(out, axis=1)[:-1] ** 2 + 1e-3).sum()

    check(energy, rng.standard_normal((3, 3)), rtol=1e-5)


def test_in_place_writes_into_arrays_made_from_the_argument():
    def f(x):
        out = np.zeros_like(x)
        out[0] = x[0] ** 2
        out[1:] += np.cumsum(x[1:])
        out *= np.arange(1.0, 5.0)
        return np.prod(out)

    check(f, np.array([1.5, 0.3, 0.8, 2.0]), rtol=1e-5)


def test_covariance_and_quantiles():
    def f(x):
        c = np.cov(x)
        return np.trace(c @ c) + np.median(x) * np.quantile(x, 0.8) + np.ptp(x) + np.std(x, ddof=1)

    check(f, rng.standard_normal((3, 7)))


def test_complex_signal():
    signal = np.exp(1j * np.linspace(0, 3, 16))

    def f(p):
        model = p[0] * np.exp(1j * (p[1] * np.arange(16) + p[2])) - signal
        return np.real(np.vdot(model, model)) + np.sum(np.abs(np.conj(model)) * np.imag(model) ** 2)

    check(f, np.array([0.7, 0.25, 0.1]))


def test_interpolation_convolution_and_quadrature():
    def f(p):
        places = np.cumsum(np.exp(p))
        curve = np.interp(np.linspace(0.5, 6.0, 40), places, np.sin(p))
        smooth = np.convolve(curve, np.array([0.25, 0.5, 0.25]), mode="same")
        return np.trapezoid(smooth**2, dx=0.1) + np.sum(np.gradient(smooth, 0.1) ** 2)

    check(f, np.array([-0.2, 0.3, 0.1, 0.25, 0.4]), rtol=1e-5)


def test_second_derivative_by_nesting():
    hessian_trace = pb.func.grad(lambda y: np.sum(pb.func.grad(rosenbrock)(y)))
    x = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(
        hessian_trace(x), differences(lambda y: pb.func.grad(rosenbrock)(y).sum(), x), rtol=1e-5, atol=1e-4
    )


def test_boolean_masks_index_plain_arrays_inside():
    data = np.array([1.0, 2.0, 3.0])

    def f(x):
        return np.sum(data[x > 0]) * np.sum(x[data > 1.5])

    check(f, np.array([0.5, -1.0, 2.0]))
