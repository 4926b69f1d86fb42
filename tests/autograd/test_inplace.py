"""In-place operations: their gradients are those of the same program written out of place; what is refused."""

import numpy as np
import pytest

import pullback as pb

pytestmark = pytest.mark.usefixtures("both_paths")


def leaf(*values):
    return pb.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def same_gradients(in_place, out_of_place, *values):
    """Both programs on leaves of these values: outputs and gradients agree."""
    results = []
    for program in (in_place, out_of_place):
        leaves = [pb.tensor(v, requires_grad=True) for v in values]
        out = program(*leaves)
        weights = pb.from_numpy(np.cos(np.arange(out.numel(), dtype=float)).reshape(out.shape))
        (out * weights).sum().backward()
        results.append([out.tolist(), *(0.0 if x.grad is None else x.grad.tolist() for x in leaves)])
    for got, want in zip(*results, strict=True):
        assert np.allclose(got, want)


A = [1.0, 2.0, 3.0]
B = [0.5, -1.5, 2.5]

PAIRS = {
    "add": (lambda x, y: (x * 1).add_(y), lambda x, y: x + y),
    "sub": (lambda x, y: (x * 1).sub_(y), lambda x, y: x - y),
    "mul": (lambda x, y: (x * 1).mul_(y), lambda x, y: x * y),
    "div": (lambda x, y: (x * 1).div_(y), lambda x, y: x / y),
    "pow": (lambda x, y: (x * 1).pow_(y), lambda x, y: x**y),
    "mul by itself": (lambda x, y: by_itself(x * y, "mul_"), lambda x, y: (x * y) ** 2),
    "div by itself": (lambda x, y: by_itself(x * 1, "div_") + y, lambda x, y: x / x + y),
    "exp": (lambda x, y: (x * y).exp_(), lambda x, y: (x * y).exp()),
    "sin": (lambda x, y: (x * y).sin_(), lambda x, y: (x * y).sin()),
    "tanh": (lambda x, y: (x * y).tanh_(), lambda x, y: (x * y).tanh()),
    "sqrt": (lambda x, y: (x * 2).sqrt_() * y, lambda x, y: (x * 2).sqrt() * y),
    "clamp": (lambda x, y: (x * y).clamp_(-1, 1), lambda x, y: (x * y).clamp(-1, 1)),
    "broadcast": (lambda x, y: (x * 1).mul_(y[0]), lambda x, y: x * y[0]),
    "numbers": (lambda x, y: (x * y).add_(1).mul_(2).div_(4), lambda x, y: (x * y + 1) * 2 / 4),
    "into a constant": (lambda x, y: pb.ones(3).mul_(x).add_(y), lambda x, y: x + y),
    "copy": (lambda x, y: (x * 1).copy_(y), lambda x, y: y * 1),
    "copy of a smaller": (lambda x, y: (x * 1).copy_(y[1]), lambda x, y: y[1] * pb.ones(3)),
    "setitem of a number": (
        lambda x, y: put(x * y, 1, 7.0),
        lambda x, y: x * y * pb.tensor([1.0, 0, 1]) + pb.tensor([0, 7.0, 0]),
    ),
    "setitem of a tensor": (
        lambda x, y: put(x * 1, slice(0, 2), y[1:]), lambda x, y: pb.cat([y[1:], x[2:]])
    ),
    "setitem with a broadcast": (lambda x, y: put(x * 1, slice(0, 2), y[0]), lambda x, y: pb.stack([y[0], y[0], x[2]])),
    "setitem by mask": (lambda x, y: put(x * 1, x > 1.5, y[0]), lambda x, y: pb.where(x > 1.5, y[0], x)),
    "setitem by integers": (lambda x, y: put(x * 1, [2, 0], y[:2]), lambda x, y: pb.stack([y[1], x[1], y[0]])),
    "python operators": (lambda x, y: augmented(x * 1, y), lambda x, y: ((x + y) * y - 1) / 2),
}  # fmt: skip


def by_itself(target, name):
    return getattr(target, name)(target)


def put(target, index, value):
    target[index] = value
    return target


def augmented(z, y):
    z += y
    z *= y
    z -= 1
    z /= 2
    return z


@pytest.mark.parametrize(("in_place", "out_of_place"), PAIRS.values(), ids=PAIRS)
def test_gradients_are_those_of_the_program_out_of_place(in_place, out_of_place):
    same_gradients(in_place, out_of_place, A, B)


def test_the_same_tensor_comes_back_with_a_new_function():
    y = leaf() * 2
    first = y.grad_fn
    assert y.add_(1) is y
    assert y.grad_fn is not first
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[0][0] is first


def test_what_was_computed_before_keeps_its_gradient():
    x = leaf()
    y = x * 2
    z = y + 1  # saves nothing
    y.mul_(10)
    (z + y).sum().backward()
    assert x.grad.tolist() == [22, 22, 22]


def test_a_constant_comes_to_require_grad():
    x = leaf()
    c = pb.zeros(3)
    c.add_(x)
    assert c.requires_grad
    assert not c.is_leaf
    c.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_second_derivatives_through_in_place_operations():
    x = leaf(2.0)
    y = x * 1
    y.mul_(x)
    y.mul_(x)
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12]
    (h,) = pb.autograd.grad(g, x, create_graph=True)
    assert h.tolist() == [12]
    (k,) = pb.autograd.grad(h, x)
    assert k.tolist() == [6]


def test_second_derivatives_through_saved_outputs_modified_earlier():
    x = leaf(0.5)
    y = (x * 2).exp_()
    (g,) = pb.autograd.grad(y, x, create_graph=True)
    (h,) = pb.autograd.grad(g, x)
    assert np.isclose(g.item(), 2 * np.e)
    assert np.isclose(h.item(), 4 * np.e)


# -- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write", [lambda t: t.add_(1), lambda t: t.mul_(2), lambda t: t.exp_(), lambda t: put(t, 0, 1.0)]
)
def test_a_leaf_cannot_be_written_into(write):
    x = leaf()
    with pytest.raises(RuntimeError, match=r"leaf Variable that requires grad.*no_grad\(\)"):
        write(x)
    assert x.tolist() == [1, 2, 3]
    assert x._version == 0
    assert x.is_leaf
    with pb.no_grad():
        write(x)
    assert x.is_leaf
    assert x.requires_grad
    assert x._version == 1


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        *(
            (view, "view of a leaf Variable")
            for view in (lambda t: t[0:2], lambda t: t.reshape(3, 1), lambda t: t[0:2][0:1])
        ),
        (lambda t: pb.unbind(t)[0], "function that returns multiple views"),
    ],
)
def test_a_view_of_a_leaf_cannot_be_written_into(view, reason):
    x = leaf()
    v = view(x)
    with pytest.raises(RuntimeError, match=reason):
        v.mul_(2)
    assert x.tolist() == [1, 2, 3]
    assert v._version == 0
    with pb.no_grad():
        view(x).mul_(2)
    assert x.tolist() != [1, 2, 3]


def test_a_view_made_under_no_grad_cannot_be_written_into_while_recording():
    y = leaf() * 1
    with pb.no_grad():
        v = y[0:2]
    for value in (2.0, leaf(1.0)):
        with pytest.raises(RuntimeError, match=r"view.*no_grad.*"):
            v.mul_(value)
    assert y.tolist() == [1, 2, 3]
    with pb.no_grad():
        v.mul_(2.0)
    assert y.tolist() == [2, 4, 3]


def test_shapes_cannot_grow_in_place():
    y = leaf() * 1
    for value in (pb.ones(2, 3), pb.ones(2)):
        with pytest.raises(RuntimeError):
            y.add_(value)
    assert y.tolist() == [1, 2, 3]
    assert y._version == 0
    assert y.grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize(
    ("dtype", "value"), [("i8", 1.5), ("i8", pb.ones(2)), ("f4", 1j), ("f8", pb.tensor([1j, 1j])), ("?", 2)]
)
def test_dtypes_cannot_widen_in_place(dtype, value):
    t = pb.zeros(2, dtype=np.dtype(dtype))
    with pytest.raises((RuntimeError, TypeError)):
        t.add_(value)
    assert t.tolist() == pb.zeros(2, dtype=np.dtype(dtype)).tolist()
    assert t._version == 0


def test_a_narrower_value_is_cast_and_its_gradient_cast_back():
    x = pb.tensor([1.0, 2.0], dtype=pb.float32, requires_grad=True)
    w = pb.tensor([3.0, 4.0], requires_grad=True)
    y = (x * 1).mul_(w)
    assert y.dtype == np.float32
    y.sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    assert (x.grad.tolist(), w.grad.tolist()) == ([3, 4], [1, 2])


def test_an_expanded_tensor_cannot_be_written_into():
    y = pb.tensor([1.0], requires_grad=True) * 1
    with pytest.raises(RuntimeError, match=r"mul_: more than one element.*shape \(3,\).*single memory.*clone\(\)"):
        y.expand(3).mul_(2)
    with pytest.raises(RuntimeError, match=r"mul_.*read-only.*clone\(\)"):
        pb.ones(1).expand(3).mul_(2)
    assert y.tolist() == [1]


def test_out_is_refused_where_something_would_be_differentiated():
    x, out = leaf(), pb.zeros(3)
    with pytest.raises(RuntimeError, match=r"out=.*automatic differentiation"):
        pb.add(x, 1, out=out)
    assert out.tolist() == [0, 0, 0]
    pb.add(x.detach(), 1, out=out)
    assert out.tolist() == [2, 3, 4]
    assert out._version == 1


def test_out_is_refused_for_a_view_of_a_tensor_in_a_graph():
    y = leaf() * 1
    with pb.no_grad():
        v = y[0:2]
    with pytest.raises(RuntimeError, match=r"out=.*automatic differentiation"):
        pb.add(pb.ones(2), 1, out=v)
    assert y.tolist() == [1, 2, 3]


def test_the_output_number_of_a_view_follows_its_function():
    y = leaf() * 1
    v = y[2]
    w = pb.unbind(y)[2]
    assert (v.output_nr, w.output_nr) == (0, 2)
    y.mul_(2)
    assert v.output_nr == 0
    v.backward()


FAILING = {
    "put_": lambda y: y.put_(pb.tensor([0, 10]), pb.ones(2)),
    "put_ into columns": lambda y: y.reshape(2, 2).t().put_(pb.tensor([0, 10]), pb.ones(2)),
    "index_copy_": lambda y: y.index_copy_(0, pb.tensor([0, 10]), pb.ones(2)),
    "index_add_": lambda y: y.index_add_(0, pb.tensor([0, 10]), pb.ones(2)),
    "scatter_": lambda y: y.scatter_(0, pb.tensor([0, 10]), 1.0),
    "index_put_": lambda y: y.index_put_((pb.tensor([0, 10]),), pb.ones(2)),
    "masked_scatter_": lambda y: y.masked_scatter_(pb.ones(4).bool(), pb.ones(2)),
    "copy_": lambda y: y[:2].copy_(pb.ones(7)),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_write_that_fails_has_written_nothing(name):
    x = pb.tensor([1.5, 2.5, 0.5, 3.5], requires_grad=True)
    y = x * 2
    z = y * y
    with pytest.raises((IndexError, RuntimeError, ValueError)):
        FAILING[name](y)
    assert y.tolist() == [3.0, 5.0, 1.0, 7.0]
    (z * y).sum().backward()
    assert np.allclose(x.grad, 24 * x.detach().numpy() ** 2)
