"""Every NumPy function with a rule: NumPy's value, shape and dtype, and the gradient that differences of NumPy give."""

import enum
import operator
from fractions import Fraction

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DetachingError, UnsupportedError
from pullback.core.tensor import Tensor
from pullback.interop.registry import FUNCTIONS, UFUNCS, load_adapters, numpy_name, numpy_object
from pullback.ops.tables import NUMPY_RULES
from pullback.testing import assert_close
from tests.interop.numpy_calls import APART, CONSTANT, SMOOTH, leaves, m, mask


def cases(table):
    present = {name: found for name, found in table.items() if numpy_object(name) is not None}
    return [pytest.param(f, id=f"{name}-{i}") for name, found in present.items() for i, f in enumerate(found)]


def same(ours, numpys):
    for a, b in zip(leaves(ours), leaves(numpys), strict=True):
        if isinstance(b, (np.ndarray, np.number, np.bool_)):
            assert isinstance(a, (Tensor, np.ndarray, np.generic))
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            plain = a.detach().numpy() if isinstance(a, Tensor) else a
            np.testing.assert_allclose(plain, b, rtol=1e-13, atol=1e-13)
        else:
            assert a == b
            assert type(a) is type(b)


@pytest.mark.parametrize("f", cases(SMOOTH))
def test_value_and_gradient_are_those_of_numpy(f):
    x = pb.tensor(m, requires_grad=True)
    ours, numpys = f(x), f(m.copy())
    same(ours, numpys)
    parts = leaves(ours)
    assert any(p.requires_grad for p in parts)
    generator = np.random.default_rng(1)
    weights = [generator.standard_normal(p.shape) for p in leaves(numpys)]
    total = sum((p * w).sum() for p, w in zip(parts, weights, strict=True))
    total.backward()

    def plain(a):
        return sum(np.nansum(p * w) for p, w in zip(leaves(f(a)), weights, strict=True))

    slopes = np.empty_like(m)
    for i in np.ndindex(m.shape):
        step = np.zeros_like(m)
        step[i] = 1e-6
        slopes[i] = (plain(m + step) - plain(m - step)) / 2e-6
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("f", cases(CONSTANT))
def test_constant_results_are_those_of_numpy(f):
    x = pb.tensor(m, requires_grad=True)
    ours = f(x)
    same(ours, f(m.copy()))
    inside = [p.sum() for p in leaves(ours) if isinstance(p, Tensor) and p.requires_grad]
    if inside:
        sum(inside).backward()
        np.testing.assert_array_equal(x.grad, 0)


@pytest.mark.parametrize("f", cases(SMOOTH) + cases(CONSTANT))
def test_rules_work_inside_a_function_being_differentiated(f):
    def total(x):
        parts = [p for p in leaves(f(x)) if isinstance(p, Tensor) and p.dtype.kind == "f"]
        return sum(((p * p).sum() for p in parts), start=(x * 0).sum())

    x = pb.tensor(m, requires_grad=True)
    total(x).backward()
    gradient = pb.func.grad(total)(m)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, x.grad.numpy())


@pytest.mark.parametrize("f", cases(SMOOTH))
def test_tangents_go_through_the_same_rules(f):
    direction = np.random.default_rng(0).standard_normal(m.shape)

    def total(x):
        parts = [p for p in leaves(f(x)) if isinstance(p, Tensor) and p.dtype.kind in "fc"]
        return sum((np.nan_to_num(np.real(p)) * np.arange(1.0, p.size + 1).reshape(p.shape)).sum() for p in parts)

    (tangent,) = pb.func.jvp(total, (m.copy(),), (direction,))[1:]
    np.testing.assert_allclose(tangent, (pb.func.grad(total)(m.copy()) * direction).sum(), rtol=1e-8, atol=1e-9)


def test_every_rule_is_tested():
    load_adapters()
    rules = {name for name in (*SMOOTH, *CONSTANT, *APART) if numpy_object(name) is not None}
    tested = {FUNCTIONS.get(numpy_object(name)) for name in rules}
    # What is declared with an operator enters when it is first used, and is tested with that operator.
    untested = {numpy_name(f) for f, rule in FUNCTIONS.items() if rule not in tested}
    assert not untested - set(NUMPY_RULES)
    assert all(isinstance(u, np.ufunc) for u in UFUNCS)


@pytest.mark.parametrize("name", ["float32", "complex64"])
def test_dtypes_are_kept(name):
    a = (m + 0j if name.startswith("c") else m).astype(name)
    x = pb.tensor(a, requires_grad=True)
    for f in (np.sum, np.mean, np.var, np.cumsum, np.prod, lambda u: np.stack([u, u]), lambda u: np.where(mask, u, 0)):
        assert f(x).dtype == f(a).dtype


@pytest.mark.parametrize(
    "f", [np.sum, np.mean, np.var, np.std, np.prod, np.cumsum, np.median, np.diff, np.average, np.max]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_integers_become_what_numpy_makes_of_them(f, dtype):
    if f is np.prod and dtype == "bool":
        f = np.any
    a = np.array([[3, 0, 1], [5, 2, 2]]).astype(dtype)
    same(f(pb.tensor(a)), f(a))


def test_nan_is_where_numpy_has_it():
    a = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    for f in (np.median, lambda x: np.quantile(x, 0.5, axis=1), lambda x: np.median(x, axis=1)):
        same(f(pb.tensor(a)), f(a))
    with pytest.warns(RuntimeWarning):
        expected = np.nanmax(a, axis=1)
    same(np.nanmax(pb.tensor(a), axis=1), expected)


def test_where_with_condition_alone_and_nonzero_give_indices_of_arrays_and_tensors():
    x = pb.tensor(m, requires_grad=True)
    assert np.where(x > 1)[0].tolist() == np.where(m > 1)[0].tolist()
    np.testing.assert_array_equal(m[np.where(x > 1)], m[m > 1])
    np.testing.assert_array_equal(x[np.nonzero(x > 1)].detach(), m[m > 1])


def test_unique_with_everything_returned():
    a = np.array([3.0, 1.0, 3.0, 2.0])
    x = pb.tensor(a, requires_grad=True)
    found = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    same(found, np.unique(a, return_index=True, return_inverse=True, return_counts=True))
    found[0].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 1.0]


def test_a_union_has_one_nan_of_several_and_unique_values_has_all():
    a, b = np.array([np.nan, 2.0]), np.array([2.0, np.nan])
    x = pb.tensor(a, requires_grad=True)
    same(np.union1d(x, b), np.union1d(a, b))
    same(np.unique_values(pb.tensor([*a, *b], requires_grad=True)), np.unique_values(np.concatenate([a, b])))


@pytest.mark.parametrize(
    "f",
    [
        lambda e: np.histogram(m, e),
        lambda e: np.histogram(m, e, weights=m),
        lambda e: np.histogram_bin_edges(m, e),
        lambda e: np.histogram2d(m[0], m[1], e),
        lambda e: np.histogram2d(m[0], m[1], [e, 2]),
        lambda e: np.histogramdd(m.T, [e, 2, 2]),
        lambda e: pb.histogram(pb.tensor(m), e),
        lambda e: pb.histogramdd(pb.tensor(m[:, :2]), [e, e]),
    ],
)
def test_edges_that_require_grad_are_refused(f):
    with pytest.raises(RuntimeError, match=r"histogram\w*(\(.*\))?: argument 'bins' \(the edges\) requires grad"):
        f(pb.tensor([-1.0, 0.0, 1.0], requires_grad=True))


@pytest.mark.parametrize("function", [np.nanquantile, np.nanpercentile])
def test_quantiles_whose_dimensions_numpy_mixes_up_are_refused(function):
    a, q = np.arange(60.0).reshape(3, 4, 5) ** 2, np.array([[0.1, 0.2], [0.5, 0.9]])
    t = pb.tensor(a, requires_grad=True)
    with pytest.raises(UnsupportedError, match=r"write np\.nan\w+\(a, q\.ravel\(\), axis\)"):
        function(t, q, (0, 2))
    remedy = function(t, q.ravel(), (0, 2)).reshape(2, 2, 4).detach().numpy()
    assert np.allclose(remedy, function(a, q.ravel(), (0, 2)).reshape(2, 2, 4))
    for axis in (None, 1, (0, 1, 2)):
        assert np.allclose(function(t, q, axis).detach().numpy(), function(a, q, axis))


@pytest.mark.parametrize("density", [False, True])
def test_histograms_of_pullback_are_differentiable_in_weights_and_extremes(density):
    x, w = pb.tensor(m[0], requires_grad=True), pb.tensor(m[1] ** 2 + 1, requires_grad=True)
    assert pb.autograd.gradcheck(
        lambda x, w: pb.histogram(x, 4, weight=w, density=density), (x, w), check_forward_ad=True
    )
    assert pb.autograd.gradcheck(
        lambda w: pb.histogramdd(pb.tensor(m.T[:, :2]), 2, weight=w, density=density)[0], (w,), check_forward_ad=True
    )
    assert pb.autograd.gradgradcheck(lambda w: pb.histogram(x.detach(), 3, weight=w, density=density)[0], (w,))


@pytest.mark.parametrize("f", [pb.linspace, pb.logspace])
def test_ranges_are_differentiable_in_their_ends(f):
    a, b = pb.tensor(0.7, requires_grad=True), pb.tensor(2.3, requires_grad=True)
    for steps in (0, 1, 4):
        assert pb.autograd.gradcheck(lambda a, b: f(a, b, steps), (a, b), check_forward_ad=True)  # noqa: B023 - at once
    assert pb.autograd.gradgradcheck(lambda a, b: f(a, b, 4), (a, b))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("values", [[0.3, 0.7, 1.0, 2.1], [0.7, 0.7, 0.7, 0.7]])
@pytest.mark.parametrize(
    "edges",
    [
        lambda x: np.histogram(x, bins=3)[1],
        lambda x: np.histogram(x, bins=3, density=True)[0],
        lambda x: np.histogram_bin_edges(x, bins=4),
        lambda x: np.histogram2d(x, x[::-1] * x, bins=2)[2],
        lambda x: pb.histogram(x, 3)[1] if isinstance(x, pb.Tensor) else np.histogram(x, bins=3)[1],
        lambda x: (
            pb.histogramdd(np.stack([x, x * x], -1), 3)[1][1] if isinstance(x, pb.Tensor) else np.histogram(x * x, 3)[1]
        ),
    ],
)
def test_edges_of_histograms_move_at_every_level(edges, values, dtype):
    x, step = np.array(values), 1e-6
    assert_close(
        np.asarray(edges(pb.tensor(x.astype(dtype)))), edges(x.astype(dtype)), rtol=1e-6 * (dtype == np.float32), atol=0
    )
    if dtype != np.float64 or x[0] == x[-1]:  # the extremes have no second derivative where they are many
        return

    def slope(x):
        return pb.func.grad(lambda y: (edges(y) ** 3).sum())(x)[0]

    wanted = [(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(4)]
    for transform in (pb.func.grad(slope), lambda x: np.array([pb.func.jvp(slope, (x,), (e,))[1] for e in np.eye(4)])):
        assert_close(transform(x), np.array(wanted), rtol=1e-6, atol=1e-6)


def test_initial_is_taken_in_the_dtype_of_the_result_and_no_axis_keeps_the_shape():
    for name in ("sum", "prod", "max", "min"):
        for a, axis in [
            ([1, 2], None),
            ([1, 2], ()),
            ([True, False], None),
            (np.ones((0, 2)), 0),
            (np.ones((0, 2)), ()),
        ]:
            expected = np.asarray(getattr(np, name)(np.asarray(a), axis=axis, initial=1.5))
            found = getattr(np, name)(pb.tensor(a), axis=axis, initial=1.5)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (name, a, axis)
            np.testing.assert_array_equal(found.numpy(), expected)
    assert pb.func.grad(lambda s: np.max(s * np.ones((2, 0)), 1, initial=s).sum())(2.0) == 2.0


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean"])
@pytest.mark.parametrize("axis", [None, (), 0])
def test_a_mean_in_integers_is_refused_on_every_way(name, axis):
    with pytest.raises(TypeError, match=rf"np\.{name.removeprefix('nan')}: dtype=int16 would round"):
        getattr(np, name)(pb.tensor([1.5, 2.0]), axis=axis, dtype=np.int16)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.emath.sqrt(x).imag.sum() + np.emath.sqrt(x).real.sum(),
        lambda x: np.emath.sqrt(x * x).sum(),
        lambda x: np.emath.log(x).real.sum() + np.emath.log10(x).real.sum() + np.emath.log2(x).real.sum(),
        lambda x: np.emath.logn(2.0, x).real.sum(),
        lambda x: np.emath.arcsin(x * 0.7).imag.sum() + np.emath.arcsin(x / 100).sum(),
        lambda x: np.emath.arccos(x * 0.7).imag.sum() + np.emath.arccos(x / 100).sum(),
        lambda x: np.emath.arctanh(x * 0.7).real.sum() + np.emath.arctanh(x / 100).sum(),
        lambda x: np.emath.power(x, -2).real.sum(),
    ],
)
def test_np_emath_is_complex_where_the_real_function_ends(f):
    x = np.array([-1.5, 2.5, 0.4])
    found, step = pb.func.grad(f)(x), 1e-6 * np.eye(3)
    assert np.allclose(found, [(f(x + h) - f(x - h)) / 2e-6 for h in step], rtol=1e-6)


def test_subclasses_of_floats_are_numbers_beside_arrays():
    class Single(float):
        pass

    class Double(np.float64):
        pass

    for two in (Single(2.0), Double(2.0)):
        found = pb.func.grad(lambda x, two=two: (two * x - x / two).sum())(np.ones(2))
        assert found.tolist() == [1.5, 1.5]


def test_subclasses_of_numbers_count_for_the_dtype_as_in_numpy():
    class Single(float):
        pass

    class Two(enum.IntEnum):
        TWO = 2

    x = np.float32([1.0, 3.0])
    for f in (lambda x: x * Single(1.5), lambda x: Two.TWO - x, lambda x: x**Two.TWO, lambda x: x < Two.TWO):
        found = pb.vmap(f)(x[None])[0]
        assert found.dtype == f(x).dtype
        np.testing.assert_array_equal(found, f(x))


def test_fractions_are_numbers_beside_arrays():
    half = Fraction(1, 2)
    found = pb.func.grad(lambda x: half * x[0] + x[1] * half - (x[2] + half) / half + (x * half).sum())(np.ones(3))
    assert found.tolist() == [1.0, 1.0, -1.5]


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize("number", [0.5, 1.0, np.nan])
def test_fractions_compare_themselves_with_numbers_that_are_being_differentiated(compare, number):
    one = Fraction(1)
    found = pb.func.grad(lambda x: x[0] * (2 if compare(one, x[0]) else 3))(np.array([number]))
    assert found == (2 if compare(one, number) else 3)
    with pytest.raises(DetachingError, match="from_float would make a Python float"):
        pb.func.grad(lambda x: Fraction.from_float(x[0]) * x[0])(np.array([number]))  # noqa: FURB164


@pytest.mark.parametrize("function", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(3, 6), (6, 3), (4, 4), (1, 3), (3, 1)])
def test_nothing_around_the_ends_meets_a_nan(function, mode, sizes):
    a, v = (np.arange(1.0, n + 1.0) for n in sizes)
    a[0], v[-1] = np.nan, np.inf
    expected = function(a, v, mode)
    np.testing.assert_array_equal(pb.func.jvp(lambda a: function(a, v, mode), (a,), (a,))[0], expected)
    np.testing.assert_array_equal(pb.func.vjp(lambda v: function(a, v, mode), v)[0], expected)
