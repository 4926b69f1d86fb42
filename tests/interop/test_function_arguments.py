"""What NumPy's functions take besides arrays: out=, like=, arguments without rule, arrays of other kinds."""

import numpy as np
import pytest

import pullback as pb

v = np.array([0.5, -1.5, 2.0])
m = np.array([[0.3, -0.7, 1.1, 2.3], [1.9, 0.2, -1.3, 0.8], [-0.4, 1.6, 0.9, -2.1]])
mask = m > 0


# -- out= -----------------------------------------------------------------------------------------------------------


def test_out_a_tensor_is_written_and_recorded():
    x = pb.tensor(m, requires_grad=True)
    out = pb.zeros(4)
    assert np.sum(x, axis=0, out=out) is out
    np.testing.assert_array_equal(out.detach(), m.sum(axis=0))
    (out * np.arange(4.0)).sum().backward()
    np.testing.assert_array_equal(x.grad, np.broadcast_to(np.arange(4.0), m.shape))


def test_out_an_ndarray_is_refused_with_a_gradient_and_written_without():
    out = np.full(4, 7.0)
    with pytest.raises(RuntimeError, match=r"np\.sum would write a result that requires grad into an ndarray"):
        np.sum(pb.tensor(m, requires_grad=True), axis=0, out=out)
    assert (out == 7).all()
    assert np.sum(pb.tensor(m), axis=0, out=out) is out
    np.testing.assert_array_equal(out, m.sum(axis=0))


def test_out_of_another_shape_or_dtype_is_refused():
    x = pb.tensor(m)
    with pytest.raises(ValueError, match=r"np\.sum: the result has shape \(4,\), out has \(1,\)"):
        np.sum(x, axis=0, out=pb.zeros(1))
    with pytest.raises(TypeError, match=r"cannot cast from float64 to out's int64"):
        np.sum(x, axis=0, out=pb.zeros(4, dtype=int))
    with pytest.raises(TypeError, match=r"np\.sum: argument 'out' must be a Tensor or an ndarray, got list"):
        np.sum(x, out=[1])


# -- by themselves --------------------------------------------------------------------------------------------------


def test_like_builds_tensors_of_nested_lists():
    x = pb.tensor(v, requires_grad=True)
    made = np.array([[x[0], 1.0], [2, x[1] * x[2]]], like=x)
    np.testing.assert_array_equal(made.detach(), [[0.5, 1.0], [2.0, -3.0]])
    (gradient,) = pb.autograd.grad(made.sum(), x)
    assert gradient.tolist() == [1.0, 2.0, -1.5]
    assert np.asarray(x, like=x) is x
    assert np.array(x, like=x, ndmin=2).shape == (1, 3)
    for f in (lambda **k: np.zeros(3, **k), lambda **k: np.eye(2, **k), lambda **k: np.arange(2, 9, 3, **k),
              lambda **k: np.full((2,), 3.0, **k), lambda **k: np.ones((1, 2), **k), lambda **k: np.identity(2, **k),
              lambda **k: np.tri(3, **k)):  # fmt: skip
        made = f(like=x)
        assert isinstance(made, pb.Tensor)
        assert made.dtype == f().dtype
        np.testing.assert_array_equal(made, f())
    assert np.empty(3, like=x).shape == np.empty_like(x).shape == (3,)


def test_saving_and_filling_plain_arrays_needs_a_plain_tensor(tmp_path):
    x = pb.tensor(v)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), v)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez_compressed(tmp_path / "y.npz", x)
    np.savetxt(tmp_path / "x.txt", x)
    a = np.zeros(3)
    np.copyto(a, x)
    np.testing.assert_array_equal(a, v)
    for f in (lambda: np.put(a, [0], x[1]), lambda: np.putmask(a, a > 0, x), lambda: np.place(a, a < 0, x)):
        f()
    x.requires_grad_()
    for save in (np.save, np.savetxt, np.savez, np.savez_compressed):
        with pytest.raises(RuntimeError, match="detach"):
            save(tmp_path / "z", x)
    before = a.copy()
    for f in (
        lambda: np.copyto(a, x), lambda: np.put(a, [0], x[1]), lambda: np.putmask(a, a > 0, x),
        lambda: np.place(a, a < 0, x), lambda: np.copyto(a[:1], [x[0]], where=x > 0), lambda: np.add.at(a, [0], x[0]),
        lambda: np.put_along_axis(a, np.array([0]), x[:1], 0),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"has no rule|requires grad"):
            f()
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: np.take(x, 0, mode="bounce"), "np.take: argument 'mode'"),
        (lambda x: np.linalg.matrix_power(x[:, :3], 0.5), "np.linalg.matrix_power: argument 'n'"),
        (lambda x: np.sort(x, order="name"), "np.sort: argument 'order'"),
    ],
)
def test_arguments_without_rule_are_named(call, names):
    with pytest.raises(pb.core.errors.UnsupportedError) as caught:
        call(pb.tensor(m, requires_grad=True))
    assert names in str(caught.value)


def test_like_makes_tensors_that_can_be_written_into_inside_a_function_being_differentiated():
    def f(x):
        out = np.zeros(3, like=x)
        out[0] = x[0] ** 2
        out[1:] = x[1:] * 2
        return np.sum(out)

    assert pb.func.grad(f)(v).tolist() == [1.0, 2.0, 2.0]


def test_masked_arrays_and_matrices_are_refused():
    x = pb.tensor(v, requires_grad=True)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(v)
    for other in (np.ma.array(v, mask=[True, False, False]), matrix):
        with pytest.raises(TypeError, match=type(other).__name__):
            np.concatenate([x, other])
