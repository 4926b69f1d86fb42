"""Programs that overwrite what an operator has saved: right gradients on Arrays, the error on Tensors."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.array_face import as_array
from pullback.core.errors import SavedTensorModifiedError
from pullback.core.version import start_unsaved

X = np.array([0.3, 0.7, 1.1])


def differences(f, x, step=1e-6):
    """The gradient by central differences."""
    found = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


def swaps(x):
    u = np.sin(x) * 2
    s = 0.0
    for k in range(4):
        u[k % 3] = u[(k + 1) % 3] * u[(k + 2) % 3]
        s += np.sum(u * u)
    return s


def parts(x):
    u = np.sin(x)
    v = u[1:]
    s = np.sum(v * u[:-1])
    v *= u[:-1]
    u[0] = 5.0
    s += np.sum(np.exp(v))
    v[...] = np.cos(u[1:])
    return s + np.sum(u**3)


def results(x):
    e = np.exp(x)
    t = np.tanh(e)
    s = np.sum(e * t)
    e[0] = 2.0
    t[1:] = 0.0
    return s + np.sum(e) + np.sum(t * t)


def scattered(x):
    u = np.exp(x)
    s = np.sum(u * u)
    u[[2, 0]] = u[[0, 1]]
    s += np.sum(u**2)
    u[u > 1.5] -= 0.5
    u[np.array([1, 1])] *= 2.0
    return s + np.sum(u**3)


def transposed(x):
    a = np.outer(x, x)
    s = np.sum(a @ a)
    a.T[0] = x
    a[::-1, 1] *= a[0, ::-1]
    s += np.sum(np.linalg.inv(a + 3 * np.eye(3)))
    a[1, 1] = 0.0
    return s + np.sum(a * a)


def elimination(x):
    a = np.outer(np.cos(x), x) + np.diag(x + 1)
    n = len(x)
    for i in range(n):
        p = i + np.argmax(np.abs(a[i:, i]))
        a[[i, p]] = a[[p, i]]
        for j in range(i + 1, n):
            a[j, i:] -= a[j, i] / a[i, i] * a[i, i:]
    return a[0, 0] * a[1, 1] * a[2, 2]


PROGRAMS = [swaps, parts, results, scattered, transposed, elimination]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f):
    np.testing.assert_allclose(pb.func.grad(f)(X), differences(f, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_derivatives(f):
    weights = np.array([1.0, -2.0, 0.5])

    def slope(x):
        return np.sum(pb.func.grad(f)(x) * weights)

    expected = differences(slope, X)
    np.testing.assert_allclose(pb.func.grad(slope)(X), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(pb.func.jvp(pb.func.grad(f), (X,), (weights,))[1], expected, rtol=1e-5, atol=1e-7)

    def pushed(x):
        return pb.func.jvp(f, (x,), (weights,))[1]

    np.testing.assert_allclose(pb.func.grad(pushed)(X), expected, rtol=1e-5, atol=1e-7)
    third = differences(lambda x: np.sum(pb.func.grad(slope)(x) * weights), X)
    found = pb.func.grad(lambda x: np.sum(pb.func.grad(pushed)(x) * weights))(X)
    np.testing.assert_allclose(found, third, rtol=1e-4, atol=1e-6)


def test_a_backward_may_be_repeated_from_any_place():
    x = as_array(pb.tensor(X)).requires_grad_()
    u = np.exp(x)
    first = np.sum(u * u)
    u[0] = 1.0
    second = np.sum(u * u)
    u[1] = 1.0
    for root, expected in ((first, [1, 1, 1]), (second, [0, 1, 1]), (first, [1, 1, 1])):
        (found,) = pb.autograd.grad(root, x, retain_graph=True)
        np.testing.assert_allclose(found.numpy(), 2 * np.exp(2 * X) * expected)


def test_what_is_saved_at_a_higher_level_than_it_was_written_at_is_refused_and_not_taken_for_a_constant():
    def f(x):
        u = np.sin(x)

        def g(z):
            s = np.sum(z * u)  # saves u, of a lower level
            u[0] = 5.0
            return s

        return np.sum(pb.func.grad(g)(np.ones(3)) ** 2)

    with pytest.raises(SavedTensorModifiedError):
        pb.func.grad(f)(X)
    with pytest.raises(SavedTensorModifiedError):
        pb.func.grad(lambda x: np.sum(pb.func.grad(f)(x)))(X)
    found = pb.func.grad(lambda x: pb.func.jvp(f, (x,), (np.ones(3),))[1])(X)  # which records at the outer level alone
    np.testing.assert_allclose(found, 2 * np.cos(2 * X))


def test_what_was_written_before_an_array_held_an_outer_derivative_is_had_back():
    def f(x):
        b = x.copy()
        reverse = b[::-1]
        b[2], b[0] = b[0], b[2]
        s = np.sum(b * reverse * reverse)  # the tangents are plain numbers yet
        b[::2] = b[:2] ** 2
        reverse *= np.sin(x)
        return s + np.sum(b**3)

    def pushed(x):
        return pb.func.jvp(f, (x,), (np.ones(3),))[1]

    expected = differences(lambda x: np.sum(differences(lambda x: np.sum(pb.func.grad(f)(x)), x)), X)
    found = pb.func.grad(lambda x: np.sum(pb.func.grad(pushed)(x)))(X)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_tensors_keep_the_rule_of_pytorch():
    def f(x):
        u = pb.exp(x)
        s = (u * u).sum()
        u[0] = 1.0
        return s

    with pytest.raises(SavedTensorModifiedError):
        pb.func.grad(f)(pb.tensor(X))


def test_a_recorded_backward_through_what_was_overwritten_is_refused():
    def f(x):
        u = x.copy()
        s = np.sum(u**3)
        u[0] = 1.0
        return pb.autograd.grad(s, x, create_graph=True)[0].sum()

    with pytest.raises(SavedTensorModifiedError):
        pb.func.grad(f)(X)


def test_nothing_is_kept_of_a_buffer_that_no_node_has_saved():
    def f(x):
        u = x.copy()
        start_unsaved(u)
        for i in range(3):
            u[i] = u[(i + 1) % 3] + x[i]
        assert u._counter.journal is None
        s = np.sum(u * u)
        assert u._counter.journal is not None
        u[0] = 1.0
        assert len(u._counter.journal.writes) == 1
        return s

    def plain(x):
        u = x.copy()
        for i in range(3):
            u[i] = u[(i + 1) % 3] + x[i]
        return np.sum(u * u)

    np.testing.assert_allclose(pb.func.grad(f)(X), differences(plain, X), rtol=1e-6)


def test_only_the_region_that_is_written_is_kept():
    def f(x):
        u = np.exp(x)
        s = np.sum(u * u)
        u[1] = 0.0
        u[1:][:1] = 1.0
        first, second = u._counter.journal.writes
        assert np.size(first[-1]) == np.size(second[-1]) == 1
        return s

    np.testing.assert_allclose(pb.func.grad(f)(X), 2 * np.exp(2 * X))


# -- plain arrays that operators save ---------------------------------------------------------------------------------
def reused(x):
    buffer, s = np.zeros(3), 0.0
    for k in range(3):
        buffer[:] = k + 1
        s = s + np.sum(x**2 * buffer) + np.sum(x / buffer) + (x**3).dot(buffer) + np.sum(np.where(buffer > 1, x * x, x))
    return s


def matrices(x):
    m, s = np.eye(3), x * 1.0
    for _ in range(3):
        m[0, 1] += 1
        s = m @ s + np.linalg.solve(m, s)
    m[...] = 0.0
    return np.sum(s * s)


@pytest.mark.parametrize("f", [reused, matrices])
def test_plain_buffers_may_be_used_again(f):
    np.testing.assert_allclose(pb.func.grad(f)(X), differences(f, X), rtol=1e-6)
    weights = np.array([1.0, -2.0, 0.5])
    second = differences(lambda x: np.sum(pb.func.grad(f)(x) * weights), X)
    np.testing.assert_allclose(pb.func.grad(lambda x: np.sum(pb.func.grad(f)(x) * weights))(X), second, rtol=1e-5)


def test_a_plain_array_beside_a_tensor_may_be_overwritten_too():
    t, a = pb.ones(3, requires_grad=True), np.arange(3.0)
    y = t * a
    a[:] = 0
    y.sum().backward()
    assert t.grad.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("change", ["one", "swap", "reverse", "none"])
def test_a_change_of_a_large_plain_array_is_an_error(dtype, change):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((101, 103)).astype(dtype)
    x = pb.tensor(np.ones_like(a), requires_grad=True)
    y = x * a
    expected = a.copy()
    if change == "one":
        a[50, 7] += 1e-3
    elif change == "swap":
        a[[3, 70]] = a[[70, 3]]
    elif change == "reverse":
        a[:] = a[::-1, ::-1].copy()
    else:
        y.backward(np.ones_like(a))
        np.testing.assert_array_equal(x.grad.numpy(), expected.conj())
        return
    with pytest.raises(RuntimeError, match=r"MulBackward0 saved the ndarray 'other' .* Give the operator a copy"):
        y.backward(np.ones_like(a))


def test_a_large_plain_array_is_not_copied():
    a = np.ones(100_000)
    x = pb.ones(100_000, requires_grad=True)
    assert (x * a).grad_fn.saved_other is a


K = np.int64(1)
INDICES = [
    K, np.int32(-1), np.uint8(1), (slice(None), K), (..., K), (None, K), (K, K), (0, K), (K, slice(None)),
    (slice(None), None, K), (..., K, 1), True, False, np.True_, [1], (K, [0, 1]),
]  # fmt: skip
VIEWS = {
    "itself": lambda a: a,
    "whole": lambda a: a[:],
    "backwards": lambda a: a[::-1],
    "transposed": lambda a: a.T,
    "part": lambda a: a[:, ::1],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_contents_are_kept_whatever_index_is_written_at(index, view):
    def f(x):
        a = x * 1.0
        s = np.sum(a**2)
        VIEWS[view](a)[index] = 1.0
        return s

    x = np.arange(1.0, 9).reshape(2, 2, 2)
    np.testing.assert_array_equal(pb.func.grad(f)(x), 2 * x)
    np.testing.assert_array_equal(pb.func.grad(lambda x: pb.func.jvp(f, (x,), (x,))[1])(x), 4 * x)
