"""func.linearize: one run, many tangents. It must be what jvp is, for every operator, in-place code included."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import pullback as pb
from pullback.core.pytree import flatten
from pullback.func import grad, jvp, linearize, vjp

X, V = np.array([0.3, -0.8, 1.2, 0.5]), np.array([1.0, -2.0, 0.5, 3.0])


def march(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, 4):
        y[i] = y[i - 1] * x[i] + np.sin(y[i - 1])
    y *= y
    return y


def views(x):
    y = x.copy()
    y[1:] += y[:-1] ** 2
    z = y[::2]
    z *= 3  # y sees it
    return np.concatenate([y, z]), z.sum()


def buffer_with_views(x):
    whole = np.zeros((2, 4), like=x)
    row, column = whole[1], whole[:, 2]
    row[...] = x * x
    column += x[:2]
    return whole, row


def into_itself(x):
    x *= 2
    return x * x


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


PROGRAMS = {
    "pointwise": lambda x: np.exp(np.sin(x)) / (1 + x**2),
    "march": march,
    "views": views,
    "a buffer with views": buffer_with_views,
    "into its argument": into_itself,
    "rosenbrock": rosenbrock,
    "matrices": lambda x: np.linalg.inv(np.outer(x, x) + np.eye(4)) @ x,
    "decompositions": lambda x: np.linalg.svd(np.outer(x, x[::-1]) + np.diag(x))[1] * np.linalg.norm(x),
    "order": lambda x: np.sort(x)[::-1].cumsum() * x.max(),
    "choices": lambda x: np.where(x > 0, np.exp(x), x**2).reshape(2, 2).T,
    "no slope where nothing moves": lambda x: np.sqrt(np.where(x > 0, x, 0)),
    "joined": lambda x: np.stack([x, np.ones(4), x * 2]),
    "parts": lambda x: np.split(x * x, 2),
    "several results": lambda x: {"a": (x, x.sum()), "b": [x[x > 0]]},
    "gradient": grad(rosenbrock),
    "einsum": lambda x: np.einsum("i,j->ij", x, x),
    "complex": np.fft.fft,
    "itself": lambda x: x,
    "twice the same": lambda x: (x, x, x[:2]),
    "constant": lambda x: (x * x, np.ones(3)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_it_is_what_jvp_is_for_any_tangent(program):
    y, jvp_fn = linearize(program, X)
    for tangent in (V, 2 * V, -V):
        value, expected = jvp(program, (X,), (tangent,))
        found = jvp_fn(tangent)
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        for a, b in zip(flatten(y)[0], flatten(value)[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_function_runs_once():
    runs = []
    _, jvp_fn = linearize(lambda x: runs.append(1) or np.sin(x), X)
    for _ in range(3):
        jvp_fn(V)
    assert runs == [1]


def test_later_writes_of_the_function_and_the_caller_are_no_matter():
    c, x = np.full(4, 2.0), X.copy()

    def g(x):
        y = x * c
        c[...] = 0
        return y

    y, jvp_fn = linearize(g, x)
    x[...], y[...] = 0, 0
    first = jvp_fn(V)
    np.testing.assert_array_equal(first, 2 * V)
    first[...] = 0
    np.testing.assert_array_equal(jvp_fn(V), 2 * V)


@pytest.mark.parametrize("program", [PROGRAMS["itself"], PROGRAMS["twice the same"], lambda x: x.reshape(2, 2)])
def test_tangents_share_memory_with_nothing(program):
    v = V.copy()
    _, jvp_fn = linearize(program, X)
    found = [v, *flatten(jvp_fn(v))[0]]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(found) for b in found[:i])
    assert all(a.flags.writeable for a in found)


def test_trees_floats_and_aux():
    y, jvp_fn, aux = linearize(lambda a, b: ({"q": a["w"] * b}, [a["w"].sum(), "text"]), {"w": X}, 2.0, has_aux=True)
    np.testing.assert_allclose(y["q"], 2 * X)
    np.testing.assert_allclose(jvp_fn({"w": V}, 1.0)["q"], 2 * V + X)
    assert aux == [X.sum(), "text"]
    assert type(aux[0]) is np.float64
    slope = linearize(lambda x: x**3, 2.0)[1](1.0)
    assert (type(slope), slope) == (np.float64, 12.0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("given", ["C", "F"])
def test_a_tangent_of_another_layout_than_the_primal(order, given):
    def g(a):
        flat = a.reshape(-1)
        flat[0] = a[1, 1]  # a view of `a` in C order, a copy in Fortran's
        return flat, a

    a, v = np.asarray(np.arange(6.0).reshape(2, 3), order=order), np.asarray(np.ones((2, 3)) + 1, order=given)
    v[0, 0] = 5
    for x, y in zip(linearize(g, a)[1](v), jvp(g, (a,), (v,))[1], strict=True):
        np.testing.assert_array_equal(x, y)


def test_tensors_in_tensors_out_and_differentiable():
    x = pb.tensor(X, requires_grad=True)
    _, jvp_fn = linearize(lambda x: x**3, x)
    for tangent in (pb.tensor(V), V):
        found = jvp_fn(tangent)
        assert type(found) is pb.Tensor
        np.testing.assert_allclose(found.detach().numpy(), 3 * X**2 * V)
        slope = pb.autograd.grad(found.sum(), x, retain_graph=True)[0]
        np.testing.assert_allclose(slope.numpy(), 6 * X * V)


def test_what_outer_transforms_differentiate_is_no_constant():
    def along(x):
        return linearize(lambda y: y**3 * x.sum(), x)[1](V)

    def expected(x):
        return jvp(lambda y: y**3 * x.sum(), (x,), (V,))[1]

    np.testing.assert_allclose(grad(lambda x: along(x).sum())(X), grad(lambda x: expected(x).sum())(X), rtol=1e-12)
    np.testing.assert_allclose(jvp(along, (X,), (V,))[1], jvp(expected, (X,), (V,))[1], rtol=1e-12)
    np.testing.assert_allclose(linearize(along, X)[1](V), jvp(expected, (X,), (V,))[1], rtol=1e-12)


def test_the_map_inside_other_transforms():
    _, jvp_fn = linearize(PROGRAMS["pointwise"], X)
    J = np.stack([jvp_fn(e) for e in np.eye(4)], axis=-1)
    np.testing.assert_allclose(grad(lambda v: (jvp_fn(v) ** 2).sum())(V), 2 * J.T @ J @ V, rtol=1e-12)
    np.testing.assert_allclose(vjp(jvp_fn, V)[1](X)[0], J.T @ X, rtol=1e-12)
    np.testing.assert_allclose(jvp(jvp_fn, (V,), (X,))[1], J @ X, rtol=1e-12)
    np.testing.assert_allclose(linearize(jvp_fn, V)[1](X), J @ X, rtol=1e-12)
    np.testing.assert_allclose(pb.func.vmap(jvp_fn)(np.eye(4)), J.T, rtol=1e-12)


def test_a_rule_that_looks_at_the_numbers_of_the_tangent_is_refused():
    class Odd(pb.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return t * 2 if t.sum().item() > 0 else t * 3

    with pytest.raises(RuntimeError, match="looks at the numbers of"):
        linearize(Odd.apply, pb.tensor(X))


TANGENTS = {
    "too few": ((V,), RuntimeError, "must have the structure of the primals"),
    "a shape": ((V[:2], 1.0), RuntimeError, r"tangent 0 has shape \(2,\) and dtype float64, its primal \(4,\)"),
    "a dtype": ((V.astype("f4"), 1.0), RuntimeError, r"tangent 0 .*float32.*float64"),
    "an int": ((V, 1), TypeError, r"tangent 1 is an int: pass a floating-point number \(2\.0 for 2\)"),
}


@pytest.mark.parametrize(("tangents", "error", "said"), TANGENTS.values(), ids=TANGENTS)
def test_tangents_that_do_not_fit(tangents, error, said):
    _, jvp_fn = linearize(lambda x, y: x * y, X, 2.0)
    with pytest.raises(error, match=rf"^jvp_fn: .*{said}"):
        jvp_fn(*tangents)


CALLS = {
    "no primals": (lambda: linearize(np.sin), RuntimeError, "there are no primals"),
    "an int": (lambda: linearize(np.sin, 1), TypeError, r"primal 0 is an int"),
    "nothing returned": (lambda: linearize(lambda x: None, X), RuntimeError, r"returned None.*Is a `return` missing"),
    "text returned": (lambda: linearize(lambda x: "a", X), TypeError, "the function returned a str"),
}


@pytest.mark.parametrize(("call", "error", "said"), CALLS.values(), ids=CALLS)
def test_wrong_calls(call, error, said):
    with pytest.raises(error, match=rf"func\.linearize.*{said}"):
        call()


def test_the_map_says_of_what_it_is():
    assert repr(linearize(np.sin, X)[1]) == "<jvp_fn of sin>"


@pb.custom_vjp
def by_vjp(x):
    return np.sin(x)


@by_vjp.defvjp
def by_vjp_rule(cotangent, y, x):
    return cotangent * np.cos(x)


@pb.custom_jvp
def by_jvp(x):
    return np.sin(x)


@by_jvp.defjvp
def by_jvp_rule(tangents, y, x):
    return tangents[0] * np.cos(x)


@pytest.mark.parametrize("rule", [by_vjp, by_jvp])
def test_custom_rules(rule):
    x, v = np.array([0.3, 0.5]), np.array([2.0, -1.0])
    for function, derivative in (
        (rule, np.cos(x)),
        (pb.func.grad(lambda x: rule(x).sum()), -np.sin(x)),
        (lambda x: pb.func.jvp(rule, (x,), (np.ones(2),))[1], -np.sin(x)),
    ):
        push = pb.func.linearize(function, x)[1]
        np.testing.assert_allclose(push(v), derivative * v, atol=1e-15)
        np.testing.assert_allclose(pb.func.vmap(push)(np.stack([v, 3 * v])), [derivative * v, 3 * derivative * v])
        moved = pb.func.jvp(lambda x: pb.func.linearize(function, x)[1](v), (x,), (v,))[1]  # noqa: B023 - used at once
        again = pb.func.jvp(lambda x: pb.func.jvp(function, (x,), (v,))[1], (x,), (v,))[1]  # noqa: B023
        np.testing.assert_allclose(moved, again)


def test_a_rule_that_needs_the_numbers_of_tangents_goes_on_the_tape_as_a_whole():
    M = np.array([[2.0, 1.0], [0.0, 4.0]])

    @pb.custom_jvp
    def solved(x, b):
        return scipy.linalg.solve(M, x**2 * b), x.size

    @solved.defjvp
    def solved_jvp(tangents, y, x, b):
        calls.append(None)
        return scipy.linalg.solve(M, 2 * x * tangents[0] * b + (0 if tangents[1] is None else x**2 * tangents[1])), None

    calls = []
    x, b, t = np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([0.3, 1.0])
    value, push = pb.func.linearize(lambda x: np.sin(x) * solved(x, b)[0], x)
    expected = np.cos(x) * solved(x, b)[0] * t + np.sin(x) * np.linalg.solve(M, 2 * x * t * b)
    np.testing.assert_allclose(value, np.sin(x) * np.linalg.solve(M, x**2 * b))
    at_first = len(calls)
    b[:] = 100.0
    for scale in (1.0, -2.0):
        np.testing.assert_allclose(push(scale * t), scale * expected)
    assert len(calls) == at_first + 2  # once for each tangent, and the function does not run again


def test_what_nothing_reads_does_not_run_again():
    _, push = pb.func.linearize(lambda x: (np.exp(x), x * 2)[1], np.ones(2))
    assert "mul" in [name for name, *_ in push._tape.instructions]
    push(np.ones(2))
    assert len([step for step in push._tape._steps if step[0] == "mul"]) == 1
    np.testing.assert_allclose(push(np.array([1.0, 3.0])), [2.0, 6.0])


def test_a_custom_function_without_jvp_that_needs_numbers_is_refused():
    square = pb.custom_vjp(np.square, lambda c, y, x: scipy.linalg.blas.daxpy(c, np.zeros_like(x)) * 2 * x)
    with pytest.raises((pb.extend.UnsupportedError, pb.extend.DetachingError), match="there is no jvp"):
        pb.func.linearize(square, np.ones(2))


@pytest.mark.parametrize("of_samples", [lambda f: f, pb.func.vmap], ids=["one", "vmap"])
@pytest.mark.parametrize(
    "derivative",
    [
        lambda g, x: linearize(g, x)[1](np.ones(3)),
        lambda g, x: pb.func.jet(g, (x,), ([np.ones(3), None],))[1][0],
    ],
    ids=["linearize", "jet"],
)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_what_a_mask_keeps_away_is_zero_in_the_linearised_gradient(derivative, of_samples):
    gradient = grad(lambda x: (x**2 * np.where(x > 0, np.sqrt(x), 0.0)).sum())
    x = np.array([[-1.0, 0.0, 4.0], [4.0, 1.0, 0.0]])
    for rows in (x[0], x[1]) if of_samples is not pb.func.vmap else (x,):
        expected = np.where(rows > 0, 3.75 * np.sqrt(np.maximum(rows, 0)), 0.0)
        np.testing.assert_allclose(of_samples(lambda x: derivative(gradient, x))(rows), expected)


def test_a_tangent_of_whole_numbers_is_converted_as_linear_operators_begin_with_one():
    _, jvp_fn = linearize(np.sin, X)
    A = scipy.sparse.linalg.LinearOperator((4, 4), matvec=jvp_fn)
    np.testing.assert_allclose(A @ np.array([1, 0, 2, 0], np.int8), np.cos(X) * [1, 0, 2, 0])
    assert A.dtype == np.float64
    np.testing.assert_allclose(jvp(np.sin, (X,), (np.array([0, 1, 0, 3], np.int64),))[1], np.cos(X) * [0, 1, 0, 3])
