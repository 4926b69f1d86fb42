"""What functions that make arrays give, inside transforms and outside."""

from collections import deque

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.sparse.linalg
import scipy.spatial

import pullback as pb


@pytest.fixture(autouse=True)
def _adopted(adopted):
    pass


def inside(function):
    """What `function` gives inside a transform; it takes the argument that is being differentiated."""
    found = []

    def f(x):
        found.append(function(x))
        return x.sum()

    pb.func.grad(f)(np.array([0.5, 2.0]))
    return found[0]


MAKE = {
    "zeros": lambda: np.zeros(3),
    "ones": lambda: np.ones((2, 2)),
    "empty": lambda: np.empty(2),
    "eye": lambda: np.eye(2),
    "identity": lambda: np.identity(2),
    "full": lambda: np.full(2, 1.5),
    "arange": lambda: np.arange(3.0),
    "linspace": lambda: np.linspace(0, 1, 4),
    "zeros_like": lambda: np.zeros_like(np.sin([1.0])),
    "array": lambda: np.array([1.0, 2.0]),
    "array of an array": lambda: np.array(np.sin([1.0, 2.0])),
    "asarray of a list": lambda: np.asarray([1.0, 2.0]),
    "diag": lambda: np.diag([1.0, 2.0]),
    "copy": lambda: np.copy([1.0]),
    "complex": lambda: np.zeros(2, complex),
    "float32": lambda: np.zeros(2, np.float32),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_fresh_arrays_record_inside_a_transform_and_are_plain_outside(make):
    plain, made = make(), inside(lambda x: make())
    assert type(plain) is np.ndarray
    assert isinstance(made, pb.Tensor)
    assert isinstance(made, np.ndarray)
    assert (made.shape, made.dtype) == (plain.shape, plain.dtype)
    with pb.no_grad():
        np.testing.assert_array_equal(made.detach().numpy()[1:] * 0, plain[1:] * 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros(2, int), lambda x: np.array([1, 2]), lambda x: np.arange(3), lambda x: np.ones(2, bool),
        lambda x: np.array(["a"]), lambda x: np.zeros(2, object), lambda x: np.zeros(2, [("a", float)]),
    ],
)  # fmt: skip
def test_what_carries_no_gradient_stays_plain(make):
    assert type(inside(make)) is np.ndarray


def test_memory_that_others_know_is_never_an_array():
    data = np.sin(np.arange(4.0))
    assert inside(lambda x: np.asarray(data)) is data
    assert type(inside(lambda x: np.asarray(memoryview(data)))) is np.ndarray
    assert inside(lambda x: np.array(data, copy=None)) is data
    assert type(inside(lambda x: np.diag(data.reshape(2, 2)))) is np.ndarray

    def f(x):
        np.asarray(data)[0] = x[0]
        return data[0]

    with pytest.raises(RuntimeError, match="plain array"):
        pb.func.grad(f)(np.ones(2))


def test_asarray_of_an_array_is_that_array():
    for convert in (np.asarray, np.asanyarray, np.ascontiguousarray):
        assert inside(lambda x, convert=convert: convert(x) is x)

    def f(x):
        z = np.zeros(2)
        np.asarray(z)[0] = x[0] ** 2
        np.asarray(z, dtype=float)[1] = x[1]
        return z.sum()

    np.testing.assert_allclose(pb.func.grad(f)(np.array([3.0, 1.0])), [6.0, 1.0])


def test_an_integer_array_cannot_be_filled_with_a_tensor():
    with pytest.raises(RuntimeError, match=r"(?s)np\.full would write a Tensor .*test_creation"):
        inside(lambda x: np.full(2, x[0], dtype=int))


def test_a_copy_is_one_of_its_own():
    def f(x):
        y, z = np.array(x), np.asarray(x, copy=True)
        y[0] = z[1] = 7.0
        return (y * z).sum()

    np.testing.assert_allclose(pb.func.grad(f)(np.array([3.0, 1.0])), [7.0, 7.0])


def test_objects_hold_the_numbers_of_tensors():
    def f(x):
        items = np.array([x[0], x[1], 2.0], dtype=object)
        assert items.dtype == object
        return np.array(items[::-1], dtype=float)[1:].prod()

    np.testing.assert_allclose(pb.func.grad(f)(np.array([3.0, 1.0])), [1.0, 3.0])


def test_arange_between_tensors_has_numpys_length_and_dtype():
    for ends in ((2.5,), (0.25, 2.5), (0.25, 2.5, 0.5), (2.5, 0.25, -0.5), (2.0, 1.0)):
        made = inside(lambda x, ends=ends: np.arange(*(x[0] * 0 + end for end in ends)))
        expected = np.arange(*ends)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made.detach().numpy(), expected)
    assert inside(lambda x: np.arange(0, x[1], dtype=int)).dtype == int
    slopes = pb.func.grad(lambda x: (np.arange(x[0], 3.0, x[1]) ** 2).sum())(np.array([0.5, 1.0]))
    np.testing.assert_allclose(slopes, [2 * (0.5 + 1.5 + 2.5), 2 * (1 * 1.5 + 2 * 2.5)])


def test_a_buffer_takes_values_of_every_level():
    def outer(y):
        def inner(x):
            z = np.zeros(3)
            z[0], z[1], z[2] = x * y, y**2, x**3
            return np.prod(z)

        return pb.func.grad(inner)(y)

    # x y * y^2 * x^3 = x^4 y^3; d/dx = 4 x^3 y^3; at x = y: 4 y^6, of which both take part.
    assert pb.func.grad(outer)(2.0) == pytest.approx(24 * 2.0**5)
    assert pb.func.jvp(outer, (2.0,), (1.0,))[1] == pytest.approx(24 * 2.0**5)


def test_a_table_that_is_computed_once_inside_a_transform_is_a_constant_afterwards():
    tables = []

    def f(x):
        if not tables:
            tables.append(np.linspace(0.0, 1.0, 4) ** 2)
        return np.sum(np.sin(x * tables[0]))

    x, t = 0.7, (np.arange(4) / 3) ** 2
    assert pb.func.grad(pb.func.grad(f))(x) == pytest.approx(-np.sum(t**2 * np.sin(x * t)))
    assert isinstance(tables[0], pb.Tensor)
    assert pb.func.grad(f)(x) == pytest.approx(np.sum(t * np.cos(x * t)))
    assert pb.func.value_and_grad(lambda x: (f(x), tables[0]), has_aux=True)(x)[0][1] is not tables[0]
    value, slope = pb.func.jvp(f, (x,), (1.0,))
    assert type(value) is type(slope) is np.float64
    assert slope == pytest.approx(np.sum(t * np.cos(x * t)))
    assert f(x) == pytest.approx(np.sum(np.sin(x * t)))
    table = tables[0] + 0.0
    np.testing.assert_allclose(pb.func.grad(lambda y: np.sum(y**2))(table), 2 * t)
    np.testing.assert_allclose(pb.func.jvp(lambda y: y**2, (table,), (table,))[1], 2 * t * t)


def test_a_function_with_rules_of_its_own_makes_plain_arrays():
    made = []

    @pb.custom_vjp
    def cube(x):
        made.append(np.zeros(2))
        made[-1][:] = x**3
        slope = pb.func.grad(lambda y: np.array([y, y**2]).sum())(1.0)  # in a transform of its own, as everywhere
        assert slope == 3.0
        return made[-1]

    cube.defvjp(lambda cotangent, y, x: np.array([3.0, 3.0]) * x**2 * cotangent)
    np.testing.assert_allclose(pb.func.grad(lambda x: np.sum(cube(x) * np.ones(2)))(np.array([1.0, 2.0])), [3.0, 12.0])
    np.testing.assert_allclose(
        pb.func.grad(lambda x: pb.func.grad(lambda x: cube(x).sum())(x).sum())(np.array([1.0, 2.0])), [6.0, 12.0]
    )
    assert {type(z) for z in made} == {np.ndarray}
    assert isinstance(inside(lambda x: np.zeros(2)), pb.Tensor)


def test_a_dispatcher_kept_over_release_is_plain():
    zeros = np.zeros
    pb.release()
    assert type(inside(lambda x: zeros(2))) is np.ndarray


def test_errors_of_plain_calls_are_numpys():
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError):
        np.zeros("two")
    with pytest.raises(ValueError, match="inhomogeneous"):
        inside(lambda x: np.array([[1.0, 2.0], [3.0]]))
    with pytest.raises((RuntimeError, ValueError), match=r"different shapes|inhomogeneous"):
        inside(lambda x: np.array([x, x[0]]))


class TestBuffersInCompiledCode:
    """A buffer without gradient goes on as the plain array that it is; nothing crashes, nothing is overwritten."""

    def test_classes_and_functions(self):
        points = np.random.default_rng(0).normal(size=(12, 2))

        def f(x):
            buffer = np.array(points)
            hull = scipy.spatial.ConvexHull(buffer)
            scipy.spatial.Delaunay(buffer)
            A = np.eye(30) + np.diag(np.arange(30.0))
            largest = scipy.sparse.linalg.eigsh(A, k=2, v0=np.ones(30))[0]
            assert type(scipy.linalg.inv(A)) is np.ndarray
            return x * hull.volume * largest[-1]

        slope = pb.func.grad(f)(1.0)
        assert slope == pytest.approx(scipy.spatial.ConvexHull(points).volume * 30.0)

    def test_scipy_writes_into_a_buffer_that_a_node_has_saved(self):
        def f(x):
            A = np.array([[4.0, 0.0], [0.0, 2.0]], order="F")
            y = A @ x
            scipy.linalg.inv(A, overwrite_a=True)
            out = np.array([[1.0, 2.0], [3.0, 4.0]])
            z = (out * x).sum()
            scipy.ndimage.gaussian_filter(out, 1.0, output=out)
            assert out[0, 0] != 1.0
            return y.sum() + z

        np.testing.assert_allclose(pb.func.grad(f)(np.ones(2)), [4.0 + 4.0, 2.0 + 6.0])
        twice = pb.func.jvp(pb.func.grad(lambda x: f(x) ** 2), (np.ones(2),), (np.ones(2),))[1]
        np.testing.assert_allclose(twice, 2 * 16 * np.array([8.0, 8.0]))

    def test_lapack_does_not_solve_in_the_memory_of_a_tensor(self):
        def f(x):
            b = np.ones(2)
            solution = scipy.linalg.lapack.dgesv(np.eye(2) * 4.0, b, overwrite_b=1)[2]
            assert (b == 1.0).all()
            return x * solution.sum()

        assert pb.func.grad(f)(1.0) == 0.5


def test_ndenumerate_goes_through_the_elements_of_arrays_and_of_lists():
    def total(x):
        z = np.zeros((2, 2))
        for (i, j), value in np.ndenumerate(np.outer(x, x)):
            z[j, i] = value * (1 + i)
        return np.sum(z) + sum(i[0] * v for i, v in np.ndenumerate([x[0], x[1]]))

    assert np.allclose(pb.func.grad(total)(np.array([0.5, 2.0])), [2 * 0.5 + 3 * 2, 3 * 0.5 + 4 * 2 + 1])
    assert [(i, type(v)) for i, v in np.ndenumerate([1.0, 2.0])] == [((0,), np.float64), ((1,), np.float64)]


MAKERS = {
    "asfortranarray": lambda a: np.asfortranarray(a),
    "asarray F": lambda a: np.asarray(a, order="F"),
    "array without copy": lambda a: np.array(a, copy=None, order="F"),
    "array with dimensions": lambda a: np.array(a, copy=None, ndmin=3),
    "ascontiguousarray": lambda a: np.ascontiguousarray(a),
    "copy": lambda a: np.copy(a, order="F"),
    "array": lambda a: np.array(a, order="F"),
}
LAYOUTS = [lambda x: x.T * 1.0, lambda x: x * 1.0, lambda x: (x * 1.0)[:, ::2], lambda x: (x.T * 1.0)[::2]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MAKERS)
def test_memory_is_shared_as_numpy_shares_it(name, layout):
    def f(x):
        a = layout(x)
        b = MAKERS[name](a)
        b[(0,) * b.ndim] = 0.0
        return np.sum(a) + 3 * np.sum(b * b)

    x, direction = np.array([[1.0, 2, 3], [4, 9, 6], [7, 8, 5]]), np.arange(9.0).reshape(3, 3)
    with pb.adopt():
        value, gradient = pb.func.value_and_grad(f)(x)
        slope = (f(x + 1e-3 * direction) - f(x - 1e-3 * direction)) / 2e-3
        assert value == f(x)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize(
    ("requirements", "shares"),
    [(None, True), ("C", True), ("F", False), (["A", "W"], True), ("O", False), (["F_CONTIGUOUS", "O"], False)],
)
def test_require_copies_where_numpy_does(adopted, requirements, shares):
    base = np.arange(6.0)
    plain = base.reshape(2, 3)
    assert np.shares_memory(np.require(plain, None, requirements), plain) is shares

    def f(x):
        y = (x * 1.0).reshape(2, 3)
        z = np.require(y, requirements=requirements)
        assert z.flags.f_contiguous is ("F" in str(requirements))
        z[0, 1] = 5.0 * y[1, 1]
        return np.sum(y * [1.0, 10.0, 100.0]) + np.sum(z**2)

    x, at = np.arange(1.0, 7.0), np.eye(6) * 1e-6
    differences = [(f(x + step) - f(x - step)) / 2e-6 for step in at]
    np.testing.assert_allclose(pb.func.grad(f)(x), differences, rtol=1e-6)


def test_require_refuses_what_numpy_refuses(adopted):
    for wanted, error in ((["C", "F"], ValueError), ("nonsense", KeyError)):
        with pytest.raises(error):
            np.require(np.ones(2), None, wanted)
        with pytest.raises(error):
            pb.func.grad(lambda x, wanted=wanted: np.sum(np.require(x, None, wanted)))(np.ones(2))


def test_arrays_are_made_of_deques_as_of_lists():
    def f(x, name):
        make = getattr(np, name)
        return make(deque([x[0] * 2, 1.0, x[1]])).sum() + make([deque([x, x])]).sum()

    for name in ("array", "asarray", "stack", "sum"):
        assert pb.func.grad(f)(np.array([1.0, 2.0]), name).tolist() == [4.0, 3.0]
