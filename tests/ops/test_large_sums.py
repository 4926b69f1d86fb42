"""Products, running sums and normalisations of large arrays, against exact or plain ones."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy.fast.products import contiguous_prod, products_of_others
from pullback.arrays.numpy.fast.running_sums import running_sum
from pullback.arrays.numpy.reductions import cumsum, cumsum_backward, prod
from pullback.ops.composite.nn.layers import _layer_norm_backward

F = pb.nn.functional
RNG = np.random.default_rng(0)


def unit(x):
    return np.finfo(x.dtype).eps


# -- products ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5000, 4), (700, 100), (3, 100, 100), (20_000,), (10, 2003)])
def test_products_are_right_to_a_unit_a_factor(shape, dtype):
    x = RNG.uniform(0.99, 1.01, shape).astype(dtype)
    exact = np.multiply.reduce(x.astype(np.longdouble), axis=-1)
    for dim, keepdim in ((-1, False), (x.ndim - 1, True), ((x.ndim - 1,), False)):
        got = prod(x, dim, keepdim)
        assert got.dtype == dtype
        assert got.shape == exact.shape + (1,) * keepdim
        np.testing.assert_allclose(got.reshape(exact.shape), exact.astype(float), rtol=shape[-1] * unit(x))
    np.testing.assert_allclose(prod(x), np.prod(x.astype(np.longdouble)).astype(float), rtol=x.size * unit(x))
    assert prod(x, None, True).shape == (1,) * x.ndim


def test_short_rows_are_multiplied_in_their_order():
    x = RNG.standard_normal((700, 100)).astype(np.float32)
    np.testing.assert_array_equal(contiguous_prod(x, 1), np.multiply.reduce(x, axis=1))


@pytest.mark.parametrize("large", [1e30, 1e-30])
def test_what_overflows_in_lanes_alone_is_multiplied_in_order(large):
    x = np.ones(20_000, np.float32)
    x[:512:128], x[1:512:128] = large, 1 / large  # neighbours cancel; a lane of them does not
    assert prod(x) == 1
    with np.errstate(over="ignore"):
        assert prod(np.full(20_000, 10, np.float32)) == math.inf


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("special", [(), (0.0,), (0.0, 0.0), (math.inf,), (math.nan,), (1e-300, 1e-300, 1e300)])
def test_products_of_others(special, dim):
    x = RNG.uniform(0.5, 1.5, (150, 150))
    x[7, : len(special)] = special
    with np.errstate(all="ignore"):
        got = products_of_others(x, dim)
        for i in (0, 1, 2, 3, 149):
            others = np.multiply.reduce(np.delete(x, i, dim), axis=dim)
            np.testing.assert_allclose(np.take(got, i, dim), others, rtol=1e-13)


def test_second_derivatives_of_products_of_many():
    x = pb.from_numpy(RNG.uniform(0.5, 1.5, (200, 100))).requires_grad_()
    (grad,) = pb.autograd.grad(x.prod(1).sum(), x, create_graph=True)
    (second,) = pb.autograd.grad(grad[:, 0].sum(), x)
    assert np.all(second.numpy()[:, 0] == 0)  # a product is linear in each factor
    total = np.prod(x.detach().numpy(), 1, keepdims=True)
    np.testing.assert_allclose(second.numpy()[:, 1:], total / (x * x[:, :1]).detach().numpy()[:, 1:], rtol=1e-12)


# -- running sums --------------------------------------------------------------------------------------------------
SHAPES = [
    ((100_000,), 0), ((65_536,), 0), ((600, 101), 1), ((2, 300, 64), -1), ((9, 8000), 1), ((5, 33_003), -1),
    ((50, 800), 0), ((3, 40, 600), 1),
]  # fmt: skip


def backwards(x, dim):
    return np.flip(np.cumsum(np.flip(x, dim), dim), dim)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_running_sums_are_as_exact_as_numpys(shape, dim, dtype):
    x = RNG.random(shape).astype(dtype)
    assert running_sum(x, dim) is not None
    for kernel, plain in ((cumsum, np.cumsum), (cumsum_backward, backwards)):
        exact = plain(x.astype(np.longdouble), dim)
        error, reference = (np.abs((y - exact) / exact).max() for y in (kernel(x, dim), plain(x, dim)))
        assert kernel(x, dim).dtype == dtype
        assert error <= 2 * max(reference, unit(x))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_running_sums_with_infinities_and_nan(shape, dim, value):
    x = RNG.random(shape)
    x.reshape(-1)[x.size // 2] = value
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(cumsum(x, dim), np.cumsum(x, dim), rtol=1e-12)
        np.testing.assert_allclose(cumsum_backward(x, dim), backwards(x, dim), rtol=1e-12)


def test_running_sums_that_overflow_in_a_part_alone():
    x = np.zeros((600, 100), np.float32)
    x[:, 15:18] = -3e38, 3e38, 3e38
    np.testing.assert_array_equal(cumsum(x, 1), np.cumsum(x, 1))


@pytest.mark.parametrize(
    "x", [np.ones((600, 100), int), np.ones((100, 600)).T, np.ones((5000, 50)), np.ones((600, 100))]
)
def test_other_running_sums_are_left_to_numpy(x):
    assert (running_sum(x, 1) is None) == (x.shape != (600, 100) or x.dtype == int or not x.flags.c_contiguous)
    np.testing.assert_array_equal(cumsum(x, 1), np.cumsum(x, 1))
    with pytest.raises(IndexError):
        cumsum(x, 2)


# -- layer_norm ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dims"), [((300, 500), 1), ((40, 10, 500), 2), ((5000,), 1), ((2, 5000), 1), ((0, 3), 1)]
)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm_in_one_kernel_is_that_of_its_formula(shape, dims, affine, dtype):
    x, inner = RNG.standard_normal(shape) * 2 + 5, shape[len(shape) - dims :]
    weight, bias = (RNG.standard_normal(inner) if affine else None for _ in range(2))
    grad = RNG.standard_normal(shape)
    if x.size:
        last = tuple(range(-dims, 0))
        exact = (x - x.mean(last, keepdims=True)) / np.sqrt(x.var(last, keepdims=True) + 1e-5)
        expected = [exact * weight + bias if affine else exact]
    else:
        expected = [x]
    tensors = [None if v is None else pb.from_numpy(v.astype(dtype)).requires_grad_() for v in (x, weight, bias)]
    out = F.layer_norm(tensors[0], inner, *tensors[1:])
    leaves = [v for v in tensors if v is not None]
    got = pb.autograd.grad(out, leaves, pb.from_numpy(grad.astype(dtype)))
    if x.size:
        args = (grad, x, weight, None, None, dims, 1e-5, (True, affine, affine))
        expected += _layer_norm_backward(*args, ops=pb.ops.NUMPY)[: len(leaves)]
    else:
        expected += [np.zeros(v.shape) for v in leaves]
    for a, b in zip([out.detach(), *got], expected, strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(
            a.numpy(), b, rtol=0, atol=(2e-5 if dtype == "float32" else 1e-13) * (1 + np.abs(b).max(initial=0))
        )


# -- half precision ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("copies", [1, 3000])
def test_half_precision_neither_overflows_nor_changes_dtype(copies):
    values = np.array([-14, -12, 11, 11.5, 12, 15, 19, 20, 21, 60_000], np.float16)
    x = pb.from_numpy(np.tile(values, copies)).requires_grad_()
    exact = np.logaddexp(0, values.astype(float))
    for function, expected in (
        (F.softplus, exact),
        (pb.sigmoid, np.exp(values - exact)),
        (F.gelu, None),
        (pb.erf, None),
    ):
        y = function(x)
        assert y.dtype == np.float16
        if expected is not None:
            np.testing.assert_allclose(y.detach().numpy()[:10], expected, rtol=1e-3, atol=6e-8)
    (grad,) = pb.autograd.grad(F.softplus(x).sum(dtype=np.float64), x)
    np.testing.assert_allclose(grad.numpy()[:10], np.exp(values - exact), rtol=1e-3, atol=6e-8)
