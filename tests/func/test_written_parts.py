"""Writes into `.real`, `.imag` and the pairs of numbers of complex arrays: derivatives of every order, in batches."""

import numpy as np
import pytest

from pullback.func import grad, hessian, jacfwd, jacrev, vmap

X = np.array([1.0, 2.0, 3.0])


def _add_to_an_element(z, x):
    z.real[1] += x[0]
    z.imag[0] *= x[2]


def _of_a_view(z, x):
    z[1:].imag[0] += x[0] ** 2
    z[1:].real[...] *= x[0]


def _pairs(z, x):
    z.view(float)[1::2] *= x


def _held(z, x):
    part = z.real
    part[1] += x[0]
    part[0] *= x[2]


def _at_repeated_places(z, x):
    np.add.at(z.real, [0, 0], x[:2])


def _whole(z, x):
    z.real += x
    z.imag -= x**2


@pytest.mark.parametrize("write", [_add_to_an_element, _of_a_view, _pairs, _held, _at_repeated_places, _whole])
def test_a_write_into_a_part_has_every_derivative(write):
    def f(x):
        z = x * (1 + 2j)
        write(z, x)
        return np.sum(np.abs(z) ** 2 * x)

    def differences(f, x, step=1e-6):
        return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)])

    batch = np.stack([X, 1.5 * X])
    np.testing.assert_allclose(vmap(grad(f))(batch), [differences(f, x) for x in batch], rtol=1e-6)
    second = differences(grad(f), X)
    for transform in (hessian(f), jacrev(jacrev(f)), jacrev(jacfwd(f)), jacfwd(grad(f))):
        np.testing.assert_allclose(transform(X), second, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(vmap(hessian(f))(batch)[0], second, rtol=1e-6, atol=1e-7)
