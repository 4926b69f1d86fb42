"""What kernels do with large arrays, against what they do with small ones: edge values, borders of blocks, layouts."""

import math

import numpy as np
import pytest
import scipy.special

import pullback as pb
from pullback.arrays.numpy.fast.blocks import BLOCK, MANY
from pullback.arrays.numpy.fast.choices import SMALL, blendable, blended
from pullback.arrays.numpy.fast.flat_indices import add_rows, places_along
from pullback.arrays.numpy.fast.sums import LARGE, contiguous_sum
from pullback.arrays.numpy.indexing.subscripts import reduce_at
from pullback.arrays.numpy.linalg.products import small_in_order

F = pb.nn.functional
RNG = np.random.default_rng(0)
EDGES = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38, 4.0, -4.0, 4.1, 1.0])


def same_bits(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


# -- erf of float32 ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [MANY - 1, MANY, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_erf_is_right_to_four_units_at_every_length(size):
    x = np.linspace(-5, 5, size, dtype=np.float32)
    exact = scipy.special.erf(x.astype(np.float64))
    got = pb.erf(pb.from_numpy(x)).numpy()
    assert got.dtype == np.float32
    assert np.all(np.abs(got - exact) <= 4 * np.spacing(np.abs(exact).astype(np.float32)))


def test_erf_of_edge_values_in_many_numbers():
    x = np.resize(EDGES, MANY).astype(np.float32)
    got = pb.erf(pb.from_numpy(x)).numpy()
    np.testing.assert_array_equal(got[:5], np.float32([0, 0, 1, -1, math.nan]))
    assert np.signbit(got[1])
    assert np.all(np.isnan(got) == np.isnan(x))
    np.testing.assert_allclose(got, scipy.special.erf(x), rtol=3e-7, atol=3e-45)


def test_erf_of_small_numbers_keeps_their_digits():
    x = np.geomspace(1e-37, 0.1, MANY, dtype=np.float32)
    np.testing.assert_allclose(pb.erf(pb.from_numpy(x)).numpy(), scipy.special.erf(x.astype(float)), rtol=3.6e-7)


def test_erf_of_a_transposed_matrix():
    x = RNG.standard_normal((100, 200)).astype(np.float32).T
    np.testing.assert_allclose(pb.erf(pb.from_numpy(x)).numpy(), scipy.special.erf(x), rtol=5e-7)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_and_its_slope_over_several_blocks(approximate, dtype):
    x = RNG.uniform(-5, 6, BLOCK + 77).astype(dtype)
    x[: BLOCK // 2] = 3  # so that the first block has nothing delicate, and the last one all of it
    x[-9:] = math.inf, -math.inf, math.nan, 0, 1e-40, 6e4, -6e4, -30, 39
    large, leaf = x.astype(float), pb.from_numpy(x).requires_grad_()
    with np.errstate(all="ignore"):
        if approximate == "none":
            cdf, density = scipy.special.ndtr(large), np.exp(-0.5 * large**2) / math.sqrt(2 * math.pi)
        else:
            inner = math.sqrt(2 / math.pi) * (large + 0.044715 * large**3)
            cdf = 1 / (1 + np.exp(-2 * inner))
            density = 2 * cdf * (1 - cdf) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * large**2)
        flat = np.abs(large) > 40
        value = np.where(large < -40, 0, large * cdf)
        slope = np.where(flat, large > 0, cdf + np.where(flat, 0, large * density))
        slope[np.isnan(large)] = math.nan
        y = F.gelu(leaf, approximate=approximate)
        (grad,) = pb.autograd.grad(y, leaf, pb.from_numpy(np.full_like(x, 2)))
        expected = value.astype(dtype)
    assert y.dtype == grad.dtype == dtype
    unit = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=8 * unit, atol=unit)
    np.testing.assert_allclose(grad.numpy(), 2 * slope, rtol=0, atol=100 * unit)


# -- sums ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [LARGE, LARGE + 1, LARGE + 127, LARGE + 128, 100_003])
def test_flat_sum_of_positive_numbers_is_right_to_two_units(dtype, size):
    x = RNG.random(size).astype(dtype)
    exact = math.fsum(x.tolist())
    got = contiguous_sum(x, None)
    assert type(got) is x.dtype.type
    assert abs(float(got) - exact) <= 2 * np.spacing(x.dtype.type(exact))


@pytest.mark.parametrize(("dtype", "length"), [("float32", 2), ("float32", 1024), ("float64", 100), ("float64", 128)])
@pytest.mark.parametrize("dim", [-1, 2, (2,), (-1,)])
def test_row_sums_agree_with_numpy(dtype, length, dim):
    x = RNG.random((4, LARGE // length, length)).astype(dtype)
    for keepdim in (False, True):
        got = contiguous_sum(x, dim, keepdim)
        assert got.base is None  # nothing has to copy it before it is handed out
        np.testing.assert_allclose(got, x.sum(dim, keepdims=keepdim), rtol=3 * np.finfo(dtype).eps)
        assert pb.sum(pb.from_numpy(x), dim, keepdim).shape == got.shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((20, 100, 10), 1),
        ((20, 100, 10), (0, 1)),
        ((20, 100, 10), (-1, 0)),
        ((200, 10, 10), (2, 1)),
        ((20, 100, 10), (0, 1, 2)),
        ((9000, 3), 0),
        ((2, 8192, 3), -2),
        ((2, 5000, 2, 4), (1,)),
        ((40, 5, 9, 11), (0, 2, 3)),
        ((40, 5, 9, 11), (0, 2)),
        ((40, 5, 1, 111), (1, 2)),
    ],
)
def test_sums_over_other_dimensions_are_as_exact_as_numpys(shape, dim, dtype):
    x = RNG.random(shape).astype(dtype)
    exact = x.astype(np.longdouble).sum(dim, keepdims=True)
    for keepdim in (False, True):
        got = contiguous_sum(x, dim, keepdim)
        assert got.dtype == dtype
        assert got.shape == x.sum(dim, keepdims=keepdim).shape
        error, numpys = (np.abs(y.reshape(exact.shape) / exact - 1).max() for y in (got, x.sum(dim)))
        assert error <= 2 * max(numpys, np.finfo(dtype).eps)
        assert pb.sum(pb.from_numpy(x), dim, keepdim).shape == got.shape


@pytest.mark.parametrize("parts", [[math.inf], [-math.inf], [math.nan], [math.inf, -math.inf]])
def test_infinities_and_nan_stay_in_their_column(parts):
    x = np.ones((30, 100, 10), np.float32)
    x[3, [7, 90][: len(parts)], 4] = parts
    with np.errstate(invalid="ignore"):
        for dim in (1, 0, (0, 1), (1, 2)):
            np.testing.assert_array_equal(contiguous_sum(x, dim), x.sum(dim))


@pytest.mark.parametrize("parts", [[math.inf], [-math.inf], [math.nan], [math.inf, -math.inf], [math.inf, math.inf]])
def test_sums_of_infinities_and_nan(parts):
    x = np.ones((20, 1000), np.float32)
    x[3, [7, 900][: len(parts)]] = parts
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(contiguous_sum(x, 1), x.sum(1))
        np.testing.assert_array_equal(contiguous_sum(x, None), x.sum())


@pytest.mark.parametrize(
    ("x", "axis"),
    [
        (np.ones((200, 200), np.int64), None),
        (np.ones((200, 200), np.float16), 1),
        (np.ones((200, 200), np.float32).T, 1),
        (np.ones((2, 20_000), np.float32), 1),
        (np.ones((20_000, 1), np.float32), 1),
        (np.ones((20_000, 1), np.float32).T, 1),
        (np.ones((1, 20_000)), 0),
        (np.ones((2100, 1000)), 0),
    ],
)
def test_other_sums_are_left_to_numpy(x, axis):
    assert contiguous_sum(x, axis) is None
    np.testing.assert_array_equal(pb.sum(pb.from_numpy(x), axis).numpy(), x.sum(axis))


def test_a_wrong_dim_is_still_refused():
    with pytest.raises(IndexError):
        pb.sum(pb.ones(200, 200), 2)


# -- products of matrices ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("product", [pb.matmul, pb.bmm])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_small_transposed_matrices_in_a_batch(product, dtype):
    x, y = (RNG.integers(-9, 9, shape).astype(dtype) for shape in ((6, 100, 5), (6, 7, 5)))
    got = product(pb.from_numpy(x), pb.from_numpy(y).transpose(1, 2)).numpy()
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.einsum("bij,bkj->bik", x, y))
    assert (small_in_order(x, y.swapaxes(1, 2)).base is None) == (dtype[:5] == "float")
    for tall, small in ((x[:, :9], y.swapaxes(1, 2)), (x, np.ones((1, 2000, 5)).swapaxes(1, 2)), (x, y)):
        assert small_in_order(tall, small) is small  # few rows, not small, in order


# -- gather and scatter_add ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("cut", [0, 3])
def test_gather_of_many_is_that_of_numpy(dim, cut):
    x = RNG.standard_normal((20, 30, 40))
    shape = [n if d == dim % 3 else n - cut for d, n in enumerate(x.shape)]
    index = RNG.integers(0, x.shape[dim], shape)
    assert places_along(x, dim % 3, index) is not None
    corner = x[tuple(slice(None) if d == dim % 3 else slice(n) for d, n in enumerate(shape))]
    got = pb.gather(pb.from_numpy(x), dim, pb.from_numpy(index)).numpy()
    np.testing.assert_array_equal(got, np.take_along_axis(corner, index, dim))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_add_of_many_counts_every_occurrence(dim):
    out, src = RNG.standard_normal((2, 20, 30, 40))
    index = RNG.integers(0, 5, src.shape)
    expected = out.copy()
    grid = list(np.ogrid[:20, :30, :40])
    grid[dim] = index
    np.add.at(expected, tuple(grid), src)
    got = pb.scatter_add(pb.from_numpy(out), dim, pb.from_numpy(index), pb.from_numpy(src)).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("index", [-1, 40, 2**62, -(2**63)])
def test_places_are_left_alone_where_an_index_is_out_of_range(index):
    x, at = np.zeros((100, 40)), np.zeros((100, 60), np.int64)
    at[99, 59] = index
    assert places_along(x, 1, at) is None
    if index == -1:
        x[99, 39] = 5
        assert pb.gather(pb.from_numpy(x), 1, pb.from_numpy(at)).numpy()[99, 59] == 5
    else:
        with pytest.raises(IndexError):
            pb.gather(pb.from_numpy(x), 1, pb.from_numpy(at))


def test_places_need_c_order_and_whole_numbers():
    at = np.zeros((100, 60), np.int64)
    assert places_along(np.zeros((40, 100)).T, 1, at) is None
    assert places_along(np.zeros((100, 40)), 1, at.astype(np.float64)) is None
    np.testing.assert_array_equal(places_along(np.zeros((100, 40)), 1, at.astype(np.int8))[:, 0], np.arange(100) * 40)
    assert places_along(np.zeros((100, 40)), 1, np.asfortranarray(at)).flags.c_contiguous
    broadcast = np.broadcast_to(np.arange(40), (200, 40))
    np.testing.assert_array_equal(places_along(np.zeros((200, 40)), 1, broadcast), np.arange(8000).reshape(200, 40))


def test_gather_backward_and_double_backward_of_many():
    x, at = RNG.standard_normal((100, 50)), RNG.integers(0, 50, (100, 50))
    tensor = pb.from_numpy(x).requires_grad_()
    (grad,) = pb.autograd.grad(pb.gather(tensor, 1, pb.from_numpy(at)).square().sum(), tensor, create_graph=True)
    counts = np.stack([np.bincount(row, minlength=50) for row in at])
    np.testing.assert_allclose(grad.detach().numpy(), 2 * counts * x)
    (second,) = pb.autograd.grad(grad.sum(), tensor)
    np.testing.assert_allclose(second.numpy(), 2.0 * counts)


# -- adding and reducing by index ------------------------------------------------------------------------------------
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    "index",
    [
        (RNG.integers(0, 20, (20, 30)), np.arange(30)),
        (np.arange(20)[:, None], RNG.integers(-30, 30, (20, 30))),
        (slice(None), RNG.integers(0, 30, 30, dtype=np.int32)),
        (slice(None), RNG.integers(0, 30, 30), ...),
        RNG.integers(0, 20, 20),
        (RNG.integers(0, 20, 20), None),
    ],
)
def test_reductions_by_index_are_those_of_numpy(ufunc, dtype, index):
    start = RNG.integers(-5, 5, (20, 30)).astype(dtype)
    expected, got = start.copy(), start.copy()
    values = RNG.integers(-2, 3, start[index].shape).astype(dtype)
    ufunc.at(expected, index, values)
    reduce_at(ufunc, got, index, values)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("index", [(np.full(100, 30), np.arange(100) % 20), (slice(None), np.full(100, 20))])
def test_an_index_out_of_range_is_refused_before_anything_is_added(index):
    out = np.zeros((30, 20))
    with pytest.raises(IndexError):
        reduce_at(np.add, out, index, np.ones((30, 100)))
    assert not out.any()


# -- rows ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_rows_are_added_as_often_as_they_occur(dtype):
    values, index = RNG.standard_normal((700, 10, 10)).astype(dtype), RNG.integers(0, 50, 700)
    values[0, 0, 0], values[1, 0, 1], index[:2] = math.inf, math.nan, 3
    out = np.ones((60, 10, 10), dtype)
    expected = out.copy()
    np.add.at(expected, index, values)
    assert add_rows(out, index, values)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-5 if dtype in ("float32", "complex64") else 1e-13)


def test_few_rows_of_a_large_target_are_added_as_often_as_they_occur():
    values, index = RNG.standard_normal((100, 700)), RNG.integers(0, 50, 100) * 20
    out, expected = np.ones((1000, 700)), np.ones((1000, 700))
    np.add.at(expected, index, values)
    assert add_rows(out, index, values)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("index", [-1, 50])
def test_rows_out_of_range_are_left_to_numpy(index):
    values, at = np.ones((700, 100)), np.full(700, index)
    out = np.zeros((50, 100))
    assert not add_rows(out, at, values)
    assert not out.any()


def test_embedding_and_index_select_share_rows():
    weight, at = RNG.standard_normal((50, 128)), RNG.integers(0, 50, (30, 20))
    expected = np.bincount(at.ravel(), minlength=50)[:, None] * np.ones(128)
    for call in (lambda w, i: F.embedding(i, w), lambda w, i: pb.index_select(w, 0, i.reshape(-1)), lambda w, i: w[i]):
        w = pb.from_numpy(weight).requires_grad_()
        call(w, pb.from_numpy(at)).sum().backward()
        np.testing.assert_array_equal(w.grad.numpy(), expected)


# -- choices -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_where_of_many_keeps_every_bit(dtype):
    x = np.resize(EDGES, (40, 50)).astype(dtype)
    y = np.ascontiguousarray(x[::-1, ::-1])
    mask = RNG.random((40, 50)) < 0.5
    for a, b in ((x, y), (x, 2), (-0.0, y), (x, math.nan), (x.T.copy().T, y)):
        assert blendable(mask, a, b)
        same_bits(blended(mask, a, b), np.where(mask, a, b))
        got = pb.where(pb.from_numpy(mask), *(pb.from_numpy(v) if isinstance(v, np.ndarray) else v for v in (a, b)))
        same_bits(got.numpy(), np.where(mask, a, b))


def test_where_of_mixed_types_and_shapes_is_left_to_numpy():
    mask, x = np.ones(2 * SMALL, np.bool_), np.ones(2 * SMALL)
    assert not blendable(mask, x, x.astype(np.float32))
    assert not blendable(mask, x, np.ones(1))
    assert not blendable(mask, 1.0, 2.0)
    assert not blendable(mask, x, True)
    assert not blendable(mask, x, 1j)
    assert not blendable(mask[:1], x, x)


def test_gradients_through_masks_own_their_memory():
    x = pb.ones(2 * SMALL).requires_grad_()
    (grad,) = pb.autograd.grad(F.relu(x).sum(), x)
    assert grad.numpy().base is None or grad.numpy().base.base is None
    np.testing.assert_array_equal(grad.numpy(), 1.0)


# -- softmax, softplus, cross entropy -------------------------------------------------------------------------------
@pytest.mark.parametrize("top", [15.9, 16.0, 16.1, 100.0, 1e30, math.inf, math.nan])
def test_softmax_agrees_with_scipy_on_both_sides_of_the_shift(top):
    x = RNG.uniform(-15, 15, (50, 300))
    x[7, 9] = top
    with np.errstate(invalid="ignore"):
        for sign in (1, -1):
            got = F.softmax(pb.from_numpy(sign * x), 1).numpy()
            np.testing.assert_allclose(got, scipy.special.softmax(sign * x, 1), rtol=1e-13)
            if sign * top == math.inf:
                continue  # log_softmax is nan there, as PyTorch's
            got = F.log_softmax(pb.from_numpy(sign * x), 1).numpy()
            np.testing.assert_allclose(got, scipy.special.log_softmax(sign * x, 1), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("special", [0.0, 100.0, -200.0, -math.inf, math.nan])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(6, 100), (2, 3, 5, 40), (3, 1, 300), (600,), (600, 1), (2, 3)])
def test_softmax_in_any_rank_along_any_dim(shape, order, special):
    x, grad = (np.asarray(RNG.standard_normal(shape), order=order) for _ in range(2))
    x[(1,) * x.ndim if min(shape) > 1 else -1] = special
    for dim in range(-1, x.ndim):
        with np.errstate(invalid="ignore", divide="ignore"):
            y, logs = scipy.special.softmax(x, dim), scipy.special.log_softmax(x, dim)
        leaf = pb.from_numpy(x).requires_grad_()
        for function, expected, slope in (
            (F.softmax, y, y * (grad - (grad * y).sum(dim, keepdims=True))),
            (F.log_softmax, logs, grad - y * grad.sum(dim, keepdims=True)),
        ):
            with np.errstate(invalid="ignore"):
                out = function(leaf, dim)
            np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-12, atol=1e-14)
            (got,) = pb.autograd.grad(out, leaf, pb.from_numpy(grad))
            np.testing.assert_allclose(got.numpy(), slope, rtol=1e-12, atol=1e-14)


def test_softmax_of_half_precision_is_shifted():
    x = RNG.uniform(-15, 15, (50, 30)).astype(np.float16)
    expected = scipy.special.softmax(x.astype(np.float64), 1)
    np.testing.assert_allclose(F.softmax(pb.from_numpy(x), 1).numpy(), expected, rtol=4e-3, atol=1e-6)


@pytest.mark.parametrize("edge", [19.0, 20.0, 21.0, 800.0, math.inf, -math.inf, math.nan])
def test_softplus_with_and_without_numbers_above_the_threshold(edge):
    x = np.array([-1000.0, -1.0, 0.0, 3.0, 25.0, edge])
    with np.errstate(invalid="ignore"):
        expected = np.where(x > 20, x, np.logaddexp(0, x))
    for part in (slice(None), [0, 1, 2, 3, 5]):
        np.testing.assert_allclose(F.softplus(pb.from_numpy(x[part])).numpy(), expected[part], rtol=1e-14)
    assert F.softplus(pb.from_numpy(x[:0])).shape == (0,)


@pytest.mark.parametrize(("rows", "classes"), [(4096, 10), (4097, 10), (5000, 100), (10, 256), (10, 257)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_cross_entropy_of_many_rows_and_classes(rows, classes, reduction):
    x, target = RNG.standard_normal((rows, classes)), RNG.integers(0, classes, rows)
    scores = pb.from_numpy(x).requires_grad_()
    loss = F.cross_entropy(scores, pb.from_numpy(target), reduction=reduction)
    loss.backward()
    logs = scipy.special.log_softmax(x, 1)
    share = 1 / rows if reduction == "mean" else 1.0
    np.testing.assert_allclose(loss.item(), -logs[np.arange(rows), target].sum() * share, rtol=1e-12)
    expected = np.exp(logs)
    expected[np.arange(rows), target] -= 1
    np.testing.assert_allclose(scores.grad.numpy(), share * expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("p", [1.0, 3.0, math.inf])
def test_distances_of_many_rows_are_differentiated_by_blocks_of_rows(p):
    rng = np.random.default_rng(0)
    a, b = (pb.tensor(rng.normal(size=(2, n, 40)), requires_grad=True) for n in (90, 110))
    grad = pb.tensor(rng.normal(size=(2, 90, 110)), requires_grad=True)
    moved = [pb.tensor(rng.normal(size=x.shape)) for x in (a, b)]

    def at_once(x, y):
        return pb.linalg.vector_norm(x[:, :, None] - y[:, None], p, -1)

    found, wanted = [], []
    for function, results in ((lambda x, y: pb.cdist(x, y, p), found), (at_once, wanted)):
        slopes = pb.autograd.grad(function(a, b), (a, b), grad, create_graph=True)
        second = sum((s * m).sum() for s, m in zip(slopes, moved, strict=True))
        results += [*slopes, *pb.autograd.grad(second, (a, b, grad)), pb.func.jvp(function, (a, b), tuple(moved))[1]]
    for one, other in zip(found, wanted, strict=True):
        pb.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


# -- what tests/arrays/test_fast.py found ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
def test_sigmoid_of_many_whole_numbers_is_that_of_few(dtype):
    x = RNG.integers(0, 2, 3000).astype(dtype)
    many, few = pb.sigmoid(pb.from_numpy(x)), pb.sigmoid(pb.from_numpy(x[:5]))
    assert many.dtype == few.dtype
    np.testing.assert_array_equal(many.numpy()[:5], few.numpy())


def test_zero_times_infinity_is_added_in_place_too():
    x, y = pb.ones(5000), pb.full((5000,), math.inf)
    with np.errstate(invalid="ignore"):
        assert x.clone().add_(y, alpha=0).isnan().all()
        assert x.clone().sub_(y, alpha=0.0).isnan().all()
