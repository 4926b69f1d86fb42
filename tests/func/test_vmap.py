"""vmap: arguments and results, nesting with the other transforms, writing in place, indices, randomness, errors."""

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.batched.errors import EndedBatchError
from pullback.core.errors import InplaceError, ReadError, UnsupportedError
from pullback.func import grad, jvp, vmap
from pullback.utils.checkpoint import checkpoint

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5))
V = RNG.standard_normal((3, 4))
I = np.array([[1, 0], [3, -1], [2, 2]])


def looped(function, args, in_dims=0):
    """What a loop over the batch gives."""
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    samples = ([x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True)] for i in range(size))
    return np.stack([np.asarray(function(*sample)) for sample in samples])


def agrees(function, *args, in_dims=0):
    found = vmap(function, in_dims)(*args)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, looped(function, args, in_dims), rtol=1e-10, atol=1e-12)


# -- arguments and results ---------------------------------------------------------------------------------------------
def test_dims_of_arguments():
    agrees(np.dot, V, V)
    agrees(lambda x, y: x * y.sum(), X, V, in_dims=(1, 1))
    agrees(lambda x, y: x @ y, X, RNG.standard_normal((5, 2)), in_dims=(-3, None))
    found = vmap(lambda pair, scale: pair["a"] * scale + pair["b"], in_dims=({"a": 0, "b": None}, None))(
        {"a": V, "b": np.ones(4)}, 2.0
    )
    np.testing.assert_allclose(found, V * 2 + 1)
    np.testing.assert_allclose(vmap(lambda pair: pair[0] + pair[1], in_dims=1)((V, V)), (2 * V).T)


def test_keyword_arguments_are_mapped_over_the_first_dimension():
    np.testing.assert_allclose(vmap(lambda x, y: x * y)(V, y=V), V * V)


def test_dims_of_results():
    first, (second, third) = vmap(lambda x: (x, [x.sum(), np.ones(2)]), out_dims=(1, [0, None]))(V)
    np.testing.assert_allclose(first, V.T)
    np.testing.assert_allclose(second, V.sum(1))
    assert third.shape == (2,)
    assert vmap(lambda x: x, out_dims=-1)(X).shape == (4, 5, 3)
    assert vmap(lambda x: np.zeros(2))(V).shape == (3, 2)  # the same for all is repeated


def test_faces():
    seen = []

    def function(x):
        seen.append(type(x).__name__)
        return x * 2

    assert type(vmap(function)(V)) is np.ndarray
    assert type(vmap(function)(V[0])) is np.ndarray
    assert type(vmap(function)(pb.tensor(V))) is pb.Tensor
    assert seen == ["NestedArray", "NestedScalar", "NestedTensor"]


def test_the_argument_of_a_numpy_function_is_a_copy():
    x = V.copy()

    def function(x):
        x[0] = 7
        return x

    assert (vmap(function)(x)[:, 0] == 7).all()
    assert (x == V).all()


def test_chunks():
    function = vmap(lambda x, y: (x * y, x.sum()), in_dims=(0, None), out_dims=(1, 0), chunk_size=2)
    product, total = function(V, np.arange(4.0))
    np.testing.assert_allclose(product, (V * np.arange(4.0)).T)
    np.testing.assert_allclose(total, V.sum(1))


def test_an_empty_batch():
    assert vmap(lambda x: np.sin(x).sum() * x)(np.zeros((0, 3))).shape == (0, 3)


# -- nesting -----------------------------------------------------------------------------------------------------------
def energy(x):
    return np.sum(np.sin(x) * x[0]) + np.prod(x)


@pytest.mark.parametrize(
    "function",
    [
        grad(energy),
        grad(lambda x: np.sum(grad(energy)(x) ** 2)),
        lambda x: jvp(energy, (x,), (x * x,))[1],
        lambda x: jvp(grad(energy), (x,), (np.ones(4),))[1],
        grad(lambda x: jvp(energy, (x,), (np.ones(4),))[1]),
        lambda x: vmap(lambda y: y * x)(x),
        lambda x: vmap(grad(lambda y: energy(y * x)))(np.stack([x, 2 * x])),
        grad(lambda x: np.sum(vmap(lambda y: np.sin(y) * x[0])(x))),
        grad(lambda x: np.sum(vmap(grad(lambda y: np.sin(y) * np.sum(x * y)))(x))),
        lambda x: jvp(vmap(np.sin), (x,), (x,))[1],
        lambda x: vmap(lambda v: jvp(energy, (x,), (v,))[1])(np.eye(4)),
        lambda x: vmap(lambda v: jvp(grad(energy), (x,), (v,))[1])(np.eye(4)),
    ],
)  # fmt: skip
def test_nesting(function):
    agrees(function, V)


def test_a_hessian_of_each_sample():
    hessian = lambda x: vmap(lambda v: jvp(grad(lambda y: np.sum(y**3)), (x,), (v,))[1])(np.eye(4))  # noqa: E731
    np.testing.assert_allclose(vmap(hessian)(V), np.stack([np.diag(6 * x) for x in V]))


def test_backward_through_vmap():
    t = pb.tensor(V, requires_grad=True)
    y = vmap(lambda x: (x * x).sum())(t)
    y.backward(pb.tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(t.grad.numpy(), 2 * V * np.array([[1.0], [2.0], [3.0]]))


def test_a_captured_tensor_gets_its_gradient():
    w = pb.tensor(np.ones(4), requires_grad=True)
    vmap(lambda x: (w * x).sum())(pb.tensor(V)).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), V.sum(0))


def tangent_inside(x):
    with pb.autograd.forward_ad.dual_level():
        y = pb.autograd.forward_ad.make_dual(x, x * 2)
        return pb.autograd.forward_ad.unpack_dual(((x + 1) * y.sin()).sum()).tangent


def backward_inside(x):
    x = x.detach().clone()
    x.requires_grad = True
    (x**3).sum().backward()
    return x.grad


def second_inside(x):
    x = x.detach().clone()
    x.requires_grad = True
    (first,) = pb.autograd.grad((x**3).sum(), x, create_graph=True)
    return pb.autograd.grad(first.sum(), x)[0]


def writing_inside(x):
    x = x.detach().clone()
    x.requires_grad = True
    y = x * 1
    y[1:].mul_(2)
    y[0] = y[1]
    return pb.autograd.grad((y**2).sum(), x)[0]


@pytest.mark.parametrize("function", [tangent_inside, backward_inside, second_inside, writing_inside])
def test_graphs_and_tangents_of_the_level_of_vmap(function):
    found = vmap(function)(pb.tensor(V)).detach().numpy()
    np.testing.assert_allclose(found, np.stack([function(pb.tensor(x)).numpy() for x in V]))


def test_vmap_inside_a_dual_level():
    with pb.autograd.forward_ad.dual_level():
        t = pb.autograd.forward_ad.make_dual(pb.tensor(V), pb.ones(3, 4))
        found = pb.autograd.forward_ad.unpack_dual(vmap(lambda x: (x * x).sum())(t)).tangent
    np.testing.assert_allclose(found.numpy(), 2 * V.sum(1))


# -- zeros that nothing has touched are each sample's own --------------------------------------------------------------
Z = np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 0.0], [2.0, 3.0, -1.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 0)), 0)),
        lambda x: np.sqrt(np.sum(np.where(x > 1, x, 0) ** 2)),
        np.linalg.norm,
        lambda x: np.sum(np.where(x > 0, x**0.5, 0)),
        lambda x: np.sqrt(x[1:2].sum()) * 0 + x.max(),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_slopes_that_are_infinite_for_some(function):
    found, expected = vmap(grad(function))(Z), looped(grad(function), (Z,))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected)


def test_equal_eigenvalues_of_some():
    matrices = np.stack([np.eye(2), np.array([[2.0, 1.0], [1.0, 3.0]])])
    agrees(grad(lambda a: np.sum(np.linalg.eigvalsh(a + a.T) ** 3)), matrices)
    with pytest.raises(RuntimeError, match="batch element 0"):
        vmap(grad(lambda a: np.sum(np.linalg.eigh(a + a.T)[1][0])))(matrices)


def test_singular_matrices_of_some():
    matrices = np.stack([np.zeros((2, 2)), 2 * np.eye(2)])
    agrees(grad(lambda a: np.linalg.det(a)), matrices)


# -- indices -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i, i % 2], lambda x, i: x[i, :],
        lambda x, i: x[i[0]], lambda x, i: x[i[0], i[1]], lambda x, i: x[..., i], lambda x, i: x[None, i, 1:3],
        lambda x, i: x[i[:, None], i], lambda x, i: x[[0, 2], 1:, ][i % 2], lambda x, i: x[[0, 2], :][:, [0, 1]],
        lambda x, i: x[np.array([True, False, True, False])], lambda x, i: x[None][0, :, [0, 1]],
        lambda x, i: np.take_along_axis(x, i[:, None], 0), lambda x, i: pb.index_select(x, 0, i),
    ],
)  # fmt: skip
def test_reading(read):
    agrees(read, X, I)
    agrees(grad(lambda x, i: np.sum(read(x, i) ** 3)), X, I)


def test_a_table_that_all_samples_share():
    agrees(lambda table, i: table[i], X[0], I, in_dims=(None, 0))
    agrees(grad(lambda table, i: np.sum(table[i] ** 2)), X[0], I, in_dims=(None, 0))


def put(index, value):
    def function(x, i):
        y = x * 1
        y[index(i)] = value(x)
        return y

    return function


@pytest.mark.parametrize(
    "write",
    [
        put(lambda i: i, lambda x: 7.0), put(lambda i: (slice(None), i), lambda x: x[:, :2] ** 2),
        put(lambda i: (i, i), lambda x: x[0, :2]), put(lambda i: 0, lambda x: x[1]),
        put(lambda i: (slice(None), [0, 2]), lambda x: x[:, 1:2]), put(lambda i: (i[0], i[1]), lambda x: x[0, 0]),
        put(lambda i: ([0, 1], [2, 0]), lambda x: x[0, 3:]), put(lambda i: (..., -1), lambda x: x[:, 0]),
    ],
)  # fmt: skip
def test_writing(write):
    agrees(write, X, I)
    agrees(grad(lambda x, i: np.sum(write(x, i) ** 2)), X, I)


def test_writing_where_a_mask_is():
    def function(x):
        y = x * 1
        y[y > 0.5] = 0
        y += x[0]
        y[1:] *= 2
        return y

    agrees(function, X)


def test_an_index_out_of_bounds_of_one_sample():
    with pytest.raises(IndexError, match="out of bounds for a dimension of size 4"):
        vmap(lambda x, i: x[i])(X, np.array([0, 4, 1]))


# -- in place on Tensors -----------------------------------------------------------------------------------------------
def test_what_is_written_into_a_tensor_is_there_afterwards():
    t = pb.tensor(V)
    vmap(lambda x: x.mul_(2))(t)
    np.testing.assert_allclose(t.numpy(), 2 * V)
    assert t._version == 1


def test_views_follow():
    def function(x):
        y = x.clone()
        part = y[1:]
        part.mul_(3)
        y[0] += part[0]
        return y, part

    whole, part = vmap(function)(pb.tensor(V))
    expected = V.copy()
    expected[:, 1:] *= 3
    np.testing.assert_allclose(part.numpy(), expected[:, 1:])
    expected[:, 0] += expected[:, 1]
    np.testing.assert_allclose(whole.numpy(), expected)


@pytest.mark.parametrize("make", [lambda x: x.new_zeros(4), pb.zeros_like, lambda x: pb.zeros(4) + 0 * x])
def test_arrays_made_beside_a_batched_one_take_batched_values(make):
    found = vmap(lambda x: make(x).copy_(x * 2))(pb.tensor(V))
    np.testing.assert_allclose(found.numpy(), 2 * V)


def test_writing_into_what_is_the_same_for_all_is_refused():
    for write in (
        lambda x: pb.zeros(4).copy_(x),
        lambda x: pb.zeros(4).add_(x),
        lambda x: pb.ones(4).__setitem__(0, x[0]),
    ):
        with pytest.raises(InplaceError, match="new_zeros"):
            vmap(write)(pb.tensor(V))
    with pytest.raises(InplaceError, match="same for all"):
        vmap(lambda x, table: table.__setitem__(0, x[0]), in_dims=(0, None))(V, np.ones(4))


# -- randomness --------------------------------------------------------------------------------------------------------
DRAWS = {
    "rand": lambda x: x * 0 + pb.rand(4), "rand_like": pb.rand_like, "bernoulli": lambda x: pb.bernoulli(x * 0 + 0.5),
    "dropout": lambda x: pb.nn.functional.dropout(x * 0 + 1), "randperm": lambda x: x * 0 + pb.randperm(4),
    "normal": lambda x: pb.normal(x, 1.0), "normal_": lambda x: (x * 1).normal_(),
    "multinomial": lambda x: pb.multinomial(x * 0 + 1, 3), "poisson": lambda x: pb.poisson(x * 0 + 50),
    "randint": lambda x: x * 0 + pb.randint(0, 1000, (4,)),
}  # fmt: skip


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_randomness(draw):
    t = pb.ones(8, 4)
    rows = lambda how: {tuple(row) for row in vmap(draw, randomness=how)(t).numpy()}  # noqa: E731
    pb.manual_seed(0)
    assert len(rows("different")) > 1
    assert len(rows("same")) == 1
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(draw)(t)


@pytest.mark.parametrize(
    ("draw", "refused"),
    [(lambda: pb.bernoulli(pb.ones(4) / 2), ("error",)), (lambda: pb.zeros(4).normal_(), ("error", "different"))],
)
def test_what_would_be_the_same_for_all_is_not_drawn(draw, refused):
    for how in refused:
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(lambda x: x + draw(), randomness=how)(pb.ones(3, 4))
    found = vmap(lambda x: x + draw(), randomness="same")(pb.ones(3, 4)).numpy()
    assert (found == found[0]).all()
    draw()  # outside of vmap as ever


def test_randomness_of_nested_vmaps():
    def numbers(inner):
        found = vmap(lambda x: vmap(lambda y: y * 0 + pb.rand(()), randomness=inner)(x), randomness="different")
        return found(pb.ones(3, 4)).numpy()

    assert np.unique(numbers("different")).size == 12
    same = numbers("same")
    assert np.unique(same).size == 3
    assert (same == same[:, :1]).all()


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "look",
    [lambda x: 1 if x.sum() > 0 else 2, lambda x: float(x[0]), lambda x: x[0].item(), lambda x: V[x[0] > 0]],
)
def test_looking_at_numbers(look):
    with pytest.raises(ReadError, match=r"np\.where"):
        vmap(look)(V)


@pytest.mark.parametrize(
    "function", [lambda x: x[x > 0], pb.nonzero, pb.unique, lambda x: pb.masked_select(x, x > 0)]
)  # fmt: skip
def test_shapes_that_depend_on_values(function):
    with pytest.raises(UnsupportedError, match="depends on the values"):
        vmap(function)(pb.tensor(V))


def test_a_mask_that_is_the_same_for_all_selects_from_each():
    mask = np.array([True, False, True, True])[: V.shape[1]]
    assert np.array_equal(vmap(lambda x: pb.masked_select(x, pb.tensor(mask)))(pb.tensor(V)).numpy(), V[:, mask])


def test_errors_of_arguments():
    with pytest.raises(ValueError, match=r"got sizes \[3, 4\]"):
        vmap(lambda x, y: x)(V, np.ones(4))
    with pytest.raises(ValueError, match="expected in_dim to satisfy -2 <= in_dim < 2"):
        vmap(np.sin, in_dims=2)(V)
    with pytest.raises(ValueError, match="is not compatible with the structure"):
        vmap(np.add, in_dims=(0,))(V, V)
    with pytest.raises(ValueError, match="use None"):
        vmap(np.add)(V, 2.0)
    with pytest.raises(ValueError, match="at least one argument must be mapped"):
        vmap(np.sin, in_dims=None)(V)
    with pytest.raises(ValueError, match="at least one argument must be mapped"):
        vmap(lambda: 1)()
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        vmap(np.sin, randomness="some")
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(np.sin, chunk_size=0)
    with pytest.raises(TypeError, match="must be callable"):
        vmap(V)


def test_errors_of_results():
    with pytest.raises(IndexError, match="out_dims is 2"):
        vmap(np.sin, out_dims=2)(V)
    with pytest.raises(ValueError, match="out_dims is None"):
        vmap(np.sin, out_dims=None)(V)
    with pytest.raises(ValueError, match="not compatible with the structure"):
        vmap(lambda x: (x, x), out_dims=(0, 0, 0))(V)
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda x: "text")(V)


def test_a_value_that_leaked():
    kept = []
    vmap(lambda x: kept.append(x) or x)(V)
    with pytest.raises(EndedBatchError, match=r"vmap\(<lambda>\), which has returned.*test_vmap\.py\", line \d+"):
        kept[0] * 2
    with pytest.raises(EndedBatchError, match="leaked"):
        vmap(lambda x: x + kept[0])(V)


def _stored(x):
    y = np.zeros(2)
    y[0] = x
    return y


LOOKS = {
    r"bool\(\)": lambda x: x if x > 0 else -x,
    r"bool\(\) .*max": lambda x: max(x, 0.0),
    r"float\(\)": float,
    r"item\(\)": lambda x: x.item(),
    r"tolist\(\)": lambda x: x.tolist(),
    r"format\(\)": lambda x: f"{x:.2f}",
    r"np\.asarray\(\)": np.ascontiguousarray,
    r"writing it into a plain ndarray": _stored,
}


@pytest.mark.parametrize("made", [lambda x: x, pb.tensor], ids=["ndarray", "Tensor"])
@pytest.mark.parametrize("what", LOOKS)
def test_who_looks_at_a_batched_value_is_told_where_and_what_to_write(what, made):
    with pytest.raises(ReadError, match=rf"(?s){what}.* looks at .*of vmap\(.*test_vmap\.py.*np\.where"):
        vmap(LOOKS[what])(made(V[:, 0].copy()))


def test_a_checkpoint_is_recomputed_after_vmap_has_returned():
    x, w, seen = pb.tensor(V, requires_grad=True), pb.tensor(2.0, requires_grad=True), []

    def f(row):
        seen.append(row)
        return vmap(lambda e: (e**3 * w).sin())(row).sum()

    plain = pb.autograd.grad(vmap(f)(x).sum(), (x, w))
    vmap(lambda row: checkpoint(f, row, use_reentrant=False))(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), plain[0].numpy())
    np.testing.assert_allclose(w.grad.numpy(), plain[1].numpy())
    assert len(seen) == 3  # the last time in backward
    for row in seen[:2]:
        with pytest.raises(EndedBatchError):
            row + 1


def test_errors_name_the_shapes_that_the_function_sees():
    with pytest.raises(RuntimeError, match=r"\(4,\)") as found:
        vmap(lambda x: x.reshape(3))(pb.tensor(V))
    assert "(3, 4)" not in str(found.value)


# -- many small samples, which lie in columns --------------------------------------------------------------------------
MANY = 300  # samples
SMALL = RNG.standard_normal((MANY, 2, 3))


def reprojected(camera, point):
    turned = np.cross(camera[:3], point) + camera[3:6]
    return camera[6] * turned[:2] / (3.0 + turned[2] ** 2) - np.array([1.0, 2.0])


def test_many_small_samples_agree_with_a_loop():
    cameras = RNG.standard_normal((MANY, 7))
    agrees(reprojected, cameras, SMALL[:, 0])
    for argnum in (0, 1):
        agrees(pb.func.jacrev(reprojected, argnum), cameras, SMALL[:, 0])
    agrees(lambda x: np.cross(x, x[::-1] + 1.0), SMALL)
    agrees(lambda x: np.cross(x.T, x[0] + 1.0, axisa=0), SMALL)
    agrees(pb.func.hessian(lambda x: np.sum(x[1] ** 3 * x[0, 1])), SMALL)
    agrees(lambda s: s * np.array([[1.0, 2.0], [3.0, 4.0]]) + 1.0, SMALL[:, 0, 0])
    agrees(lambda s, c: np.arctan2(c, s), SMALL[:, 0, 0], np.array([1.0, -2.0]), in_dims=(0, None))
    agrees(lambda x: x.reshape(3, 2)[1:] * x.ravel()[:2], SMALL)


def test_a_sample_in_columns_has_the_order_that_it_has_alone():
    for order in "CFAK":
        agrees(lambda x, order=order: (2.0 * x).ravel(order), SMALL)
        agrees(lambda x, order=order: (x.T + 1.0).ravel(order), SMALL)


def test_views_of_a_sample_in_columns_are_those_that_it_has_alone():
    def through_ravel(x):
        x = x * 1.0
        x.ravel()[4] = 7.0
        x.T.ravel()[1] = 8.0  # a copy
        x.reshape(3, 2)[0] *= 2.0
        return x

    def shown(x):
        seen.append((x.strides, x.flags.c_contiguous, x.T.flags.f_contiguous, x[:, 0].flags.c_contiguous))
        return x

    agrees(through_ravel, SMALL)
    seen = []
    for function in (shown, grad(lambda x: shown(x).sum()), vmap(lambda x: shown(x[None])[0])):
        function(SMALL[0])
        vmap(function)(SMALL)
        assert seen.pop() == seen.pop()


def test_many_small_samples_are_computed_along_the_samples():
    """Through products with what is the same for all, slices and cross products, forward and back."""
    found = vmap(pb.func.jacrev(reprojected))(RNG.standard_normal((MANY, 7)), SMALL[:, 0])
    assert found.strides == (8, 7 * MANY * 8, MANY * 8)
    assert vmap(lambda x: x * 2.0)(RNG.standard_normal((MANY, 50))).flags.c_contiguous  # large ones one by one


def test_what_the_function_writes_stays_inside_though_samples_lie_in_columns():
    def function(x):
        x[0] = 0.0
        return x

    before = SMALL.copy()
    found = vmap(function)(SMALL)
    np.testing.assert_array_equal(SMALL, before)
    np.testing.assert_array_equal(found[:, 0], 0.0)
    np.testing.assert_array_equal(found[:, 1], SMALL[:, 1])


@pytest.mark.parametrize("size", [3, MANY])
def test_untouched_samples_have_no_nan_beside_touched_ones(size):
    """The infinite slope of sqrt at 0 counts where the sample is chosen, and there meets a zero in the weights."""
    xs, weights = np.tile([0.0, 0.0, 4.0], (size, 1)), np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]])
    gradient = grad(lambda x, s: np.where(s > 0, np.sum(weights @ np.sqrt(x)), 0.0))
    for chosen in (np.ones(size), np.zeros(size), np.arange(size) % 2.0):
        with np.errstate(all="ignore"):
            found = vmap(gradient)(xs, chosen)
            expected = np.stack([gradient(x, s) for x, s in zip(xs, chosen, strict=True)])
        np.testing.assert_array_equal(found, expected)
        assert np.isnan(found[chosen > 0, 1]).all()
        assert np.isfinite(found[chosen == 0]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_products_of_columns_and_rows(dtype):
    columns, rows = (10 * RNG.standard_normal((2, 4, 5))).astype(dtype)
    agrees(lambda x, y: x[:, None] @ y[None], columns, rows)
    agrees(lambda x, y: x[:, None] @ y[None], columns, rows[0], in_dims=(0, None))
    found = vmap(lambda x, y: x[:, None] @ y[None])(columns, rows.real.astype(np.float32))
    assert found.dtype == np.result_type(dtype, np.float32)


SHARED = {
    "bernoulli": pb.bernoulli,
    "bernoulli with p": lambda x: x.bernoulli(0.5),
    "rand_like": pb.rand_like,
    "randn_like": pb.randn_like,
    "randint_like": lambda x: pb.randint_like(x, 0, 100),
    "normal": lambda x: pb.normal(x, x),
    "normal of means": lambda x: pb.normal(x, 1.0),
    "poisson": lambda x: pb.poisson(x * 20),
    "multinomial": lambda x: pb.multinomial(x, 15),
    "dropout": pb.nn.functional.dropout,
}


@pytest.mark.parametrize("draw", SHARED.values(), ids=SHARED)
def test_what_is_drawn_for_an_argument_that_all_samples_share_differs(draw):
    shared = pb.full((20,), 0.5)

    def distinct(found):
        return len({tuple(row) for row in found.reshape(-1, found.shape[-1]).tolist()})

    def drawn(inner, outer):
        once = pb.vmap(lambda b: draw(shared), randomness=inner)
        return pb.vmap(lambda a: once(pb.arange(3.0)), randomness=outer)(pb.arange(4.0))

    pb.manual_seed(3)
    assert distinct(pb.vmap(lambda a: draw(shared), randomness="different")(pb.arange(8.0))) == 8
    assert distinct(drawn("different", "different")) == 12
    assert distinct(drawn("different", "same")) == 3
    assert distinct(drawn("same", "different")) == 4
    assert draw(shared).shape == drawn("same", "same").shape[2:]


def test_a_shared_argument_of_dropout_has_its_gradient():
    w = pb.ones(20, requires_grad=True)
    found = pb.vmap(lambda a: a * pb.nn.functional.dropout(w), randomness="different")(pb.tensor([1.0, 2.0]))
    found.sum().backward()
    assert pb.equal(w.grad, found.detach().sum(0))


def test_random_numbers_are_not_written_into_what_all_samples_share():
    with pytest.raises(RuntimeError, match='randomness="different"'):
        pb.vmap(lambda a: pb.ones(3).normal_() + a, randomness="different")(pb.arange(2.0))


# -- results in the memory of arguments, and of each other ----------------------------------------------------------


SHARING = {  # what a mapped function returns, and whether the first of both results is the second one
    "itself": (lambda x: x, True),
    "a view": (lambda x: x.reshape(2, 1)[:, 0], False),
    "the same twice": (lambda x: (y := x * 2, y), True),
    "a view of a result": (lambda x: (y := x * 2, y[:1])[::-1], False),
    "of a transform inside": (lambda x: pb.func.jvp(lambda a: a, (x,), (x,))[0], True),
    "of a batch inside": (pb.func.vmap(lambda x: x), True),
}


@pytest.mark.parametrize("name", SHARING)
def test_results_in_one_memory_know_of_each_other(name):
    function, same = SHARING[name]
    t, w = pb.ones(3, 2), pb.full((3, 1), 2.0, requires_grad=True)
    found = pb.func.vmap(function)(t)
    written, other = found if isinstance(found, tuple) else (found, t)
    assert (written is other) == same
    before = float(other[0, 0])
    saved = w * other
    written.mul_(w)
    assert np.allclose(other.detach().numpy()[:, 0], 2 * before)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()  # which would take the new values
    (grad,) = pb.autograd.grad(other[:, 0].sum(), w)
    assert np.allclose(grad.numpy(), before)


def test_a_view_of_what_was_made_inside_is_one_outside():
    view, base = pb.func.vmap(lambda x: (y := (x * 2).mT, y._base))(pb.ones(3, 2, 2))
    assert view._base is base


def test_results_in_a_memory_with_gaps_and_of_two_arguments_in_one():
    whole = pb.zeros(3, 4)
    part = whole[:, ::2]
    found = pb.func.vmap(lambda x: x[1:])(part)
    found.add_(1)
    assert whole.tolist() == [[0, 0, 1, 0]] * 3
    first, second = pb.func.vmap(lambda x, y: (x, y), in_dims=(0, 1))(whole, whole.T)
    assert first is not second
    version = whole._version
    first.add_(1)
    assert first._version == second._version == whole._version == version + 1


def test_a_batched_tangent_lies_as_its_primal_does():
    def f(tangent):
        with pb.autograd.forward_ad.dual_level():
            dual = pb.autograd.forward_ad.make_dual(pb.zeros(2, 3), tangent.T)
            dual.reshape(-1).mul_(2)  # a view of the primal, and so of the tangent
            return pb.autograd.forward_ad.unpack_dual(dual).tangent

    tangents = pb.arange(12.0).reshape(2, 3, 2)
    assert vmap(f)(tangents).tolist() == [f(t).tolist() for t in tangents]
    assert tangents.flatten().tolist() == list(range(12))


ROWS = np.arange(12.0).reshape(4, 3)
# What NumPy itself evaluates, and what the error says to write instead.
OF_NUMPY = {
    "an index": (lambda x: ROWS[np.argmax(x)], lambda x: pb.asarray(ROWS)[np.argmax(x)], "The index of an ndarray"),
    "a list": (
        lambda x: ROWS[[0, np.argmax(x)]],
        lambda x: pb.asarray(ROWS)[np.stack([0, np.argmax(x)])],
        "The index of an ndarray",
    ),
    "np.array": (
        lambda x: ROWS[np.array([0, np.argmax(x)])],
        lambda x: pb.asarray(ROWS)[np.stack([0, np.argmax(x)])],
        r"np\.array",
    ),
    "a method": (
        lambda x: ROWS.take(np.argmax(x), 0),
        lambda x: np.take(pb.asarray(ROWS), np.argmax(x), 0),
        r"ndarray\.take",
    ),
    "np.take": (
        lambda x: np.take(ROWS, np.argmax(x), 0),
        lambda x: np.take(pb.asarray(ROWS), np.argmax(x), 0),
        r"np\.take",
    ),
}


@pytest.mark.parametrize("what", OF_NUMPY)
def test_what_numpy_evaluates_itself_has_a_remedy_of_its_own(what):
    refused, instead, who = OF_NUMPY[what]
    batch = np.array([[1.0, 5.0, 2.0], [4.0, 1.0, 3.0]])
    with pytest.raises(ReadError, match=rf"(?s)^{who} looks at .*test_vmap\.py.*pullback\.asarray\(a\)"):
        vmap(refused)(batch)
    np.testing.assert_array_equal(vmap(instead)(batch), [refused(x) for x in batch])
