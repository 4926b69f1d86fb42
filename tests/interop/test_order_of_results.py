"""In which order results lie in memory, by which `ravel("K")` and `flatten("A")` go: NumPy's, of any argument."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import memory_of
from pullback.core.tensor import Tensor
from tests.interop.numpy_calls import CONSTANT, SMOOTH, leaves, m
from tests.interop.test_functions import cases

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: np.copy(x, order="F"),
    "backwards": lambda x: x[::-1, ::-1],
    "F backwards": lambda x: np.copy(x, order="F")[::-1],
    "with gaps": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "F with gaps": lambda x: np.copy(np.repeat(np.repeat(x, 2, 0), 2, 1), order="F")[::2, ::2],
}
# In which order einsum goes through what it sums, and so what it makes, NumPy chooses by the strides of all arguments.
NO_RULE = {SMOOTH["einsum"][1]}


def results(function, x):
    """What a function gives to an Array, inside a function being differentiated: plain, in the memory that it has."""
    found = []

    def total(x):
        found.append(function(x * 1.0))
        return np.sum(x)

    pb.func.grad(total)(x)
    return [memory_of(r) if isinstance(r, Tensor) else r for r in leaves(found[0])]


def compare(function, x):
    tried = 0
    for name, layout in LAYOUTS.items():

        def of_layout(x, layout=layout):
            return function(layout(x))

        try:
            expected = leaves(of_layout(x))
        except (ValueError, RuntimeWarning):  # of a view without copies, of numbers in other places
            continue
        tried += 1
        for ours, numpys in zip(results(of_layout, x), expected, strict=True):
            if type(numpys) is np.ndarray and numpys.dtype.kind in "fc":
                np.testing.assert_allclose(ours.ravel("K"), numpys.ravel("K"), rtol=1e-9, atol=1e-12, err_msg=name)
    assert tried


@pytest.mark.parametrize("function", cases(SMOOTH) + cases(CONSTANT))
def test_every_function_lays_its_results_out_as_numpy(function):
    if function not in NO_RULE:
        compare(function, m.copy())


OF_THREE_DIMENSIONS = {
    "fft": lambda x: [np.fft.fft(x, axis=1), np.fft.rfft(x, 3, axis=0), np.fft.irfft(x, axis=1), np.fft.fft2(x)],
    "gradient": lambda x: [*np.gradient(x), np.gradient(x, axis=1)],
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2), (0, 0)), "edge"),
    "insert": lambda x: [np.insert(x, 1, 2.0, axis=1), np.delete(x, 1, axis=2), np.delete(x, [0, 1], axis=2)],
    "index": lambda x: [x[:, [0, 2]], x[..., [1, 0]], x[:, np.array([True, False, True])], x[[[0, 1], [1, 0]]]],
    "index of a view": lambda x: [x.T[:, [0, 2]], x[:, :, None, [0, 1]], x[[0, 1], :, [0, 1]]],
    "quantile": lambda x: [np.nanquantile(x, [0.2, 0.7], axis=0), np.quantile(x, [0.2, 0.7], axis=1)],
    "sort": lambda x: [np.sort(x, axis=0), np.partition(x, 1, axis=1), np.unwrap(x, axis=0)],
    "reductions": lambda x: [np.average(x, axis=1), x.std(axis=0), np.median(x, axis=2), np.cumsum(x, axis=1)],
    "compress": lambda x: [np.compress([True, False], x, axis=1), np.take(x, [1, 0], axis=0), np.dot(x, 2.0)],
}


@pytest.mark.parametrize("function", OF_THREE_DIMENSIONS.values(), ids=OF_THREE_DIMENSIONS)
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
def test_of_three_dimensions(function, axes):
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    compare(lambda x: function(np.transpose(np.copy(np.transpose(x, axes)), np.argsort(axes))), x)


def test_gradients_go_through_another_order():
    def total(x):
        y = np.fft.rfft(np.copy(x, order="F"), axis=0)
        return np.sum(np.abs(y.ravel("K")[:4]) ** 2)

    x = np.arange(12.0).reshape(4, 3)
    steps = 1e-5 * np.eye(12).reshape(-1, 4, 3)
    expected = [(total(x + s) - total(x - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(pb.func.grad(total)(x).ravel(), expected, rtol=1e-6)


def test_what_is_written_into_stays_what_it_is():
    def total(x):
        y = np.repeat(x * 2.0, 2, axis=1)[:, ::2]
        assert np.round(x, 1, y) is y
        assert np.nan_to_num(y, copy=False) is y
        z = np.zeros_like(y)[:, ::-1]
        assert np.take(x, [1, 0], 0, z) is z
        return np.sum(z * y)

    x = np.arange(6.0).reshape(2, 3) + 0.04
    np.testing.assert_allclose(pb.func.grad(total)(x), np.round(x, 1)[::-1])
