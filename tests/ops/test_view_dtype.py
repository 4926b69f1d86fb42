"""view(dtype): the same bytes as another dtype, without a gradient, under one version counter."""

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize(
    ("shape", "source", "target", "expected"),
    [
        ((6,), "float64", "int64", (6,)),
        ((2, 3), "float64", "float32", (2, 6)),
        ((2, 4), "float64", "complex128", (2, 2)),
        ((3,), "complex128", "float64", (6,)),
        ((2, 0), "float64", "int8", (2, 0)),
        ((), "float32", "int32", ()),
    ],
)
def test_the_last_dimension_shrinks_or_grows(shape, source, target, expected):
    x = pb.ones(shape, dtype=source)
    seen = x.view(getattr(pb, target))
    assert (seen.shape, seen.dtype) == (expected, np.dtype(target))
    assert seen.data_ptr() == x.data_ptr()
    assert np.array_equal(seen.numpy(), np.ones(shape, source).view(target))
    assert x.view(dtype=target).shape == expected


def test_it_has_no_gradient_and_shares_memory_and_version():
    x = pb.ones(3, requires_grad=True)
    y = x.exp()
    bits = y.view(pb.int64)
    assert not bits.requires_grad
    bits.zero_()
    assert y.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match=r"ExpBackward0 saved 'result'.*zero_ has modified it"):
        y.sum().backward()


def test_it_is_a_constant_for_a_transform():
    def f(x):
        return (x * x.view(pb.int64).to(pb.float64)).sum()

    x = np.arange(1.0, 4.0)
    assert np.array_equal(pb.func.grad(f)(pb.tensor(x)).numpy(), x.view("i8").astype(float))


@pytest.mark.parametrize(
    ("x", "target", "why"),
    [
        (pb.ones(()), "float32", r"there must be a last dimension.*unsqueeze\(0\)"),
        (pb.ones((2, 3)), "complex128", "a multiple of 2, and it is 3"),
        (pb.ones((4, 2)).T, "float32", r"must be contiguous; use contiguous\(\)"),
    ],
)
def test_what_the_bytes_do_not_allow_is_refused(x, target, why):
    with pytest.raises(RuntimeError, match=rf"view\({target}\) of a tensor of dtype float64.*{why}"):
        x.view(getattr(pb, target))


def test_a_shape_is_still_a_shape():
    x = pb.arange(6.0).requires_grad_()
    for y in (x.view(2, 3), x.view((2, 3)), x.view([2, -1]), x.view(size=(2, 3))):
        assert y.shape == (2, 3)
        assert y.grad_fn.name() == "ViewBackward0"
    with pytest.raises(TypeError, match=r"a shape or a dtype, not both"):
        x.view(2, 3, dtype=pb.int64)
    with pytest.raises(TypeError, match="it holds numbers or bools"):
        x.view(str)
