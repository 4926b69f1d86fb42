"""`out=`: what may be given, what is refused before anything is written, and what moves."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad
from pullback.core.errors import GradientError, OperatorError


def stacked(x, out):
    return pb.hstack([x, x], out=out)


@pytest.mark.parametrize("function", [lambda x, out: pb.exp(x, out=out), stacked], ids=["primitive", "composite"])
def test_refuses_another_shape_and_says_which(function):
    out = pb.empty(0)
    with pytest.raises(OperatorError, match=r"the result has shape \(\d,\), but out has \(0,\).*pullback.empty"):
        function(pb.ones(2), out)


@pytest.mark.parametrize("function", [lambda x, out: pb.exp(x, out=out), stacked], ids=["primitive", "composite"])
def test_refuses_a_dtype_that_cannot_hold_the_result(function):
    out = pb.zeros(4 if function is stacked else 2, dtype=pb.int64)
    with pytest.raises(OperatorError, match=r"out=.*float64 can't be cast to the dtype int64"):
        function(pb.ones(2), out)
    assert out.tolist() == [0] * out.numel()


@pytest.mark.parametrize(("function", "size"), [(lambda x, out: pb.exp(x, out=out), 2), (stacked, 4)])
def test_rounds_to_a_narrower_dtype_of_the_same_kind(function, size):
    out = pb.zeros(size, dtype=pb.float32)
    assert function(pb.tensor([1.0, 2.0]), out) is out
    np.testing.assert_array_equal(out.numpy()[:2], function(pb.tensor([1.0, 2.0]), None).numpy()[:2].astype(np.float32))


def test_several_results_need_as_many_tensors():
    x = pb.tensor([[2.0, 1.0], [1.0, 3.0]])
    with pytest.raises(TypeError, match=r"linalg\.eigh\(out=...\) must be a tuple of 2 Tensors, got one Tensor"):
        pb.linalg.eigh(x, out=pb.empty(2))
    with pytest.raises(TypeError, match=r"sort\(out=...\) must be a tuple of 2 Tensors, got a tuple of 1 Tensors"):
        pb.sort(x, out=(pb.empty(2, 2),))
    with pytest.raises(TypeError, match="must be a Tensor, got ndarray"):
        pb.exp(x, out=np.empty((2, 2)))


@pytest.mark.parametrize("function", [pb.sort, pb.linalg.lu_factor], ids=["primitive", "composite"])
def test_writes_nothing_when_one_of_several_does_not_fit(function):
    first, second = pb.zeros(2, 2), pb.zeros(5)
    with pytest.raises(OperatorError, match=r"out has \(5,\)"):
        function(pb.tensor([[2.0, 1.0], [1.0, 3.0]]), out=(first, second))
    assert first.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (first._version, second._version) == (0, 0)


def test_refuses_memory_that_several_elements_share():
    shared = np.lib.stride_tricks.as_strided(np.zeros(1), (2,), (0,))
    with pytest.raises(OperatorError, match="share one place in memory"):
        pb.exp(pb.ones(2), out=pb.from_numpy(shared))
    assert shared.tolist() == [0.0, 0.0]


def test_may_be_the_input_itself():
    x = pb.tensor([1.0, 2.0, 3.0])
    assert pb.cumsum(x, 0, out=x).tolist() == [1.0, 3.0, 6.0]
    assert pb.cat([x[1:], x[:1]], out=x).tolist() == [3.0, 6.0, 1.0]


def test_writes_a_list_of_results():
    outs = [pb.zeros(2), pb.zeros(2)]
    assert pb.unbind_copy(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), out=outs) is outs
    assert [o.tolist() for o in outs] == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(("function", "size"), [(lambda x, out: pb.exp(x, out=out), 2), (stacked, 4)])
def test_moves_the_version_and_writes_through_views(function, size):
    base = pb.zeros(2, size)
    row = base[1]
    function(pb.zeros(2), row)
    assert base._version == row._version == 1
    assert base.tolist()[0] == [0.0] * size
    assert row.tolist() == function(pb.zeros(2), None).tolist()


@pytest.mark.parametrize(("function", "size"), [(lambda x, out: pb.exp(x, out=out), 2), (stacked, 4)])
def test_is_refused_where_a_derivative_would_be_lost(function, size):
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(GradientError, match="out="):
        function(x, pb.zeros(size))
    with pytest.raises(GradientError, match="out="):
        function(pb.ones(2), pb.zeros(size, requires_grad=True))
    with pb.no_grad():
        assert not function(x, pb.zeros(size)).requires_grad
    with forward_ad.dual_level(), pytest.raises(GradientError, match="tangent"):
        function(forward_ad.make_dual(pb.ones(2), pb.ones(2)), pb.zeros(size))


def test_creation_and_random_operators_take_it():
    out = pb.empty(3)
    assert pb.linspace(0, 1, 3, out=out) is out
    assert out.tolist() == [0.0, 0.5, 1.0]
    assert pb.arange(3.0, out=out) is out
    pb.manual_seed(0)
    drawn = pb.randn(3)
    pb.manual_seed(0)
    assert pb.randn(3, out=out).tolist() == drawn.tolist()
