"""In-place writes of differentiated values into what creation functions make inside a transform."""

from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

A = np.array([0.3, 0.7, 1.1])
V = np.array([1.0, -0.5, 2.0])


def by_item(x):
    z = pb.zeros(3)
    z[0] = x[0] * x[1]
    z[1:] = x[1:] ** 2
    return z * z[0]


def by_row(x):
    z = pb.zeros((2, 3))
    row, all_again = z[0], z.reshape(3, 2)
    row.copy_(x * x[2])
    z[1] = x * x[2] * x
    return z.sum(0) * all_again[0, 1]


def by_method(x):
    z = pb.tensor([1.0, 1.0, 1.0])
    z.mul_(x).add_(x[1])
    z += pb.sin(x)
    return z * z


def by_draw(x):
    z = pb.full((3,), 2.0)
    z *= 2.0  # as a constant still
    z.mul_(x)
    z[2] = 1.0
    return z.exp()


def by_index(x):
    z = pb.zeros((3, 3))
    z[np.ix_([0, 2], [0, 1])] += x[0] * np.array([[1.0, 2.0], [3.0, 4.0]])
    z[1:][np.array([[True, False, True], [False, False, True]])] -= x
    z[:, pb.tensor([2, 0])] *= x[1]
    return z.sum(0)


# The same programs without writes.
PROGRAMS = {
    "index arrays": (
        by_index,
        lambda x: np.stack([(4 * x[0] - x[0]) * x[1], 6 * x[0], (-x[1] - x[2]) * x[1]]),
    ),
    "item": (by_item, lambda x: np.stack([x[0] * x[1], x[1] ** 2, x[2] ** 2]) * x[0] * x[1]),
    "views": (by_row, lambda x: (x * x[2] + x * x[2] * x) * x[1] * x[2]),
    "methods": (by_method, lambda x: (x + x[1] + np.sin(x)) ** 2),
    "constant first": (by_draw, lambda x: np.exp(np.stack([4 * x[0], 4 * x[1], 1 + 0 * x[2]]))),
}
TRANSFORMS = {
    "grad": lambda f: grad(lambda x: (f(x) * V).sum()),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x * 2,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](x * 2)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](x * 3),
    "jacrev": lambda f: jacrev(f),
    "jacfwd": lambda f: jacfwd(lambda x: f(x) + 0 * x),
    "hessian": lambda f: hessian(lambda x: (f(x) * V).sum()),
    "grad of grad": lambda f: grad(lambda x: (grad(lambda y: (f(y) * V).sum())(x) * V).sum()),
    "jvp of jvp": lambda f: lambda x: jvp(lambda y: jvp(f, (y,), (x * 2,))[1] + 0 * y, (x,), (x,))[1],
    "vmap of grad": lambda f: lambda x: vmap(grad(lambda y: (f(y) * V).sum()))(np.stack([x, 2 * x])),
}


@pytest.mark.parametrize("kind", [np.array, pb.tensor], ids=["ndarray", "Tensor"])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_as_the_program_without_writes(program, transform, kind):
    in_place, without = program
    x = kind(A)
    found, expected = transform(in_place)(x), transform(without)(x)
    assert type(found) is type(expected)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("outer", ["grad", "jvp"])
@pytest.mark.parametrize("inner", ["grad", "jvp"])
def test_it_holds_the_values_of_two_transforms(outer, inner):
    """Written into at the outer level, then at the inner one, then at the outer one again."""
    derivative = {"grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1]}

    def f(x):
        def g(y):
            z = pb.zeros(3)
            z[0] = x**2
            z[1] = y**2 * x**2
            z[2] = x**3
            return (z[1] * z[2] + z[0]).sum()  # x^5 y^2 + x^2

        return derivative[inner](g)(x * 1.0)  # 2 x^5 y at y = x

    assert float(derivative[outer](f)(1.5)) == pytest.approx(12 * 1.5**5, rel=1e-13)


def test_weights_of_the_program_around_it_are_differentiated():
    w = pb.tensor([2.0, 3.0], requires_grad=True)

    def f(x):
        z = pb.zeros(2)
        part = z[1:]
        z[0] = x**2 * w[0]
        part.copy_(x**3 * w[1:])
        return z.sum()

    grad(f)(pb.tensor(2.0)).backward()
    assert w.grad.tolist() == [4.0, 12.0]


@pytest.mark.parametrize("transform", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))], ids=["grad", "jvp"])
def test_what_was_made_outside_is_not_written_into(transform):
    captured, kept = pb.zeros(2), []

    def f(x):
        captured[0] = x
        return x

    def keeps(x):
        kept.append(pb.zeros(2))
        return x * 1.0

    def writes(x):
        kept[0][0] = x
        return x

    def sets_item(z, y):
        z[0] = y

    with pytest.raises(RuntimeError, match=r"mutate a captured Tensor.*zeros_like"):
        transform(f)(1.0)
    transform(keeps)(1.0)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):  # made in a transform that has ended
        transform(writes)(1.0)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):  # made outside of the inner one
        grad(lambda x: transform(partial(sets_item, pb.zeros(2)))(x))(1.0)
    assert captured.tolist() == kept[0].tolist() == [0.0, 0.0]


def test_what_is_batched_still_needs_a_batched_target():
    def f(x):
        z = pb.zeros(2)
        z[0] = x
        return z

    with pytest.raises(RuntimeError, match="batched"):
        vmap(f)(np.ones(3))


# -- copies, and arguments that are not differentiated -----------------------------------------------------------------
VIEWS = {
    "row": lambda x: x[0],
    "transposed": lambda x: x.T[1:].T,
    "steps": lambda x: x[:, ::2],
    "diagonal": lambda x: x.diagonal(),
    "view of view": lambda x: x[1:].reshape(-1)[2:],
    "itself": lambda x: x,
}


@pytest.mark.parametrize("writes", ["into the view", "into the base"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_copy_made_inside_may_be_written_into_with_its_views(view, writes):
    weights = pb.arange(1.0, 13.0).reshape(3, 4)

    def f(x, y):
        x = x.clone()
        seen = VIEWS[view](x)
        target, value = (seen, y * VIEWS[view](pb.ones(3, 4))) if writes == "into the view" else (x, y * weights)
        target.mul_(2).add_(1)
        target.copy_(value.sin())
        seen.mul_(3)
        return (x * weights * x).sum() + (seen**3).sum()

    y, xs = pb.tensor(0.7), pb.rand(5, 3, 4)
    expected = pb.tensor([float(f(x, y + 1e-5) - f(x, y - 1e-5)) / 2e-5 for x in xs])
    for derivative in (
        pb.func.grad(f, argnums=1),
        lambda x, y: pb.func.jvp(lambda y: f(x, y), (y,), (pb.ones(()),))[1],
    ):
        assert pb.allclose(derivative(xs[0], y), expected[0], rtol=1e-6)
        assert pb.allclose(pb.vmap(derivative, in_dims=(0, None))(xs, y), expected, rtol=1e-6)
        assert pb.allclose(pb.vmap(derivative, in_dims=(2, None))(pb.movedim(xs, 0, 2), y), expected, rtol=1e-6)


def test_a_computed_copy_is_refused_where_its_views_are_unknown():
    x = pb.rand(2, 3, requires_grad=True)

    def f(y):
        z = x.clone()
        row = z[0]
        z.copy_(y)
        return row.sum()

    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        pb.func.grad(f)(pb.ones(2, 3))


@pytest.mark.parametrize("jacobian", [pb.func.jacrev, pb.func.jacfwd, pb.func.jacobian])
def test_an_argument_that_is_not_differentiated_may_be_written_into(jacobian):
    def f(x, y, *, z=None):
        y[1:].copy_(x[:2] ** 2)
        z.mul_(x)
        return y + z

    x, y, z = pb.tensor([1.0, 2.0, 3.0]), pb.zeros(3), pb.ones(3)
    found = jacobian(f)(x, y, z=z)
    assert found.tolist() == [[1, 0, 0], [2, 1, 0], [0, 4, 1]]
    assert y.tolist() == [0, 1, 4]  # the caller sees the numbers, as without the transform
    assert not y.requires_grad
    assert y._version
    w = pb.ones(3, requires_grad=True)
    gradient = pb.func.grad(lambda x, w: (x * w * w).sum())(x, w)
    assert pb.autograd.grad(gradient.sum(), w)[0].tolist() == [2, 2, 2]


def test_views_of_what_two_transforms_fill_are_not_forgotten():
    def inner(x, y):
        z = pb.zeros(2)
        z[0] = x  # from here on z requires grad, one level out, and does not know the views of it that are made
        row = z[:1]
        z.copy_(y * pb.ones(2))
        return row.sum()

    def f(x):
        return pb.func.grad(lambda y: inner(x, y))(x)

    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        pb.func.grad(f)(pb.tensor(2.0))
