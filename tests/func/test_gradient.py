"""func.grad and value_and_grad: what their arguments may be."""

import dataclasses

import numpy as np
import pytest

import pullback as pb


@pytest.mark.parametrize("argnums", [None, 1.0, True, [0], (0, 1.0), (0, (1,))])
def test_argnums_are_positions_or_names(argnums):
    with pytest.raises(TypeError, match=r"argnums must be int or Tuple\[int, .*\(an int or a tuple of ints\)"):
        pb.func.grad(np.sum, argnums=argnums)


def test_an_integer_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match=r"with respect to an int: pass a floating-point number \(2\.0 for 2\)"):
        pb.func.grad(lambda x: x)(2)


@pytest.mark.parametrize("transform", [pb.func.grad, pb.func.vjp, pb.func.hessian, pb.func.jacrev])
def test_the_place_of_a_refused_argument_is_named_where_it_has_one(transform):
    call = transform if transform is not pb.func.vjp else lambda f: lambda x: pb.func.vjp(f, x)
    with pytest.raises(TypeError, match=r"(?m)choose other arguments with argnums\.$"):
        call(lambda x: x)(3)
    with pytest.raises(TypeError, match=r"(?m)argnums\. It is the leaf \['a'\] of its argument\.$"):
        call(lambda x: x["a"])({"a": 3})


@dataclasses.dataclass
class Parameters:
    rate: float = 1.0


REFUSED = {
    "int": (2, r"an int: pass a floating-point number \(2\.0 for 2\)"),
    "int in a dict": ({"a": 2}, r"an int: pass a floating-point number"),
    "str": ("a", "a str: pass an array, a floating-point number, or a dict, list or tuple of these"),
    "set": ({1.0}, "a set: pass an array"),
    "None": (None, "argument 0, which is None"),
    "dataclass": (Parameters(), r"a Parameters: pass its fields in a dict, such as dataclasses\.asdict gives"),
    "masked array": (np.ma.array([1.0, 2.0], mask=[0, 1]), r"a MaskedArray, whose meaning .* x\.filled\(value\)"),
    "matrix": (np.ones((1, 1)).view(np.matrix), r"a matrix, whose meaning .* np\.asarray\(x\)"),
    "array of objects": (np.array([1.0, None]), r"an array of dtype object: convert it"),
}


@pytest.mark.parametrize(("argument", "said"), REFUSED.values(), ids=REFUSED)
def test_what_nothing_can_vary_along_is_refused_with_what_to_pass(argument, said):
    with pytest.raises(TypeError, match=f"cannot differentiate with respect to {said}"):
        pb.func.grad(lambda x: np.sum(x))(argument)


@pytest.mark.parametrize("argument", [[1.0, 2.0], (1.0, 2.0), [[1.0], [2.0]]])
@pytest.mark.parametrize("function", [lambda x: np.sum(x**2), lambda x: np.sum(x), lambda x: np.dot(x, x)])
def test_a_list_that_the_function_takes_for_one_array_is_named_in_a_note(argument, function):
    kind = type(argument).__name__
    said = rf"Argument 0 is a {kind}.*as many scalars.*pass np\.array"
    with pytest.raises((TypeError, RuntimeError), match=said):
        pb.func.grad(function)(argument)
    tangent = (
        (1.0, 1.0) if kind == "tuple" else type(argument)([[1.0], [1.0]] if argument == [[1.0], [2.0]] else [1.0, 1.0])
    )
    with pytest.raises((TypeError, RuntimeError), match=said):
        pb.func.jvp(function, (argument,), (tangent,))


def test_a_list_whose_elements_the_function_takes_apart_is_a_structure():
    assert pb.func.grad(lambda x: x[0] * x[1])([2.0, 3.0]) == [3.0, 2.0]
    with pytest.raises(ZeroDivisionError) as caught:
        pb.func.grad(lambda x: 1 / 0)(np.ones(2))
    assert not hasattr(caught.value, "__notes__")


WRITES = {
    "x[0] = 1": lambda x: x.__setitem__(0, 1.0),
    "x += 1": lambda x: x.__iadd__(1.0),
    "x[:1] *= 2": lambda x: x[:1].__imul__(2.0),
    "x.fill(0)": lambda x: x.fill(0.0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_into_the_argument_is_refused_with_a_remedy_that_works(write):
    def f(x):
        write(x)
        return np.sum(x**2)

    a = pb.tensor([2.0, 3.0])
    with pytest.raises(RuntimeError, match=r"x = x\.copy\(\)") as caught:
        pb.func.grad(f)(a)
    assert "no_grad" not in str(caught.value)
    assert a.tolist() == [2.0, 3.0]
    assert np.isfinite(pb.func.grad(lambda x: f(x.copy()))(a).numpy()).all()
    leaf = pb.ones(2, requires_grad=True)  # outside, a parameter of the user's
    with pytest.raises(RuntimeError, match=r"no_grad\(\)"):
        write(leaf)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_code_for_numpy_writes_into_a_copy_of_its_argument(write):
    def f(x):
        before = x * 1.0
        write(x)
        return np.sum(before**2) + np.sum(x**3)

    a, v = np.array([2.0, 3.0]), np.array([1.0, -2.0])
    step = 1e-6 * np.eye(2)
    expected = [(f(a + s) - f(a - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(pb.func.grad(f)(a), expected, rtol=1e-6)
    np.testing.assert_allclose(pb.func.jvp(f, (a,), (v,))[1], np.dot(expected, v), rtol=1e-6)
    assert a.tolist() == [2.0, 3.0]
    assert v.tolist() == [1.0, -2.0]


def test_an_infinite_loss_does_not_spoil_the_derivative_of_its_gradient():
    def inner(x):
        return pb.func.grad(lambda y: y.log().sum())(x).sum()

    with np.errstate(divide="ignore"):
        found = pb.func.grad(inner)(np.array([0.0, 2.0, 4.0]))
    np.testing.assert_array_equal(found, [-np.inf, -0.25, -0.0625])


@pytest.mark.parametrize(
    "call",
    [
        lambda: pb.func.grad(lambda x: x)(np.ones(2)),
        lambda: pb.func.grad(lambda x: x * 1j)(1.0),
        lambda: pb.func.grad(lambda x: "a")(1.0),
        lambda: pb.func.grad(lambda x: x)(np.ones(2, int)),
        lambda: pb.func.grad(lambda x: x)("a"),
        lambda: pb.func.grad(lambda x: x)(None),
        lambda: pb.func.grad(lambda x: x, argnums=3)(1.0),
    ],
)
def test_errors_about_the_arguments_and_the_value_name_the_transform(call):
    with pytest.raises((RuntimeError, TypeError, IndexError), match=r"^func\.grad: "):
        call()


def test_errors_of_the_function_stay_as_they_are():
    def inner(x):
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        pb.func.grad(inner)(1.0)
    with pytest.raises(RuntimeError, match=r"^func\.grad: the function must return"):  # that of the inner one
        pb.func.value_and_grad(lambda x: pb.func.grad(lambda y: y * np.ones(2))(x))(1.0)


# -- a loss of one element ---------------------------------------------------------------------------------------------
ONE_ELEMENT = {
    "a product of matrices": lambda x: x[None, :] @ np.diag([2.0, 3.0]) @ x[:, None],
    "times a number": lambda x: (x.reshape(1, 2) @ x.reshape(2, 1)) * 0.5,
    "times a scalar": lambda x: np.sum(x**2, keepdims=True) * x[0],
    "a quotient": lambda x: np.exp(x[:1]) / x[1],
    "a sum of slices": lambda x: np.log(x[:1]) + x[1:] ** 2,
    "dot": lambda x: np.dot(x[None], x),
    "concatenate": lambda x: np.concatenate([x[:1] * x[1:]]),
    "stack": lambda x: np.stack([x @ x]),
    "inv": lambda x: np.linalg.inv(np.outer(x, x)[:1, :1]),
    "a transpose": lambda x: (x[:1, None] * x[1]).T,
}
WAYS = {
    "grad": lambda f, x: pb.func.grad(f)(x),
    "grad of float32": lambda f, x: pb.func.grad(f)(x.astype(np.float32)).astype(float),
    "grad of Tensors": lambda f, x: pb.func.grad(f)(pb.tensor(x)).numpy(),
    "value_and_grad": lambda f, x: pb.func.value_and_grad(f)(x)[1],
    "grad_and_value": lambda f, x: pb.func.grad_and_value(f)(x)[0],
    "has_aux": lambda f, x: pb.func.grad(lambda x: (f(x), x), has_aux=True)(x)[0],
    "vmap of grad": lambda f, x: pb.func.vmap(pb.func.grad(f))(np.stack([x, x]))[1],
    "grad of grad": lambda f, x: pb.func.grad(lambda x: pb.func.grad(f)(x)[1])(x),
    "hvp": lambda f, x: pb.func.hvp(f, x, np.array([1.0, -1.0])),
    "vhp": lambda f, x: pb.func.vhp(f, x, np.array([1.0, -1.0])),
    "sparse_hessian": lambda f, x: pb.func.sparse_hessian(f)(x).toarray(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("loss", ONE_ELEMENT.values(), ids=ONE_ELEMENT)
def test_a_loss_of_one_element_has_the_derivatives_of_the_scalar(loss, way):
    x = np.array([0.5, 1.5])
    assert np.allclose(way(loss, x), way(lambda x: loss(x).reshape(()), x), rtol=1e-5)


def test_a_textbook_likelihood_of_a_kalman_filter_is_a_loss_although_it_is_a_matrix():
    y = np.array([0.3, 1.2, 0.9, 2.1])
    F, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])

    def negative_log_likelihood(theta):
        Q, R = np.exp(theta[0]) * np.eye(2), np.exp(theta[1]) * np.eye(1)
        x, P, loss = np.zeros((2, 1)), np.eye(2), 0.0
        for z in y:
            x, P = F @ x, F @ P @ F.T + Q
            v, S = z - H @ x, H @ P @ H.T + R
            K = P @ H.T @ np.linalg.inv(S)
            x, P = x + K @ v, (np.eye(2) - K @ H) @ P
            loss = loss + 0.5 * (np.log(2 * np.pi * np.linalg.det(S)) + v.T @ np.linalg.inv(S) @ v)
        return loss

    theta = np.array([-1.0, -0.5])
    value, gradient = pb.func.value_and_grad(negative_log_likelihood)(theta)
    assert value.shape == (1, 1)
    steps = [(negative_log_likelihood(theta + e) - negative_log_likelihood(theta - e)).item() for e in 1e-6 * np.eye(2)]
    assert np.allclose(gradient, np.array(steps) / 2e-6)
