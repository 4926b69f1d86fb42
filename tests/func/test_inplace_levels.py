"""In-place writes inside nested transforms, of values that outer ones differentiate: as the program without them."""

from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

A = np.array([1.0, 2.0, 3.0])
FIRST = np.array([1.0, 0.0, 0.0])
INDEX = np.array([0])


def set_item(z, x, y):
    z[0] = x[0] * y[0]


def add_to_view(z, x, y):
    part = z[1:]
    part += x[1:]


def mul_view_of_view(z, x, y):
    z[1:][:1].mul_(x[0])


def twice(z, x, y):
    z[0] = 1.0
    z *= x
    z[1] = x[2] + z[0]


# What is written in place, and the same program without.
WRITES = {
    "setitem": (set_item, lambda z, x, y: z * (1 - FIRST) + FIRST * x[0] * y[0]),
    "mask": (lambda z, x, y: z.__setitem__(np.array([True, False, True]), x[1]),
             lambda z, x, y: z * np.array([0, 1, 0]) + x[1] * np.array([1, 0, 1])),
    "mul": (lambda z, x, y: z.mul_(x), lambda z, x, y: z * x),
    "copy": (lambda z, x, y: z.copy_(x * y), lambda z, x, y: x * y),
    "index_add": (lambda z, x, y: z.index_add_(0, INDEX, x[:1]), lambda z, x, y: z + FIRST * x[0]),
    "index_put": (lambda z, x, y: z.index_put_((pb.tensor(INDEX),), x[:1]),
                  lambda z, x, y: z * (1 - FIRST) + x[0] * FIRST),
    "addcmul": (lambda z, x, y: z.addcmul_(x, y), lambda z, x, y: z + x * y),
    "view": (add_to_view, lambda z, x, y: z + x * (1 - FIRST)),
    "view of a view": (mul_view_of_view, lambda z, x, y: z * (1 + (x[0] - 1) * np.array([0, 1, 0]))),
    "several": (twice, lambda z, x, y: np.stack([x[0], x[2] + x[0], z[2] * x[2]])),
}  # fmt: skip


def nested(write, inner, outer, in_place):
    """d/dx of the sum of d/dy of a program with z = 2 y, into which a function of x and y is written."""

    def f(x):
        def g(y):
            z = y * 2
            if in_place:
                write(z, x, y)
            else:
                z = write(z, x, y)
            return (z * z * y).sum()

        return (pb.func.grad(g)(inner) * np.arange(1, 4)).sum()

    return pb.func.grad(f)(outer)


@pytest.mark.parametrize("outer", [A, pb.tensor(A)], ids=["ndarray", "Tensor"])
@pytest.mark.parametrize("written", WRITES.values(), ids=WRITES)
def test_written_values_keep_the_derivative_of_the_outer_level(written, outer):
    in_place, without = written
    inner = A + 0.5
    expected = nested(without, inner, outer, in_place=False)
    assert_close(nested(in_place, inner, outer, in_place=True), expected, rtol=1e-14, atol=0)
    assert inner.tolist() == (A + 0.5).tolist()


DIRECTION = np.array([1.0, 0.5, -0.3])
TRANSFORMS = {
    "grad": lambda g, y: (pb.func.grad(g)(y) * np.arange(1, 4)).sum(),
    "jvp": lambda g, y: pb.func.jvp(g, (y,), (DIRECTION,))[1],
}


def started(y, how):
    """What is written into: made of y, or a constant of its shape."""
    return {"product": lambda: y * 2, "copy": lambda: y.copy(), "zeros": lambda: np.zeros_like(y)}[how]()


@pytest.mark.filterwarnings("ignore::pullback.core.errors.IndependentResultWarning")
@pytest.mark.parametrize("captured", [True, False], ids=["captured", "argument"])
@pytest.mark.parametrize("how", ["product", "copy", "zeros"])
@pytest.mark.parametrize("nest", ["grad jvp", "jvp jvp", "jvp grad", "grad jvp jvp", "jvp grad jvp"])
@pytest.mark.parametrize("written", WRITES.values(), ids=WRITES)
def test_written_values_keep_their_derivatives_through_jvp(written, nest, how, captured):
    outermost, *inner = nest.split()

    def f(x, in_place):
        def g(y):
            z = started(y, how)
            if in_place:
                written[0](z, x, y)
            else:
                z = written[1](z, x, y)
            return (z * z * y).sum()

        for name in inner[::-1]:
            g = partial(TRANSFORMS[name], g)
        return g(A + 0.5 if captured else x * 1)

    actual = TRANSFORMS[outermost](lambda x: f(x, in_place=True), A)
    assert_close(actual, TRANSFORMS[outermost](lambda x: f(x, in_place=False), A), rtol=1e-13, atol=1e-13)


def test_constants_of_lower_levels_are_written_as_they_are():
    b = pb.tensor([5.0, 6.0])

    def f(x, y):
        z = x * 2
        z[0] = y[0]
        z[1] += b[1]
        return (z * x).sum()

    dx, dy = pb.func.grad(f, argnums=(0, 1))(np.array([1.0, 2.0]), pb.tensor([3.0, 4.0]))
    assert_close((dx, dy), (np.array([3.0, 14.0]), pb.tensor([1.0, 0.0])), rtol=0, atol=0)


SHARED = {
    "detached": lambda z: z.detach(),
    "numpy": lambda z: z.numpy(force=True),
    "view that nobody remembers": lambda z: z[1:],
}


@pytest.mark.parametrize("share", SHARED.values(), ids=SHARED)
def test_memory_that_others_share_is_not_written_into(share):
    def f(x):
        def g(y):
            z = y * 2
            other = share(z)
            z.mul_(x)
            return (z * y).sum() + other.sum()

        return pb.func.grad(g)(A).sum()

    with pytest.raises(RuntimeError, match=r"mul_ would write .* into memory that others share .* t.clone\(\)"):
        pb.func.grad(f)(A)


def test_whole_numbers_take_no_such_value():
    def f(x):
        def g(y):
            pb.gt(y, 0).long()[0] = x[0]
            return y.sum()

        return pb.func.grad(g)(A).sum()

    with pytest.raises(RuntimeError, match="__setitem__ would write a value"):
        pb.func.grad(f)(A)


V = np.array([0.3, -0.7, 1.1])
DERIVE = {
    "grad": lambda f: lambda y: (pb.func.grad(f)(y) * V).sum(),
    "jvp": lambda f: lambda y: pb.func.jvp(f, (y,), (V,))[1],
}


def no_dimension(x):
    a = np.array(x[1], like=x)
    b = a.reshape(1)
    a[()] = np.tanh(x[0])
    c = b[None, ::-1].T
    c *= a[...]
    return np.sin(c).sum()


def fortran(x):
    a = np.ones_like(x, shape=(2, 3))
    a[0, 2] = np.sin(x[0])
    b = np.where(a.T > 0, a.T, 0.1).ravel("K")
    for i in range(1, 6):
        b[i] *= b[i - 1] * x[1]
    return np.sin(b).sum()


def chain(x):
    """The same as `fortran`, without views: b is the rows of a, one after the other (order K)."""
    total, last = np.sin(1.0), 1.0
    for i in range(1, 6):
        last = (np.sin(x[0]) if i == 2 else 1.0) * last * x[1]
        total = total + np.sin(last)
    return total


@pytest.mark.parametrize("nest", ["grad jvp grad", "grad jvp jvp", "jvp jvp jvp", "jvp grad jvp", "grad grad grad"])
@pytest.mark.parametrize(
    ("written", "out_of_place"),
    [(no_dimension, lambda x: np.sin(np.tanh(x[0]) ** 2)), (fortran, chain)],
    ids=["no_dimension", "fortran"],
)
def test_third_derivatives_through_views_that_are_written_into(written, out_of_place, nest):
    def derived(f):
        for name in nest.split():
            f = DERIVE[name](f)
        return float(f(A / 2))

    assert derived(written) == pytest.approx(derived(out_of_place), rel=1e-10)
