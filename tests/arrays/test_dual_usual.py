"""The quick ways of operators on dual arrays give what the general way gives: values, tangents, what is untouched."""

from itertools import islice

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.dual import DualArray, calls, kernels, usual
from pullback.autograd import forward_ad
from pullback.core.pytree import tree_leaves, tree_map
from pullback.dispatch.operator import FOUND, OPERATORS
from pullback.testing.opinfo.calls import accepted, function_of, sampling
from pullback.testing.opinfo.core import Input, Plain, map_arrays
from tests.opinfo.records import OPINFOS

RECORDS = [info for info in OPINFOS if info.differentiable(np.float64)]
FEW = 4  # samples of a record


def signs(rng, shape):
    """Tangents without a zero, of which many sums are 0: these zeros are no structural ones."""
    return np.asarray(rng.choice([-1.0, 1.0], shape))


def signs_and_zeros(rng, shape):
    """Tangents with structural zeros."""
    return np.asarray(rng.choice([-1.0, 0.0, 1.0], shape))


def results(info, sample, directions):
    """The dual arrays in what an operator makes of dual inputs."""
    rng = np.random.default_rng(1)

    def argument(x):
        if isinstance(x, Plain):
            return x
        if not isinstance(x, Input):
            return np.array(x)
        tensor = pb.from_numpy(np.array(x))
        if x.dtype.kind != "f":
            return tensor
        return forward_ad.make_dual(tensor, pb.from_numpy(directions(rng, x.shape)))

    args, kwargs = map_arrays(argument, (sample.args, sample.kwargs))
    args, kwargs = tree_map(lambda x: x.array if isinstance(x, Plain) else x, (args, kwargs))
    pb.manual_seed(0)
    out = function_of(info)(*args, **kwargs)
    return [x._array for x in tree_leaves(out) if isinstance(x, pb.Tensor)]


def forget():
    """Let the kernels on dual arrays be made anew, and the calls that hold them."""
    FOUND.clear()
    for op in OPERATORS.values():
        op.calls.pop(DualArray, None)


@pytest.fixture
def generally(monkeypatch):
    """Switches the quick ways off."""
    forget()

    def switch():
        monkeypatch.setattr(kernels, "usual", lambda rule, name, in_general: in_general)
        forget()

    yield switch
    forget()


def same(x, y):
    assert type(x) is type(y)
    if type(x) is not DualArray:
        np.testing.assert_array_equal(x, y)
        return
    np.testing.assert_array_equal(x.primal, y.primal)
    assert (x.tangent is None) == (y.tangent is None)
    if x.tangent is None:
        return
    assert x.tangent.shape == x.shape == y.shape
    assert x.tangent.dtype == x.dtype == y.dtype
    assert x.tangent.strides == y.tangent.strides
    np.testing.assert_allclose(x.tangent, y.tangent, rtol=1e-12, atol=0, equal_nan=True)
    nowhere = np.zeros(x.shape, bool)
    mine, other = (nowhere if z.untouched is None else z.untouched for z in (x, y))
    np.testing.assert_array_equal(mine, other)
    assert x.apart == y.apart
    assert (x.kin is None) == (y.kin is None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("directions", [signs, signs_and_zeros])
@pytest.mark.parametrize("info", RECORDS, ids=lambda info: info.full_name)
def test_quick_and_general_way_agree(info, directions, generally):
    samples = list(islice(accepted(info, np.float64), FEW))
    with forward_ad.dual_level():
        quick = []
        for sample in samples:
            with sampling(info, sample):
                try:
                    quick.append(results(info, sample, directions))
                except (RuntimeError, NotImplementedError) as error:
                    quick.append(type(error))
        generally()
        for sample, found in zip(samples, quick, strict=True):
            with sampling(info, sample):
                if isinstance(found, type):
                    with pytest.raises(found):
                        results(info, sample, directions)
                    continue
                for x, y in zip(found, results(info, sample, directions), strict=True):
                    same(x, y)


def second_along(f, x):
    """(the tangent of f at x along ones, and the tangent of that)."""
    ones = np.ones_like(x)
    return pb.func.jvp(lambda x: pb.func.jvp(f, (x,), (ones,))[1], (x,), (ones,))


CUBE_AND_SQUARE = {  # each gives the cube where it is more than the square, and the square elsewhere
    "where": lambda x: pb.where(x > 1, x**3, x**2),
    "max of a stack": lambda x: pb.max(pb.stack([x**3, x**2]), 0)[0],
    "amax of a cat": lambda x: pb.amax(pb.cat([x**3, x**2]).reshape(2, -1), 0),
    "maximum": lambda x: pb.maximum(x**3, x**2),
    "parts": lambda x: pb.maximum(*pb.cat([x**3, x**2]).reshape(2, -1).unbind()),
    "sorted": lambda x: pb.sort(pb.stack([x**3, x**2]), 0)[0][1],
    "a constant beside": lambda x: pb.where(x > 1, x**3, 0.0) + pb.where(x > 1, np.zeros(3), x**2),
    "in columns": lambda x: pb.where(x > 1, *[c[:, 0] for c in pb.stack([x**3, x**2], 1).split(1, 1)]),
}


@pytest.mark.parametrize("f", CUBE_AND_SQUARE.values(), ids=CUBE_AND_SQUARE)
def test_choices_lists_and_several_results_at_two_levels(f):
    x = np.array([0.5, 2.0, -3.0])
    first, second = second_along(f, x)
    np.testing.assert_allclose(first, np.where(x > 1, 3 * x**2, 2 * x), rtol=1e-14)
    np.testing.assert_allclose(second, np.where(x > 1, 6 * x, 2), rtol=1e-14)


@pytest.mark.parametrize("f", [pb.max, pb.amax, pb.logsumexp], ids=["max", "amax", "logsumexp"])
def test_a_reduction_of_a_list_that_is_only_partly_dual(f):
    constant = pb.tensor([3.0, -1.0])

    def of(x):
        out = f(pb.stack([x, constant]), 0)
        return out[0] if isinstance(out, tuple) else out

    x, v = np.array([1.0, 2.0]), np.array([5.0, 7.0])
    _, tangent = pb.func.jvp(of, (x,), (v,))
    share = 1 / (1 + np.exp(np.array([2.0, -3.0]))) if f is pb.logsumexp else np.array([0.0, 1.0])
    np.testing.assert_allclose(tangent, share * v, rtol=1e-14)


@pytest.mark.parametrize("f", [pb.amax, pb.amin, lambda x, dim: pb.max(x) + pb.min(x)], ids=["amax", "amin", "both"])
@pytest.mark.parametrize("x", [[1.0, 3.0, 2.0], [3.0, 3.0, 3.0], [np.nan, 1.0, np.nan]], ids=["one", "ties", "nan"])
def test_extremes_that_tie_share_tangent_and_gradient_whether_numbers_are_known_or_not(f, x):
    x, v = np.array(x), np.array([1.0, 10.0, 100.0])
    _, tangent = pb.func.jvp(lambda x: f(x, 0), (x,), (v,))
    gradient = pb.func.grad(lambda x: f(x, 0))(x)
    batched = pb.func.vmap(pb.func.grad(lambda x: f(x, 0)))(np.stack([x, x[::-1]]))
    attained = [x == np.max(x), x == np.min(x)] if not np.isnan(x).any() else [np.isnan(x)] * 2
    shares = [mask / mask.sum() for mask in attained]
    wanted = shares[0] if f is pb.amax else shares[1] if f is pb.amin else shares[0] + shares[1]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-14)
    np.testing.assert_allclose(tangent, wanted @ v, rtol=1e-14)
    np.testing.assert_allclose(batched, [wanted, wanted[::-1]], rtol=1e-14)


def test_views_that_one_operator_makes_of_a_dual_share_what_is_written():
    x = np.arange(4.0)

    def f(x):
        y = x * 2
        left, right = y.split(2)
        left[0] = 7.0
        right *= x[:2]
        return y

    out, tangent = pb.func.jvp(f, (x,), (np.ones(4),))
    np.testing.assert_array_equal(out, [7, 2, 0, 6])
    np.testing.assert_array_equal(tangent, [0, 2, 4, 8])


@pytest.mark.parametrize("constant_first", [False, True])
def test_a_list_of_duals_and_constants_is_taken_apart_by_its_own_kernel(constant_first, monkeypatch):
    def refused(*_):
        raise AssertionError("a list took the way of any arguments")

    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    single = np.ones((1, 2), np.float32)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(pb.from_numpy(single), pb.from_numpy(np.float32([[5.0, 6.0]])))
        parts = [pb.from_numpy(x), dual, pb.from_numpy(y)] if constant_first else [dual, pb.from_numpy(x)]
        forget()
        monkeypatch.setattr(usual, "_taken", refused)
        monkeypatch.setattr(calls, "_unwrapped", refused)
        out = pb.cat(parts, 1)
        tangent = forward_ad.unpack_dual(out).tangent
    monkeypatch.undo()
    forget()
    expected = [[0.0, 0.0, 5.0, 6.0, 0.0, 0.0]] if constant_first else [[5.0, 6.0, 0.0, 0.0]]
    np.testing.assert_array_equal(tangent.numpy(), expected)
    np.testing.assert_array_equal(out._array.untouched, tangent.numpy() == 0)
    assert tangent.dtype == out.dtype == np.float64
