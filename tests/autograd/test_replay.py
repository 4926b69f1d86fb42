"""Views of arrays that have no memory: followed by running their operators again, in numbers and in gradients."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_type import NUMPY, ArrayType, OperatorTable, register_array_type
from pullback.core.tensor import wrap
from pullback.graph.replay import force_replay


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is a value: it has no strides, no base and no way to be written into."""

    def __init__(self, array):
        self._numbers = np.array(array)
        self._numbers.flags.writeable = False

    shape = property(lambda self: self._numbers.shape)
    dtype = property(lambda self: self._numbers.dtype)
    ndim = property(lambda self: self._numbers.ndim)
    size = property(lambda self: self._numbers.size)

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        return Value(getattr(ufunc, method)(*map(bare, args), **kwargs))

    def conjugate(self):
        return Value(self._numbers.conjugate())


def bare(x):
    """ndarrays for Values, in a list too."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(bare, x))
    return x._numbers if isinstance(x, Value) else x


def on_values(function):
    """The function of ndarrays as one of Values."""

    def run(*args, **kwargs):
        result = function(*map(bare, args), **kwargs)
        if isinstance(result, (list, tuple)):
            return type(result)(Value(r) for r in result)
        return Value(result) if isinstance(result, (np.ndarray, np.generic)) else result

    return run


class Kernels(dict):
    """NumPy's kernels for Values, made when asked for."""

    def __missing__(self, name):
        return on_values(NUMPY.kernels[name])


class ValueTable(OperatorTable):
    """The operators on Values."""

    def __init__(self):
        super().__init__("value")
        self.__dict__["kernels"] = Kernels()

    def __getattr__(self, name):
        return on_values(getattr(NUMPY, name))


register_array_type(Value, ArrayType(ValueTable()))


def leaf(array):
    return wrap(Value(np.asarray(array, dtype=float))).requires_grad_()


def numbers(t):
    return bare(t._array)


VIEWS = {
    "slice": lambda t: t[1:],
    "steps": lambda t: t[:, ::2],
    "reversed": lambda t: t[::-1],
    "integer": lambda t: t[1],
    "transpose": lambda t: t.T,
    "reshape": lambda t: t.reshape(-1),
    "reshape of a transpose": lambda t: t.T.reshape(-1),  # there is no memory that could stand against it
    "view of a view": lambda t: t[:, 1:].T[0],
    "diagonal": lambda t: t.diagonal(),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "select": lambda t: t.select(0, 0),
    "movedim": lambda t: t.movedim(0, 1)[1:],
    "squeeze": lambda t: t.unsqueeze(0)[..., 1:].squeeze(0),
    "unfold": lambda t: t.unfold(1, 1, 2),
    "flatten": lambda t: t.flatten()[2:],
}
X = np.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_write_into_a_view_reaches_base_views_and_gradients(view):
    def in_place(x, w):
        t = x * 1
        v, other, whole = view(t), t[:, 1], t.T
        v.mul_(w)
        v.sin_()
        return [t, v, other, whole]

    x, w = pb.tensor(X, requires_grad=True), pb.tensor(0.3, requires_grad=True)
    shown = view(pb.from_numpy(np.arange(6.0).reshape(2, 3))).numpy().astype(int)
    mask = np.isin(np.arange(6).reshape(2, 3), shown)
    base = pb.where(pb.from_numpy(mask), (x * w).sin(), x * 1)
    expected = [base, view(base), base[:, 1], base.T]
    y, u = leaf(X), leaf(0.3)
    got = in_place(y, u)
    for a, b in zip(got, expected, strict=True):
        assert np.allclose(numbers(a), b.detach().numpy())
    total(expected).backward()
    total(got).backward()
    assert np.allclose(numbers(y.grad), x.grad.numpy())
    assert np.allclose(numbers(u.grad), w.grad.item())


def total(tensors):
    """A sum in which every tensor counts differently."""
    out = 0.0
    for i, t in enumerate(tensors):
        out = out + (t * t).sum() * (i + 1)
    return out


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_write_into_a_base_reaches_its_views(view):
    y = leaf(X)
    t = y * 1
    v = view(t)
    t.mul_(y)
    assert np.allclose(numbers(v), view(pb.from_numpy(X * X)).numpy())
    v.sum().backward()
    shown = view(pb.from_numpy(np.arange(6.0).reshape(2, 3))).numpy().astype(int)
    mask = np.isin(np.arange(6).reshape(2, 3), shown)
    assert np.allclose(numbers(y.grad), 2 * X * mask)


def test_writes_that_nothing_is_recorded_of_are_seen_too():
    t = wrap(Value(X))
    row, column = t[0], t[:, 1]
    rows = pb.unbind(t)
    with pb.no_grad():
        column.add_(10)
        rows[1].mul_(0)
    assert numbers(t).tolist() == [[1, 12, 3], [0, 0, 0]]
    assert numbers(row).tolist() == [1, 12, 3]
    assert numbers(column).tolist() == [12, 0]
    assert t._version == row._version == 2


def test_a_constant_base_comes_to_require_grad():
    t, w = wrap(Value(np.zeros((2, 3)))), leaf(3.0)
    early, v = t[0], t[0, 1:]
    v.add_(w)
    assert t.requires_grad
    assert early.requires_grad
    assert t.grad_fn.name() == "CopySlices"
    early.sum().backward()
    assert numbers(w.grad) == 2


def test_a_base_and_a_view_that_become_other_views_of_themselves():
    y = leaf(X)
    t = y * 1
    v = t[0]
    t.t_()
    assert t.shape == (3, 2)
    v.mul_(3)
    assert numbers(t).T.tolist() == [[3, 6, 9], [4, 5, 6]]
    w = t[:2]
    w.t_()
    w.unsqueeze_(0)
    w.mul_(2)
    (t * pb.from_numpy(np.arange(6.0).reshape(3, 2))).sum().backward()
    assert numbers(y.grad).tolist() == [[0, 12, 12], [2, 6, 5]]


def test_parts_of_complex_values():
    z = wrap(Value(np.array([1 + 2j, 3 + 4j]))).requires_grad_()
    t = z * 1
    real, pairs = t.real, pb.view_as_real(t)
    t.imag.mul_(3)
    real.mul_(2)
    assert numbers(t).tolist() == [2 + 6j, 6 + 12j]
    assert numbers(pairs).tolist() == [[2, 6], [6, 12]]
    pairs.sum().backward()
    assert numbers(z.grad).tolist() == [2 + 3j, 2 + 3j]


def test_infinite_gradients_stay_in_their_places():
    x = pb.tensor(X, requires_grad=True)
    with force_replay():
        t = x * 1
        t[0].mul_(2)
    t.backward(pb.tensor([[1.0, 1.0, 1.0], [np.inf, np.nan, 1.0]]))
    assert x.grad[0].tolist() == [2, 2, 2]
    assert x.grad[1, 0].item() == np.inf


def test_the_function_of_a_replayed_view_is_made_of_its_operators():
    with force_replay():
        t = pb.tensor(X, requires_grad=True) * 1
        v = t[0].unsqueeze(1)
        t.mul_(2)
    assert v.grad_fn.name() == "UnsqueezeBackward0"
    assert v.grad_fn.next_functions[0][0].name() == "SliceBackward0"
    assert v.grad_fn.next_functions[0][0].next_functions[0][0] is t.grad_fn


def test_second_derivatives_by_replay():
    x = pb.tensor(X, requires_grad=True)
    with force_replay():
        t = x * 1
        t[0].mul_(x[0])
        t.T[1:].mul_(x.T[1:])
        (g,) = pb.autograd.grad(t.sum(), x, create_graph=True)
        (h,) = pb.autograd.grad(g.sum(), x)
    assert np.allclose(g.detach().numpy(), [[2, 12, 27], [1, 10, 12]])
    assert np.allclose(h.numpy(), [[2, 12, 18], [0, 2, 2]])


def test_views_by_strides_are_followed_by_geometry_always():
    with force_replay():
        x = pb.tensor(X, requires_grad=True)
        t = x * 1
        t.as_strided((2, 2), (3, 1))[0].mul_(2)
    t.sum().backward()
    assert x.grad.tolist() == [[2, 2, 1], [1, 1, 1]]


def test_a_view_keeps_its_base_and_nothing_else():
    gc.collect()
    gc.disable()
    try:
        with force_replay():
            x = pb.tensor(X, requires_grad=True)
            t = x * 1
            between = t[0]
            v = between[1:]
            v.mul_(2)
            gone = [weakref.ref(between), weakref.ref(between.grad_fn)]
            del between
        assert [r() for r in gone] == [None, None]
        gone = [weakref.ref(v), weakref.ref(t)]
        del v, t
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()
