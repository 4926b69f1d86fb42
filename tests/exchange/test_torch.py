"""PyTorch's functions here and ours there, to the second order, in every transform; where PyTorch is installed."""

import numpy as np
import pytest

import pullback as pb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # PyTorch's own

x = np.array([0.3, 1.2, -0.7])
v = np.array([1.0, 2.0, 3.0])


@pb.torch_function
def theirs(x, y, scale=1.0):
    return {"tanh": torch.tanh(x) * y.sum() * scale, "where": torch.argmax(x)}


def ours(x, y, scale=1.0):
    return {"tanh": np.tanh(x) * y.sum() * scale, "where": np.argmax(x)}


TRANSFORMS = {
    "grad": pb.func.grad,
    "hessian": pb.func.hessian,
    "jacfwd": pb.func.jacfwd,
    "third": lambda h: pb.func.grad(lambda x: pb.func.hessian(h)(x).sum()),
    "jvp": lambda h: lambda x: pb.func.jvp(h, (x,), (v,))[1],
    "jvp of grad": lambda h: lambda x: pb.func.jvp(pb.func.grad(h), (x,), (v,))[1],
    "grad of jvp": lambda h: pb.func.grad(lambda x: pb.func.jvp(h, (x,), (v,))[1]),
    "vmap": lambda h: lambda x: pb.vmap(pb.func.grad(h))(np.stack([x, 2 * x])),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_every_transform_takes_them(transform):
    found, expected = (transform(lambda x, f=f: np.sum(f(x, x * x, scale=2.0)["tanh"] * v))(x) for f in (theirs, ours))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_ndarrays_in_and_out_without_tensors():
    found = theirs(x, x)
    assert type(found["tanh"]) is np.ndarray
    np.testing.assert_array_equal(found["where"], 1)
    float32 = theirs(x.astype(np.float32), x.astype(np.float32))["tanh"]
    assert float32.dtype == np.float32


def test_backward_and_what_a_function_writes_into():
    def scale_in_place(x):
        return x.mul_(2.0)

    kept = x.copy()
    t = pb.tensor(x, requires_grad=True)
    with torch.no_grad():
        assert pb.torch_function(scale_in_place)(kept) is not kept
    np.testing.assert_array_equal(kept, x)
    theirs(t, t)["tanh"].sum().backward()
    np.testing.assert_allclose(t.grad, pb.func.grad(lambda x: ours(x, x)["tanh"].sum())(x))


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_function_may_write_into_its_arguments_where_it_is_differentiated(transform):
    def squares(x):
        return x.mul_(2.0) ** 2

    written = pb.torch_function(squares)
    found, expected = (transform(lambda x, f=f: np.sum(f(x) * v))(x) for f in (written, lambda x: (2 * x) ** 2))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_arguments_by_name_are_differentiated(transform):
    def product(a, *, b, name=""):
        return a * b**3

    theirs = pb.torch_function(product)
    found, expected = (
        transform(lambda x, f=f: np.sum(f(v, b=x, name="one")) + np.sum(f(x, b=x)))(x) for f in (theirs, product)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_a_lost_gradient_is_said():
    with pytest.raises(RuntimeError, match="does not depend on the arguments"):
        pb.func.grad(pb.torch_function(lambda x: x.detach().sum()))(x)


def test_complex_numbers_follow_one_convention():
    f = pb.torch_function(lambda z: (z * z.conj()).real.sum() + (z**2).imag.sum())
    z = np.array([1 + 2j, -0.5 + 0.3j])
    expected = pb.func.grad(lambda z: np.sum((z * np.conj(z)).real) + np.sum((z**2).imag))(z)
    np.testing.assert_allclose(pb.func.grad(f)(z), expected, rtol=1e-14)


def test_ours_in_their_graph():
    f = pb.for_torch(lambda x, p: (np.sum(np.sin(x) * p["y"]), np.argmax(x)))
    a, b = (torch.tensor(list(values), dtype=torch.float64, requires_grad=True) for values in ((0.1, 0.2), (3.0, 4.0)))
    assert torch.autograd.gradcheck(lambda a, b: f(a, {"y": b})[0], (a, b))
    assert torch.autograd.gradgradcheck(lambda a, b: f(a, {"y": b})[0], (a, b))
    value, place = f(a, {"y": b})
    assert place == 1
    assert not place.requires_grad
    assert value.requires_grad
    module = torch.nn.Linear(2, 1, dtype=torch.float64)
    f(module(torch.stack([a, b]).detach()).ravel(), {"y": b.detach()})[0].backward()
    assert torch.any(module.weight.grad != 0)


def test_memory_crosses_without_a_copy():
    t = pb.from_dlpack(torch.arange(3.0))
    assert t.dtype == pb.float32
    shared = torch.from_dlpack(t)
    shared[0] = 7
    assert t[0] == 7
    with pytest.raises(RuntimeError, match="detach"):
        torch.from_dlpack(pb.tensor([1.0], requires_grad=True))


def test_the_page(run_page):
    run_page("torch")


def test_a_function_that_writes_into_its_argument_leaves_the_callers_tensor():
    def f(a):
        a[0] = a[0] * 3
        return np.sum(a**2)

    t = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    pb.for_torch(f)(t).backward()
    assert t.detach().tolist() == [1.0, 2.0]
    assert t.grad.tolist() == [18.0, 4.0]


def test_derivatives_belong_to_the_random_numbers_of_the_value():
    x = np.array([0.3, 1.2, -0.7, 2.0, 3.0, 4.0])
    for function in (lambda x: x * torch.rand(6, dtype=torch.float64), torch.nn.Dropout(0.5)):
        f = pb.torch_function(function)
        value, slope = pb.func.value_and_grad(lambda x, f=f: np.sum(f(x)))(x)
        np.testing.assert_allclose(slope @ x, value)
        value, tangent = pb.func.jvp(lambda x, f=f: np.sum(f(x)), (x,), (x,))
        np.testing.assert_allclose(tangent, value)
    assert not np.array_equal(f(x), f(x)) or not np.array_equal(f(x), f(x))


def test_for_torch_takes_arguments_by_name():
    t = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    pb.for_torch(lambda a, b, *, k=2.0: np.sum(a * b**k))(t, b=t, k=3.0).backward()
    np.testing.assert_allclose(t.grad.numpy(), 4 * t.detach().numpy() ** 3)


def test_what_is_not_wrapped_says_how():
    with pytest.raises(RuntimeError, match=r"pullback\.torch_function\(f\)"):
        pb.func.grad(lambda x: torch.sin(x).sum())(x)
